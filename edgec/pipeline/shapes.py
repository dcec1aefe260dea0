"""The other sets of shapes that a package has: the same model read again for each, with the numbers that the first set was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from edgec.base.errors import UsageError
from edgec.emit import ExamData
from edgec.exam.questions import MOST_BYTES
from edgec.ir.graph import Graph
from edgec.pipeline.models import Model, about, code_model, read_model
from edgec.quant import Quantized, apply_calibration
from edgec.quant.decisions.calibration import fingerprint
from edgec.settings.config import BuildConfig


@dataclass(frozen=True)
class Shaped:
    """A model for one of the sets; config has its shapes, and no samples, which are of the first set."""

    config: BuildConfig
    model: Model
    graph: Graph


def read_shapes(path: Path, config: BuildConfig) -> list[tuple[BuildConfig, Model]]:
    """The model in each further set."""
    configs = [replace(config, shape={**config.shape, **more}, calib=None, dump=None, also_shape=()) for more in config.also_shape]
    return [(other, read_model(path, other)) for other in configs]


def with_numbers(found: Sequence[tuple[BuildConfig, Model]], quantized: Quantized | None) -> list[Shaped]:
    """The graphs that are compiled: quantized as the first set was, or with coded weights. UsageError where a set has other layers."""
    done = []
    for number, (config, model) in enumerate(found, 2):
        if quantized is not None:
            graph = _quantized(model, quantized, number)
        else:
            coded = code_model(model, config)
            graph = model.graph if coded is None else coded.graph
        done.append(Shaped(config, model, graph))
    return done


def _quantized(model: Model, quantized: Quantized, number: int) -> Graph:
    content = dict(quantized.calibration)
    try:
        with about(model.file):
            return apply_calibration(model.graph, content and {**content, "model": fingerprint(model.graph)})
    except UsageError as error:
        what = f"set {number} of shapes has other layers than the first one, so that its numbers are not known"
        raise UsageError(what, error.problems, where="--also-shape", hint="build a package for each, or in fp32") from error


def joined(exams: Sequence[ExamData]) -> ExamData:
    """One exam that asks for every set of shapes; where that is much to carry, one question of each set but the first."""
    first, *others = exams
    if not others:
        return first
    if sum(map(_bytes, exams)) > MOST_BYTES:
        exams = [first, *map(_first_question, others)]
    *starts, _ = accumulate((len(exam.inputs) for exam in exams), initial=0)
    return replace(
        first,
        inputs=[vector for exam in exams for vector in exam.inputs],
        outputs=[vector for exam in exams for vector in exam.outputs],
        exact={name: all(exam.exact[name] for exam in exams) for name in first.exact},
        anew=[start + place for start, exam in zip(starts, exams, strict=True) for place in exam.anew],
        tolerance=min(exam.tolerance for exam in exams),
        tolerances=[tolerance for exam in exams for tolerance in exam.on_cpu],
    )


def _bytes(exam: ExamData) -> int:
    return sum(array.nbytes for vector in (*exam.inputs, *exam.outputs) for array in vector.values())


def _first_question(exam: ExamData) -> ExamData:
    """Which is a stream of its own, where a model has states."""
    return replace(exam, inputs=exam.inputs[:1], outputs=exam.outputs[:1], tolerances=exam.tolerances[:1], anew=exam.anew[:1])
