"""Which layers of halves are known to stay in their range: those behind bounded results, of weights that are not too large."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from edgec.kernels.halves import LARGEST
from edgec.program.program import Program, TemplateCall
from edgec.schedule.halves import with_halves
from tests.schedule.test_halves import conv, lowered, model

SIZES = {"small": 0.5, "large": 900.0}  # of each weight: the sums of 8 inputs of at most 6 go to 24 and 43200, without what rounding adds


def layers(*, weights: str, bounded: bool = True, beside: bool = False, deep: bool = False) -> Program:
    """A first layer, bounded or not, a second one of such weights, the first's result `beside` it or not, and a third one."""
    taps = {name: np.full((1 if deep and name == "v" else 8, 1 if deep else 8, 1, 1), size) for name, size in SIZES.items()}
    constants = {
        "w": np.full((8, 8, 1, 1), 0.5),
        "v": np.broadcast_to(taps[weights], (8, *taps[weights].shape[1:])),
        "u": np.full((8, 8, 1, 1), 0.5),
    }
    nodes = [
        conv("x", "a", "w"),
        helper.make_node("Clip", ["a", "low", "high"], ["b"], "b") if bounded else helper.make_node("Relu", ["a"], ["b"], "b"),
        conv("b", "c", "v", **({"group": 8} if deep else {})),
        *([helper.make_node("Add", ["c", "b"], ["d"], "d")] if beside else []),
        conv("d" if beside else "c", "e", "u"),
        helper.make_node("Softmax", ["e"], ["y"], "y"),
    ]
    limits = {"low": np.float32(0), "high": np.float32(6)} if bounded else {}
    return with_halves(lowered(model(nodes, [1, 8, 8, 8], {**constants, **limits}, "y")))


def sure(program: Program) -> list[int]:
    return [call.arguments.sure for call in program.calls if isinstance(call, TemplateCall) and hasattr(call.arguments, "sure")]


@pytest.mark.parametrize("deep", [False, True])
def test_layers_behind_a_bounded_result(deep: bool) -> None:
    """Of the first one's inputs nothing is known."""
    assert sure(layers(weights="small", deep=deep)) == [0, 1, 1]


def test_layers_behind_any_result() -> None:
    assert sure(layers(weights="small", bounded=False)) == [0, 0, 0]


def test_large_weights() -> None:
    """Sums that stay in the range, and then no longer."""
    assert sure(layers(weights="large")) == [0, 1, 0]
    assert 8 * 6 * SIZES["large"] < LARGEST < 8 * 8 * 6 * SIZES["large"] * 0.5


def test_a_result_counts_what_is_added_to_it() -> None:
    assert sure(layers(weights="small", beside=True)) == [0, 1, 1]
    assert sure(layers(weights="large", beside=True)) == [0, 1, 0]
