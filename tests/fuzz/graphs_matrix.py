"""Drawers of convolutions, matrix products, pools, reductions and normalizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.fuzz.graphs_draft import FLOAT, Draft
from tests.fuzz.graphs_move import listed
from tests.fuzz.graphs_pointwise import Drawer


def weights(d: Draft, *shape: int) -> str:
    return d.const(d.g.standard_normal(shape) * d.pick(0.1, 0.5, 1.0), FLOAT)


def window(d: Draft, kernel: Sequence[int], extents: Sequence[int], dilated: bool = True) -> dict[str, Any]:
    """Strides, dilations and padding under which the kernel fits; attributes left out now and then."""
    rank = len(kernel)
    found: dict[str, Any] = {}
    reach = list(kernel)
    if dilated and d.chance(0.3):
        dilations = [d.number(1, 2) if (k - 1) * 2 + 1 <= extent else 1 for k, extent in zip(kernel, extents, strict=True)]
        found["dilations"], reach = dilations, [(k - 1) * n + 1 for k, n in zip(kernel, dilations, strict=True)]
    if d.chance(0.5):
        found["strides"] = [d.number(1, 3) for _ in range(rank)]
    if d.chance(0.3) and "dilations" not in found:
        # steps beyond the kernel may leave a row out: a convolution the last one, ONNX Runtime's AveragePool another, its MaxPool refuses
        whole = all(k >= stride for k, stride in zip(kernel, found.get("strides", [1] * rank), strict=True))
        found["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER", "VALID") if whole else "VALID"
    elif d.chance(0.6):
        found["pads"] = [d.number(0, max(0, min(k - 1, 2))) for k in (*reach, *reach)]
    return found


def spatial(d: Draft, groups: int = 1, least: int = 1) -> str:
    def make() -> tuple[int, ...]:
        image = (d.number(least, 8) for _ in range(d.pick(1, 2, 2, 3)))
        return (d.pick(1, 1, 2), groups * d.pick(1, 2, 3, 5, 17), *image)

    return d.data((FLOAT,), 3, 5, where=lambda shape: shape[1] % groups == 0 and min(shape[2:]) >= least, make=make, constant=0.02)


def conv(d: Draft, op: str, **more: Any) -> None:
    groups = d.pick(1, 1, 1, 2, 3)
    x = spatial(d, groups)
    channels, extents = d.shape(x)[1], d.shape(x)[2:]
    groups = channels if d.chance(0.2) else groups
    outputs = groups * d.pick(1, 1, 2, 3, 16)
    kernel = [d.number(1, min(4, extent)) for extent in extents]
    named = {"kernel_shape": kernel} if d.chance(0.5) else {}
    operands = [x, weights(d, outputs, channels // groups, *kernel), *((weights(d, outputs),) if d.chance(0.5) else ())]
    d.op(op, *operands, group=groups, **named, **window(d, kernel, extents), **more)


def conv_transpose(d: Draft, op: str) -> None:
    groups = d.pick(1, 1, 2)
    x = spatial(d, groups)
    channels, extents = d.shape(x)[1], d.shape(x)[2:]
    kernel = [d.number(1, 4) for _ in extents]
    attributes: dict[str, Any] = {"strides": [d.number(1, 3) for _ in kernel], "dilations": [d.pick(1, 1, 2) for _ in kernel]}
    if d.chance(0.4):
        attributes["pads"] = [d.number(0, min(1, k - 1)) for k in (*kernel, *kernel)]
    elif d.chance(0.3) and all(k >= stride for k, stride in zip(kernel, attributes["strides"], strict=True)):
        # with a smaller kernel ONNX promises extent * stride, and ONNX Runtime gives less
        attributes["auto_pad"], attributes["dilations"] = d.pick("SAME_UPPER", "SAME_LOWER", "VALID"), [1] * len(kernel)
    if not attributes.get("auto_pad", "").startswith("SAME") and d.chance(0.3):  # ONNX's shape inference adds it to extent * stride
        attributes["output_padding"] = [d.number(0, stride - 1) for stride in attributes["strides"]]
    outputs = d.number(1, 3)
    operands = [x, weights(d, channels, outputs, *kernel), *((weights(d, outputs * groups),) if d.chance(0.5) else ())]
    d.op(op, *operands, group=groups, **attributes)


def matmul(d: Draft, op: str) -> None:
    """By vectors, matrices and stacks, constant or not, on either side."""
    x = d.data((FLOAT,), 1, 4)
    inner, rank = d.shape(x)[-1], d.pick(1, 2, 2, 2, 3)
    shape = (
        (inner,) if rank == 1 else (*(1 if d.chance(0.5) else n for n in d.shape(x)[-3:-2] if rank == 3), inner, d.pick(1, 2, 5, 16, 17))
    )
    y = weights(d, *shape) if d.chance(0.7) else d.input(FLOAT, shape)
    if d.chance(0.2):
        left = (d.number(1, 4), d.shape(x)[-2]) if d.rank(x) > 1 else (d.number(1, 4), inner)
        d.op(op, weights(d, *left), x)
        return
    d.op(op, x, y)


def gemm(d: Draft, op: str, **more: Any) -> None:
    x = d.data((FLOAT,), 2, 2)
    a, b = d.number(0, 1), d.number(0, 1)
    (m, k), n = d.shape(x)[::-1] if a else d.shape(x), d.pick(1, 2, 5, 16, 33)
    w = weights(d, *((n, k) if b else (k, n))) if d.chance(0.8) else d.input(FLOAT, (n, k) if b else (k, n))
    c = d.pick((n,), (n,), (1, n), (m, 1), (m, n), (), (1,))
    bias = [weights(d, *c) if d.chance(0.8) else d.input(FLOAT, c)] if d.opset < 11 or d.chance(0.6) else []
    scales = {"alpha": d.pick(1.0, 0.5, -2.0), "beta": d.pick(1.0, 0.25, -1.0)} if d.chance(0.4) else {}
    d.op(op, x, w, *bias, transA=a, transB=b, **scales, **more)


def pool(d: Draft, op: str) -> None:
    x = spatial(d)
    extents = d.shape(x)[2:]
    kernel = [d.number(1, min(4, extent)) for extent in extents]
    attributes = window(d, kernel, extents, dilated=d.opset >= (10 if op == "MaxPool" else 19))
    # steps beyond the kernel: ONNX Runtime infers a partial window more than it computes
    whole = all(k >= stride for k, stride in zip(kernel, attributes.get("strides", kernel), strict=True))
    attributes |= {"ceil_mode": d.number(0, 1) * whole} if d.opset >= 10 else {}
    attributes |= {"count_include_pad": d.number(0, 1)} if op == "AveragePool" else {}
    d.op(op, x, kernel_shape=kernel, **attributes)


def global_pool(d: Draft, op: str) -> None:
    d.op(op, spatial(d))


def reduction(d: Draft, op: str) -> None:
    whole = op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd") and d.chance(0.2)
    x = d.data((np.int32, np.int64) if whole else (FLOAT,), 0 if d.opset >= 18 else 1)
    rank = d.rank(x)
    axes = [int(axis) for axis in d.g.permutation(rank)[: d.number(0, rank)]]
    if d.opset >= 11:
        axes = [axis - rank if d.chance(0.3) else axis for axis in axes]
    version = 13 if op == "ReduceSum" else 18
    operands, attributes = listed(d, axes, "axes", version) if axes else ((), {})
    empty = {"noop_with_empty_axes": d.number(0, 1)} if d.opset >= version and d.chance(0.3) else {}
    d.op(op, x, *operands, keepdims=d.number(0, 1), **attributes, **empty)


def argument(d: Draft, op: str) -> None:
    x = d.data((FLOAT,) if d.chance(0.7) else (np.int32, np.uint8, np.int8), 1)
    last = {"select_last_index": d.number(0, 1)} if d.opset >= 12 else {}
    axis = d.axis(x) if d.opset >= 11 else d.number(0, d.rank(x) - 1)
    d.op(op, x, axis=axis, keepdims=d.number(0, 1), **last)


def softmax(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 1)
    d.op(op, x, **({"axis": d.axis(x) if d.opset >= 11 else d.number(0, d.rank(x) - 1)} if d.chance(0.7) else {}))


def batch_norm(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 2, 4)
    c = d.shape(x)[1]
    variance = d.const(d.g.uniform(0.3, 2, c), FLOAT)
    d.op(op, x, d.numbers((c,)), weights(d, c), weights(d, c), variance, **({"epsilon": d.pick(1e-5, 1e-3)} if d.chance(0.5) else {}))


def instance_norm(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 3, 4, make=lambda: (d.number(1, 2), d.number(1, 5), *d.extents(1, 2)))
    d.op(op, x, d.numbers(d.shape(x)[1:2]), weights(d, d.shape(x)[1]), epsilon=d.pick(1e-5, 1e-2))


def layer_norm(d: Draft, op: str) -> None:
    d.since(17)
    x = d.data((FLOAT,), 1, 4)
    axis = d.axis(x)
    shape = d.shape(x)[axis:]
    d.op(op, x, d.numbers(shape), *((weights(d, *shape),) if d.chance(0.6) else ()), axis=axis, epsilon=d.pick(1e-5, 1e-3))


def rms_norm(d: Draft, op: str) -> None:
    d.since(23)
    x = d.data((FLOAT,), 1, 4)
    axis = d.axis(x)
    d.op(op, x, d.numbers(d.shape(x)[axis:]), axis=axis, epsilon=d.pick(1e-5, 1e-3))


def group_norm(d: Draft, op: str) -> None:
    d.since(21)
    groups = d.number(1, 3)
    x = d.data((FLOAT,), 3, 4, where=lambda s: s[1] % groups == 0, make=lambda: (d.number(1, 2), groups * d.number(1, 4), *d.extents(1, 2)))
    d.op(op, x, d.numbers(d.shape(x)[1:2]), weights(d, d.shape(x)[1]), num_groups=groups)


def mean_variance(d: Draft, op: str) -> None:
    d.since(9)
    x = d.data((FLOAT,), 4, 4)
    d.op(op, x, **({"axes": d.pick([0, 2, 3], [2, 3], [1])} if d.chance(0.6) else {}))


def lp_norm(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 1, 4)
    d.op(op, x, axis=d.axis(x), p=d.number(1, 2))


def lrn(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 4, 4, make=lambda: (d.number(1, 2), d.pick(3, 5, 17), *d.extents(2, 2, 4)))
    d.op(op, x, size=d.pick(1, 3, 5), alpha=d.pick(1e-4, 0.1), beta=d.pick(0.75, 0.5), bias=d.pick(1.0, 2.0))


def attention(d: Draft, op: str) -> None:
    d.since(23)
    heads, size = d.pick(1, 2), d.pick(2, 4)
    batch, length, total = d.number(1, 2), d.number(1, 5), d.number(1, 5)
    q = d.data((FLOAT,), 4, 4, where=lambda s: s == (batch, heads, length, size), make=lambda: (batch, heads, length, size))
    k, v = (d.input(FLOAT, (batch, heads, total, size)) for _ in range(2))
    d.op(op, q, k, v, **({"scale": d.pick(0.5, 1.0)} if d.chance(0.4) else {}), is_causal=d.number(0, 1))


def rotary(d: Draft, op: str) -> None:
    d.since(23)
    batch, heads, length, size = d.number(1, 2), d.number(1, 3), d.number(1, 4), d.pick(2, 4, 6)
    x = d.data((FLOAT,), 4, 4, where=lambda s: s == (batch, heads, length, size), make=lambda: (batch, heads, length, size))
    cos, sin = (weights(d, batch, length, size // 2) for _ in range(2))
    d.op(op, x, cos, sin, interleaved=d.number(0, 1))


def affine_grid(d: Draft, op: str) -> None:
    d.since(20)
    align = d.number(0, 1)  # with which a side of one pixel is at -1, but in ONNX Runtime at 1
    n, c, h, w = d.number(1, 2), d.number(1, 2), d.number(1 + align, 4), d.number(1 + align, 4)
    theta = d.data((FLOAT,), 3, 3, where=lambda s: s == (n, 2, 3), make=lambda: (n, 2, 3))
    d.op(op, theta, d.const([n, c, h, w], np.int64), align_corners=align)


def loss(d: Draft, op: str) -> None:
    d.since(13)
    n, c = d.number(1, 3), d.number(2, 4)
    x = d.data((FLOAT,), 2, 2, where=lambda s: s == (n, c), make=lambda: (n, c))
    d.op(op, x, d.const(d.g.integers(0, c, n), np.int64), reduction=d.pick("mean", "sum", "none"))


REDUCTIONS = (
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
    "ReduceLogSumExp",
)  # fmt: skip
MATRIX: dict[str, Drawer] = {
    "Conv": conv, "ConvTranspose": conv_transpose, "MatMul": matmul, "Gemm": gemm, "BatchNormalization": batch_norm, "LRN": lrn,
    "InstanceNormalization": instance_norm, "LayerNormalization": layer_norm, "RMSNormalization": rms_norm,
    "GroupNormalization": group_norm, "MeanVarianceNormalization": mean_variance, "Attention": attention, "RotaryEmbedding": rotary,
    "AffineGrid": affine_grid, "LpNormalization": lp_norm,
    **dict.fromkeys(("MaxPool", "AveragePool"), pool), **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), global_pool),
    **dict.fromkeys(REDUCTIONS, reduction), **dict.fromkeys(("ArgMax", "ArgMin"), argument),
    **dict.fromkeys(("Softmax", "LogSoftmax"), softmax), **dict.fromkeys(("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"), loss),
}  # fmt: skip
