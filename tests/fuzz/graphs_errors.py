"""How far an answer may be off: as far as answers lie apart that are all as right as ONNX Runtime's.

A right program differs from ONNX Runtime's in roundings, in the order of sums and in what nobody promises (graphs_free.py). So the model is
executed again and again, node by node in ONNX Runtime, each time with other errors of this kind, several times as large as a node's own can
be: where no execution answers anything else, the answer is sure; elsewhere it may be off as far as the executions are. Cancellation,
ill-conditioned chains, steps that a number may lie on either side of and infinities show in the executions by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np
import onnx

from edgec.frontend.file.structure import reads
from tests.fuzz.graphs_draft import Arrays, Drawn, Misfit, Step
from tests.fuzz.graphs_free import anything, depends, is_free

EXECUTIONS = 32  # a step that a number may lie on either side of stays unseen with a probability of about 2 ** -EXECUTIONS
POISONS = {3: np.inf, 11: -np.inf}  # by the execution's number modulo 16
STRONGER = 4.0  # than a node's own error at most
BEYOND = 2.0  # how far beyond what the executions reach an answer may be
UNIT = 2.0**-24
HALF = 2.0**13  # units of what rounding to float16 moves: ONNX Runtime leaves it out between operators that it has for float32 alone
BOUNDED = frozenset((b"Sigmoid", b"Tanh", b"HardSigmoid", b"Softsign"))  # activations of cells
LOST_COUNT = 1e6  # off by more, a cell's answer may be anything
LARGE = 100.0  # states that no step makes: only a first one is
TINY = 1e-37  # about which products become zeros
GELUS = ("Gelu", "FastGelu", "BiasGelu", "QuickGelu")
RECURRENT = ("RNN", "GRU", "LSTM", "DynamicQuantizeLSTM")
SCORES = ("LinearClassifier", "TreeEnsembleClassifier", "TreeEnsembleRegressor")  # which may end in a Sigmoid or Softmax
# units in the last place, and an absolute error, of functions that both sides approximate
FUNCTIONS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("Tanh", "Sigmoid", "Erf", *GELUS, "Swish", "Softplus", "Elu", "Celu", "Selu", "Exp"), (32, 4e-7)),
    **dict.fromkeys(RECURRENT, (32, 1e-6)),
    **dict.fromkeys((*SCORES, "FusedConv", "FusedGemm"), (32, 4e-7)),
    **dict.fromkeys(("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan"), (32, 4e-7)),
    **dict.fromkeys(("ParametricSoftplus", "ScaledTanh"), (32, 2e-6)),
    "Mish": (32, 4e-6),  # ONNX Runtime's logarithm of a number near 1
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow"), (16, 1e-6)),
    **dict.fromkeys(("Log", "Pow", "Sin", "Cos", "Sqrt", "Reciprocal", "Div", "HardSigmoid", "HardSwish", "Softsign"), (16, 2e-7)),
    **dict.fromkeys(("LogSoftmax", "SoftmaxCrossEntropyLoss"), (4, 4e-7)),  # the logarithm of a sum near 1
}
TIMES_OPERAND = {*GELUS, "Swish", "Mish"}  # x times a function: its absolute error, x times
EXACT = {
    "Abs", "Neg", "Relu", "Identity", "Floor", "Ceil", "Round", "Sign", "Clip", "Min", "Max", "Where", "Cast", "CastLike", "Dropout",
    "ThresholdedRelu", "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "Gather", "Concat", "Reshape", "Transpose",
    "GatherElements", "GatherND", "TopK", "MaxRoiPool", "ReverseSequence", "MaxUnpool", "TensorScatter", "Constant", "ConstantOfShape",
    "Range",
    "Flatten", "Squeeze", "Unsqueeze", "Slice", "Split", "Expand", "Tile", "Pad", "DepthToSpace", "SpaceToDepth", "Trilu", "CenterCropPad",
    "If", "Loop", "Scan",  # of what is drawn in them
    "Binarizer", "ArrayFeatureExtractor", "OneHotEncoder", "LabelEncoder", "Imputer", "FeatureVectorizer", "OneHot", "Hardmax",
    "EyeLike", "Crop",
}  # fmt: skip
ELEMENTWISE = {*FUNCTIONS} - {*SCORES, "LogSoftmax", "SoftmaxCrossEntropyLoss", *RECURRENT, "FusedConv", "FusedGemm"}
PRODUCTS = {"MatMul", "Gemm", "FusedMatMul", "TransposeMatMul", "FusedGemm"}
CONVOLUTIONS = {"Conv", "ConvTranspose", "FusedConv", "DeformConv"}
COUPLED = {
    "Softmax", "LogSoftmax", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization", "BatchNormalization",
    "MeanVarianceNormalization", "LRN", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp",
    "ReduceSum", "ReduceMean", "AveragePool", "GlobalAveragePool", "Resize", "Upsample", "Attention", "RotaryEmbedding", "AffineGrid",
    "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss", *RECURRENT, "Einsum", "GridSample", "RoiAlign", "Col2Im",
    "DFT", "STFT", "Det", "LpPool", "GlobalLpPool", "LpNormalization", "CumSum", "CumProd", "SimplifiedLayerNormalization",
    "EmbedLayerNormalization", "MultiHeadAttention",
}  # fmt: skip
POLES = {"Reciprocal": 0, "Div": 1, "Log": 0, "Pow": 0}  # operands at whose zero a result may be anything
TELL_ZERO = {"Cast", "CastLike", "NonZero"}  # to bool, and by counting, from every other number
# which zero it is depends on the order, or is lost: ONNX Runtime's Where takes what is not zero of either operand
SIGNLESS = {"Min", "Max", "ReduceMin", "ReduceMax", "MaxPool", "GlobalMaxPool", "Relu", "Clip", "Where", "If", "Loop", "Scan"}
SUMS = {"AveragePool", "GlobalAveragePool", "ReduceSum", "ReduceMean"}  # which begin with 0 or with their first term, which may be -0
WRAPPED = 2.0**53  # apart, whole numbers have wrapped or are of what may be anything


@dataclass(frozen=True)
class Noise:
    """The errors of one execution: all upwards, all downwards, or at random. In a quarter of them what may be anything is NaN all the way:

    by chance alone a number at the end of a long chain would often be left as it was. In every other of these infinities are handed on
    as they are, since an operator may make a number of NaN, and of an infinity what may be anything itself. In two of each 16 it is one of
    the infinities: what ends at 0 for NaN may end there for any number, too, but for these.
    """

    g: np.random.Generator
    style: int

    def of(self, shape: tuple[int, ...]) -> np.ndarray:
        if self.style < 2:
            return np.full(shape, STRONGER * (1 - 2 * self.style))
        return STRONGER * (self.g.choice([-1.0, 1.0], shape) if self.style % 3 else self.g.uniform(-1, 1, shape))

    def anything(self, array: np.ndarray) -> np.ndarray:
        return anything(array, self.g, np.nan if self.style % 4 == 2 else POISONS.get(self.style % 16))

    @property
    def hands_on(self) -> bool:
        return self.style % 8 == 6

    def freed(self, array: np.ndarray, free: np.ndarray) -> np.ndarray:
        """The array, where `free` with anything in it."""
        return np.asarray(np.where(free, self.anything(array), array)) if free.any() else array

    def on(self, array: np.ndarray, units: float, least: np.ndarray | float = 0.0) -> np.ndarray:
        """The array, each number off by so many units in its last place, and by `least` besides."""
        size = np.where(np.isfinite(array), np.abs(array.astype(np.float64)), 0.0)
        return np.asarray(array + self.of(array.shape) * (units * UNIT * size + least), array.dtype)


def bounds(drawn: Drawn, vector: int) -> Arrays:
    """For every value of the model, on that input, how far each element may be off; infinity where nothing is promised."""
    generator, values = np.random.default_rng(7), drawn.values[vector]
    with np.errstate(all="ignore"):
        found = [execution(drawn, vector, Noise(generator, style)) for style in range(EXECUTIONS)]
        return {name: _apart([arrays[name] for arrays in found], values[name]) for name in found[0]}


def execution(drawn: Drawn, vector: int, noise: Noise) -> Arrays:
    """Every computed value, with errors."""
    given, base = drawn.vectors[vector], drawn.values[vector]
    made = {name for step in drawn.steps for name in step.node.output} - given.keys()
    values = {name: array for name, array in base.items() if name not in made}
    plain = set(values)  # what no arithmetic made
    loose: Arrays = {}  # where whole numbers may be anything: none among them says so and goes on through what reads it, as NaN does
    for step in drawn.steps:
        results = dict(zip(step.node.output, _executed(step, values, base, plain, loose, noise), strict=True))
        values.update({name: array for name, array in results.items() if name in made})
        if step.node.op_type in EXACT and plain.issuperset(reads(step.node)):
            plain.update(results)
    return {name: values[name] for name in made}


def _executed(step: Step, values: Arrays, base: Arrays, plain: set[str], loose: Arrays, noise: Noise) -> list[np.ndarray]:
    """The results of a node on its operands in this execution; `loose` is told which whole numbers of them may be anything."""
    node, usual = step.node, [base[name] for name in step.node.output]
    operands = {name: values[name] for name in reads(node)}
    if rounds(step, usual):
        operands = {name: _operand(step, name, array, plain, noise) for name, array in operands.items()}
    try:
        results = step.run(operands)
    except Misfit:
        results = []
    if [array.shape for array in results] != [array.shape for array in usual]:
        loose.update({name: np.ones(base[name].shape, bool) for name in node.output if base[name].dtype.kind != "f"})
        return [noise.anything(array) for array in usual]
    results = [_result(step, array, operands, noise) for array in results]
    if node.op_type in POLES and usual[0].dtype.kind == "f":
        unsure = _near_zero(operands, base, node.input[POLES[node.op_type]])
        results = [noise.freed(array, np.broadcast_to(unsure, array.shape)) for array in results]
    if node.op_type in TELL_ZERO and usual[0].dtype.kind in "bi" and operands[node.input[0]].dtype.kind == "f":
        unsure = _near_zero(operands, base, node.input[0])
        places = unsure if usual[0].dtype.kind == "b" else np.full(results[0].shape, node.op_type == "NonZero" and unsure.any())
        results = [noise.freed(results[0], places)]
    if node.op_type == "Equal":
        results = [noise.freed(results[0], _meet(*([values[name], base[name]] for name in node.input)))]
    moved = [array != same for array, same in zip(results, usual, strict=True)]
    free = [is_free(node, operands, array) | depends(node, loose, change) for array, change in zip(results, moved, strict=True)]
    loose.update({name: places for name, places in zip(node.output, free, strict=True) if base[name].dtype.kind != "f"})
    return [noise.freed(array, places) for array, places in zip(results, free, strict=True)]


def _near_zero(values: Arrays, base: Arrays, name: str) -> np.ndarray:
    """Where a number may be zero, for all that it moved: no execution makes it exactly that."""
    return np.asarray(4 * np.abs(values[name].astype(np.float64) - base[name]) > np.abs(base[name].astype(np.float64)))


def _meet(one: list[np.ndarray], other: list[np.ndarray]) -> np.ndarray:
    """Where numbers, each with its usual one, lie no farther from each other than they moved: elsewhere some execution makes them equal."""
    (a, a_before), (b, b_before) = ([array.astype(np.float64) for array in pair] for pair in (one, other))
    reach = np.abs(a - a_before) + np.abs(b - b_before)
    return (reach > 0) & (np.abs(a - b) <= reach)


def rounds(step: Step, results: list[np.ndarray]) -> bool:
    """Whether the node computes with floats."""
    return step.node.op_type not in EXACT and any(array.dtype.kind == "f" for array in results)


def _operand(step: Step, name: str, array: np.ndarray, plain: set[str], noise: Noise) -> np.ndarray:
    """An operand of arithmetic, which shakes it where it sums; what arithmetic makes of infinities and NaNs of other arithmetic is free."""
    if array.dtype.kind != "f":
        return array
    if name not in plain and not noise.hands_on:
        array = noise.freed(array, ~np.isfinite(array))
    if step.node.op_type in ("Resize", "Upsample") and name != step.node.input[0]:  # says where, exactly
        return array
    return array if step.node.op_type in ELEMENTWISE else noise.on(array, terms(step, array))


def terms(step: Step, array: np.ndarray) -> float:
    """Units in the last place of an operand that count for the roundings of the node: as many as a result sums up terms, and some."""
    op = step.node.op_type
    if op in PRODUCTS:
        return max(array.shape[-2:], default=1) + 8
    if op in CONVOLUTIONS:
        return max(prod(array.shape[1:]), 1) + 8
    return min(array.size, prod(array.shape[1:]) or 1) + 8 if op in COUPLED else 4


def _result(step: Step, array: np.ndarray, operands: Arrays, noise: Noise) -> np.ndarray:
    op = step.node.op_type
    if op.startswith("QLinear") or op == "QGemm":  # integer kernels that round in their own way
        info = np.iinfo(array.dtype)
        return np.asarray(np.clip(array.astype(np.int64) + noise.g.integers(-1, 2, array.shape), info.min, info.max), array.dtype)
    if array.dtype.kind != "f":
        return array
    if op in ("Cast", "CastLike") and array.dtype == np.float16:
        return noise.on(array, HALF, 2.0**-24)
    if op in SIGNLESS | SUMS:
        array = np.asarray(np.where(array == 0, np.copysign(0, noise.of(array.shape)), array), array.dtype)
    if op in EXACT:
        return array
    units, least = FUNCTIONS.get(op, (4, 0.0))
    floats = [operand for operand in operands.values() if operand.dtype.kind == "f"]
    if any(((np.abs(operand) < 1e-15) & (operand != 0)).any() for operand in floats) or ((np.abs(array) < TINY) & (array != 0)).any():
        least += TINY
    if op in LOST:
        return noise.on(array, units, LOST[op](step, operands, array))
    if op in TIMES_OPERAND:
        return noise.on(array, units, least * np.maximum(1, np.nan_to_num(np.abs(operands[step.node.input[0]].astype(np.float64)))))
    return noise.on(array, units, least)


def _cancelled(step: Step, operands: Arrays, array: np.ndarray) -> np.ndarray:
    """What x * s + (b - mean * s) loses of each instance, as an operand's noise moves x and its mean alike."""
    x, scale = operands[step.node.input[0]].astype(np.float64), np.abs(operands[step.node.input[1]].astype(np.float64))
    axes = tuple(range(2, x.ndim))
    epsilon = next((item.f for item in step.node.attribute if item.name == "epsilon"), 1e-5)
    factor = scale.reshape(-1, *[1] * len(axes)) / np.sqrt(x.var(axis=axes, keepdims=True) + epsilon)
    return np.broadcast_to(4 * UNIT * np.abs(x).max(axis=axes, keepdims=True) * factor, x.shape)


def _least_deviation(step: Step, operands: Arrays, array: np.ndarray) -> np.ndarray:
    """The 1e-9 that the standard adds to a deviation, and ONNX Runtime's kernel does not."""
    x = operands[step.node.input[0]].astype(np.float64)
    axes = next((tuple(item.ints) for item in step.node.attribute if item.name == "axes"), (0, 2, 3))
    deviation = np.broadcast_to(x.std(axis=axes, keepdims=True), x.shape)
    return np.abs(np.nan_to_num(array.astype(np.float64))) * np.minimum(1e-9 / np.maximum(deviation, TINY), 1)


def _divided(step: Step, operands: Arrays, array: np.ndarray) -> np.ndarray:
    """A tangent by sine and cosine, where the cosine is off by as much as FUNCTIONS says of it."""
    return np.asarray(4e-7 * (1 + np.nan_to_num(array.astype(np.float64)) ** 2))


def _slid(step: Step, operands: Arrays, array: np.ndarray) -> np.ndarray:
    """What ONNX Runtime loses of LRN's sums of squares: it adds to and takes from one sum that slides over the channels."""
    x = operands[step.node.input[0]].astype(np.float64)
    given = {item.name: item.i if item.type == onnx.AttributeProto.INT else item.f for item in step.node.attribute}
    squares = (x**2).sum(axis=1, keepdims=True) * 4 * UNIT * given.get("alpha", 1e-4) / given["size"]
    return np.asarray(np.abs(array) * given.get("beta", 0.75) * squares / given.get("bias", 1.0))


def _placed(step: Step, operands: Arrays, array: np.ndarray) -> np.ndarray:
    """What a grid's places between -1 and 1 are off by, zero too."""
    size = np.abs(operands[step.node.input[0]].astype(np.float64)).max(axis=(1, 2))
    return np.asarray(4 * UNIT * size.reshape(-1, *[1] * (array.ndim - 1)))


def _weighed(step: Step, operands: Arrays, array: np.ndarray) -> np.ndarray:
    """Cubic weights are differences of terms up to 8, each rounded; ONNX Runtime's places are off by roundings of the largest, too."""
    x = operands[step.node.input[0]]
    mode = next((item.s for item in step.node.attribute if item.name == "mode"), b"nearest")
    size = np.abs(x.astype(np.float64)).max(initial=0.0)
    largest = max(x.shape, default=1)
    units = {b"nearest": 0, b"linear": largest, b"cubic": 16 + largest}[mode]
    return np.asarray(units * UNIT * size if np.isfinite(size) else 0.0)


def _transformed(step: Step, operands: Arrays, array: np.ndarray) -> np.ndarray:
    """What ONNX Runtime loses of a transform, of whose terms each rounds."""
    size = np.abs(operands[step.node.input[0]].astype(np.float64)).sum()
    return np.asarray(64 * UNIT * size if np.isfinite(size) else 0.0)


def _gated(step: Step, operands: Arrays, array: np.ndarray) -> np.ndarray:
    """A gate's absolute error times the state that it lets through, or its product with R: a gate of ONNX Runtime is never quite 0.

    A function without bounds as a gate or behind one: what the others are off by, times the largest number that it can be, in each step.
    """
    x, w, r, b = (_largest(operands, step.node.input[place : place + 1]) for place in range(4))
    first, last = _largest(operands, step.node.input[5:7]), _largest({"y": array}, ["y"])
    rows = float(np.nan_to_num(np.abs(operands[step.node.input[2]].astype(np.float64))).sum(axis=-1).max(initial=0))
    far = 4e-7 * first * (1 + rows) if first > LARGE else 0.0
    chosen = next((item.strings for item in step.node.attribute if item.name == "activations"), [])
    if not BOUNDED.issuperset(chosen):
        (steps, _, inputs), (_, _, hidden) = (operands[step.node.input[place]].shape for place in (0, 2))
        far += 1e-6 * min(max(1.0, inputs * x * w + hidden * r * max(first, last) + 2 * b), 1e7) ** min(steps, 40)
        far = far if far < LOST_COUNT else np.inf  # gates grow with the states: soon all is infinite, of which ONNX Runtime makes zeros
    return np.full(array.shape, 1e-6 + far)


def _largest(operands: Arrays, names: Iterable[str]) -> float:
    return max((float(np.nan_to_num(np.abs(operands[name].astype(np.float64))).max(initial=0)) for name in names if name), default=0.0)


# what roundings within a node lose that no operand's noise shows
LOST = {
    "InstanceNormalization": _cancelled, "LRN": _slid, "AffineGrid": _placed, "Resize": _weighed, "Upsample": _weighed,
    "DFT": _transformed, "STFT": _transformed, "Tan": _divided, "GRU": _gated, "LSTM": _gated,
    "MeanVarianceNormalization": _least_deviation,
}  # fmt: skip


def _apart(found: list[np.ndarray], usual: np.ndarray) -> np.ndarray:
    """How far the executions' answers lie from the usual one, and some."""
    return np.asarray(BEYOND * reduce(np.maximum, (_distance(array, usual) for array in found)))


def _distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Infinite where one is a number and the other is not, and where whole numbers wrapped; 1 at least between different ones."""
    difference = np.abs(one.astype(np.float64) - other.astype(np.float64))
    if one.dtype.kind != "f":
        return np.where(difference > WRAPPED, np.inf, np.maximum(difference, one != other))
    same = (one == other) | ((one != one) & (other != other))
    return np.where(same, 0.0, np.where(np.isnan(difference), np.inf, difference))
