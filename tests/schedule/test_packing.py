"""Packing: what lowering leaves plain gets the order of the kernel that reads it, and equal contents share memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgec.ir.types import DType
from edgec.kernels import ConvFloat, DepthwiseFloat
from edgec.program.arguments import Window
from edgec.program.expr import const
from edgec.program.memory import OutOfMemory
from edgec.program.program import Buffer, Call, Kind, Pointer, Program, TemplateCall
from edgec.program.text import dumps
from edgec.schedule import schedule
from edgec.targets import load_target

TARGET = load_target("portable")
PIXELS = Window(1, 4, 4, 20, 4, 4, 20, 1, 1, 1, 1, 1, 1, 0, 0)
WEIGHTS = np.arange(20, dtype=np.float32)


def at(name: str) -> Pointer:
    return Pointer(name, const(0))


def program(*arguments: ConvFloat | DepthwiseFloat, **constants: np.ndarray) -> Program:
    """Calls from x to y, both of 4 by 4 pixels of 20 channels."""
    buffers = {name: Buffer(name, DType.FLOAT32, const(320), Kind.ARENA) for name in ("x", "y")}
    buffers |= {name: Buffer(name, DType.of(data), const(data.size), Kind.CONSTANT, data=data) for name, data in constants.items()}
    reads = [("x", item.weights.buffer, item.bias.buffer) for item in arguments]
    calls = [TemplateCall(Call(f"call{n}", (), (), reads[n], ("y",), 0), item) for n, item in enumerate(arguments)]
    return Program("p", "portable", buffers=buffers, calls=list(calls))


def depthwise(weights: str, bias: str) -> DepthwiseFloat:
    return DepthwiseFloat(PIXELS, at("x"), at(weights), at(bias), at("y"), 20, 0.0, 1.0)


def dense(weights: str, bias: str) -> ConvFloat:
    """20 groups of one channel each."""
    return ConvFloat(PIXELS, at("x"), at(weights), at(bias), at("y"), None, 0, 20, 1, 1, 0.0, 1.0)


def test_weights_get_the_order_that_the_variant_reads() -> None:
    done = schedule(program(depthwise("w", "b"), w=WEIGHTS, b=WEIGHTS + 1), TARGET)
    assert np.array_equal(done.buffers["w"].data[:20], WEIGHTS) and done.buffers["w"].data.size == 32
    assert "kernel call0 = depthwise_float  items 4  scratch 0  weights blocks of 16" in dumps(done)


def test_a_buffer_packed_in_two_orders_becomes_two_and_equal_ones_share_one() -> None:
    zeros = {f"zeros{size}": np.zeros(size, np.float32) for size in (19, 20)}
    two = program(depthwise("w", "zeros20"), dense("w", "w"), w=WEIGHTS, **zeros)
    done = schedule(two, TARGET)
    assert [call.call.reads for call in done.calls] == [("x", "w", "zeros20"), ("x", "w_2")]
    assert {name: buffer.data.size for name, buffer in done.buffers.items() if buffer.data is not None} == {
        "w": 32, "w_2": 320, "zeros19": 19, "zeros20": 32,
    }  # fmt: skip
    alike = schedule(program(depthwise("w", "zeros20"), depthwise("w", "same"), w=WEIGHTS, **zeros, same=np.zeros(20, np.float32)), TARGET)
    assert [call.call.reads for call in alike.calls] == [("x", "w", "zeros20")] * 2 and "same" not in alike.buffers


def test_what_is_scheduled_keeps_to_its_memory() -> None:
    short = program(depthwise("w", "b"), w=WEIGHTS, b=WEIGHTS)
    short.buffers["x"] = replace(short.buffers["x"], size=const(319))
    with pytest.raises(OutOfMemory, match="depthwise_float reaches outside of x"):
        schedule(short, TARGET)
