"""Random float graphs of a few operators: values with many readers, many outputs, constants; ONNX Runtime says what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from edgec.export import to_onnx
from edgec.ir.graph import Graph
from edgec.ir.types import DType, TensorType
from tests.operators.case import Case
from tests.passes import compare, random_graphs
from tests.passes.random_graphs import STEPS, Generator, add, constant, integers

RELATIVE = 3e-5  # of the largest number in any output: what many operators in another order may differ by


def _window(graph: Graph, x: str, g: Generator) -> list[str] | None:
    """Convolutions, grouped and dilated and transposed, of two spatial axes."""
    shape = graph.types[x].static_shape
    if len(shape) != 4 or min(shape[2:]) < 3:
        return None
    channels = shape[1]
    pads, strides = g.integers(0, 2, 4).tolist(), g.integers(1, 3, 2).tolist()
    common = {"kernel_shape": [3, 2], "strides": strides, "pads": pads, "dilations": [1, 1]}
    if g.random() < 0.4:
        weights = constant(graph, g, channels, int(g.integers(1, 5)), 3, 2)
        return add(graph, "ConvTranspose", [x, weights], **common, group=1, output_padding=[0, 0])
    if g.random() < 0.6:  # depthwise, one or two outputs for each channel
        outputs = channels * int(g.integers(1, 3))
        return add(graph, "Conv", [x, constant(graph, g, outputs, 1, 3, 2), constant(graph, g, outputs)], **common, group=channels)
    return add(graph, "Conv", [x, constant(graph, g, 5, channels, 3, 2)], **common, group=1)


# Floor and the like are left out: where their operand is rounded otherwise, they differ by one
FUNCTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Elu", {"alpha": 0.7}), ("LeakyRelu", {"alpha": 0.2}), ("HardSigmoid", {}), ("Erf", {}), ("Softplus", {}), ("Gelu", {}),
    ("HardSwish", {}), ("Softsign", {}), ("Mish", {}),
)  # fmt: skip


def _function(graph: Graph, x: str, g: Generator) -> list[str]:
    op, attributes = FUNCTIONS[int(g.integers(len(FUNCTIONS)))]
    return add(graph, op, [x], **attributes)


def _negative_slice(graph: Graph, x: str, g: Generator) -> list[str]:
    axis = int(g.integers(len(graph.shape(x))))
    operands = [integers(graph, [number]) for number in (-1, -(2**40), axis, -int(g.integers(1, 3)))]
    return add(graph, "Slice", [x, *operands])


def _gather(graph: Graph, x: str, g: Generator) -> list[str]:
    axis = int(g.integers(len(graph.shape(x))))
    extent = graph.types[x].static_shape[axis]
    return add(graph, "Gather", [x, integers(graph, g.integers(-extent, extent, 3).tolist())], axis=axis)


def _broadcast(graph: Graph, x: str, g: Generator) -> list[str]:
    """x with its own mean or largest value along some axes."""
    axes = g.choice(len(graph.shape(x)), int(g.integers(1, len(graph.shape(x)) + 1)), replace=False).tolist()
    small = add(graph, str(g.choice(["ReduceMean", "ReduceMax", "ReduceMin"])), [x, integers(graph, axes)], keepdims=1)
    return [*small, *add(graph, str(g.choice(["Sub", "Add", "Mul", "Min"])), [x, *small])]


def _choose(graph: Graph, x: str, g: Generator) -> list[str]:
    zero = graph.add_constant("z", np.float32(0.25))
    return add(graph, "Where", [*add(graph, str(g.choice(["Greater", "LessOrEqual"])), [x, zero]), x, constant(graph, g, 1)])


def _norm(graph: Graph, x: str, g: Generator) -> list[str]:
    extent = graph.types[x].static_shape[-1]
    operands = [x, constant(graph, g, extent), constant(graph, g, extent)]
    return add(graph, "LayerNormalization", operands, axis=-1, epsilon=1e-2)


def _enlarge(graph: Graph, x: str, g: Generator) -> list[str] | None:
    if len(graph.shape(x)) != 4:
        return None
    scales = graph.add_constant("s", np.array([1, 1, 2, g.choice([1.0, 2.0, 1.5])], np.float32))
    mode = str(g.choice(["nearest", "linear"]))
    return add(graph, "Resize", [x, "", scales], mode=mode, coordinate_transformation_mode=str(g.choice(["half_pixel", "asymmetric"])))


MORE: tuple[Callable[[Graph, str, Generator], list[str] | None], ...] = (
    _window, _window, _window, _function, _function, _negative_slice, _gather, _broadcast, _broadcast, _choose, _norm, _enlarge,
)  # fmt: skip


def float_case(seed: int) -> Case:
    """Three to eight operators; the inputs hold zeros and large numbers."""
    g = np.random.default_rng(seed)
    graph = Graph("random", ["x"], types={"x": TensorType(DType.FLOAT32, _shape(g))})
    values = ["x"]
    steps = (*STEPS, *MORE)
    for _ in range(int(g.integers(3, 9))):
        x = values[-1 - min(int(g.geometric(0.6)) - 1, len(values) - 1)]
        found = steps[int(g.integers(len(steps)))](graph, x, g) or []
        values += [name for name in found if 0 < graph.types[name].elements <= 20000 and graph.dtype(name) is DType.FLOAT32]
    unread = [name for node in graph.nodes for name in node.outputs if not graph.reader_count(name)]
    graph.outputs = list(dict.fromkeys([*unread, *values[1::4]])) or random_graphs.add(graph, "Relu", ["x"])
    inputs: dict[str, Any] = {"x": compare.random_array(graph.types["x"], g)}
    expected = compare.run(graph, inputs)
    largest = max((np.abs(array[np.isfinite(array)]).max(initial=0) for array in expected), default=0)
    return Case(f"float seed {seed}", "float graph", to_onnx(graph), inputs, expected, 1e-3, RELATIVE * float(largest) + 1e-6)


def _shape(g: Generator) -> tuple[int, ...]:
    shapes = ((1, 4, 5, 6), (2, 3, 7, 5), (1, 17, 3, 4), (3, 6, 8), (5, 9), (1, 8, 6, 6))
    return shapes[int(g.integers(len(shapes)))]
