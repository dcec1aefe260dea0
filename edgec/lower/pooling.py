"""Pools: the pool kernels; windows over whole images are reductions, see reduction.py."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.integer.grid import EIGHT_BIT
from edgec.integer.operators import Mean
from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.kernels import PoolAverageFloat, PoolAverageInt8, PoolMaxFloat, PoolMaxInt8
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.coding import Parameters, coded_form, limits
from edgec.lower.comment import quantization, tensor
from edgec.lower.convolution import labelled
from edgec.lower.indexed_pool import indexed_max_pool
from edgec.lower.placed import Placed, placed_operand, placed_result
from edgec.lower.product import image, pair
from edgec.lower.quantized import as_numbers, as_onnx, codes_of, ending, finish, params_of
from edgec.lower.reduction import average_whole, mean, reduce_node
from edgec.lower.values import Value, elements, fixed
from edgec.program.arguments import Window

WHOLE_IMAGE_TAPS = 64  # a window of more taps that gives one pixel is a reduction: pool kernels keep a pointer per tap


@dataclass(frozen=True)
class Pool:
    """One pool's geometry; rank 1 is a window of height 1."""

    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    begins: tuple[int, int]
    ends: tuple[int, int]
    count_include_pad: int

    @property
    def taps(self) -> int:
        return self.kernel[0] * self.kernel[1]


def describe_pool(lowering: Lowering, node: Node) -> Pool:
    attributes = node.attributes
    rank = len(attributes["kernel_shape"])
    if rank > 2:
        raise Unsupported(f"{node.op} over {rank} spatial axes", "one or two are supported")
    pads = attributes["pads"]
    return Pool(
        pair(attributes["kernel_shape"], 1), pair(attributes["strides"], 1), pair(attributes.get("dilations", [1] * rank), 1),
        pair(pads[:rank], 0), pair(pads[rank:], 0), int(attributes.get("count_include_pad", 0)),
    )  # fmt: skip


def max_pool(lowering: Lowering, node: Node) -> None:
    """The largest pixel of each window; of codes it is the largest code."""
    if any(node.outputs[1:]):
        indexed_max_pool(lowering, node)
        return
    pool, value = describe_pool(lowering, node), lowering.value(node.inputs[0])
    grid, name = lowering.matched.grids.get(node.inputs[0]), node.outputs[0]
    if (grid is not None and grid.bits == 8) or value.dtype in EIGHT_BIT:
        codes = _largest_codes(lowering, node, pool, value)
        lowering.define(name, as_numbers(codes, params_of(lowering, grid)) if grid else as_onnx(lowering, codes, value.dtype))
        return
    if value.dtype != DType.FLOAT32:
        raise Unsupported(f"MaxPool of {value.dtype.value}", "float32 and 8-bit types are supported")
    x, y, window = _frame(lowering, node, pool, value, node.outputs[0])
    lowering.template(
        PoolMaxFloat(window, x[1].view.pointer, y[1].view.pointer, fixed(x[0].shape[1])),
        node.outputs[0], labelled(y[0], [node]), 0, tensor(x[0].dtype, x[0].shape),
    )  # fmt: skip
    lowering.define(node.outputs[0], y[0])


def _largest_codes(lowering: Lowering, node: Node, pool: Pool, value: Value) -> Value:
    x, y, window = _frame(lowering, node, pool, coded_form(value, lowering.activation), node.outputs[0])
    arguments = PoolMaxInt8(window, x[1].view.pointer, y[1].view.pointer, fixed(x[0].shape[1]), *limits(lowering.activation))
    lowering.template(arguments, node.outputs[0], labelled(y[0], [node]), 0, tensor(x[0].dtype, x[0].shape))
    return y[0]


def average_pool(lowering: Lowering, node: Node) -> None:
    """The mean of each window of floats."""
    pool, value = describe_pool(lowering, node), lowering.value(node.inputs[0])
    if _whole(lowering, node, pool, value):
        global_average(lowering, node)
        return
    x, y, window = _frame(lowering, node, pool, value, node.outputs[0])
    arguments = PoolAverageFloat(window, x[1].view.pointer, y[1].view.pointer, fixed(x[0].shape[1]), pool.count_include_pad, *pool.ends)
    lowering.template(arguments, node.outputs[0], labelled(y[0], [node]), 0, tensor(x[0].dtype, x[0].shape))
    lowering.define(node.outputs[0], y[0])


def global_average(lowering: Lowering, node: Node) -> None:
    """The mean over the spatial axes."""
    mean(lowering, node, tuple(range(2, lowering.value(node.inputs[0]).rank)))


def global_max(lowering: Lowering, node: Node) -> None:
    """Of codes one window that is the whole image."""
    value = lowering.value(node.inputs[0])
    operator = lowering.matched.at.get(node)
    if operator is not None:
        whole = Pool(pair([fixed(extent) for extent in value.shape[2:]], 1), (1, 1), (1, 1), (0, 0), (0, 0), 0)
        codes = _largest_codes(lowering, node, whole, value)
        lowering.define(node.outputs[0], as_numbers(codes, params_of(lowering, operator.operands[0].grid)))
        return
    reduce_node(lowering, node, "ReduceMax", tuple(range(2, value.rank)))


def _whole(lowering: Lowering, node: Node, pool: Pool, value: Value) -> bool:
    """Whether one large window is the whole image."""
    large = elements(lowering.shape(node.outputs[0])[2:]) == 1 and pool.taps > WHOLE_IMAGE_TAPS and not any(pool.begins + pool.ends)
    return large and pool.taps == elements(value.shape[2:])


def average_codes(lowering: Lowering, operator: Mean) -> None:
    """Clause 8."""
    node, (operand,), tail = operator.node, operator.operands, operator.end
    pool = describe_pool(lowering, node) if node.op == "AveragePool" else None
    codes = codes_of(lowering, operand)
    if pool is None or _whole(lowering, node, pool, codes):
        average_whole(lowering, operator)
        return
    source, end = params_of(lowering, operand.grid), ending(lowering, tail)
    x, y, window = _frame(lowering, node, pool, codes, tail.name)
    scale = lowering.pointer(f"{tail.name}_scale", _scales(operator.factor, pool.taps))
    arguments = PoolAverageInt8(
        window, x[1].view.pointer, scale, y[1].view.pointer, fixed(x[0].shape[1]), pool.count_include_pad, *pool.ends,
        source.zero, end.params.zero, end.low, end.high,
    )  # fmt: skip
    about, line = labelled(y[0], operator.nodes), (_line(source, end.params),)
    lowering.template(arguments, tail.name, about, 0, tensor(x[0].dtype, x[0].shape), line)
    finish(lowering, tail, y[0])


def _line(source: Parameters, result: Parameters) -> str:
    return f"{quantization('x', float(source.scale), source.zero)}   {quantization('y', float(result.scale), result.zero)}"


def _scales(factor: np.float32, taps: int) -> np.ndarray:
    """fl32(factor / n) by the number of pixels counted; no window counts none, so entry 0 is a filler."""
    counts = np.maximum(np.arange(taps + 1), 1).astype(np.float32)
    return (np.float32(factor) / counts).astype(np.float32)


def _frame(lowering: Lowering, node: Node, pool: Pool, value: Value, name: str) -> tuple[Placed, Placed, Window]:
    """Operand and result as channels-last pixels, and the window between them."""
    shape = lowering.shape(node.outputs[0])
    x, source = placed_operand(lowering, node.inputs[0], value)
    y, target = placed_result(lowering, name, value.dtype, shape)
    window = Window(x.shape[0], *image(x.shape), source.stride, *image(shape), target.stride,
                    *pool.kernel, *pool.strides, *pool.dilations, *pool.begins)  # fmt: skip
    return (x, source), (y, target), window
