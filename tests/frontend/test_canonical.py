"""Every operator set from 7 on becomes the same canonical form, with the results of the original."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from edgec.export import to_onnx

from .models import ints, model, node, ops, run, same_results, weights


def test_a_graph_has_the_same_form_in_every_opset() -> None:
    """Squeeze, Unsqueeze, Clip, Slice, Pad, Split, ReduceMean, Dropout, Softmax and Sum, as attributes and as inputs."""
    old = [
        node("Clip", "x", "a", min=-0.5, max=0.5), node("Slice", "a", "b", axes=[3], starts=[1], ends=[-1]),
        node("Pad", "b", "c", pads=[0, 0, 0, 1, 0, 0, 0, 1], value=2.0), node("Split", "c", "d e", axis=1, split=[1, 2]),
        node("ReduceMean", "e", "f", axes=[1], keepdims=0), node("Unsqueeze", "f", "g", axes=[1]), node("Sum", "d g x1", "h"),
        node("Squeeze", "h", "i", axes=[0, 1]), node("Softmax", "i", "j", axis=1), node("Dropout", "j", "y"),
    ]  # fmt: skip
    new = [
        node("Clip", "x low high", "a"), node("Slice", "a starts ends axes3", "b"), node("Pad", "b pads value", "c"),
        node("Split", "c parts", "d e", axis=1), node("ReduceMean", "e axes1", "f", keepdims=0), node("Unsqueeze", "f axes1", "g"),
        node("Sum", "d g x1", "h"), node("Squeeze", "h axes01", "i"), node("Softmax", "i", "j", axis=1), node("Dropout", "j", "y"),
    ]  # fmt: skip
    constants = {
        "low": np.float32(-0.5), "high": np.float32(0.5), "starts": ints(1), "ends": ints(-1), "axes3": ints(3), "axes1": ints(1),
        "axes01": ints(0, 1), "pads": ints(0, 0, 0, 1, 0, 0, 0, 1), "value": np.float32(2), "parts": ints(1, 2),
    }  # fmt: skip
    inputs = {"x": [1, 3, 4, 6], "x1": [1]}
    forms = []
    for nodes, opset, known in ((old, 8, {}), (old, 9, {}), (new, 18, constants), (new, 21, constants)):
        graph = same_results(model(nodes, inputs, ["y"], {name: np.asarray(array) for name, array in known.items()}, opset=opset))
        forms.append([(n.op, n.attributes, [graph.constants[i].tolist() for i in n.inputs if i in graph.constants]) for n in graph.nodes])
    assert all(form == forms[0] for form in forms)


@pytest.mark.parametrize(("axis", "expected"), [(1, ["Flatten", "Softmax", "Reshape"]), (3, ["Softmax"]), (-1, ["Softmax"])])
def test_softmax_before_opset_13_takes_all_axes_from_its_own_on(axis: int, expected: list[str]) -> None:
    if axis >= 0:
        assert ops(same_results(model([node("Softmax", "x", "y", axis=axis)], {"x": [2, 3, 4, 5]}, ["y"], opset=9))) == expected
    assert ops(same_results(model([node("Softmax", "x", "y", axis=1)], {"x": [2, 7, 1, 1]}, ["y"], opset=9))) == ["Softmax"]


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("size", [7, 8])
def test_automatic_padding_of_pools(op: str, auto_pad: str, size: int) -> None:
    proto = model([node(op, "x", "y", kernel_shape=[3, 2], strides=[2, 3], auto_pad=auto_pad)], {"x": [1, 2, size, size]}, ["y"])
    assert "auto_pad" not in same_results(proto).nodes[0].attributes


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
@pytest.mark.parametrize("size", [7, 8, 9])
def test_convolutions_are_complete(auto_pad: str, size: int) -> None:
    attributes = {"dilations": [2, 1] if auto_pad == "NOTSET" else [1, 1], "strides": [2, 1], "auto_pad": auto_pad}
    graph = same_results(model([node("Conv", "x w", "y", **attributes)], {"x": [1, 4, size, size]}, ["y"], {"w": weights(6, 4, 3, 2)}))
    assert list(graph.nodes[0].attributes) == ["dilations", "group", "kernel_shape", "pads", "strides"]


@pytest.mark.parametrize(
    "attributes",
    [
        {"output_shape": [12, 13], "strides": [2, 2]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        {"output_padding": [1, 1], "strides": [2, 3]},
        {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
        {"auto_pad": "VALID", "strides": [2, 2]},
        {"pads": [1, 0, 1, 2]},
        {"dilations": [2, 1]},
    ],
)
def test_transposed_convolutions(attributes: dict[str, object]) -> None:
    graph = same_results(model([node("ConvTranspose", "x w", "y", **attributes)], {"x": [1, 2, 6, 6]}, ["y"], {"w": weights(2, 3, 3, 3)}))
    assert "output_shape" not in graph.nodes[0].attributes


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("size", range(4, 12))
@pytest.mark.parametrize(("kernel", "stride", "pads"), [(3, 2, 0), (3, 2, 1), (2, 3, 0), (2, 3, 1), (1, 4, 0)])
def test_ceil_mode_is_padding(op: str, size: int, kernel: int, stride: int, pads: int) -> None:
    attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pads] * 4, "ceil_mode": 1}
    graph = same_results(model([node(op, "x", "y", **attributes)], {"x": [1, 1, size, size]}, ["y"], opset=12))
    assert graph.nodes[0].attributes["ceil_mode"] == 0


def test_ceil_mode_stays_where_padding_counts() -> None:
    attributes = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1, "count_include_pad": 1}
    graph = same_results(model([node("AveragePool", "x", "y", **attributes)], {"x": [1, 1, 8, 8]}, ["y"], opset=21))
    assert graph.nodes[0].attributes["ceil_mode"] == 1


@pytest.mark.parametrize("op", ["Sum", "Min", "Max", "Mean"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_variadic_operators_become_chains(op: str, count: int) -> None:
    names = ["a", "b", "c", "d"][:count]
    graph = same_results(model([node(op, " ".join(names), "y")], {name: [2, 3] for name in names}, ["y"]))
    assert all(len(item.inputs) <= 2 for item in graph.nodes)


@pytest.mark.parametrize("op", ["ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceSum", "ReduceMax"])
@pytest.mark.parametrize("attributes", [{}, {"axes": [-1]}, {"axes": [0, 2], "keepdims": 0}])
def test_reductions(op: str, attributes: dict[str, object]) -> None:
    graph = same_results(model([node(op, "x", "y", **attributes)], {"x": [2, 3, 4]}, ["y"], opset=11))
    assert {item.op for item in graph.nodes} <= {
        "Abs",
        "Mul",
        "Sqrt",
        "Exp",
        "Log",
        "Sub",
        "Add",
        "Clip",
        "Squeeze",
        "ReduceSum",
        "ReduceMax",
    }


def test_resize_in_all_its_forms() -> None:
    x = {"x": [1, 2, 5, 6]}
    scales = {"s": np.array([1, 1, 2, 2], np.float32)}
    for proto in (
        model([node("Upsample", "x", "y", scales=[1.0, 1.0, 2.0, 2.0])], x, ["y"], opset=7),
        model([node("Upsample", "x s", "y", mode="linear")], x, ["y"], scales, opset=9),
        model([node("Resize", "x s", "y")], x, ["y"], scales, opset=10),
        model([node("Resize", "x _ s", "y", mode="linear")], x, ["y"], scales, opset=13),
        model([node("Resize", "x _ _ n", "y", mode="cubic")], x, ["y"], {"n": ints(1, 2, 7, 9)}, opset=13),
        model([node("Resize", "x _ _ n", "y", axes=[2, 3])], x, ["y"], {"n": ints(7, 9)}, opset=18),
        model([node("Resize", "x _ _ n", "y", axes=[2, 3], keep_aspect_ratio_policy="not_larger")], x, ["y"], {"n": ints(10, 9)}, opset=18),
    ):
        graph = same_results(proto)
        assert ops(graph) == ["Resize"]
        assert [len(graph.constants[name]) for name in graph.nodes[0].inputs if name in graph.constants] == [4]


@pytest.mark.parametrize(("rounding", "same"), [("floor", "round_prefer_ceil"), ("round_prefer_floor", "ceil")])
@pytest.mark.parametrize("scales", [(2, 3), (0.5, 1), (1.5, 0.7)])
def test_places_half_a_pixel_on_are_rounded_the_other_way(rounding: str, same: str, scales: tuple[float, float]) -> None:
    attributes = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": rounding}
    proto = model([node("Resize", "x _ s", "y", **attributes)], {"x": [1, 2, 6, 10]}, ["y"], {"s": np.array([1, 1, *scales], np.float32)})
    graph = same_results(proto)
    (found,) = graph.nodes
    assert (found.attributes["coordinate_transformation_mode"], found.attributes["nearest_mode"]) == ("half_pixel", same)


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("places", ["half_pixel", "asymmetric", "align_corners"])
def test_means_of_codes_are_cut_towards_zero(kind: type[np.generic], places: str) -> None:
    x = {"x": (onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)), [1, 2, 5, 6])}
    attributes = {"mode": "linear", "coordinate_transformation_mode": places}
    by_scales = model([node("Resize", "x _ s", "y", **attributes)], x, ["y"], {"s": np.array([1, 1, 2, 4], np.float32)})
    by_sizes = model([node("Resize", "x _ _ n", "y", **attributes)], x, ["y"], {"n": ints(1, 2, 10, 24)})
    limits = np.iinfo(kind)  # type: ignore[type-var]
    feed = {"x": np.random.default_rng(0).integers(limits.min, limits.max + 1, (1, 2, 5, 6)).astype(kind)}
    for proto in (by_scales, by_sizes):
        graph = same_results(proto)
        assert ops(graph) == ["Cast", "Resize", "Cast"]
        np.testing.assert_array_equal(*run(to_onnx(graph), feed), *run(proto, feed))


@pytest.mark.parametrize(("start", "end", "step"), [(0, 9999, 1), (-3, -1, 1), (5, -9999, -1), (-1, 1, -2), (4, 0, -1), (1, 6, 3)])
def test_slices(start: int, end: int, step: int) -> None:
    constants = {"s": ints(start), "e": ints(end), "a": ints(-1), "p": ints(step)}
    graph = same_results(model([node("Slice", "x s e a p", "y")], {"x": [2, 6]}, ["y"], constants))
    assert len(graph.nodes[0].inputs) == 5


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pads(mode: str) -> None:
    constants = {"p": ints(1, 2), "v": np.float32(0), "a": ints(-2)}
    graph = same_results(model([node("Pad", "x p v a", "y", mode=mode)], {"x": [2, 4, 3]}, ["y"], constants, opset=19))
    assert len(graph.nodes[0].inputs) == (3 if mode == "constant" else 2)


def test_clip_has_both_bounds() -> None:
    graph = same_results(model([node("Clip", "x _ h", "y")], {"x": [5]}, ["y"], {"h": np.array([0.5], np.float32)}))
    assert [graph.constants[name].tolist() for name in graph.nodes[0].inputs[1:]] == [float(np.finfo(np.float32).min), 0.5]


def test_shape_arithmetic_is_folded() -> None:
    nodes = [
        node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Unsqueeze", "n axis", "n1"), node("Concat", "n1 rest", "t", axis=0),
        node("Reshape", "x t", "a"), node("ConstantOfShape", "s", "c"), node("Range", "zero four one", "r"), node("Cast", "r", "f", to=1),
        node("Add", "a f", "b"), node("Add", "b bias", "y"), node("ReduceSum", "c", "z"),
    ]  # fmt: skip
    constants = {"zero": np.int64(0), "one": np.int64(1), "four": np.int64(4), "axis": ints(0), "rest": ints(-1, 4), "bias": weights(4)}
    proto = model(nodes, {"x": [2, 3, 4]}, ["y"], {name: np.asarray(array) for name, array in constants.items()})
    assert ops(same_results(proto)) == ["Reshape", "Add", "Add"]


def test_weights_behind_dequantize_linear_stay() -> None:
    constants = {"w": np.ones((3, 4), np.int8), "s": np.float32(0.5), "z": np.int8(0)}
    nodes = [node("DequantizeLinear", "w s z", "f"), node("Gemm", "x f", "y")]
    graph = same_results(model(nodes, {"x": [2, 3]}, ["y"], {name: np.asarray(array) for name, array in constants.items()}))
    assert ops(graph) == ["DequantizeLinear", "Gemm"]


@pytest.mark.parametrize("k", [2**62, -(2**62), 5, -5])
@pytest.mark.parametrize("upper", [0, 1])
def test_a_diagonal_beyond_the_matrix(k: int, upper: int) -> None:
    graph = same_results(model([node("Trilu", "x k", "y", upper=upper)], {"x": [3, 4]}, ["y"], {"k": np.array(k)}))
    assert -3 <= int(graph.constants[graph.nodes[0].inputs[1]]) <= 4


def test_what_the_reference_gets_wrong_is_not_folded() -> None:
    """ONNX's reference forgets an axis of this one."""
    nodes = [node("GlobalMaxPool", "c", "m"), node("Add", "x m", "y")]
    assert ops(same_results(model(nodes, {"x": [2, 3, 1]}, ["y"], {"c": weights(2, 3, 9)}))) == ["GlobalMaxPool", "Add"]


def test_a_number_without_axes_that_the_reference_refuses_is_folded() -> None:
    nodes = [node("Softsign", "c", "s"), node("Add", "x s", "y")]
    graph = same_results(model(nodes, {"x": [3]}, ["y"], {"c": np.array(-0.75, np.float32)}))
    assert ops(graph) == ["Add"] and any(array.shape == () and array == np.float32(-0.75 / 1.75) for array in graph.constants.values())


@pytest.mark.parametrize(("channels", "group", "bias"), [(4, 2, "w"), (3, 3, "w b"), (4, 4, "w b")])
def test_groups_of_a_transposed_convolution_of_known_data_are_not_folded(channels: int, group: int, bias: str) -> None:
    """ONNX's reference takes the weights of other groups, and the first ones' bias for all."""
    nodes = [node("ConvTranspose", f"c {bias}", "t", group=group), node("Add", "x t", "y")]
    known = {"c": weights(1, channels, 5), "w": weights(channels, 1, 3), "b": weights(group)}
    constants = {name: known[name] for name in ["c", *bias.split()]}
    assert ops(same_results(model(nodes, {"x": [1, 1, 1]}, ["y"], constants))) == ["ConvTranspose", "Add"]


@pytest.mark.parametrize(
    ("call", "known", "expected"),
    [
        (node("NonZero", "k", "n"), [0, 3, 0, 5], [2, 1]),
        (node("Unique", "k", "n", sorted=1), [3, 1, 3, 2], [1, 3]),
        (node("Compress", "k m", "n"), [3, 1, 3, 2], [1, 2]),
    ],
    ids=["NonZero", "Unique", "Compress"],
)
def test_what_is_selected_of_constants_is_known(call: onnx.NodeProto, known: list[int], expected: list[int]) -> None:
    """So its extent is a number, and all that needs one may follow."""
    constants = {"k": np.array(known, np.float32), "m": np.array([False, True, False, True]), "axes": ints(0), "shape": ints(*expected)}
    nodes = [call, node("Cast", "n", "f", to=1), node("Reshape", "f shape", "r"), node("Concat", "x r", "y", axis=1)]
    proto = model(nodes, {"x": [expected[0], 2]}, ["y"], constants)
    assert ops(same_results(proto)) == ["Concat"]


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_padding_that_takes_some_of_a_constant_away(mode: str) -> None:
    """It is known when the model is read, as padding that only adds is."""
    nodes = [node("Pad", "c p", "d", mode=mode), node("Add", "x d", "y")]
    graph = same_results(model(nodes, {"x": [3, 5]}, ["y"], {"c": weights(2, 5), "p": ints(1, -2, 0, 2)}, opset=21))
    assert ops(graph) == ["Add"]
