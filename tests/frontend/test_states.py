"""Outputs of one run that are inputs of the next: what fits, and what is said of what does not."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.apps.find_task import Wanted, find_task
from edgec.base.errors import UsageError
from edgec.base.part import Part
from edgec.frontend import from_proto
from edgec.ir.graph import State
from edgec.ir.states import first_states, next_states
from edgec.ir.text import dumps, loads
from edgec.quant.floats.jury import class_scores
from edgec.settings.config import configure
from tests.states import CACHE, CELL, model_of

SEVERAL = """several (float[1,8] x, float[1,16] h, float[N,0] none, float[M,2] open, int64[1] count, float16[1,2] half) =>
  (float[1,4] y, float[1,16] h_next, float[1,2] same, int64[1] more, float16[1,2] halved, int64[2,K] found) {
  a = MatMul(x, wx)  b = MatMul(h, wh)  c = Add(a, b)  h_next = Tanh(c)  y = MatMul(h_next, wy)
  same = Identity(open)  more = Identity(count)  halved = Mul(half, half)  found = NonZero(c)
}"""


def test_a_graph_tells_apart_what_its_caller_gives() -> None:
    graph = from_proto(model_of(CACHE), part=Part(states={"keys": ("keys_next", -1.0), "place": ("next", 0.0)})).graph
    assert (graph.given, graph.answered) == (["q", "k", "skip"], ["scores"])
    assert graph.states == graph.copy().states == loads(dumps(graph)).states == {"keys": State("keys_next", -1.0), "place": State("next")}
    begin = first_states(graph)
    assert begin["keys"].tolist() == [[-1.0] * 4] * 6 and begin["place"].dtype == np.int64 and begin["place"].tolist() == [0]


def test_a_state_is_no_choice_of_a_class() -> None:
    plain, kept = (from_proto(model_of(CELL), part=Part(states=states)).graph for states in ({}, {"h": ("h_next", 0.0)}))
    assert (class_scores(plain), class_scores(kept)) == (["y", "h_next"], ["y"])
    task, _ = find_task(kept, Wanted("classify"))
    assert (task.outputs, task.classes) == (("y",), 4)


def test_a_state_of_halves_is_rounded_between_runs() -> None:
    graph = from_proto(model_of(SEVERAL), {"open": [1, 2]}, part=Part(states={"half": ("halved", 0.1)})).graph
    assert first_states(graph)["half"].tolist() == [[float(np.float16(0.1))] * 2]
    assert next_states(graph, {"halved": np.array([[0.2, 1e6]], np.float32)})["half"].tolist() == [[float(np.float16(0.2)), np.inf]]


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ({"g": ("h_next", 0), "h": ("h_nxt", 0)}, ["--state g:h_next: the model has no input 'g'", "'h_nxt'    hint: did you mean"]),
        ({"x": ("h_next", 0), "open": ("y", 0)}, ["float32[1,8] cannot become float32[1,16]", "float32[1,2] cannot become float32[1,4]"]),
        ({"h": ("h_next", 0), "x": ("h_next", 0)}, ["'h_next' becomes two inputs"]),
        ({"h": ("c", 0)}, ["no output 'c'    hint: add --output c"]),
        ({"half": ("same", 0)}, ["float16[1,2] cannot become float32[1,2]"]),
        ({"count": ("found", 0)}, ["only a run knows its shape"]),
        ({"count": ("more", 0.5), "none": ("y", 0)}, ["0.5 is no int64", "the input holds nothing"]),
        ({"h": ("h_next", 1e39), "half": ("halved", 70000), "count": ("more", 1e30)}, ["1e+39 is no float32", "70000 is", "1e+30 is"]),
    ],
)  # fmt: skip
def test_all_that_does_not_fit_is_said_at_once(states: dict[str, tuple[str, float]], words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        from_proto(model_of(SEVERAL), {"open": [1, 2]}, part=Part(states=states))
    assert all(word in caught.value.render() for word in words), caught.value.render()


def test_somebody_must_be_answered() -> None:
    with pytest.raises(UsageError, match="no output is left"):
        from_proto(model_of(CELL), part=Part(outputs=["h_next"], states={"h": ("h_next", 0.0)}))


@pytest.mark.parametrize(
    ("given", "states"),
    [
        ("h:h_next", {"h": ("h_next", 0.0)}),
        (["h:0:h_next:0=-1e3", "c:d=2"], {"h:0": ("h_next:0", -1000.0), "c": ("d", 2.0)}),
        ({"h": "a=b", "c": ["d", 1]}, {"h": ("a=b", 0.0), "c": ("d", 1.0)}),
        ("a=1:b", {"a=1": ("b", 0.0)}),
    ],
)  # fmt: skip
def test_how_it_is_written(given: object, states: dict[str, tuple[str, float]]) -> None:
    assert configure(state=given).state == states


@pytest.mark.parametrize("given", ["h", "h:", ":h", "a:b:c", ["h:a", "h:b"], {"h": ["a"]}, {"h": ["a", "nan"]}, {"h": 3}])
def test_what_is_no_state(given: object) -> None:
    with pytest.raises(UsageError, match="state"):
        configure(state=given)
