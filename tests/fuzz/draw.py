"""What mutations share: drawing from lists of nasty values, and finding a place in a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, defs

from edgec.ops import OPERATORS

Generator = np.random.Generator
Mutation = Callable[[onnx.ModelProto, Generator], None]

SMALL = (-3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 8)
INTS = (*SMALL, 100, 1000, 65536, 10**6, 2**31 - 1, 2**31, 2**32, -(2**31), -(2**31) - 1, 2**62, -(2**62), 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-7, 1e-45, 3.4028235e38, -3.4028235e38, 1e20, 2.0**31, np.inf, -np.inf, np.nan)
STRINGS = (
    "", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "constant", "reflect", "edge", "wrap", "nearest", "linear", "cubic", "floor", "ceil",
    "align_corners", "asymmetric", "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize", "DCR", "CRD", "tanh",
    "none", "not_larger", "round_prefer_ceil", "nonsense", "x" * 3000, "\0", "a b", "日本", "*/ #error", "%s%n", "../../../etc/passwd",
)  # fmt: skip
NAMES = (
    "", " ", "x", "int", "main", "NULL", "a b", "a\nb", "a\0b", '"', "'", "\\", "*/", "/*", "//", "??/", "%d%n", "{{ 7 * 7 }}", "{% raw %}",
    "../../x", "/etc/passwd", "CON", "é", "日本語", "\u202eabc", "\x1b[31m", "n" * 5000, "1", "-", "a.b", "a/b", "$(id)", "<script>",
)  # fmt: skip
TYPES = tuple(TensorProto.DataType.values())
COMMON = (
    TensorProto.FLOAT,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.INT8,
    TensorProto.UINT8,
    TensorProto.BOOL,
    TensorProto.FLOAT16,
)


def pick(g: Generator, choices: Iterable[Any]) -> Any:
    """One of them; Skip when there are none."""
    known = choices if isinstance(choices, Sequence) else list(choices)
    if not len(known):
        raise Skip
    return known[int(g.integers(len(known)))]


class Skip(Exception):
    """The model has nothing that this mutation changes."""


# What a model holds


def graphs(model: onnx.ModelProto) -> list[onnx.GraphProto]:
    """The model's graph and all branches."""
    found, stack = [], [model.graph]
    while stack:
        graph = stack.pop()
        found.append(graph)
        stack += [item.g for node in graph.node for item in node.attribute if item.HasField("g")]
    return found


def nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for graph in graphs(model) for node in graph.node] + [node for item in model.functions for node in item.node]


def attributes(model: onnx.ModelProto) -> list[AttributeProto]:
    return [item for node in nodes(model) for item in node.attribute]


def initializers(model: onnx.ModelProto) -> list[TensorProto]:
    return [tensor for graph in graphs(model) for tensor in graph.initializer] + [
        item.t for item in attributes(model) if item.HasField("t")
    ]


def values(model: onnx.ModelProto) -> list[str]:
    """Names of all values of the main graph."""
    graph = model.graph
    names = [item.name for item in (*graph.input, *graph.initializer)] + [name for node in graph.node for name in node.output]
    return list(dict.fromkeys(name for name in names if name))


@cache
def operators() -> tuple[str, ...]:
    return (*sorted(OPERATORS), *sorted({schema.name for schema in defs.get_all_schemas()}))


def integer(g: Generator) -> int:
    return int(pick(g, SMALL if g.random() < 0.5 else INTS))
