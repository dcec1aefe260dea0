"""Functions, composites, branches, symbols, and the manners of the interface."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgec.base.errors import ModelError
from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.ir.types import Symbol
from edgec.ir.verify import verify

from .models import ints, model, node, ops, run, same_results, weights


def test_initializers_that_are_inputs_are_constants_and_unused_inputs_stay() -> None:
    proto = model([node("Add", "x w", "y")], {"x": [2], "w": [2], "idle": [7]}, ["y"], {"w": weights(2)})
    graph = from_proto(proto).graph
    assert (graph.inputs, list(graph.constants)) == (["x", "idle"], ["w"])


def test_dead_nodes_do_not_matter() -> None:
    proto = model([node("Relu", "x", "y"), node("NonZero", "x", "n")], {"x": [2]}, ["y"])
    assert ops(from_proto(proto).graph) == ["Relu"]


def test_the_model_is_not_changed() -> None:
    proto = model([helper.make_node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"])
    before = proto.SerializeToString()
    from_proto(proto)
    assert proto.SerializeToString() == before


def test_nodes_out_of_order_are_sorted() -> None:
    proto = model([node("Relu", "a", "y", "late"), node("Neg", "x", "a", "early")], {"x": [2]}, ["y"])
    assert [item.name for item in from_proto(proto).graph.nodes] == ["early", "late"]


def functions() -> list[onnx.FunctionProto]:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    scaled = helper.make_node("LeakyRelu", ["a"], ["inner"], name="leak")
    reference = onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    scaled.attribute.append(reference)
    leak = helper.make_function("my", "Leak", ["a", "b"], ["c"], [scaled, node("Add", "inner b", "c")], opsets, ["slope"])
    twice = helper.make_function(
        "my",
        "Twice",
        ["a", "b"],
        ["c"],
        [node("Leak", "a b", "inner", domain="my", slope=0.3), node("Leak", "inner b", "c", domain="my", slope=0.7)],
        opsets,
    )
    return [leak, twice]


def test_functions_of_the_model_are_expanded() -> None:
    nodes = [node("Twice", "x x", "inner", domain="my"), node("Twice", "inner x", "y", "again", domain="my")]
    graph = same_results(model(nodes, {"x": [5]}, ["y"], functions=functions(), domains={"my": 1}))
    assert ops(graph) == ["LeakyRelu", "Add"] * 4
    assert len({item.name for item in graph.nodes}) == 8


@pytest.mark.parametrize("outputs", ["p q", "p"])
@pytest.mark.parametrize("formal", [["a", "b"], ["b", "a"]])
def test_an_output_of_a_function_may_be_its_input(formal: list[str], outputs: str) -> None:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
    function = helper.make_function("f", "also", ["a"], formal, [node("Exp", "a", "b")], opsets)
    proto = model([node("also", "x", outputs, domain="f")], {"x": [2, 3]}, outputs.split(), functions=[function], domains={"f": 1})
    x = weights(2, 3)
    for name, found in zip(formal, run(to_onnx(from_proto(proto).graph), {"x": x}), strict=False):
        np.testing.assert_allclose(found, {"a": x, "b": np.exp(x)}[name], rtol=1e-6)


@pytest.mark.parametrize("name", ["to", "then_branch", "scope", "axis", "value"])
@pytest.mark.parametrize(("op", "attribute", "value"), [("LeakyRelu", "alpha", 0.3), ("Cast", "to", TensorProto.INT32)])
def test_attributes_of_a_function_may_be_called_what_those_of_operators_are(name: str, op: str, attribute: str, value: float) -> None:
    kind = helper.make_attribute(name, value).type
    inner = node(op, "a", "b")
    inner.attribute.append(onnx.AttributeProto(name=attribute, ref_attr_name=name, type=kind))
    own = helper.make_function("my", "Own", ["a"], ["b"], [inner], [helper.make_opsetid("", 17)], [name])
    call = node("Own", "x", "y", domain="my")
    call.attribute.append(helper.make_attribute(name, value))
    graph = same_results(model([call], {"x": [5]}, ["y"], functions=[own], domains={"my": 1}))
    assert ops(graph) == [op]


@pytest.mark.parametrize("op", ["Celu", "ThresholdedRelu", "Shrink", "MeanVarianceNormalization"])
def test_composite_operators_are_expanded(op: str) -> None:
    same_results(model([node(op, "x", "y")], {"x": [2, 3, 4, 5]}, ["y"], opset=18))


@pytest.mark.parametrize("shape", [[2, 4, 3, 3], [1, 4, 5], [3, 4]])
def test_group_normalization_is_a_normalization_of_instances(shape: list[int]) -> None:
    parameters = {"s": weights(4), "b": weights(4, seed=1)}
    graph = same_results(model([node("GroupNormalization", "x s b", "y", num_groups=2)], {"x": shape}, ["y"], parameters, opset=21))
    assert [op for op in ops(graph) if op not in ("Reshape", "Identity")] == ["InstanceNormalization", "Mul", "Add"]


@pytest.mark.parametrize("groups", [0, 3, -2])
def test_groups_that_do_not_divide_the_channels_are_refused(groups: int) -> None:
    nodes = [node("GroupNormalization", "x s b", "y", num_groups=groups)]
    with pytest.raises(ModelError, match="num_groups must divide the channels"):
        from_proto(model(nodes, {"x": [1, 4, 3, 3]}, ["y"], {"s": weights(4), "b": weights(4)}, opset=21))


@pytest.mark.parametrize("shape", [(2, 5, 1), (5, 3, 2)])
@pytest.mark.parametrize(("axis", "ordered"), [(1, 0), (1, 1), (0, 0), (-2, 0)])
def test_slices_of_constants_that_differ(axis: int, ordered: int, shape: tuple[int, ...]) -> None:
    """Also in the order of the data, along any axis, and where the slices' own places are asked for."""
    slices = np.take(np.random.default_rng(4).integers(0, 99, shape).astype(np.float32), [2, 0, 1, 0, 2][: shape[1]], 1)
    nodes = [node("Unique", "c", "d first which many", axis=axis, sorted=ordered)]
    nodes += [node("Cast", name, f"{name}_", to=TensorProto.FLOAT) for name in ("first", "which", "many")]
    nodes += [node("Add", f"x {name}", f"{name}_y") for name in ("d", "first_", "which_", "many_")]
    graph = same_results(model(nodes, {"x": [1]}, ["d_y", "first__y", "which__y", "many__y"], {"c": slices}, opset=21))
    assert ops(graph) == ["Add"] * 4


@pytest.mark.parametrize("taken", [True, False])
def test_a_decided_branch_is_inlined(taken: bool) -> None:
    def branch(op: str) -> onnx.GraphProto:
        return helper.make_graph([node(op, "outer", "t"), node("Add", "t k", "z")], op, [], [helper.make_empty_tensor_value_info("z")],
                                 [onnx.numpy_helper.from_array(weights(3), "k")])  # fmt: skip

    nodes = [node("Exp", "x", "outer"), node("If", "c", "y", then_branch=branch("Neg"), else_branch=branch("Sqrt"))]
    assert ops(same_results(model(nodes, {"x": [3]}, ["y"], {"c": np.asarray(taken)}))) == ["Exp", "Neg" if taken else "Sqrt", "Add"]


def symbolic() -> onnx.ModelProto:
    nodes = [
        node("Conv", "x w", "a"), node("Relu", "a", "b"), node("MaxPool", "b", "c", kernel_shape=[2, 2]), node("Add", "c c", "d"),
        node("Flatten", "d", "e"), node("Reshape", "d s1", "f"), node("Reshape", "d s2", "g"), node("Add", "f g", "h"),
        node("Gemm", "e m", "k"), node("Softmax", "k", "y"), node("ReduceMean", "h", "z", axes=[1]),
    ]  # fmt: skip
    constants = {"w": weights(4, 3, 3, 3), "s1": ints(0, -1), "s2": ints(-1, 100), "m": weights(100, 5)}
    return model(nodes, {"x": ["batch", 3, 8, 8]}, ["y", "z"], constants, opset=13)


def test_a_symbolic_batch_stays_in_all_types() -> None:
    batch = Symbol("N", 4)
    graph = from_proto(symbolic(), {"x": [batch, 3, 8, 8]}).graph
    verify(graph)
    assert all(graph.shape(name)[0] == batch for item in graph.nodes for name in item.outputs)
    assert (graph.shape("y"), graph.shape("z")) == ((batch, 5), (batch, 1))


def test_a_symbolic_batch_is_exported_as_a_dynamic_dimension() -> None:
    import onnxruntime

    graph = from_proto(symbolic(), {"x": [Symbol("N", 4), 3, 8, 8]}).graph
    session = onnxruntime.InferenceSession(to_onnx(graph).SerializeToString())
    assert session.run(None, {"x": weights(3, 3, 8, 8)})[0].shape == (3, 5)


def test_quantized_operators_become_patterns() -> None:
    generator = np.random.default_rng(0)
    constants = {
        "xs": np.float32(0.02), "xz": np.uint8(120), "w": generator.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8),
        "ws": np.array([0.01, 0.02, 0.03, 0.04], np.float32), "wz": np.zeros(4, np.int8), "ys": np.float32(0.5), "yz": np.uint8(128),
        "b": generator.integers(-1000, 1000, 4).astype(np.int32), "m": generator.integers(-128, 128, (36, 5)).astype(np.int8),
        "ms": np.float32(0.01), "mz": np.int8(3), "s": ints(2, -1),
    }  # fmt: skip
    nodes = [
        node("QLinearConv", "x xs xz w ws wz ys yz b", "a"),
        node("Reshape", "a s", "f"),
        node("QLinearMatMul", "f ys yz m ms mz ys yz", "y"),
    ]
    known = {name: np.asarray(array) for name, array in constants.items()}
    graph = from_proto(model(nodes, {"x": (TensorProto.UINT8, [2, 3, 5, 5])}, ["y"], known)).graph
    verify(graph)
    assert ops(graph) == ["DequantizeLinear"] * 3 + ["Conv", "QuantizeLinear", "Reshape"] + ["DequantizeLinear"] * 2 + [
        "MatMul",
        "QuantizeLinear",
    ]
    assert [graph.constants[name].shape for name in graph.nodes[1].inputs] == [(4, 3, 3, 3), (4,), (4,)]


@pytest.mark.parametrize("op", ["QLinearConv", "QGemm"])
def test_a_bias_counts_where_scales_have_no_axes(op: str) -> None:
    """It stands for whole numbers times both scales: alone it decides these answers."""
    generator, zero = np.random.default_rng(0), np.asarray(np.uint8(128))
    shape = (4, 3, 1, 1) if op == "QLinearConv" else (3, 4)
    constants = {
        "xs": np.asarray(np.float32(0.02)), "ws": np.asarray(np.float32(0.01)), "ys": np.asarray(np.float32(0.03)), "xz": zero, "yz": zero,
        "w": generator.integers(-2, 3, shape).astype(np.int8), "wz": np.asarray(np.int8(0)),
        "b": np.array([-9000, -3000, 4000, 12000], np.int32),
    }  # fmt: skip
    inputs, domain = ("x xs xz w ws wz ys yz b", "") if op == "QLinearConv" else ("x xs xz w ws wz b ys yz", "com.microsoft")
    x = generator.integers(0, 256, (2, 3, 5, 5) if op == "QLinearConv" else (2, 3)).astype(np.uint8)
    proto = model([node(op, inputs, "y", domain=domain)], {"x": (TensorProto.UINT8, list(x.shape))}, ["y"], constants,
                  domains={"com.microsoft": 1})  # fmt: skip
    graph = from_proto(proto).graph
    onnx.checker.check_model(to_onnx(graph), full_check=True)
    (found,), (wanted,) = run(to_onnx(graph), {"x": x}), run(proto, {"x": x})
    assert np.abs(found.astype(int) - wanted.astype(int)).max() <= 1 and np.ptp(wanted) > 120


@pytest.mark.parametrize(
    ("op", "inputs", "expected"),
    [
        ("QLinearAdd", "x s z x s z t z", "Add"), ("QLinearMul", "x s z x s z t z", "Mul"), ("QLinearSigmoid", "x s z t z", "Sigmoid"),
        ("QLinearLeakyRelu", "x s z t z", "LeakyRelu"), ("QLinearGlobalAveragePool", "x s z t z", "GlobalAveragePool"),
        ("QLinearConcat", "t z x s z x s z", "Concat"), ("QLinearSoftmax", "x s z u z", "Softmax"),
        ("QLinearWhere", "c x s z x t z t z", "Where"),
    ],
)  # fmt: skip
def test_quantized_operators_of_onnx_runtime(op: str, inputs: str, expected: str) -> None:
    attributes = {"QLinearConcat": {"axis": 1}, "QLinearSoftmax": {"axis": 3, "opset": 13}}.get(op, {})
    scales = {name: np.asarray(np.float32(value)) for name, value in (("s", 0.02), ("t", 0.03), ("u", 1 / 128))}
    constants = scales | {"c": np.arange(4) % 2 == 0, "z": np.asarray(np.uint8(100))}
    proto = model([node(op, inputs, "y", domain="com.microsoft", **attributes)], {"x": (TensorProto.UINT8, [1, 3, 4, 4])}, ["y"], constants,
                  domains={"com.microsoft": 1})  # fmt: skip
    graph = from_proto(proto).graph
    assert [item.op for item in graph.nodes if "quantize" not in item.op.lower()] == [expected]
    x = np.random.default_rng(0).integers(0, 256, (1, 3, 4, 4)).astype(np.uint8)
    found, wanted = run(to_onnx(graph), {"x": x})[0].astype(int), run(proto, {"x": x})[0].astype(int)
    assert np.abs(found - wanted).max() <= 1
