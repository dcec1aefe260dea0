"""Clause 10: operators in binary32, one operation at a time. The order of operations is that of docs/int8.md and edgec/ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, prod, sqrt

import numpy as np

from edgec.oracle import mathlib
from edgec.oracle.context import Context, Run
from edgec.oracle.grid import Array
from edgec.oracle.model import Node, integers
from edgec.oracle.window import window

f32 = np.float32
LARGEST = np.finfo(f32).max  # as a bound it is none
Rule = Callable[[Context, Node], Run | None]


def _number(node: Node, name: str, default: float) -> np.float32:
    return f32(node.get(name, default))


def relu(x: Array) -> Array:
    return mathlib.fmax(f32(0), x)


# atanh(s) / s in powers of s^2, after the 1
ATANH = (f32(0.3333332), f32(0.20003835), f32(0.14116978), f32(0.13433774))


def softplus(x: Array) -> Array:
    u: Array = mathlib.exp(-np.abs(x))
    s = u / (f32(2) + u)
    z = s * s
    series = np.full_like(z, ATANH[-1])
    for coefficient in ATANH[-2::-1]:
        series = series * z + coefficient
    twice = s + s
    result: Array = relu(x) + (twice + twice * (z * series))
    return result


def hard_sigmoid(x: Array, alpha: np.float32, beta: np.float32) -> Array:
    return mathlib.fmin(f32(1), mathlib.fmax(f32(0), alpha * x + beta))


def gelu(x: Array) -> Array:
    return (x * f32(0.5)) * (f32(1) + mathlib.erf(x * f32(sqrt(0.5))))


def gelu_tanh(x: Array) -> Array:
    return (x * f32(0.5)) * (f32(1) + mathlib.tanh(f32(sqrt(2 / pi)) * (x + f32(0.044715) * (x * x * x))))


def elu(x: Array, alpha: np.float32) -> Array:
    return np.where(x < 0, alpha * (mathlib.exp(x) - f32(1)), x)


UNARY: dict[str, Callable[[Array], Array]] = {
    "Relu": relu, "Abs": np.abs, "Neg": np.negative, "Exp": mathlib.exp, "Log": mathlib.log, "Sqrt": mathlib.sqrt, "Tanh": mathlib.tanh,
    "Erf": mathlib.erf, "Sigmoid": mathlib.sigmoid, "Sin": mathlib.sin, "Cos": mathlib.cos, "Floor": mathlib.floor, "Ceil": mathlib.ceil,
    "Round": mathlib.rint, "Reciprocal": lambda x: f32(1) / x, "Softplus": softplus, "Softsign": lambda x: x / (f32(1) + np.abs(x)),
    "HardSwish": lambda x: x * hard_sigmoid(x, f32(1 / 6), f32(0.5)), "Mish": lambda x: x * mathlib.tanh(softplus(x)),
}  # fmt: skip
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Min": mathlib.minimum, "Max": mathlib.maximum,
    "Mod": np.fmod, "Pow": lambda a, b: mathlib.power(a, b.astype(np.float32)), "PRelu": lambda x, slope: np.where(x < 0, slope * x, x),
}  # fmt: skip


# the numbers that a function takes of attributes, with ONNX's defaults, and the function
PARAMETRIC: dict[str, tuple[dict[str, float], Callable[..., Array]]] = {
    "LeakyRelu": ({"alpha": 0.01}, lambda x, alpha: np.where(x < 0, alpha * x, x)), "Elu": ({"alpha": 1.0}, elu),
    "Selu": ({"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}, lambda x, alpha, gamma: gamma * elu(x, alpha)),
    "HardSigmoid": ({"alpha": 0.2, "beta": 0.5}, hard_sigmoid),
    "Swish": ({"alpha": 1.0}, lambda x, alpha: x * mathlib.sigmoid(x if alpha == 1 else alpha * x)),
}  # fmt: skip


def _parametric(node: Node) -> Callable[[Array], Array] | None:
    if node.op == "Gelu":
        return {"none": gelu, "tanh": gelu_tanh}[node.get("approximate", "none")]
    if node.op not in PARAMETRIC:
        return None
    defaults, function = PARAMETRIC[node.op]
    numbers = [_number(node, name, default) for name, default in defaults.items()]
    return lambda x: function(x, *numbers)


def elementwise(context: Context, node: Node) -> Run | None:
    """Functions of one or several operands with broadcasting; Min and Max take any number of them."""
    unary = UNARY.get(node.op) or _parametric(node)
    if unary is not None:
        return lambda x, *_: (unary(x),)
    binary = BINARY.get(node.op)
    if binary is None:
        return None

    def run(first: Array, *others: Array) -> tuple[Array]:
        for other in others:
            first = binary(first, other)
        return (first,)

    return run


def clip(context: Context, node: Node) -> Run:
    def run(x: Array, low: Array | None = None, high: Array | None = None) -> tuple[Array]:
        x = x if low is None or low <= -LARGEST else mathlib.fmax(low, x)
        return (x if high is None or high >= LARGEST else mathlib.fmin(high, x),)

    return run


Combine = Callable[[Array, Array], Array]


def in_parts(rows: Array, start: float, combine: Combine) -> Array:
    """start, then combine(start, what 16 parts join to) over the first axis: element i is in part i mod 16, part j joins j + 8, 4, 2, 1."""
    rest = np.full((-len(rows) % 16, *rows.shape[1:]), start, np.float32)
    parts: Array = np.full((16, *rows.shape[1:]), start, np.float32)
    for block in np.concatenate([rows, rest]).reshape(-1, 16, *rows.shape[1:]):
        parts = combine(parts, block)
    while len(parts) > 1:
        parts = combine(parts[: len(parts) // 2], parts[len(parts) // 2 :])
    joined: Array = parts[0]
    return joined


def reduce(x: Array, axes: Sequence[int], start: float, combine: Combine, lanes: bool = False) -> Array:
    """start, then result = combine(result, x) by ascending index, row-major over `axes`, which stay as extents of 1.

    lanes: where the last axis alone is reduced, its elements go in 16 parts.
    """
    axes = sorted(axis % x.ndim for axis in axes)
    return by_rows(x, axes, start, combine) if lanes and axes == [x.ndim - 1] else ascending(x, axes, start, combine)


def ascending(x: Array, axes: Sequence[int], start: float, combine: Combine) -> Array:
    others = [axis for axis in range(x.ndim) if axis not in axes]
    rows = x.transpose(*axes, *others).reshape(prod(x.shape[a] for a in axes), -1)
    result: Array = np.full(rows.shape[1], start, np.float32)
    for row in rows:
        result = combine(result, row)
    return result.reshape([1 if d in axes else extent for d, extent in enumerate(x.shape)])


def by_rows(x: Array, axes: Sequence[int], start: float, combine: Combine) -> Array:
    """The same, but each row of the last one of `axes` in 16 parts first."""
    *before, last = sorted(axis % x.ndim for axis in axes)
    rows = in_parts(np.moveaxis(x, last, 0), start, combine)
    return ascending(np.expand_dims(rows, last), before, start, combine)


def total(x: Array, axes: Sequence[int], lanes: bool = True) -> Array:
    """The sum from +0."""
    return reduce(x, axes, 0.0, np.add, lanes)


def largest(x: Array, axes: Sequence[int], lanes: bool = True) -> Array:
    """The running maximum from -inf, NaN where there is one."""
    return reduce(x, axes, -np.inf, mathlib.maximum, lanes)


def mean(x: Array, axes: Sequence[int], lanes: bool = True) -> Array:
    return total(x, axes, lanes) / f32(prod(x.shape[a] for a in axes))


REDUCTIONS: dict[str, Callable[[Array, Sequence[int]], Array]] = {
    "ReduceSum": total, "ReduceMean": mean, "ReduceMax": largest,
    "ReduceMin": lambda x, axes: reduce(x, axes, np.inf, mathlib.minimum, True),
    "ReduceProd": lambda x, axes: reduce(x, axes, 1.0, np.multiply, True),
    "ReduceL1": lambda x, axes: total(np.abs(x), axes),
    "ReduceL2": lambda x, axes: mathlib.sqrt(total(x * x, axes)), "ReduceSumSquare": lambda x, axes: total(x * x, axes),
    "ReduceLogSum": lambda x, axes: mathlib.log(total(x, axes)),
    "ReduceLogSumExp": lambda x, axes: mathlib.log(total(mathlib.exp(x - largest(x, axes)), axes)) + largest(x, axes),
}  # fmt: skip


def reduction(context: Context, node: Node) -> Run:
    function = REDUCTIONS.get(node.op)
    if function is None:
        whole = mean if node.op == "GlobalAveragePool" else largest
        return lambda x: (whole(x, range(2, x.ndim), lanes=False),)

    def run(x: Array, given: Array | None = None) -> tuple[Array]:
        axes = sorted(a % x.ndim for a in (integers(given) or list(node.get("axes") or [])))
        if not axes and node.get("noop_with_empty_axes", 0):
            return (x,)
        result = function(x, axes or list(range(x.ndim)))
        return (result if node.get("keepdims", 1) else result.reshape([e for d, e in enumerate(x.shape) if axes and d not in axes]),)

    return run


def average_pool(context: Context, node: Node) -> Run:
    def run(x: Array) -> tuple[Array]:
        place = window(node, x.shape[2:], node.attributes["kernel_shape"])
        result = np.zeros((*x.shape[:2], *place.out), np.float32)
        for _, under in place.taps(x, f32(0)):
            result = result + under
        return (result / place.counts(bool(node.get("count_include_pad", 0))).astype(np.float32),)

    return run


def _softmax(context: Context, node: Node) -> Run:
    def run(x: Array) -> tuple[Array]:
        axes = [node.get("axis", -1)]
        shifted = x - by_rows(x, axes, -np.inf, mathlib.maximum)
        e = mathlib.exp(shifted)
        s = by_rows(e, axes, 0.0, np.add)
        return (e / s if node.op == "Softmax" else shifted - mathlib.log(s),)

    return run


def normalized(x: Array, axes: Sequence[int], epsilon: np.float32) -> Array:
    """(x - mean) * (1 / sqrt(variance + epsilon))."""
    n = f32(prod(x.shape[a] for a in axes))
    d = x - by_rows(x, axes, 0.0, np.add) / n
    return d * (f32(1) / mathlib.sqrt(by_rows(d * d, axes, 0.0, np.add) / n + epsilon))


def _per_channel(x: Array, v: Array) -> Array:
    return v.reshape([-1 if d == 1 else 1 for d in range(x.ndim)])


def _layer_normalization(context: Context, node: Node) -> Run:
    def run(x: Array, scale: Array | None = None, bias: Array | None = None) -> tuple[Array]:
        y = normalized(x, range(node.get("axis", -1) % x.ndim, x.ndim), _number(node, "epsilon", 1e-5))
        y = y if scale is None else y * scale
        return (y if bias is None else y + bias,)

    return run


def _instance_normalization(context: Context, node: Node) -> Run:
    def run(x: Array, scale: Array, bias: Array) -> tuple[Array]:
        y = normalized(x, range(2, x.ndim), _number(node, "epsilon", 1e-5))
        return (y * _per_channel(x, scale) + _per_channel(x, bias),)

    return run


def _batch_normalization(context: Context, node: Node) -> Run:
    def run(x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> tuple[Array]:
        r = f32(1) / mathlib.sqrt(variance + _number(node, "epsilon", 1e-5))
        return ((x - _per_channel(x, mean)) * _per_channel(x, r) * _per_channel(x, scale) + _per_channel(x, bias),)

    return run


def _rms_normalization(context: Context, node: Node) -> Run:
    def run(x: Array, scale: Array) -> tuple[Array]:
        axes = range(node.get("axis", -1) % x.ndim, x.ndim)
        v = total(x * x, axes) / f32(prod(x.shape[a] for a in axes))
        return ((x * (f32(1) / mathlib.sqrt(v + _number(node, "epsilon", 1e-5)))) * scale,)

    return run


def _lrn(context: Context, node: Node) -> Run:
    size = node.attributes["size"]
    alpha, beta, bias = _number(node, "alpha", 1e-4), _number(node, "beta", 0.75), _number(node, "bias", 1.0)

    def run(x: Array) -> tuple[Array]:
        squares, channels = x * x, x.shape[1]
        s = np.zeros_like(x)
        for c in range(channels):
            window = squares[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1]
            s[:, c : c + 1] = total(window, [1], lanes=False)
        return (x / mathlib.power(bias + (alpha / f32(size)) * s, beta),)

    return run


RULES: dict[str, Rule] = {
    "Softmax": _softmax, "LogSoftmax": _softmax, "LayerNormalization": _layer_normalization, "BatchNormalization": _batch_normalization,
    "InstanceNormalization": _instance_normalization, "RMSNormalization": _rms_normalization, "LRN": _lrn, "AveragePool": average_pool,
    "Clip": clip,
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", *REDUCTIONS), reduction),
}  # fmt: skip


def island(context: Context, node: Node) -> Run | None:
    """The exact float meaning of a node; None when it has none (matrix products, operators that are not listed)."""
    return RULES[node.op](context, node) if node.op in RULES else elementwise(context, node)
