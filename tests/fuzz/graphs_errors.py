"""How far an answer may be off: rounding errors that each node makes, and how the nodes after it pass them on, found by running each again.

A node's own error is that of its kind: elementwise functions are off by some units in the last place; sums of n terms by n units of the
sum of magnitudes; what couples many numbers (norms, softmax) like its operands shaken by n units. Infinity: nothing is promised.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import onnx

from tests.fuzz.graphs_draft import Arrays, Drawn, Misfit, Step

UNIT = 2.0**-24
TINY = 1e-37
# units in the last place, and an absolute error, of functions that both sides approximate
FUNCTIONS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("Tanh", "Sigmoid", "Erf", "Gelu", "Swish", "Softplus", "Elu", "Celu", "Selu", "Exp"), (32, 4e-7)),
    "Mish": (32, 4e-6),  # ONNX Runtime's logarithm of a number near 1
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow"), (16, 1e-6)),
    **dict.fromkeys(("Log", "Pow", "Sin", "Cos", "Sqrt", "Reciprocal", "Div", "HardSigmoid", "HardSwish", "Softsign"), (16, 2e-7)),
    "Mean": (16, 2e-7),
    **dict.fromkeys(("LogSoftmax", "SoftmaxCrossEntropyLoss"), (4, 4e-7)),  # the logarithm of a sum near 1
}
EXACT = {
    "Abs", "Neg", "Relu", "Identity", "Floor", "Ceil", "Round", "Sign", "Clip", "Min", "Max", "Where", "Cast", "CastLike", "Dropout",
    "ThresholdedRelu", "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "Gather", "Concat", "Reshape", "Transpose",
    "GatherElements", "GatherND",
    "Flatten", "Squeeze", "Unsqueeze", "Slice", "Split", "Expand", "Tile", "Pad", "DepthToSpace", "SpaceToDepth", "Trilu", "CenterCropPad",
}  # fmt: skip
LINEAR = {"Conv", "ConvTranspose", "MatMul", "Gemm", "ReduceSum", "ReduceMean", "AveragePool", "GlobalAveragePool"}
COUPLED = {
    "Softmax", "LogSoftmax", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization", "BatchNormalization",
    "MeanVarianceNormalization", "LRN", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp",
    "Resize", "Upsample", "Attention", "RotaryEmbedding", "AffineGrid", "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss",
}  # fmt: skip
CHOICES = {"Min", "Max", "ReduceMin", "ReduceMax", "MaxPool", "GlobalMaxPool", "Relu", "Clip"}
SELECTIONS = {"ArgMax", "ArgMin", "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin", "ReduceLogSumExp"}
SUMS = {"ReduceSum", "ReduceProd", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"}
FINITE_ONLY = {"Resize", "Upsample", "MeanVarianceNormalization", "AveragePool", "InstanceNormalization", "LRN"}
POLES = {"Reciprocal": 0, "Div": 1, "Log": 0, "Pow": 0}  # operands at whose zero a result may be anything
INTEGER_KERNELS = 1.0  # code that a QLinear operator of ONNX Runtime may be off by


def bounds(drawn: Drawn, vector: int) -> Arrays:
    """For every value of the model, on that input, how far each element may be off."""
    values, errors = drawn.values[vector], {}
    for step in drawn.steps:
        with np.errstate(all="ignore"):
            found = _of_node(step, values, errors)
        errors.update(zip(step.node.output, found, strict=True))
    return errors


def _of_node(step: Step, values: Arrays, errors: Arrays) -> list[np.ndarray]:
    node, names = step.node, [name for name in dict.fromkeys(step.node.input) if name]
    outputs = [values[name] for name in node.output]
    moved = {name: errors[name] for name in names if name in errors and errors[name].any()}
    passed = [np.zeros(array.shape) for array in outputs]
    if node.op_type in LINEAR and outputs[0].dtype.kind == "f":
        computed = any(name in errors and not np.isfinite(values[name]).all() for name in names)
        return _linear(step, values, moved, outputs, computed)
    coupled = node.op_type in COUPLED
    if moved or coupled:
        passed = _shaken(step, values, moved, outputs, coupled)
    if node.op_type in POLES:
        name = node.input[POLES[node.op_type]]
        near = name in moved and np.abs(values[name].astype(np.float64)) <= moved[name]
        passed = [np.where(np.broadcast_to(near, array.shape), np.inf, so_far) for array, so_far in zip(outputs, passed, strict=True)]
    return [_own(node, array, values, so_far) for array, so_far in zip(outputs, passed, strict=True)]


def _own(node: onnx.NodeProto, array: np.ndarray, values: Arrays, passed: np.ndarray) -> np.ndarray:
    """What the node adds to what its operands bring."""
    if node.op_type.startswith("QLinear") or node.op_type == "QGemm":
        return passed + INTEGER_KERNELS
    if node.op_type in ("Cast", "CastLike") and array.dtype.kind in "iu":
        source = values[node.input[0]]
        if source.dtype.kind == "f":  # ONNX Runtime's result is undefined where the number does not fit
            info = np.iinfo(array.dtype)
            fits = (source > float(info.min) - 1) & (source < float(info.max)) & np.isfinite(source)
            return np.where(fits, passed, np.inf)
    if node.op_type in SELECTIONS and np.isnan(values[node.input[0]].astype(np.float64)).any():
        return np.full(array.shape, np.inf)  # which number is above NaN depends on the axis in ONNX Runtime
    if array.dtype.kind in "iu" and node.op_type in SUMS and sum_of_sizes(node, values) >= 2.0**24:
        return np.full(array.shape, np.inf)  # ONNX Runtime sums integers in floats, and clamps
    if node.op_type == "Mod" and array.dtype.itemsize == 8 and any(item.name == "fmod" and item.i for item in node.attribute):
        return np.where(np.abs(values[node.input[0]].astype(np.float64)) >= 2.0**53, np.inf, passed)  # it divides in doubles there
    if node.op_type in ("Clip", "MaxPool", "GlobalMaxPool") and array.dtype.kind == "f":
        passed = np.where(np.abs(array) == np.finfo(array.dtype).max, np.inf, passed)  # a bound that nobody gave clips no infinity in edgec
    if array.dtype.kind == "f" and node.op_type in CHOICES:
        passed = passed + np.where(array == 0, TINY, 0.0)  # which zero it is depends on the order
    if array.dtype.kind != "f" or node.op_type in EXACT:
        return passed
    if node.op_type == "Pow":  # the square root of -infinity is NaN, as is that of any negative number; as a power it is infinity
        rootless = (values[node.input[0]] == -np.inf) & (values[node.input[1]] == 0.5)
        passed = np.where(np.broadcast_to(rootless, array.shape), np.inf, passed)
    if node.op_type in FINITE_ONLY and not all(np.isfinite(values[name]).all() for name in (node.input[0], node.output[0])):
        return np.full(array.shape, np.inf)  # where NaN appears, of zero times infinity appears depends on the formula
    units, least = FUNCTIONS.get(node.op_type, (4, 0.0))
    own = units * UNIT * np.abs(array.astype(np.float64)) + least + TINY
    if node.op_type in LOST:
        own = own + LOST[node.op_type](node, values)
    return passed + np.where(np.isfinite(array), own, 0.0)


def _cancelled(node: onnx.NodeProto, values: Arrays) -> np.ndarray:
    """What x * s - mean * s loses, as ONNX Runtime computes (x - mean) * s of each instance."""
    x, scale = values[node.input[0]].astype(np.float64), np.abs(values[node.input[1]].astype(np.float64))
    axes = tuple(range(2, x.ndim))
    epsilon = next((item.f for item in node.attribute if item.name == "epsilon"), 1e-5)
    factor = scale.reshape(-1, *[1] * len(axes)) / np.sqrt(x.var(axis=axes, keepdims=True) + epsilon)
    return np.broadcast_to(8 * UNIT * np.abs(x).max(axis=axes, keepdims=True) * factor, x.shape)


def _centered(node: onnx.NodeProto, values: Arrays) -> np.ndarray:
    """What a mean's rounding leaves of numbers that hardly differ from it, as ONNX Runtime computes the variance as the mean of the squares
    less the square of the mean: where that is all rounding, nothing is promised (it may be negative, and its root NaN)."""
    x = values[node.input[0]].astype(np.float64)
    axes = next((tuple(item.ints) for item in node.attribute if item.name == "axes"), (0, 2, 3))
    largest, variance = np.abs(x).max(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    rounding = x.size // variance.size * UNIT * largest**2  # of the variance
    lost = 4 * UNIT * largest / (np.sqrt(variance) + 1e-9) + np.abs(values[node.output[0]]) * rounding / np.maximum(variance, TINY)
    return np.asarray(np.where(variance <= 2 * rounding, np.inf, lost))


def _slid(node: onnx.NodeProto, values: Arrays) -> np.ndarray:
    """What ONNX Runtime loses of LRN's sums of squares: it adds to and takes from one sum that slides over the channels."""
    x, y = values[node.input[0]].astype(np.float64), values[node.output[0]].astype(np.float64)
    given = {item.name: item.i if item.type == onnx.AttributeProto.INT else item.f for item in node.attribute}
    squares = (x**2).sum(axis=1, keepdims=True) * 8 * UNIT * given.get("alpha", 1e-4) / given["size"]
    return np.asarray(np.abs(y) * given.get("beta", 0.75) * squares / given.get("bias", 1.0))


def _summed(node: onnx.NodeProto, values: Arrays) -> np.ndarray:
    """What the sum of several operands loses where they cancel."""
    return np.asarray(4 * UNIT * sum(np.abs(values[name].astype(np.float64)) for name in node.input))


def _stretched(node: onnx.NodeProto, values: Arrays) -> np.ndarray:
    """What x times a function loses: that function's absolute error, x times."""
    return np.asarray(FUNCTIONS[node.op_type][1] * np.abs(values[node.input[0]].astype(np.float64)))


LOST = {
    **dict.fromkeys(("Gelu", "Swish", "Mish"), _stretched), **dict.fromkeys(("Sum", "Mean"), _summed),
    "InstanceNormalization": _cancelled, "LRN": _slid, "MeanVarianceNormalization": _centered,
}  # fmt: skip


def sum_of_sizes(node: onnx.NodeProto, values: Arrays) -> float:
    size = np.abs(values[node.input[0]].astype(np.float64))
    return float(np.prod(np.maximum(size, 1)) if node.op_type == "ReduceProd" else size.sum())


def _terms(step: Step, values: Arrays) -> int:
    """How many products a result of a linear operator sums up."""
    node, x = step.node, values[step.node.input[0]]
    if node.op_type in ("MatMul", "Gemm"):
        return max(x.shape[-2:], default=1)
    if node.op_type in ("Conv", "ConvTranspose"):
        w = values[node.input[1]]
        return int(np.prod(w.shape)) // w.shape[0] if node.op_type == "Conv" else int(np.prod(w.shape)) // w.shape[1]
    return max(1, x.size)


def _linear(step: Step, values: Arrays, moved: Arrays, outputs: list[np.ndarray], computed: bool) -> list[np.ndarray]:
    """|f|(|x| + e) - |f|(|x|), and some units of |f|(|x|) for each term: f with all operands positive adds up magnitudes.

    computed: an operand that another node made is not finite; of one matrix in the place of two it may be infinity where it was NaN.
    """
    names = [name for name in dict.fromkeys(step.node.input) if name and values[name].dtype.kind == "f"]
    positive, larger = dict(values), dict(values)
    for name in names:
        size = np.abs(values[name].astype(np.float64))
        positive[name], larger[name] = np.asarray(size, np.float32), np.asarray(size + moved.get(name, 0.0), np.float32)
    node = onnx.NodeProto()
    node.CopyFrom(step.node)
    signed = [item for item in node.attribute if item.name in ("alpha", "beta") and item.f < 0]
    if signed:
        from tests.fuzz.graphs_draft import single

        for item in signed:
            item.f = -item.f
        step = Step(node, single(node, {name: values[name] for name in node.input if name}, 21))
    total, most = step.run(positive)[0].astype(np.float64), step.run(larger)[0].astype(np.float64)
    if node.op_type == "ConvTranspose" and not np.isfinite(total).all():
        return [np.full(outputs[0].shape, np.inf)]  # edgec multiplies by zeros there, which makes NaN of infinities nearby
    found = (most - total) + (_terms(step, values) + 8) * 2 * UNIT * most + TINY
    lost = np.isfinite(outputs[0]) | any(np.isposinf(error).any() for error in moved.values()) | computed
    return [np.where(np.isnan(found), np.where(lost, np.inf, 0.0), found)]


def _shaken(step: Step, values: Arrays, moved: Arrays, outputs: list[np.ndarray], coupled: bool) -> list[np.ndarray]:
    """The largest change of the results when the operands change by their errors: each alone, up, down and at random."""
    generator = np.random.default_rng(7)
    changes = [np.zeros(array.shape) for array in outputs]
    names = [name for name in dict.fromkeys(step.node.input) if name and (name in moved or (coupled and values[name].dtype.kind == "f"))]
    for name in names:
        array, error = values[name], moved.get(name, np.zeros(values[name].shape))
        if coupled:
            terms = min(array.size, prod(array.shape[1:]) or 1) + 4
            error = error + terms * UNIT * np.abs(np.where(np.isfinite(array), array, 0.0).astype(np.float64))
        signs = (1.0, -1.0, *(generator.choice([-1.0, 1.0], array.shape) for _ in range(4 if coupled else 2)))
        largest = _largest(step, values, [{name: _changed(array, error, sign)} for sign in signs], outputs)
        changes = [before + after for before, after in zip(changes, largest, strict=True)]
    unknown = [name for name in moved if np.isposinf(moved[name]).any()]
    if unknown:  # each alone, and all at once: what one may change can be hidden by another's NaN
        anything = {name: [_unknown(values[name], moved[name], other) for other in _anything(values[name], generator)] for name in unknown}
        alone = [{name: array} for name in unknown for array in anything[name]]
        most = max(map(len, anything.values()))
        together = [{name: arrays[place % len(arrays)] for name, arrays in anything.items()} for place in range(most)]
        found = _largest(step, values, [*alone, *together], outputs)
        changes = [np.where(after > 0, np.inf, before) for before, after in zip(changes, found, strict=True)]
    if coupled:
        finite = [change[np.isfinite(change)] for change in changes]
        changes = [np.where(np.isfinite(change), 8 * part.max(initial=0.0), change) for change, part in zip(changes, finite, strict=True)]
    return [1.5 * change for change in changes]


def _largest(step: Step, values: Arrays, shaken: list[Arrays], outputs: list[np.ndarray]) -> list[np.ndarray]:
    """How far the results move at most with any of these operands; everything, where the node then fails or changes its shape."""
    largest = [np.zeros(result.shape) for result in outputs]
    for arrays in shaken:
        try:
            found = step.run({**values, **arrays})
        except Misfit:
            return [np.full(result.shape, np.inf) for result in outputs]
        if any(one.shape != result.shape for one, result in zip(found, outputs, strict=True)):
            return [np.full(result.shape, np.inf) for result in outputs]
        largest = [np.maximum(before, _distance(one, result)) for before, one, result in zip(largest, found, outputs, strict=True)]
    return largest


def _changed(array: np.ndarray, error: np.ndarray, signs: Any) -> np.ndarray:
    """The array moved by its errors, as far as they are known."""
    finite = np.where(np.isfinite(error), error, 0.0) * signs
    if array.dtype.kind == "b":
        return np.asarray(np.where(finite > 0, ~array, array))
    if array.dtype.kind == "f":
        return np.asarray(array.astype(np.float64) + finite, array.dtype)
    info = np.iinfo(array.dtype)
    whole = np.sign(finite) * np.ceil(np.abs(finite) - 1e-6)
    moved = np.clip(array.astype(object) + whole.astype(np.int64), info.min, info.max) if whole.any() else array
    return np.asarray(moved, array.dtype)


def _anything(array: np.ndarray, generator: np.random.Generator) -> list[np.ndarray]:
    """Arrays of its type: each extreme alone, then all of them mixed."""
    if array.dtype.kind == "b":
        extremes = np.array([False, True])
    elif array.dtype.kind == "f":
        extremes = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0, 1], array.dtype)
    else:
        extremes = np.array([np.iinfo(array.dtype).min, np.iinfo(array.dtype).max, 0, 1], array.dtype)
    return [*(np.full(array.shape, extreme) for extreme in extremes), *(generator.choice(extremes, array.shape) for _ in range(4))]


def _unknown(array: np.ndarray, error: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The array with `other` in the places that nothing is known of."""
    return np.asarray(np.where(np.isposinf(error), other, array), array.dtype)


def _distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Infinite where one is a number and the other is not."""
    if one.dtype.kind == "b":
        return (one != other).astype(np.float64)
    difference = np.abs(one.astype(np.float64) - other.astype(np.float64))
    same = (one == other) | ((one != one) & (other != other))
    return np.where(same, 0.0, np.where(np.isnan(difference), np.inf, difference))
