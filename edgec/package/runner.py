"""Calling a package from numpy: its tensors, and a process of its exam program that answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from weakref import finalize

import numpy as np

from edgec.base.errors import Problem, UsageError, did_you_mean
from edgec.package.interface import Face
from edgec.package.parts import Options, Port
from edgec.package.running import Session

NOTHING = b"\n"  # what stands for a set of no inputs where an exam program reads sets


@dataclass(frozen=True)
class Tensor:
    """An input or output of the package as callers see it; `face` leads from the model's tensors to it and back.

    shape_of: the output whose shape this one tells.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    face: Face
    shape_of: str = ""

    @property
    def bytes(self) -> int:
        return int(np.prod(self.shape)) * self.dtype.itemsize


class Runner:
    """Calls a package: arrays in (by position, by name or as one dict), a list of output arrays out, which have these `names`.

    start: starts the package. whole: all that it gives, else the model's outputs, each in the shape that it has in that run. What a model
    keeps of a run is there in the next one, until `reset`.
    """

    def __init__(self, inputs: list[Tensor], outputs: list[Tensor], start: Callable[[], Session], whole: bool = False) -> None:
        self._inputs, self._outputs, self._start, self._session = inputs, outputs, start, start()
        self._told = {} if whole else {tensor.shape_of: tensor.name for tensor in outputs if tensor.shape_of}
        self.names = [tensor.name for tensor in outputs if whole or not tensor.shape_of]
        self._end = finalize(self, self._session.close)

    def __call__(self, *arrays: np.ndarray | Mapping[str, np.ndarray], **named: np.ndarray) -> list[np.ndarray]:
        """One run. UsageError lists every array that is missing, unknown, or of another type or shape."""
        data = b"".join(array.tobytes() for array in self._ordered(arrays, named)) or NOTHING
        answer = self._session.exchange(data, sum(output.bytes for output in self._outputs))
        results, start = {}, 0
        for output in self._outputs:
            block = np.frombuffer(answer, output.dtype, int(np.prod(output.shape)), start)
            results[output.name] = block.reshape(output.shape).copy()
            start += output.bytes
        for name, shape in self._told.items():
            extents = [int(extent) for extent in results[shape]]
            results[name] = results[name].reshape(-1)[: math.prod(extents)].reshape(extents)
        return [results[name] for name in self.names]

    def _ordered(self, arrays: Sequence[np.ndarray | Mapping[str, np.ndarray]], named: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        given: dict[str, np.ndarray] = {}
        if len(arrays) == 1 and isinstance(arrays[0], Mapping):
            given.update(arrays[0])
        elif len(arrays) > len(self._inputs):
            raise UsageError(f"{len(arrays)} arrays given, the package has {len(self._inputs)} input(s)")
        else:
            given.update((tensor.name, np.asarray(array)) for tensor, array in zip(self._inputs, arrays, strict=False))
        return fitting(self._inputs, {**given, **named})

    def reset(self) -> None:
        """Begin anew, as if nothing had been run."""
        self._end()
        self._session = self._start()
        self._end = finalize(self, self._session.close)

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def fitting(tensors: Sequence[Tensor], given: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The arrays in the order of `tensors`; UsageError when their names, types or shapes are not those of the package."""
    names = [tensor.name for tensor in tensors]
    problems = [Problem("missing", f"input {name}", did_you_mean(name, given) if given else "") for name in names if name not in given]
    problems += [Problem("not an input of this package", name, did_you_mean(name, names)) for name in given if name not in names]
    arrays = {name: np.asarray(given[name]) for name in names if name in given}
    for tensor in tensors:
        array = arrays.get(tensor.name)
        if array is not None and (array.shape != tensor.shape or array.dtype != tensor.dtype):
            what = f"is {array.dtype}{list(array.shape)}, must be {tensor.dtype}{list(tensor.shape)}"
            problems.append(Problem(what, f"input {tensor.name}"))
    if problems:
        raise UsageError("the inputs do not fit the package", problems)
    return [np.asarray(arrays[name], order="C") for name in names]


def tensors_of(ports: Sequence[Port], options: Options) -> list[Tensor]:
    """How callers see a package's inputs or outputs."""
    found = []
    for port in ports:
        kind = np.dtype(port.dtype)
        face = Face(port.name, kind, port.scale, port.zero_point or 0, options.io_layout == "nhwc")
        found.append(Tensor(port.name, kind, tuple(port.shape), face, port.shape_of or ""))
    return found
