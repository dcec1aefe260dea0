"""Accuracy where it counts: samples are streamed to a package on a board, and its answers compared with those of the float model."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from weakref import finalize

import numpy as np

from edgec.base.errors import UsageError
from edgec.boards.connect.connection import Exchange
from edgec.exam.comparison import Answers, Comparison, compare_answers
from edgec.package import Package, Tensor, fitting
from edgec.quant import Samples
from edgec.records.results import Accuracy

Arrays = dict[str, np.ndarray]
_Port = tuple[str, np.dtype[Any], tuple[int, ...]]


@dataclass(frozen=True)
class Evaluation:
    """samples: opened anew at each call. outputs: the model's, with their element types; reference answers in their order.

    With states the samples are one stream, and the reference is to be asked in their order, once.
    """

    inputs: tuple[str, ...]
    outputs: Mapping[str, np.dtype[Any]]
    samples: Samples
    reference: Answers
    labels: np.ndarray | None


class AnswerSheet:
    """Samples with the float model's answers in a file of its own, which goes when the sheet does: no board waits for the reference,
    and no process holds more than one sample. A sheet that is sent to another host takes its file along."""

    def __init__(self, inputs: Sequence[_Port], outputs: Sequence[_Port], count: int, path: Path) -> None:
        self._inputs, self._outputs, self.count, self._path = tuple(inputs), tuple(outputs), count, path
        finalize(self, partial(path.unlink, missing_ok=True))

    def __iter__(self) -> Iterator[tuple[Arrays, list[np.ndarray]]]:
        with self._path.open("rb") as file:
            for _ in range(self.count):
                arrays = [_read(file.read(_bytes(port)), port) for port in (*self._inputs, *self._outputs)]
                names = [name for name, _, _ in self._inputs]
                yield dict(zip(names, arrays, strict=False)), arrays[len(names) :]

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self._inputs, self._outputs, self.count, self._path.read_bytes())


def write_sheet(opened: Evaluation, package: Package, progress: Callable[[str, int, int], None] | None = None) -> AnswerSheet:
    """Run the float model over every sample once. UsageError for samples that do not fit the package, or too few labels."""
    inputs: list[_Port] = []
    outputs: list[_Port] = []
    taken = package.inputs
    count = rows = 0
    with NamedTemporaryFile(prefix="edgec-answers-", delete=False) as file:
        try:
            for sample in opened.samples():
                arrays = [np.asarray(sample[name]) for name in opened.inputs]
                answers = opened.reference(sample)
                fitting(taken, {one.name: one.face.of_model(sample[one.name]) for one in taken})
                found = _ports(opened.inputs, arrays), _ports(list(opened.outputs), answers)
                inputs, outputs = (inputs, outputs) if count else found
                if found != (inputs, outputs):
                    raise UsageError("samples differ in shape", where=f"sample {count}", hint="give samples of one shape")
                for array in (*arrays, *answers):
                    file.write(np.ascontiguousarray(array).tobytes())
                count += 1
                rows += next((len(array) for array in arrays if array.ndim), 1)
                if progress is not None:
                    progress("reference answers", count, 0)
            if not count:
                raise UsageError("there are no samples to judge by", where="--data", hint="give at least one")
            if opened.labels is not None and len(opened.labels) < rows:
                raise UsageError(f"{len(opened.labels)} labels for {rows} samples", where="--labels", hint="give one label for each sample")
        except BaseException:
            with suppress(OSError):
                Path(file.name).unlink()
            raise
    return AnswerSheet(inputs, outputs, count, Path(file.name))


@dataclass(frozen=True)
class Paper:
    """What one package is judged by: how it takes and gives tensors, and the sheet that fits its build."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    types: Mapping[str, np.dtype[Any]]  # of the model's outputs
    sheet: AnswerSheet
    labels: np.ndarray | None


@dataclass(frozen=True)
class BoardJudge:
    """Judges packages by the sha256 of their manifests; see Judge in edgec/boards/farm/job.py."""

    papers: Mapping[str, Paper]

    def __call__(self, package: str, exchange: Exchange) -> Accuracy:
        """DeviceError when the board ends the talk. agreement and sqnr_db are those of the worst outputs that they say something of."""
        paper, clock = self.papers[package], time.monotonic()
        size = sum(tensor.bytes for tensor in paper.outputs)
        expected: list[np.ndarray] = []

        def samples() -> Iterator[Arrays]:
            for sample, answers in paper.sheet:
                expected[:] = answers
                yield sample

        def answer(sample: Arrays) -> list[np.ndarray]:
            arrays = fitting(paper.inputs, {tensor.name: tensor.face.of_model(sample[tensor.name]) for tensor in paper.inputs})
            said, results, start = exchange.exchange(b"".join(array.tobytes() for array in arrays), size), [], 0
            for tensor in paper.outputs:
                block = _read(said[start : start + tensor.bytes], (tensor.name, tensor.dtype, tensor.shape))
                results.append(tensor.face.to_model(block, paper.types[tensor.name]))
                start += tensor.bytes
            return results

        found = compare_answers(list(paper.types), samples(), lambda sample: list(expected), answer, paper.labels)
        return _accuracy(found, time.monotonic() - clock)


def paper_of(package: Package, opened: Evaluation, sheet: AnswerSheet) -> Paper:
    return Paper(tuple(package.inputs), tuple(package.outputs), opened.outputs, sheet, opened.labels)


def _accuracy(found: Comparison, seconds: float) -> Accuracy:
    ratio = found.sqnr.sqnr_db
    top1 = {name: scores[0] for name, scores in found.accuracy.items()}
    known = ratio if math.isfinite(ratio) else None
    return Accuracy(found.samples, found.agreement.agreement, top1.get("package"), top1.get("fp32"), known, seconds)


def _received(inputs: Sequence[_Port], outputs: Sequence[_Port], count: int, content: bytes) -> AnswerSheet:
    with NamedTemporaryFile(prefix="edgec-answers-", delete=False) as file:
        file.write(content)
    return AnswerSheet(inputs, outputs, count, Path(file.name))


def _ports(names: Sequence[str], arrays: Sequence[np.ndarray]) -> list[_Port]:
    return [(name, array.dtype, array.shape) for name, array in zip(names, arrays, strict=True)]


def _bytes(port: _Port) -> int:
    return math.prod(port[2]) * port[1].itemsize


def _read(data: bytes, port: _Port) -> np.ndarray:
    return np.frombuffer(data, port[1]).reshape(port[2])
