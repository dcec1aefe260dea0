"""What nobody promises: results of ONNX Runtime in which it differs from ONNX, or from itself, and which are anything to the fuzzer."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import onnx

from edgec.frontend.file.structure import reads
from tests.fuzz.graphs_draft import Arrays
from tests.fuzz.graphs_move import MOVEMENT
from tests.fuzz.graphs_pointwise import POINTWISE

MOVING = MOVEMENT.keys() - {"Resize", "Upsample"} | {"Identity", "Shape", "Size", "ReverseSequence"}
ELEMENTWISE = POINTWISE.keys() - {"Shape", "Size", "ConstantOfShape", "Range"}


def anything(array: np.ndarray, g: np.random.Generator, poison: float | None = None) -> np.ndarray:
    """An array of its type and shape that holds one extreme, or all of them mixed. poison: what floats are instead, all of them."""
    if poison is not None and array.dtype.kind == "f":
        return np.full_like(array, poison)
    if array.dtype.kind == "b":
        extremes = np.array([False, True])
    elif array.dtype.kind == "f":
        extremes = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0, 1], array.dtype)
    else:
        extremes = np.array([np.iinfo(array.dtype).min, np.iinfo(array.dtype).max, 0, 1], array.dtype)
    return np.asarray(g.choice(extremes, array.shape) if g.random() < 0.5 else np.full(array.shape, g.choice(extremes)))


def is_free(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray:
    """Which elements of a result, given the operands, may be anything."""
    rules = (rule for ops, rule in FREE if node.op_type in ops)
    found = np.zeros(result.shape, bool)
    for rule in rules:
        found = found | rule(node, operands, result)
    return found


def depends(node: onnx.NodeProto, loose: Arrays, moved: np.ndarray) -> np.ndarray:
    """Which elements of a result may be anything because whole numbers that the node reads may be, `loose` by name.

    What moves numbers shows by itself where they went, as the results that `moved`; of others all results count, but of elementwise ones.
    """
    found = {name: loose[name] for name in reads(node) if name in loose and loose[name].any()}
    if not found:
        return np.zeros(moved.shape, bool)
    if node.op_type in MOVING and (node.op_type == "Concat" or not found.keys() & node.input[1:]):
        return moved
    if node.op_type in ELEMENTWISE:
        return np.broadcast_to(reduce(np.logical_or, found.values()), moved.shape)
    return np.ones(moved.shape, bool)


def _beyond_integers(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray | bool:
    """A float that its integer type does not hold."""
    x = operands[node.input[0]]
    if x.dtype.kind != "f" or result.dtype.kind not in "iu":
        return False
    info = np.iinfo(result.dtype)
    return ~((x > float(info.min) - 1) & (x < float(info.max)))


def _bits_of_nan(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray | bool:
    """IEEE 754 leaves the sign and the payload of a NaN to the processor."""
    x = operands[node.input[0]]
    return np.isnan(x) if x.dtype.kind == "f" else False


def _beyond_halves(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray | bool:
    """A float that float16 does not hold: ONNX Runtime keeps it where its operators are for float32 alone."""
    return np.isfinite(operands[node.input[0]]) & np.isinf(result) if result.dtype == np.float16 else False


def _no_code(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray:
    """Nobody says NaN's code, and 0 / 0 is NaN; an infinity saturates."""
    x, scale = (operands[name].astype(np.float64) for name in node.input[:2])
    if scale.ndim:
        given = {item.name: item.i for item in node.attribute}
        axis = given.get("axis", 1) % x.ndim
        if scale.ndim == 1:
            scale = scale.reshape([-1 if place == axis else 1 for place in range(x.ndim)])
        if given.get("block_size"):
            scale = np.repeat(scale, given["block_size"], axis).take(range(x.shape[axis]), axis)
    return np.isnan(x) | np.isnan(scale) | (scale == 0) | (np.isinf(x) & np.isinf(scale))


def _between_pixels(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray | bool:
    """Which of two pixels is the nearest to a place on the border of both, of which ONNX Runtime computes an other one in float32."""
    given: dict[str, Any] = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
    if given.get("mode", b"nearest") != b"nearest":
        return False
    first = node.op_type == "Upsample" or len(node.input) == 2
    way = "asymmetric" if first else given.get("coordinate_transformation_mode", b"half_pixel").decode()
    rule = "floor" if first else given.get("nearest_mode", b"round_prefer_floor").decode()
    told = (operands[name] for name in node.input[1:3] if name and operands[name].dtype.kind == "f" and operands[name].size)
    scales, found = next(told, given.get("scales")), np.zeros(result.shape, bool)
    for axis, (size, out) in enumerate(zip(operands[node.input[0]].shape, result.shape, strict=True)):
        scale = out / size if scales is None else float(np.float32(scales[axis]))
        exact, rounded = (PLACES[way](np.arange(out, dtype=kind), kind(scale), kind(size), kind(out)) for kind in (np.float64, np.float32))
        border = np.floor(exact) + 0.5 if rule.startswith("round") else np.round(exact)
        unsure = (np.abs(exact - border) < 2.0**-20 * (size + out)) & (exact != rounded)
        found = found | unsure.reshape([-1 if place == axis else 1 for place in range(found.ndim)])
    return found


def _beside_nan(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> bool:
    """Which number is above NaN depends on the axis."""
    x = operands[node.input[0]]
    return bool(x.dtype.kind == "f" and np.isnan(x).any())


def _reduced_beside_nan(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> bool:
    """The larger or smaller of a number and NaN is either."""
    compares = any(item.s in (b"max", b"min") for item in node.attribute)
    return compares and any(np.isnan(operands[name]).any() for name in (node.input[0], node.input[2]) if operands[name].dtype.kind == "f")


def _summed_in_floats(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> bool:
    """Integers are summed in floats, and clamped."""
    size = np.abs(operands[node.input[0]].astype(np.float64))
    total = np.prod(np.maximum(size, 1)) if node.op_type == "ReduceProd" else size.sum()
    return result.dtype.kind in "iu" and float(total) >= 2.0**24


def _divided_in_doubles(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray | bool:
    if result.dtype.itemsize < 8 or not any(item.name == "fmod" and item.i for item in node.attribute):
        return False
    return np.broadcast_to(np.abs(operands[node.input[0]].astype(np.float64)) >= 2.0**53, result.shape)


def _at_the_largest(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray | bool:
    """A bound that nobody gave clips no infinity in edgec."""
    return np.abs(result) == np.finfo(result.dtype).max if result.dtype.kind == "f" else False


def _rootless(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray:
    """The square root of -infinity is NaN, as is that of any negative number; as a power it is infinity."""
    return np.broadcast_to((operands[node.input[0]] == -np.inf) & (operands[node.input[1]] == 0.5), result.shape)


def _beside_infinity(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> bool:
    """Where NaN appears, of zero times infinity, depends on the formula."""
    return not np.isfinite(operands[node.input[0]]).all() or not np.isfinite(result).all()


def _subtracted(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray | bool:
    """Winograd's form of a convolution of 3x3 subtracts infinities of neighbours, see docs/int8.md: of an image that has one."""
    x, weights = (operands[name] for name in node.input[:2])
    if weights.shape[2:] != (3, 3):
        return False
    return np.broadcast_to(~np.isfinite(x).all(axis=(1, 2, 3), keepdims=True), result.shape)


def _any_infinity(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> bool:
    """A function of NaN may be a number in ONNX Runtime, and the infinite result of one step is an operand of the next."""
    floats = [operands[name] for name in node.input if name and operands[name].dtype.kind == "f"]
    return not all(np.isfinite(array).all() for array in (*floats, result))


def _alone(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> bool:
    """The quantized softmax of rows of one number overflows for small scales."""
    return result.shape[-1] == 1


def _multiplied_over(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray | bool:
    """Which products of a row, or of all numbers, are made first decides which of them are infinite or 0."""
    if result.dtype.kind != "f":
        return False
    size = np.abs(operands[node.input[0]].astype(np.float64))
    axis = int(operands[node.input[1]].reshape(-1)[0]) if node.op_type == "CumProd" else None
    logs = np.log10(np.where((size > 0) & np.isfinite(size), size, 1))
    over, under = (np.maximum(sign * logs, 0).sum(axis=axis, keepdims=axis is not None) > 37 for sign in (1, -1))
    return np.broadcast_to(over | under, result.shape)


def _infinite_scores(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray:
    """ONNX Runtime hides columns by the lowest float, ONNX by -infinity, which differ where a score itself is infinite."""
    if node.domain:
        return np.full(result.shape, _any_infinity(node, operands, result))
    query, key = (operands[name].astype(np.float64) for name in node.input[:2])
    with np.errstate(all="ignore"):
        scores = (query @ key.swapaxes(-1, -2)).astype(np.float32)
    return np.broadcast_to(~np.isfinite(scores).all(axis=-1, keepdims=True), result.shape)


def _infinite_values(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> bool:
    """Beside a far larger score another counts for 0 or for a denormal, and so an infinity for nothing, which is NaN, or for all."""
    names = [node.input[place] for place in (2, 5) if not node.domain and place < len(node.input)]  # values, and those of before
    return any(np.isinf(operands[name]).any() for name in names if name)


def _sees_nothing(node: onnx.NodeProto, operands: Arrays, result: np.ndarray) -> np.ndarray | bool:
    """Where a mask hides every key that a row may see, scores keep three digits beside the -10000 that hides them, and the order of sums
    shows."""
    place = {"MultiHeadAttention": 4, "Attention": 3}[node.op_type]
    if not node.domain or result.ndim != 3 or len(node.input) <= place or not node.input[place]:
        return False
    mask = operands[node.input[place]]
    if mask.ndim == 1:  # lengths: a row sees the first key in any case
        seen = mask != 0
    else:
        rows, keys = result.shape[1], mask.shape[-1]
        reached = np.ones((rows, keys), bool)
        if any(attribute.name == "unidirectional" and attribute.i for attribute in node.attribute):
            new = operands[node.input[1]].shape[1] if node.op_type == "MultiHeadAttention" else rows
            reached = np.tri(rows, keys, keys - new, bool)
            reached[-1] = True  # the last row sees all
        seen = (mask.reshape(len(result), -1, keys).astype(bool) & reached).any(axis=-1)
    return np.broadcast_to(~seen.reshape(len(result), -1).all(axis=1)[:, None, None], result.shape)


# ONNX Runtime's formulas of a place: of i, scale, size and out
PLACES: dict[str, Callable[..., np.ndarray]] = {
    "half_pixel": lambda i, scale, size, out: (i + i.dtype.type(0.5)) / scale - i.dtype.type(0.5),
    "pytorch_half_pixel": lambda i, scale, size, out: (i + i.dtype.type(0.5)) / scale - i.dtype.type(0.5) if out > 1 else 0 * i,
    "asymmetric": lambda i, scale, size, out: i / scale,
    "align_corners": lambda i, scale, size, out: i * (size - 1) / (out - 1) if out > 1 else 0 * i,
}
Rule = Callable[[onnx.NodeProto, Arrays, np.ndarray], np.ndarray | bool]
SUMS = {"ReduceSum", "ReduceProd", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"}
BLENDS = {
    "Resize", "Upsample", "MeanVarianceNormalization", "AveragePool", "InstanceNormalization", "LRN", "ConvTranspose", "AffineGrid",
    "Einsum", "GridSample", "RoiAlign", "MaxRoiPool", "Col2Im", "DFT", "STFT", "Det", "LpPool", "GlobalLpPool", "LpNormalization",
    "DeformConv",
}  # fmt: skip
FREE: tuple[tuple[set[str], Rule], ...] = (
    ({"Cast", "CastLike"}, _beyond_integers),
    ({"Cast", "CastLike"}, _beyond_halves),
    ({"BitCast"}, _bits_of_nan),
    ({"QuantizeLinear"}, _no_code),
    ({"Resize", "Upsample"}, _between_pixels),
    ({"ArgMax", "ArgMin", "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin", "ReduceLogSumExp", "TopK", "Hardmax"}, _beside_nan),
    ({"CumProd", "ReduceProd"}, _multiplied_over),
    ({"ScatterND", "ScatterElements"}, _reduced_beside_nan),
    (SUMS, _summed_in_floats),
    ({"Conv", "FusedConv"}, _subtracted),
    ({"QLinearSoftmax"}, _alone),
    ({"Mod"}, _divided_in_doubles),
    ({"Clip", "MaxPool", "GlobalMaxPool"}, _at_the_largest),
    ({"Pow"}, _rootless),
    ({"Attention"}, _infinite_scores),
    ({"Attention"}, _infinite_values),
    ({"Attention", "MultiHeadAttention"}, _sees_nothing),
    (
        {"RNN", "GRU", "LSTM", "DynamicQuantizeLSTM", "DynamicQuantizeLinear", "DynamicQuantizeMatMul", "Normalizer", "MultiHeadAttention"},
        _any_infinity,
    ),
    (BLENDS, _beside_infinity),
)
