"""What the exam of a model with states asks: streams that are long enough to show what is kept, each from its beginning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from edgec.base.part import Part
from edgec.emit import ExamData
from edgec.exam import expected, questions
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.lower import lower
from edgec.passes import optimize
from edgec.quant import Samples
from edgec.schedule import schedule
from edgec.targets import load_target
from tests.states import CELL, model_of

_CODES = "q = QuantizeLinear(d, scale, code)  y = DequantizeLinear(q, scale, code)"
ROUNDED = CELL.replace("y = MatMul(h_next, wy)", f"d = MatMul(h_next, wy)  {_CODES}")


def imported(text: str) -> Graph:
    return from_proto(model_of(text), part=Part(states={"h": ("h_next", 0.0)})).graph


def samples(count: int) -> Samples:
    rows = np.random.default_rng(1).normal(size=(count, 1, 8)).astype(np.float32)
    return lambda: iter([{"x": row} for row in rows])


def asked(text: str, data: Samples | None) -> ExamData:
    original, graph, target = imported(text), imported(text), load_target("x86-64")
    optimize(graph)
    return expected.write_exam(original, graph, schedule(lower(graph, target, "cell"), target), data, 0)


@pytest.mark.parametrize(("most", "first"), [(1, 2), (3 * 2 * 48, 3), (questions.MOST_BYTES, 4)])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_a_stream_has_steps_behind_the_first(most: int, first: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large the tensors and however few the samples."""
    monkeypatch.setattr(questions, "MOST_BYTES", most)
    streams = questions.exam_streams(imported(CELL), samples(count) if count else None, 0)
    assert [len(stream) for stream in streams] == [first, min(2, max(1, most // 96))]
    known = [vector["x"].tolist() for vector in samples(count)()]
    assert not known or [vector["x"].tolist() for vector in streams[0]] == (known * 4)[:first]


@pytest.mark.parametrize("count", [0, 2, 9])
def test_streams_with_codes_that_flip_get_no_shorter(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounding moves a longer one further."""

    def reach(graph: object, evaluator: object, steps: Sequence[Mapping[str, np.ndarray]], *rest: object) -> list[float]:
        return [0.1 * len(steps) + float(steps[0]["x"][0, 0] < 0)] * len(steps)

    monkeypatch.setattr(expected, "_reach", reach)
    found = asked(ROUNDED, samples(count) if count else None)
    assert len(found.inputs) == 6 and list(found.anew) == [0, 4]


def test_a_package_that_has_run_is_asked_from_the_beginning() -> None:
    assert list(asked(CELL, None).anew) == [0, 4]
