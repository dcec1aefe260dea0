"""Corners that ONNX's cases leave out: odd sizes, every attribute, ranks from 0 to 6. ONNX Runtime says what is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.operators.case import Case
from tests.operators.code_cases import code_cases
from tests.operators.type_cases import type_cases

OPSET = 21


@cache
def own_cases() -> tuple[Case, ...]:
    """All of them; the name of a case says what it is about."""
    groups = (
        _broadcasts,
        _ranks,
        _pads,
        _convolutions,
        _transposed,
        _pools,
        _resizes,
        _slices,
        _gathers,
        _concats,
        _products,
        _reductions,
        _chains,
    )
    return (*(case for group in groups for case in group()), *type_cases(), *code_cases())


class Net:
    """A model under construction with inputs x0, x1, ... of the given shapes; constants are drawn from one generator."""

    def __init__(self, name: str, *shapes: Sequence[int], dtype: Any = np.float32) -> None:
        self.name, self.rng = name, np.random.default_rng(list(name.encode()))
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs = {f"x{index}": self.array(shape, dtype) for index, shape in enumerate(shapes)}

    def array(self, shape: Sequence[int], dtype: Any = np.float32) -> np.ndarray:
        kind = np.dtype(dtype).kind
        if kind == "f":
            return np.asarray(self.rng.standard_normal(shape), dtype)
        return np.asarray(self.rng.integers(0, 2 if kind == "b" else 50, shape), dtype)

    def constant(self, values: Any, dtype: Any = None) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def normal(self, *shape: int) -> str:
        return self.constant(self.array(shape))

    def node(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Append a node; the name of its output, or their names when there are several."""
        names = [f"v{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, f"{op}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def case(self, *outputs: str) -> Case:
        ins = [
            helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for key, array in self.inputs.items()
        ]
        outs = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self.nodes, self.name, ins, outs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        expected = run_onnxruntime(model, self.inputs)
        return Case(self.name, self.nodes[0].op_type, model, self.inputs, expected, 1e-3, 1e-4)


def run_onnxruntime(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return list(onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, inputs))


def by_reference(case: Case) -> Case:
    """Right is what ONNX's reference computes, where ONNX Runtime is less exact, or says nothing."""
    return replace(case, expected=list(ReferenceEvaluator(case.model).run(None, case.inputs)))


def single(name: str, op: str, inputs: Sequence[Any], constants: Sequence[Any] = (), dtype: Any = np.float32, **attributes: Any) -> Case:
    """One operator on inputs of these shapes, or these arrays, followed by constant operands (None: left out)."""
    arrays = {f"x{place}": item for place, item in enumerate(inputs) if isinstance(item, np.ndarray)}
    net = Net(name, *(() if isinstance(item, np.ndarray) else item for item in inputs), dtype=dtype)
    net.inputs |= arrays
    operands = [*net.inputs, *("" if value is None else net.constant(value) for value in constants)]
    return net.case(net.node(op, *operands, **attributes))


def _broadcasts() -> Iterator[Case]:
    pairs = [((), ()), ((), (2, 3)), ((3,), (2, 1)), ((1, 1), (4,)), ((2, 1, 3), (1, 5, 1)), ((7,), (2, 3, 5, 7)),
             ((2, 3, 1, 7), (3, 5, 1)), ((1, 1, 1, 1, 1), (2, 3)),
             ((2, 1, 2, 1, 2, 1), (1, 3, 1, 3, 1, 3)), ((1, 17, 1, 1), (1, 17, 5, 3))]  # fmt: skip
    for op, (a, b) in product(("Add", "Sub", "Mul", "Div", "Max", "Pow", "Greater"), pairs):
        if op != "Pow":
            yield single(f"broadcast_{op}_{a}_{b}", op, [a, b])
            yield single(f"broadcast_{op}_{b}_{a}", op, [b, a])
    for dtype in (np.int32, np.int64):
        yield single(f"broadcast_integers_{np.dtype(dtype)}", "Sub", [(3, 1), (1, 4)], dtype=dtype)
    net = Net("broadcast_where", (2, 1, 4), (3, 1))
    yield net.case(net.node("Where", net.node("Greater", "x0", net.constant(0.0, np.float32)), "x0", "x1"))
    net = Net("where_no_number", (2, 5))
    chosen = net.node("Where", net.node("Greater", "x0", net.constant(0.0, np.float32)), "x0", net.constant(np.nan, np.float32))
    yield net.case(net.node("IsNaN", chosen), chosen)
    net = Net("variadic", (2, 1), (1, 3), (3,))
    yield net.case(net.node("Max", "x0", "x1", "x2"), net.node("Sum", "x2", "x1", "x0"), net.node("Mean", "x0", "x2"))


def _ranks() -> Iterator[Case]:
    shapes = [(), (1,), (7,), (3, 5), (2, 3, 5), (2, 3, 4, 5), (2, 3, 2, 3, 2), (2, 1, 3, 2, 2, 3)]
    for shape in shapes:
        rank = len(shape)
        yield single(f"rank_{rank}_{shape}_relu", "Relu", [shape])
        yield single(f"rank_{rank}_{shape}_tanh", "Tanh", [shape])
        yield single(f"rank_{rank}_{shape}_identity", "Identity", [shape])
        yield single(f"rank_{rank}_{shape}_reshape", "Reshape", [shape], [np.array([-1])])
        yield single(f"rank_{rank}_{shape}_unsqueeze", "Unsqueeze", [shape], [np.array([0, rank + 1])])
        yield single(f"rank_{rank}_{shape}_sum", "ReduceSum", [shape], keepdims=0)
        if shape:
            yield single(f"rank_{rank}_{shape}_transpose", "Transpose", [shape])
            yield single(f"rank_{rank}_{shape}_softmax", "Softmax", [shape], axis=-rank)
            yield single(f"rank_{rank}_{shape}_flatten", "Flatten", [shape], axis=rank // 2)
            pads = np.arange(2 * rank) % 3
            yield single(f"rank_{rank}_{shape}_pad", "Pad", [shape], [pads, np.float32(0.5)])
            if min(shape) > 2:
                yield single(f"rank_{rank}_{shape}_reflect", "Pad", [shape], [pads], mode="reflect")
            yield single(f"rank_{rank}_{shape}_tile", "Tile", [shape], [np.arange(rank) % 2 + 1])


def _pads() -> Iterator[Case]:
    """Negative pads crop, before the others are filled."""
    for mode in ("reflect", "edge", "wrap"):
        for pads in ((2, 2), (-1, 2), (2, -1), (-2, 0), (-1, -2)):
            yield single(f"pad_{mode}_{pads}", "Pad", [(5, 2)], [np.array([pads[0], 0, pads[1], 0])], mode=mode)
    for mode in ("edge", "wrap"):
        for pads in ((7, 0), (0, 9), (-2, 6), (5, -1), (11, 11)):
            yield single(f"pad_{mode}_far_{pads}", "Pad", [(3, 2)], [np.array([pads[0], 0, pads[1], 0])], mode=mode)


def _convolutions() -> Iterator[Case]:
    rows: list[tuple[Sequence[int], Sequence[int], dict[str, Any]]] = [
        ((1, 3, 7, 6), (5, 3, 3, 3), {"pads": [0, 1, 2, 1]}),
        ((2, 6, 7, 6), (9, 2, 3, 2), {"group": 3, "strides": [2, 1]}),
        ((1, 5, 8, 9), (5, 1, 3, 3), {"group": 5, "pads": [1, 1, 1, 1]}),
        ((1, 4, 8, 9), (8, 1, 3, 5), {"group": 4, "pads": [2, 0, 0, 3], "strides": [1, 2]}),
        ((1, 17, 5, 5), (17, 1, 3, 3), {"group": 17, "dilations": [2, 2], "pads": [2, 2, 2, 2]}),
        ((1, 2, 11, 13), (3, 2, 3, 3), {"dilations": [3, 2], "strides": [2, 3]}),
        ((1, 33, 4, 5), (35, 33, 1, 1), {}),
        ((3, 7, 1, 1), (11, 7, 1, 1), {}),
        ((1, 3, 9, 9), (4, 3, 4, 4), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ((1, 3, 9, 9), (4, 3, 4, 4), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
        ((1, 3, 9, 9), (4, 3, 4, 4), {"auto_pad": "VALID", "strides": [3, 2]}),
        ((2, 3, 12), (4, 3, 5), {"pads": [2, 1], "strides": [2]}),
        ((1, 6, 12), (6, 1, 3), {"group": 6, "dilations": [2]}),
        ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"pads": [1, 0, 0, 1, 1, 0]}),
        ((1, 3, 2, 2), (4, 3, 5, 5), {"pads": [3, 3, 3, 3]}),
    ]
    for index, (x, w, attributes) in enumerate(rows):
        for bias in (False, True):
            net = Net(f"conv_{index}_{x}_{w}_{'bias' if bias else 'plain'}", x)
            operands = ["x0", net.normal(*w), *([net.normal(w[0])] if bias else [])]
            yield net.case(net.node("Conv", *operands, **attributes))


def _transposed() -> Iterator[Case]:
    rows: list[tuple[Sequence[int], Sequence[int], dict[str, Any]]] = [
        ((1, 3, 5, 4), (3, 7, 3, 3), {}),
        ((2, 3, 5, 4), (3, 5, 3, 2), {"strides": [2, 3]}),
        ((1, 4, 5, 4), (4, 3, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 4, 5, 4), (4, 3, 3, 3), {"strides": [2, 2], "pads": [0, 1, 2, 1], "output_padding": [1, 0]}),
        ((1, 4, 5, 4), (4, 3, 3, 3), {"group": 2, "strides": [2, 1]}),
        ((1, 6, 5, 4), (6, 1, 3, 3), {"group": 6, "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 2, 5, 4), (2, 3, 3, 2), {"dilations": [2, 3]}),
        ((1, 2, 5, 4), (2, 3, 2, 2), {"strides": [3, 3]}),
        ((1, 2, 5, 4), (2, 3, 3, 3), {"strides": [2, 2], "output_shape": [10, 8]}),
        ((1, 2, 5, 4), (2, 3, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 2, 5, 4), (2, 3, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
        ((1, 3, 6), (3, 4, 4), {"strides": [2], "pads": [1, 2]}),
    ]
    for index, (x, w, attributes) in enumerate(rows):
        net = Net(f"transposed_{index}_{x}_{w}", x)
        yield net.case(net.node("ConvTranspose", "x0", net.normal(*w), net.normal(w[1] * attributes.get("group", 1)), **attributes))


def _pools() -> Iterator[Case]:
    windows: list[dict[str, Any]] = [
        {"kernel_shape": [3, 2]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
        {"kernel_shape": [2, 3], "strides": [3, 3], "ceil_mode": 1},
        {"kernel_shape": [3, 3], "strides": [2, 1], "pads": [2, 0, 1, 1], "dilations": [2, 1]},
        {"kernel_shape": [2, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
        {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_LOWER"},
        {"kernel_shape": [2, 2], "auto_pad": "VALID", "strides": [2, 1]},
    ]
    for (index, window), x in product(enumerate(windows), [(1, 3, 7, 9), (2, 17, 8, 6)]):
        yield single(f"max_pool_{index}_{x}", "MaxPool", [x], **window)
        for included in (0, 1):
            yield single(f"average_pool_{index}_{x}_{included}", "AveragePool", [x], count_include_pad=included, **window)
    for op, x in product(("GlobalAveragePool", "GlobalMaxPool"), [(1, 5, 7, 3), (2, 3, 9), (1, 4, 2, 3, 2), (1, 1, 1, 1)]):
        yield single(f"{op}_{x}", op, [x])
    yield single("max_pool_line", "MaxPool", [(1, 3, 11)], kernel_shape=[3], strides=[2], ceil_mode=1)
    yield single("average_pool_line", "AveragePool", [(1, 3, 11)], kernel_shape=[4], strides=[3], pads=[1, 2])


def _resizes() -> Iterator[Case]:
    transforms = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")
    for mode, transform, size in product(("nearest", "linear", "cubic"), transforms, [(7, 9), (3, 4), (10, 5), (1, 1)]):
        name = f"resize_{mode}_{transform}_{size}"
        yield single(name, "Resize", [(1, 3, 5, 6)], [None, None, np.array([1, 3, *size])], mode=mode,
                      coordinate_transformation_mode=transform)  # fmt: skip
    for rounding, transform in product(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"), transforms[:3]):
        for scales in ([1, 1, 2, 3], [1, 1, 0.625, 1.75]):
            yield single(f"resize_{rounding}_{transform}_{scales}", "Resize", [(2, 1, 5, 6)], [None, np.array(scales, np.float32)],
                          mode="nearest", nearest_mode=rounding, coordinate_transformation_mode=transform)  # fmt: skip
    yield single("resize_line", "Resize", [(1, 3, 8)], [None, np.array([1, 1, 2.5], np.float32)], mode="linear")
    yield single("resize_cubic_outside", "Resize", [(1, 1, 4, 4)], [None, np.array([1, 1, 0.8, 0.8], np.float32)], mode="cubic",
                  cubic_coeff_a=-0.5, exclude_outside=1)  # fmt: skip


def _slices() -> Iterator[Case]:
    far = 2**62
    rows: list[tuple[list[int], list[int], list[int], list[int]]] = [
        ([0], [far], [0], [1]), ([-1], [-far], [1], [-1]), ([-1], [-far], [2], [-2]), ([5], [0], [2], [-2]),
        ([1, -2], [far, -far], [0, 2], [2, -1]),
        ([-3], [-1], [-1], [1]), ([0, 0, 0], [1, 2, 3], [2, 1, 0], [1, 1, 1]), ([6], [-far], [2], [-3]), ([100], [-100], [1], [-4]),
    ]  # fmt: skip
    for index, operands in enumerate(rows):
        yield single(f"slice_{index}_{operands}", "Slice", [(4, 5, 7)], [np.array(values) for values in operands])
    net = Net("slice_of_slice", (3, 9, 11))
    first = net.node("Slice", "x0", net.constant([8]), net.constant([-far]), net.constant([1]), net.constant([-2]))
    yield net.case(net.node("Slice", first, net.constant([-1]), net.constant([-far]), net.constant([1]), net.constant([-1])))


def _gathers() -> Iterator[Case]:
    for index, (indices, axis) in enumerate([([-1, 0, 2], 1), ([[0, -2], [3, -4]], 1), (-1, 0), (2, 2), ([0, 0, 0], -1), ([[-1]], -3)]):
        yield single(f"gather_{index}", "Gather", [(3, 4, 5)], [np.array(indices)], axis=axis)
    for kind in (np.int32, np.int64):
        net = Net(f"gather_{np.dtype(kind)}_at_run_time", (5, 3))
        net.inputs["x1"] = np.array([[0, -1], [4, -5]], kind)
        yield net.case(net.node("Gather", "x0", "x1"))
    yield from _gathered_elements()


def _gathered_elements() -> Iterator[Case]:
    """GatherElements and GatherND, of indices that are known and that are not."""
    rows: list[tuple[str, Sequence[int], Sequence[int], dict[str, int]]] = [
        ("GatherElements", (3, 4, 5), (2, 4, 3), {"axis": 0}), ("GatherElements", (3, 4, 5), (3, 9, 2), {"axis": 1}),
        ("GatherElements", (1, 12), (1, 4), {"axis": 1}), ("GatherElements", (3, 4, 5), (1, 1, 7), {"axis": -1}),
        ("GatherND", (3, 4, 5), (2, 3), {}), ("GatherND", (3, 4, 5), (2, 6, 2), {}), ("GatherND", (3, 4, 5), (7, 1), {}),
        ("GatherND", (3, 4, 5), (3,), {}), ("GatherND", (3, 4, 5), (3, 2, 1), {"batch_dims": 1}),
        ("GatherND", (2, 3, 4, 5), (2, 3, 2), {"batch_dims": 2}),
    ]  # fmt: skip
    for serial, (op, data, wanted, attributes) in enumerate(rows):
        generator, batch = np.random.default_rng(serial), attributes.get("batch_dims", 0)
        chosen = [data[attributes["axis"]]] if op == "GatherElements" else data[batch : batch + wanted[-1]]
        extents = np.array(chosen)  # of the last axis of the indices, or of all of them
        indices = np.asarray(generator.integers(-extents, extents, wanted))
        yield single(f"{op}_{data}_{wanted}_{attributes}", op, [data], [indices], **attributes)
        net = Net(f"{op}_{data}_{wanted}_{attributes}_at_run_time", data)
        net.inputs["x1"] = indices
        yield net.case(net.node(op, "x0", "x1", **attributes))


def _concats() -> Iterator[Case]:
    for axis in (0, 1, -1):
        shape = [2, 3, 4]
        shapes = [[*shape[:axis], extent, *shape[axis + 1 :]] if axis >= 0 else [2, 3, extent] for extent in (1, 5, 2, 1, 3, 7, 1)]
        yield single(f"concat_many_{axis}", "Concat", shapes, axis=axis)
    net = Net("concat_of_parts", (1, 13, 3, 2))
    parts = net.node("Split", "x0", net.constant([1, 5, 4, 3]), outputs=4, axis=1)
    moved = [net.node("Relu", part) if index % 2 else part for index, part in enumerate(parts)]
    yield net.case(net.node("Concat", *moved[::-1], moved[1], net.normal(1, 2, 3, 2), axis=1))
    net = Net("concat_of_one_value", (1, 3, 2))
    yield net.case(net.node("Concat", "x0", "x0", "x0", axis=2), net.node("Concat", "x0", axis=0))


def _products() -> Iterator[Case]:
    pairs = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)),
             ((2, 1, 2, 3), (1, 5, 3, 4)), ((2, 3), (4, 3, 1)), ((1, 65), (65, 33))]  # fmt: skip
    for a, b in pairs:
        yield single(f"matmul_{a}_{b}", "MatMul", [a, b])
        net = Net(f"matmul_constant_{a}_{b}", a)
        yield net.case(net.node("MatMul", "x0", net.normal(*b)))
        net = Net(f"matmul_constant_first_{a}_{b}", b)
        yield net.case(net.node("MatMul", net.normal(*a), "x0"))
    for rows in (1, 4):
        net = Net(f"matmul_turned_{rows}", (2, rows, 37))
        net.inputs["x1"] = net.array([2, 5, 37])
        yield net.case(net.node("MatMul", "x0", net.node("Transpose", "x1", perm=[0, 2, 1])))
    for ta, tb, c in product((0, 1), (0, 1), ((), (1,), (4,), (3, 1), (1, 4), (3, 4), None)):
        net = Net(f"gemm_{ta}{tb}_{c}", (5, 3) if ta else (3, 5))
        operands = ["x0", net.normal(*((4, 5) if tb else (5, 4))), *([] if c is None else [net.normal(*c)])]
        yield net.case(net.node("Gemm", *operands, transA=ta, transB=tb, alpha=0.5, beta=-2.0))


def _reductions() -> Iterator[Case]:
    ops = ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")
    for op, axes, keep in product(ops, ([0], [1, -1], [0, 1, 2, 3], [2, 3]), (0, 1)):
        yield single(f"{op}_{axes}_{keep}", op, [(2, 3, 5, 4)], [np.array(axes)], keepdims=keep)
    for op, axis, keep, last in product(("ArgMax", "ArgMin"), (0, -1), (0, 1), (0, 1)):
        net = Net(f"{op}_{axis}_{keep}_{last}", ())
        net.inputs["x0"] = net.rng.integers(0, 3, (4, 5)).astype(np.float32)  # many of equal size
        yield net.case(net.node(op, "x0", axis=axis, keepdims=keep, select_last_index=last))


def _chains() -> Iterator[Case]:
    net = Net("chain_conv_norm_relu_add_relu", (1, 3, 6, 7))
    y = net.node("Conv", "x0", net.normal(3, 3, 3, 3), pads=[1, 1, 1, 1])
    variance = net.constant(np.abs(net.array([3])) + 0.5)
    y = net.node("BatchNormalization", y, net.normal(3), net.normal(3), net.normal(3), variance)
    yield net.case(net.node("Relu", net.node("Add", net.node("Relu", y), "x0")))
    net = Net("chain_depthwise_swish_squeeze_excite", (2, 5, 6, 7))
    y = net.node("Conv", "x0", net.normal(5, 1, 3, 3), group=5, pads=[1, 1, 1, 1])
    y = net.node("Mul", y, net.node("Sigmoid", y))
    gate = net.node("Relu", net.node("Conv", net.node("GlobalAveragePool", y), net.normal(2, 5, 1, 1)))
    gate = net.node("HardSigmoid", net.node("Conv", gate, net.normal(5, 2, 1, 1)))
    yield net.case(net.node("Mul", y, gate), y)
    net = Net("chain_attention", (2, 5, 12))
    qkv = net.node("MatMul", "x0", net.normal(12, 36))
    heads = net.node("Transpose", net.node("Reshape", qkv, net.constant([2, 5, 3, 3, 4])), perm=[2, 0, 3, 1, 4])
    q, k, v = (net.node("Gather", heads, net.constant(index), axis=0) for index in range(3))
    scores = net.node("Div", net.node("MatMul", q, net.node("Transpose", k, perm=[0, 1, 3, 2])), net.constant(2.0, np.float32))
    mixed = net.node("Transpose", net.node("MatMul", net.node("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    y = net.node("Add", net.node("Reshape", mixed, net.constant([0, 0, -1])), "x0")
    yield net.case(net.node("LayerNormalization", y, net.normal(12), net.normal(12), axis=-1))
    net = Net("chain_gelu_by_hand", (3, 7))
    half = net.node("Mul", "x0", net.constant(0.5, np.float32))
    erf = net.node("Erf", net.node("Div", "x0", net.constant(2**0.5, np.float32)))
    yield net.case(net.node("Mul", half, net.node("Add", erf, net.constant(1.0, np.float32))))
    net = Net("chain_shuffle_of_channels", (1, 6, 3, 5))
    y = net.node("Conv", "x0", net.normal(6, 2, 1, 1), group=3)
    y = net.node("Transpose", net.node("Reshape", y, net.constant([1, 3, 2, 3, 5])), perm=[0, 2, 1, 3, 4])
    y = net.node("Conv", net.node("Reshape", y, net.constant([1, 6, 3, 5])), net.normal(6, 1, 3, 3), group=6)
    yield net.case(y)
    net = Net("chain_pads_join_windows", (1, 3, 6, 5))
    y = net.node("Pad", "x0", net.constant([0, 0, 1, 2, 0, 0, 0, 1]))
    yield net.case(net.node("Conv", y, net.normal(4, 3, 3, 3)), net.node("MaxPool", y, kernel_shape=[2, 2]),
                   net.node("AveragePool", y, kernel_shape=[2, 2]))  # fmt: skip
    net = Net("chain_outputs_that_are_also_read", (2, 3, 4, 4))
    a = net.node("Relu", "x0")
    b = net.node("Conv", a, net.normal(3, 3, 1, 1))
    yield net.case(a, b, net.node("Add", a, b), net.node("Identity", b))
    net = Net("chain_convolution_inside_the_input", (1, 5, 3, 4))
    part = net.node("Slice", "x0", net.constant([3]), net.constant([4]), net.constant([1]))
    yield net.case(net.node("Conv", part, net.normal(2, 1, 1, 1)))
    net = Net("chain_convolutions_inside_the_output", (1, 5, 3, 4))
    planes = [net.node("Conv", "x0", net.normal(1, 5, 1, 1)) for _ in range(3)]
    yield net.case(net.node("Concat", *planes, axis=1))
    for shape in ((3, 5), (2, 1, 19), (4,), (3, 1)):
        net = Net(f"root_mean_square_normalization_{shape}", shape)
        mean = net.node("ReduceMean", net.node("Mul", "x0", "x0"), net.constant([-1]), keepdims=1)
        total = net.node("Add", mean, net.constant(1e-2, np.float32))
        yield net.case(
            net.node("Mul", net.node("Mul", "x0", net.node("Pow", total, net.constant(-0.5, np.float32))), net.normal(shape[-1]))
        )
    for shape in ((3, 1), (1, 1), (2, 3, 1)):
        net = Net(f"layer_normalization_of_one_{shape}", shape)
        yield net.case(net.node("LayerNormalization", "x0", net.normal(1), net.normal(1), axis=-1))
