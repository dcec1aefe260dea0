"""A layer is a constant of the emitted C: only where its data lies, and sizes that a caller gives, are known when it runs."""

from __future__ import annotations

import re

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec.emit import emit_sources
from edgec.frontend import from_proto
from edgec.ir.types import Symbol
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.passes import optimize
from edgec.schedule import schedule
from edgec.targets import load_target


def source(batch: int | Symbol) -> str:
    """src/net.c of a convolution and a pool over a batch."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["c"], ["y"], name="second", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    shapes = {"x": ["N", 3, 8, 8], "y": ["N", 5, 4, 4]}
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items())
    kernel = numpy_helper.from_array(np.ones((5, 3, 3, 3), np.float32), "w")
    proto = helper.make_model(helper.make_graph([*nodes], "net", [x], [y], [kernel]), opset_imports=[helper.make_opsetid("", 17)])
    graph = from_proto(proto, {"x": (batch, 3, 8, 8)}).graph
    optimize(graph)
    target = load_target("portable")
    program = lower(graph, target, "net")
    program = schedule(program, target)
    plan(program)
    return emit_sources(program, target).files["src/net.c"].decode()


@pytest.mark.parametrize(("batch", "words"), [(2, "static const"), (Symbol("N", 4), "const")])
def test_layers_are_constants_and_filled_by_nobody(batch: int | Symbol, words: str) -> None:
    text = source(batch)
    assert re.findall(r"^    ([\w ]*)struct net_(\w+) layer = \{$", text, re.MULTILINE) == [
        (f"{words} ", "conv_float"),
        (f"{words} ", "pool_max_float"),
    ]
    steps = re.findall(r"^static void step_.*?^}$", text, re.MULTILINE | re.DOTALL)
    assert not [line for step in steps for line in step.splitlines() if re.match(r"\s*\w+\.\w+ = ", line)]
    assert f"            {'N' if words == 'const' else 2}, 8, 8, 3, /* batch, in_height, in_width, in_pixel_stride */" in text
