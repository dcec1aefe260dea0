"""Each way in which a graph can be malformed is found, and all of them at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import edgec.ops  # noqa: F401  (the shape rules)
from edgec.base.errors import ModelError
from edgec.ir.graph import Graph
from edgec.ir.text import loads
from edgec.ir.types import DType, TensorType
from edgec.ir.verify import verify
from tests.ir.loops import LOOPS

TEXT = """
input %x: float32[2]
const %c: float32[2] = [1.0, 2.0]
%a: float32[2] = Add(%x, %c) "add"
%y: float32[2] = Relu(%a) "act"
output %y
"""


def graph() -> Graph:
    return loads(TEXT)


def swap(g: Graph) -> None:
    g.nodes.reverse()


def define_twice(g: Graph) -> None:
    g.nodes[0].outputs = ["x"]


def wrong_type(g: Graph) -> None:
    g.types["y"] = TensorType(DType.FLOAT32, (3,))


def wrong_dtype(g: Graph) -> None:
    g.types["a"] = TensorType(DType.INT8, (2,))


def wrong_constant(g: Graph) -> None:
    g.constants["c"] = np.zeros(3, np.float32)


def no_type(g: Graph) -> None:
    del g.types["a"]


def no_output(g: Graph) -> None:
    g.outputs.append("nowhere")


def stale_type(g: Graph) -> None:
    g.types["ghost"] = g.types["x"]


def input_and_constant(g: Graph) -> None:
    g.inputs.append("c")


def unknown_operator(g: Graph) -> None:
    g.nodes[1].op = "Rleu"


def unnamed_output(g: Graph) -> None:
    g.nodes[1].outputs = [""]


BREAKS: dict[Callable[[Graph], None], str] = {
    swap: "act .Relu.: reads 'a' before it is defined",
    define_twice: "add .Add.: defines 'x' a second time",
    wrong_type: r"act .Relu.: 'y' is typed float32\[3\], the rule says float32\[2\]",
    wrong_dtype: "'a' is typed int8",
    wrong_constant: r"constant c: is float32\[3\] but typed float32\[2\]",
    no_type: "a: has no type",
    no_output: "output nowhere: is not defined",
    stale_type: "ghost: has a type but no definition",
    input_and_constant: "c: is an input and a constant",
    unknown_operator: "did you mean 'Relu'",
    unnamed_output: "has an output without a name",
}


def test_a_good_graph_passes() -> None:
    verify(graph())


@pytest.mark.parametrize("damage", BREAKS, ids=lambda damage: damage.__name__)
def test_damage_is_found(damage: Callable[[Graph], None]) -> None:
    broken = graph()
    damage(broken)
    with pytest.raises(ModelError, match=BREAKS[damage]):
        verify(broken)


BODIES: dict[tuple[str, str], str] = {
    ('"add"\n    output', '"add"\n    %ghost: float32[2] = Neg(%lost) "neg"\n    output'): r"neg .Neg.: reads 'lost' before it is defined",
    ("input %state: float32[2]\n    input", "input %state: float32[3]\n    input"): r"add .Add.: .*do not broadcast",
    ("turns=12", "turns=0"): r"inner .Loop.: it has 0 turns",
    ("output %off\n    ", ""): r"inner .Loop.: its body has 1 outputs",
    ("%x: float32[9,2]\n  const", "%x: float32[8,2]\n  const"): r"outer .Loop.: x of its body is float32\[8,2\] instead of float32\[9,2\]",
    ("const %off: bool[] = false", "const %off: bool[1] = [false]"): r"inner .Loop.: off of its body is bool\[1\] instead of bool\[\]",
}


@pytest.mark.parametrize("damage", BODIES, ids=lambda damage: damage[0].strip()[:20])
def test_damage_in_and_around_a_body_is_found(damage: tuple[str, str]) -> None:
    verify(loads(LOOPS))
    assert damage[0] in LOOPS
    with pytest.raises(ModelError, match=BODIES[damage]):
        verify(loads(LOOPS.replace(*damage)))


def test_all_problems_are_listed() -> None:
    broken = graph()
    no_output(broken)
    stale_type(broken)
    with pytest.raises(ModelError) as caught:
        verify(broken)
    assert len(caught.value.problems) == 2
