"""Codes of 16 bits: every output bit against the evaluator, for both signs of activations, and what they are computed by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgec.frontend import from_proto
from edgec.ir.types import DType
from edgec.kernels import ConvFloat, ConvInt16, DepthwiseFloat, DepthwiseInt16
from edgec.passes import optimize
from edgec.program.program import LoopCall
from tests.contract.imported import HAND_MADE
from tests.lower.test_int8 import TARGETS, check, kernels
from tests.oracle.models import Builder


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("name", ["wide_u16", "wide_s16"])
def test_all_products_are_integers(name: str, target: Any) -> None:
    model, vectors = HAND_MADE[name]()
    graph = from_proto(model).graph
    optimize(graph)
    programs = [check(graph, vector, target) for vector in vectors]
    found = kernels(programs[0])
    assert (found.count(ConvInt16), found.count(DepthwiseInt16)) == (6, 2)
    assert not {ConvFloat, DepthwiseFloat} & set(found)


def test_codes_that_move_are_not_computed_anew() -> None:
    """A pair that has the parameters of the one before it gives back what it is given."""
    b = Builder()
    x = b.dequantize("x", 0.3, np.array(7, np.int16))
    turned = b.op("Transpose", x, perm=[1, 0])
    y = b.quantize(turned, 0.3, np.array(7, np.int16))
    codes = np.random.default_rng(1).integers(-(2**15), 2**15, (4, 5)).astype(np.int16)
    graph = from_proto(b.model({"x": codes}, {y: np.int16})).graph
    program = check(graph, {"x": codes}, TARGETS[0])
    (call,) = program.calls
    assert isinstance(call, LoopCall) and "f32" not in str(call.call.comment)
    assert {program.buffers[name].dtype for name in call.call.reads} == {DType.INT16}


@pytest.mark.parametrize(("scale", "zero"), [(2.0**-90, 65535), (0.1, 0), (1 / 3, 40000), (2.0**90, 1)])
def test_dequantized_codes_quantize_to_themselves(scale: float, zero: int) -> None:
    """Clause 15 says so of clauses 3 and 2, of each of the 65,536 codes."""
    codes = np.arange(2**16, dtype=np.int64)
    with np.errstate(over="ignore"):
        numbers = (codes - zero).astype(np.float32) * np.float32(scale)
        again = np.rint(numbers * (np.float32(1) / np.float32(scale)))
    assert np.array_equal(again.astype(np.int64) + zero, codes)
