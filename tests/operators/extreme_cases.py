"""Every operator on the ends of what its operands may be: integers by Python's own arithmetic, floats by ONNX Runtime.

One model for each type, with an output for each operator: compiled once, wrong operators are named by their outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import defs, helper, numpy_helper

from tests.operators.case import Case

OPSET = 21
INTEGERS = [np.dtype(f"{sign}int{bits}") for bits in (8, 16, 32, 64) for sign in ("", "u")]
Meaning = Callable[..., int]
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-42, -1e-42, 1e-30, 0.5, 1, -1, 2.5, 6, 7, -7, 3e38, -3e38], np.float32)
CASTS = np.array([np.nan, np.inf, -np.inf, -0.0, 0.9, -0.9, -3.7, 127.5, 255.9, 300, -300, 70000, 2**31, -(2**31), 3e9, -3e9, 2**32, 5e9,
                  9e18, 2.0**63, -(2.0**63), 1.5e19, 2.0**64, 1e20, -1e20, 3e38], np.float32)  # fmt: skip


@dataclass(frozen=True)
class Output:
    """One node over the model's inputs or its own constants, and what it must give."""

    operator: str
    inputs: tuple[str | np.ndarray, ...]
    expected: np.ndarray
    attributes: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.operator}{self.attributes or ''}"


# What the operators give, by Python's integers


def quotient(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a: int, b: int) -> int:
    if b >= 0:
        return pow(a, b, 1 << 64)  # whose low bits are those of a^b
    return 0 if abs(a) != 1 else a if b % 2 else 1


BINARY: dict[str, Meaning] = {
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": quotient, "Min": min, "Max": max,
    "Mod": lambda a, b: a % b if b else 0, "Pow": power, "BitwiseAnd": lambda a, b: a & b, "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b, "PRelu": lambda a, b: a * b if a < 0 else a,
}  # fmt: skip
UNARY: dict[str, Meaning] = {
    "Neg": lambda a: -a, "Abs": abs, "Sign": lambda a: (a > 0) - (a < 0), "BitwiseNot": lambda a: ~a, "Relu": lambda a: max(a, 0),
}  # fmt: skip
REDUCTIONS: dict[str, Callable[[Sequence[int]], int]] = {
    "ReduceSum": sum, "ReduceMax": max, "ReduceMin": min, "ReduceProd": lambda row: int(np.prod(np.array(row, object))),
    "ReduceL1": lambda row: sum(map(abs, row)), "ReduceSumSquare": lambda row: sum(a * a for a in row),
}  # fmt: skip


def takes(operator: str, dtype: np.dtype[Any], place: int = 0) -> bool:
    """Whether ONNX has the operator for the type."""
    schema = defs.get_schema(operator, OPSET)
    name = f"tensor({dtype.name})"
    return name in next(
        (set(kind.allowed_type_strs) for kind in schema.type_constraints if kind.type_param_str == schema.inputs[place].type_str), set()
    )


def wrapped(values: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """The low bits of Python integers."""
    bits = dtype.itemsize * 8
    low = [int(value) & ((1 << bits) - 1) for value in np.ravel(np.asarray(values, object))]
    return np.array(low, np.dtype(f"u{dtype.itemsize}")).view(dtype).reshape(np.shape(values))


def extremes(dtype: np.dtype[Any]) -> np.ndarray:
    limits = np.iinfo(dtype)
    between = np.random.default_rng(dtype.itemsize).integers(limits.min, limits.max, 8, dtype, endpoint=True)
    small = [n for n in (-7, -2, -1, 0, 1, 2, 7) if n >= limits.min]
    return np.array([limits.min, limits.min + 1, limits.max, limits.max - 1, *small, *between.tolist()], dtype)


def integer_outputs(dtype: np.dtype[Any], a: np.ndarray, b: np.ndarray) -> Iterator[Output]:
    """a and b are matrices of equal shape; reductions go along the rows of a."""

    def pairs(meaning: Meaning) -> np.ndarray:
        found = [meaning(x, y) for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)]
        return wrapped(found, dtype).reshape(a.shape)

    for operator, meaning in BINARY.items():
        if takes(operator, dtype):
            yield Output(operator, ("a", "b"), pairs(meaning), {})
    yield Output("Mod", ("a", "b"), pairs(lambda x, y: x - quotient(x, y) * y if y else 0), {"fmod": 1})
    for operator, unary in UNARY.items():
        if takes(operator, dtype):
            yield Output(operator, ("a",), pairs(lambda x, _, unary=unary: unary(x)), {})
    for operator, reduction in REDUCTIONS.items():
        if takes(operator, dtype):
            found = wrapped([[reduction(row)] for row in a.tolist()], dtype)
            yield Output(operator, ("a", np.array([1])), found, {"keepdims": 1})
    for constant in (0, 1, -1 if dtype.kind == "i" else 255, 3):
        divisor = np.array(constant, dtype)
        yield Output("Div", ("a", divisor), pairs(lambda x, _, c=constant: quotient(x, c)), {})
        yield Output("Mod", ("a", divisor), pairs(lambda x, _, c=constant: x % c if c else 0), {})
        yield Output("Div", (divisor, "b"), pairs(lambda _, y, c=constant: quotient(c, y)), {})
    for direction in ("LEFT", "RIGHT") if takes("BitShift", dtype) else ():
        shift = (lambda x, y: x << min(y, 70)) if direction == "LEFT" else (lambda x, y: x >> min(y, 70))
        yield Output("BitShift", ("a", "b"), pairs(shift), {"direction": direction})
    for to in INTEGERS:
        yield Output("Cast", ("a",), wrapped(a.astype(object), to), {"to": helper.np_dtype_to_tensor_dtype(to)})


def integer_case(dtype: np.dtype[Any]) -> Case:
    values = extremes(dtype)
    a, b = (np.ascontiguousarray(grid) for grid in np.meshgrid(values, values))
    return model_of(f"integers_{dtype.name}", {"a": a, "b": b}, list(integer_outputs(dtype, a, b)))


def chained_case() -> Case:
    """Sums, products and quotients that compilers could join, of data that makes them wrap."""
    a = extremes(np.dtype(np.int32))
    nodes = (
        [("Mul", "a", 6), ("Add", "", 4), ("Mod", "", 3)],
        [("Max", "a", 2**31 - 10), ("Add", "", 100), ("Min", "", 5)],
        [("Mul", "a", 3), ("Mul", "", 2**30 + 1), ("Add", "", 2**31 - 1), ("Add", "", 1)],
        [("Sub", "a", -(2**31)), ("Div", "", 2), ("Mul", "", 2)],
    )
    outputs, expected = [], []
    model = []
    for number, chain in enumerate(nodes):
        value, name = a, "a"
        for step, (operator, _, constant) in enumerate(chain):
            result = f"y{number}" if step == len(chain) - 1 else f"t{number}_{step}"
            model.append((operator, [name, np.array(constant, np.int32)], result))
            value = wrapped([BINARY[operator](x, constant) for x in value.tolist()], a.dtype)
            name = result
        outputs.append(name)
        expected.append(value)
    proto = graph_of("chained", {"a": a}, [(operator, inputs, name, {}) for operator, inputs, name in model], outputs)
    return Case("chained", "Add", proto, {"a": a}, expected)


# Floats


FLOAT_UNARY: tuple[tuple[str, dict[str, Any]], ...] = (
    *((operator, {}) for operator in (
        "Relu", "LeakyRelu", "Elu", "Selu", "Celu", "HardSigmoid", "HardSwish",
        "ThresholdedRelu", "Sign", "Softplus", "Softsign", "Sigmoid",
        "Tanh", "Erf", "Exp", "Log", "Sqrt", "Floor", "Ceil", "Round", "Abs", "Neg", "Reciprocal", "Mish", "Gelu", "IsNaN",
        "IsInf", "Identity")),
    ("Gelu", {"approximate": "tanh"}), ("Shrink", {"lambd": 0.5, "bias": 0.2}), ("Selu", {"gamma": 0.0}), ("HardSigmoid", {"alpha": 0.0}),
)  # fmt: skip
FLOAT_BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "PRelu", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")


def float_nodes() -> Iterator[tuple[str, tuple[str | np.ndarray, ...], dict[str, Any]]]:
    """Inputs: a and b, grids of SPECIAL; angles, those that GPUs know the sine of; rows, each with one of
    SPECIAL somewhere; c for casts; image, with NaN in every place."""

    def number(value: float) -> np.ndarray:
        return np.array(value, np.float32)

    yield from ((operator, ("a",), attributes) for operator, attributes in FLOAT_UNARY)
    yield from ((operator, ("angles",), {}) for operator in ("Sin", "Cos"))
    yield from ((operator, ("a", "b"), {}) for operator in FLOAT_BINARY)
    for zero in (0.0, -0.0):
        yield "Mul", ("a", number(zero)), {}
        yield "Div", (number(zero), "a"), {}
    yield from ((operator, ("a", "a"), {}) for operator in ("Div", "Sub", "Add", "Mul"))
    for low, high in ((-1, 6), (0, 6), (6, -1)):
        yield "Clip", ("a", number(low), number(high)), {}
    yield "Clip", ("a", number(0), number(np.inf)), {}
    for operator in ("Max", "Min"):
        yield from ((operator, inputs, {}) for inputs in (("a", number(0.5)), (number(0.5), "a"), ("a", "b", number(2))))
    for operator in ("Softmax", "LogSoftmax"):
        yield from ((operator, ("rows",), {"axis": axis}) for axis in (0, 1))
    for operator in ("ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"):
        yield operator, ("rows", np.array([1])), {}
    yield "ReduceProd", ("a", np.array([0])), {}  # of equal numbers, whose order does not matter
    for operator in ("ArgMax", "ArgMin"):
        yield from ((operator, ("rows",), {"axis": 1, "select_last_index": last}) for last in (0, 1))
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.bool_):
        yield "Cast", ("c",), {"to": helper.np_dtype_to_tensor_dtype(np.dtype(dtype))}
    yield "AveragePool", ("image",), {"kernel_shape": [2, 2]}
    yield "GlobalAveragePool", ("image",), {}


def float_inputs() -> dict[str, np.ndarray]:
    a, b = (np.ascontiguousarray(grid) for grid in np.meshgrid(SPECIAL, SPECIAL))
    rows = np.tile(np.linspace(-2, 3, 33, dtype=np.float32), (len(SPECIAL) * 3, 1))
    for row, value in enumerate(np.repeat(SPECIAL, 3)):
        rows[row, (0, 16, 32)[row % 3]] = value
    image = np.tile(np.arange(25, dtype=np.float32).reshape(1, 5, 5), (26, 1, 1))
    for place in range(25):
        image[place].flat[place] = np.nan
    angles = SPECIAL[~(np.abs(SPECIAL) > 1e4) | ~np.isfinite(SPECIAL)]
    return {"a": a, "b": b, "c": CASTS, "angles": angles, "rows": rows, "image": image[None]}


# Epilogues of template kernels: the product is finite, infinite or NaN


def fused_case() -> Case:
    x = np.ones((1, 4, 6, 6), np.float32)
    x[0, :, 1, 1], x[0, :, 4, 1], x[0, :, 1, 4] = np.nan, np.inf, -np.inf
    rng = np.random.default_rng(8)
    nodes, names = [], []
    for kind, weights, group in (("dense", rng.standard_normal((19, 4, 1, 1)), 1), ("depthwise", rng.standard_normal((4, 1, 3, 3)), 4)):
        for end, bounds in (("relu", None), ("clip", (0.0, 6.0)), ("clip", (-0.5, 0.25)), ("none", None)):
            name = f"{kind}_{end}{bounds or ''}"
            inner = name if end == "none" else f"{name}_sum"
            nodes.append(("Conv", ["x", weights.astype(np.float32)], inner, {"group": group}))
            if end != "none":
                limits = [np.array(bound, np.float32) for bound in bounds or ()]
                nodes.append(("Clip" if bounds else "Relu", [inner, *limits], name, {}))
            names.append(name)
    return reference_case(graph_of("fused", {"x": x}, nodes, names), "fused", {"x": x})


# Models


def graph_of(name: str, inputs: dict[str, np.ndarray], nodes: Sequence[tuple[str, Sequence[str | np.ndarray], str, dict[str, Any]]],
             outputs: Sequence[str]) -> onnx.ModelProto:  # fmt: skip
    constants: list[onnx.TensorProto] = []

    def named(item: str | np.ndarray) -> str:
        if isinstance(item, str):
            return item
        constants.append(numpy_helper.from_array(item, f"c{len(constants)}"))
        return str(constants[-1].name)

    made = [
        helper.make_node(operator, list(map(named, items)), [result], name=result, **attributes)
        for operator, items, result, attributes in nodes
    ]
    ports = [helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for key, array in inputs.items()]
    graph = helper.make_graph(made, name, ports, [helper.make_empty_tensor_value_info(output) for output in outputs], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model)


def model_of(name: str, inputs: dict[str, np.ndarray], outputs: Sequence[Output]) -> Case:
    nodes = [(item.operator, item.inputs, f"y{number}", item.attributes) for number, item in enumerate(outputs)]
    proto = graph_of(name, inputs, nodes, [result for _, _, result, _ in nodes])
    return Case(
        name, ", ".join(f"{number} {item}" for number, item in enumerate(outputs)), proto, inputs, [item.expected for item in outputs]
    )


def reference_case(model: onnx.ModelProto, name: str, inputs: dict[str, np.ndarray]) -> Case:
    return Case(name, name, model, inputs, run_onnxruntime(model, inputs))


def run_onnxruntime(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    return [np.asarray(output) for output in session.run(None, {item.name: inputs[item.name] for item in session.get_inputs()})]


def float_case() -> Case:
    inputs, nodes = float_inputs(), list(float_nodes())
    model = graph_of("floats", inputs, [(operator, items, f"y{n}", attributes) for n, (operator, items, attributes) in enumerate(nodes)],
                     [f"y{n}" for n in range(len(nodes))])  # fmt: skip
    case = reference_case(model, "floats", inputs)
    return Case(
        case.name, ", ".join(f"{n} {operator}" for n, (operator, _, _) in enumerate(nodes)), model, inputs, case.expected, 1e-3, 1e-5
    )


def extreme_of_rows_case() -> Case:
    """ReduceMax, ReduceMin and GlobalMaxPool are NaN where there is one; ONNX Runtime's are where it comes first or last.

    MaxPool is the running m > x ? m : x, whose NaN the next pixel replaces; ONNX Runtime's gives one or the other by the size of the image.
    """
    inputs = {name: array for name, array in float_inputs().items() if name in ("rows", "image")}
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [("ReduceMax", ["rows", np.array([1])], "y0", {}), ("ReduceMin", ["rows", np.array([1])], "y1", {}),
             ("GlobalMaxPool", ["image"], "y2", {}), ("MaxPool", ["image"], "y3", window)]  # fmt: skip
    rows, image = inputs["rows"], inputs["image"]
    pooled = np.full_like(image, -np.inf)
    for place in np.ndindex(5, 5):
        for near in np.ndindex(3, 3):
            y, x = (a + b - 1 for a, b in zip(place, near, strict=True))
            if 0 <= y < 5 and 0 <= x < 5:
                best, pixel = pooled[:, :, *place], image[:, :, y, x]
                pooled[:, :, *place] = np.where(best > pixel, best, pixel)
    expected = [rows.max(1, keepdims=True), rows.min(1, keepdims=True), image.max((2, 3), keepdims=True), pooled]
    return Case("extremes_of_rows", "ReduceMax", graph_of("rows", inputs, nodes, ["y0", "y1", "y2", "y3"]), inputs, expected)


@cache
def extreme_cases() -> tuple[Case, ...]:
    return (*map(integer_case, INTEGERS), chained_case(), float_case(), extreme_of_rows_case(), fused_case())
