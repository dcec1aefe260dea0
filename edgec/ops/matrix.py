"""Convolutions and matrix products."""

from __future__ import annotations

from edgec.ir.types import Dim, TensorType
from edgec.ops.registry import Call, Role, operator
from edgec.ops.rules import attribute, broadcast, fixed, need, refuse, text, typed


def window_extent(extent: int, kernel: int, stride: int, dilation: int, padding: int, ceil: bool = False, before: int = 0) -> int:
    """Number of window positions; with `ceil` a last partial window counts when it starts inside image plus leading padding."""
    room = extent + padding - (dilation * (kernel - 1) + 1)
    if room < 0 and not ceil:
        raise refuse(f"a window of {dilation * (kernel - 1) + 1} does not fit into {extent} + {padding} of padding")
    positions = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (positions - 1) * stride >= extent + before:
        positions -= 1
    return positions


def spatial(call: Call) -> list[int]:
    return [fixed(extent, "a spatial extent") for extent in call.shape(0)[2:]]


def _check_weights(call: Call, inputs: Dim, outputs: int) -> None:
    weight = call.shape(1)
    need(len(weight) == len(call.shape(0)) >= 3, f"weights {text(weight)} do not fit the rank of {text(call.shape(0))}")
    need(call.dtype(0) == call.dtype(1), f"data is {call.dtype(0).value} but weights are {call.dtype(1).value}")
    channels = call.shape(0)[1]
    need(channels == inputs, f"{channels} channels of data against weights {text(weight)} for {inputs}, group {attribute(call, 'group')}")
    need(list(weight[2:]) == list(attribute(call, "kernel_shape")), f"kernel_shape differs from the weights {text(weight)}")
    if call.has(2):
        need(call.shape(2) == (outputs,), f"bias {text(call.shape(2))} does not fit {outputs} output channels")


def _conv(call: Call) -> list[TensorType]:
    group, weight = attribute(call, "group"), call.shape(1)
    outputs = fixed(weight[0], "output channels")
    _check_weights(call, fixed(weight[1], "input channels") * group, outputs)
    need(outputs % group == 0, f"{outputs} output channels are not a multiple of group {group}")
    pads, extents = attribute(call, "pads"), spatial(call)
    rank = len(extents)
    result = [
        window_extent(extents[d], attribute(call, "kernel_shape")[d], attribute(call, "strides")[d],
                      attribute(call, "dilations")[d], pads[d] + pads[d + rank])
        for d in range(rank)
    ]  # fmt: skip
    return typed(call.dtype(), [call.shape(0)[0], outputs, *result])


def _conv_transpose(call: Call) -> list[TensorType]:
    group, weight = attribute(call, "group"), call.shape(1)
    inputs, outputs = fixed(weight[0], "input channels"), fixed(weight[1], "output channels") * group
    _check_weights(call, inputs, outputs)
    need(inputs % group == 0, f"{inputs} input channels are not a multiple of group {group}")
    pads, extents = attribute(call, "pads"), spatial(call)
    rank = len(extents)
    result = [
        (extents[d] - 1) * attribute(call, "strides")[d] + attribute(call, "output_padding")[d]
        + (attribute(call, "kernel_shape")[d] - 1) * attribute(call, "dilations")[d] + 1 - pads[d] - pads[d + rank]
        for d in range(rank)
    ]  # fmt: skip
    need(min(result) > 0, f"the padding leaves nothing: {result}")
    return typed(call.dtype(), [call.shape(0)[0], outputs, *result])


def _gemm(call: Call) -> list[TensorType]:
    a, b = call.shape(0), call.shape(1)
    need(len(a) == len(b) == 2, f"needs two matrices, not {text(a)} and {text(b)}")
    m, k = a[::-1] if attribute(call, "transA") else a
    k2, n = b[::-1] if attribute(call, "transB") else b
    need(k == k2, f"inner extents differ: {text(a)} and {text(b)}")
    if call.has(2):
        need(broadcast([call.shape(2), (m, n)]) == (m, n), f"bias {text(call.shape(2))} does not broadcast to {text((m, n))}")
    return typed(call.dtype(), (m, n))


def _matmul(call: Call) -> list[TensorType]:
    """NumPy's matmul: vectors gain an axis that the result loses, leading axes broadcast."""
    a, b = call.shape(0), call.shape(1)
    need(bool(a) and bool(b), "needs at least one axis on each side")
    need(call.dtype(0) == call.dtype(1), f"operands of different types: {call.dtype(0).value} and {call.dtype(1).value}")
    left, right = a if len(a) > 1 else (1, *a), b if len(b) > 1 else (*b, 1)
    need(left[-1] == right[-2], f"inner extents differ: {text(a)} and {text(b)}")
    shape = list(broadcast([left[:-2], right[:-2]])) if len(left) > 2 or len(right) > 2 else []
    return typed(call.dtype(), [*shape, *([left[-2]] if len(a) > 1 else []), *([right[-1]] if len(b) > 1 else [])])


operator("Conv", _conv, role=Role.MATRIX)
operator("ConvTranspose", _conv_transpose, role=Role.MATRIX)
operator("Gemm", _gemm, role=Role.MATRIX)
operator("MatMul", _matmul, role=Role.MATRIX)
