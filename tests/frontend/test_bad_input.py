"""Each kind of bad input gives one clear error of the right family that lists everything at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgec.base.errors import EdgecError, ModelError, UsageError
from edgec.frontend import from_proto, load_model
from edgec.ir.types import Symbol

from .models import ints, model, node, weights


def relu() -> onnx.ModelProto:
    return model([node("Relu", "x", "y")], {"x": [1, 3]}, ["y"])


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.onnx.*cannot read"):
        load_model(tmp_path / "nothing.onnx")


@pytest.mark.parametrize("content", [b"", b"GIF89a, not a model at all", b"\x00" * 64, "modèle".encode() * 9])
def test_not_a_protobuf(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="not an ONNX"):
        load_model(path)


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    content = model([node("Conv", "x w", "y")], {"x": [1, 2, 8, 8]}, ["y"], {"w": weights(4, 2, 3, 3)}).SerializeToString()
    path = tmp_path / "model.onnx"
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(ModelError, match="not an ONNX"):
            load_model(path)


def test_a_cycle() -> None:
    cyclic = model([node("Add", "x b", "a", "first"), node("Relu", "a", "b", "second")], {"x": [1]}, ["b"])
    with pytest.raises(ModelError, match=r"cycle through (first|second)"):
        from_proto(cyclic)


def test_broken_references_are_all_listed() -> None:
    broken = model([node("Add", "x nowhere", "a", "first"), node("Add", "a lost", "b", "second")], {"x": [1]}, ["b", "absent"])
    with pytest.raises(ModelError) as caught:
        from_proto(broken)
    assert [problem.where for problem in caught.value.problems] == ["first (Add)", "second (Add)", "output absent"]


def test_a_value_defined_twice() -> None:
    twice = model([node("Relu", "x", "y", "first"), node("Neg", "x", "y", "second")], {"x": [1]}, ["y"])
    with pytest.raises(ModelError, match=r"second.*'y' a second time"):
        from_proto(twice)


def test_unknown_operators_are_all_listed_with_name_opset_and_hint() -> None:
    nodes = [
        node("Relu6", "x", "a", "act"),
        node("StringNormalizer", "a", "d", "words"),
        node("Fancy", "x", "e", "mine", domain="acme"),
        node("Loop", "n c x", "f", "again", body=helper.make_graph([], "body", [], [])),
    ]
    unknown = model(nodes, {"x": [1, 2, 4], "b": [1, 1, 2], "c": (TensorProto.BOOL, []), "n": (TensorProto.INT64, [])}, ["d", "e", "f"],
                    domains={"acme": 3})  # fmt: skip
    with pytest.raises(ModelError) as caught:
        from_proto(unknown)
    found = {problem.where: problem for problem in caught.value.problems}
    assert list(found) == [
        "act (Relu6, opset 17)",
        "words (StringNormalizer, opset 17)",
        "mine (acme.Fancy, opset 3)",
        "again (Loop, opset 17)",
    ]
    assert "did you mean 'Relu'" in found["act (Relu6, opset 17)"].hint
    assert "outside of the model" in found["words (StringNormalizer, opset 17)"].hint
    assert "domain acme" in found["mine (acme.Fancy, opset 3)"].hint


@pytest.mark.parametrize("opset", [0, 99])
def test_unknown_opset(opset: int) -> None:
    proto = relu()
    proto.opset_import[0].version = opset
    with pytest.raises(ModelError, match=f"operator set {opset} is not supported, 1 to"):
        from_proto(proto)


def test_an_operator_of_another_opset() -> None:
    with pytest.raises(ModelError, match="other operator sets, not in 10"):
        from_proto(model([node("Gelu", "x", "y")], {"x": [1]}, ["y"], opset=10))


def test_open_dimensions_are_all_listed_with_the_flag() -> None:
    proto = model([node("Relu", "a", "y"), node("Neg", "b", "z")], {"a": ["N", 3, "H", "W"], "b": ["N", "T"]}, ["y", "z"])
    with pytest.raises(UsageError) as caught:
        from_proto(proto)
    text = str(caught.value)
    assert "input a: its shape is [N,3,H,W]    hint: --shape a=1,3,...,..." in text
    assert "input b: its shape is [N,T]    hint: --shape b=1,..." in text


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"a": [1, 3]}, "has 2 dimensions, the model's input 4"),
        ({"a": [1, 4, 8, 8]}, "contradicts the model's own shape"),
        ({"a": [0, 3, 8, 8]}, "at least 1"),
        ({"input": [1, 3, 8, 8]}, "no input 'input'"),
    ],
)
def test_shapes_that_do_not_fit(shapes: dict[str, list[int]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        from_proto(model([node("Relu", "a", "y")], {"a": ["N", 3, "H", "W"]}, ["y"]), shapes)


def test_the_batch_is_one_by_default_and_said_aloud() -> None:
    imported = from_proto(model([node("Add", "a b", "y")], {"a": ["N", 3], "b": [4, "N", 3]}, ["y"]))
    assert imported.graph.shape("b") == (4, 1, 3)
    assert imported.notes == ("input a: batch dimension N is set to 1 (--shape a=... changes it)",)


def test_an_input_without_a_rank_has_the_one_that_is_given() -> None:
    """As states have them in TensorFlow's exports."""
    proto = model([node("Add", "a b", "y")], {"a": [1, 4], "b": [1, 4]}, ["y"])
    proto.graph.input[1].type.tensor_type.ClearField("shape")
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    with pytest.raises(ModelError, match=r"input b: has no shape, not even a rank +hint: --shape b=\.\.\."):
        from_proto(proto)
    assert from_proto(proto, {"b": [3, 1]}).graph.shape("y") == (3, 4)
    with pytest.raises(UsageError, match="at least 1"):
        from_proto(proto, {"b": [3, 0]})


def test_axes_without_a_name_are_apart() -> None:
    """Some exporters call all open axes "?"."""
    nameless = model([node("Relu", "x", "y")], {"x": ["?", 3, "?", "?"]}, ["y"])
    with pytest.raises(UsageError, match=r"--shape x=1,3,\.\.\.,\.\.\."):
        from_proto(nameless)
    assert from_proto(nameless, {"x": [1, 3, 8, 6]}).graph.shape("y") == (1, 3, 8, 6)


def test_shape_mismatches_name_their_node() -> None:
    nodes = [node("Conv", "x w", "a", "conv"), node("MatMul", "x v", "b", "product"), node("Relu", "a", "c", "after")]
    proto = model(nodes, {"x": [1, 3, 8, 8]}, ["b", "c"], {"w": weights(4, 2, 3, 3), "v": weights(5, 5)})
    with pytest.raises(ModelError) as caught:
        from_proto(proto)
    assert [problem.where for problem in caught.value.problems] == ["conv (Conv, opset 17)", "product (MatMul, opset 17)"]
    assert "3 channels of data" in caught.value.problems[0].what


@pytest.mark.parametrize(("value", "message"), [(np.nan, "holds NaN"), (np.inf, "holds infinities"), (-np.inf, "holds infinities")])
def test_weights_that_are_not_finite(value: float, message: str) -> None:
    w = weights(4, 3, 1, 1)
    w[2, 1] = value
    with pytest.raises(ModelError, match=f"tensor w: {message}    hint: read by conv"):
        from_proto(model([node("Conv", "x w", "y", "conv")], {"x": [1, 3, 8, 8]}, ["y"], {"w": w}))


def test_infinite_masks_are_fine() -> None:
    from_proto(model([node("Add", "x mask", "y")], {"x": [1, 4]}, ["y"], {"mask": np.array([0, -np.inf, 0, 0], np.float32)}))


def test_names_that_no_manifest_holds() -> None:
    """Else a package would be written that edgec itself does not read."""
    with pytest.raises(ModelError, match=r"a name of 40,000 characters, 32,768 are the most: 'rrr"):
        from_proto(model([node("Relu", "x", "y", "r" * 40_000)], {"x": [1, 4]}, ["y"]))


def test_files_beyond_what_protobuf_reads_are_not_read(tmp_path: Path) -> None:
    with (tmp_path / "hole.onnx").open("wb") as file:
        file.truncate(2**40)  # takes no space, and no memory holds it
    with pytest.raises(ModelError, match="is larger than 2 GiB"):
        load_model(tmp_path / "hole.onnx")


def test_no_number_is_fine_where_a_choice_gives_it_and_nothing_computes_with_it() -> None:
    nodes, inputs = [node("Where", "c x none", "y", "choice")], {"x": [1, 4], "c": (TensorProto.BOOL, [1, 4])}
    none = {"none": np.array(np.nan, np.float32)}
    from_proto(model(nodes, inputs, ["y"], none))
    with pytest.raises(ModelError, match=r"tensor none: holds NaN    hint: read by sum$"):
        from_proto(model([*nodes, node("Add", "x none", "z", "sum")], inputs, ["y", "z"], none))


def test_an_output_that_is_no_number() -> None:
    with pytest.raises(ModelError, match=r"tensor n: holds NaN    hint: an output, and known already"):
        from_proto(model([node("Log", "c", "n"), node("Relu", "x", "y")], {"x": [1]}, ["y", "n"], {"c": weights(1) * 0 - 1}))


@pytest.mark.parametrize(
    ("end", "step", "message"),
    [
        (4, 0, "its step is 0    hint: it may be any other number"),
        (np.nan, 1, "from 0.0 to nan by 1.0 are no finite number of steps"),
        (np.inf, 1, "from 0.0 to inf by 1.0 are no finite number of steps"),
    ],
)
def test_a_range_without_end(end: float, step: float, message: str) -> None:
    given = {name: np.array(value, np.float32) for name, value in (("a", 0), ("b", end), ("c", step))}
    with pytest.raises(ModelError, match=rf"steps \(Range, opset 17\): {message}"):
        from_proto(model([node("Range", "a b c", "r", "steps"), node("Add", "x r", "y")], {"x": [1]}, ["y"], given))


def test_attributes_that_no_operator_has() -> None:
    with pytest.raises(ModelError, match="unknown attributes: colour"):
        from_proto(model([node("Relu", "x", "y", colour=3)], {"x": [1]}, ["y"]))


def test_shape_operands_that_are_computed() -> None:
    proto = model([node("Reshape", "x s", "y")], {"x": [2, 3], "s": (TensorProto.INT64, [1])}, ["y"])
    with pytest.raises(ModelError, match=r"the new shape is computed while the model runs.*static shapes"):
        from_proto(proto)


def test_element_types_that_are_not_supported() -> None:
    with pytest.raises(ModelError, match="input x: element type string"):
        from_proto(model([node("Identity", "x", "y")], {"x": (TensorProto.STRING, [1])}, ["y"]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dims": [-1, 4]}, r"its shape \[-1,4\] has an extent below 0"),
        ({"data_type": 77}, "its type 77 is none that ONNX has"),
        ({"dims": [1 << 20, 1 << 20]}, "cannot be decoded"),
    ],
)
def test_initializers_that_say_what_they_are_not(change: dict[str, object], message: str) -> None:
    proto = model([node("Add", "x w", "y")], {"x": [4, 4]}, ["y"], {"w": np.ones((4, 4), np.float32)})
    changed = onnx.TensorProto(**{"name": "w", "dims": [4, 4], "data_type": 1, "raw_data": bytes(64)} | change)
    proto.graph.initializer[0].CopyFrom(changed)
    with pytest.raises(ModelError, match=rf"tensor w: {message}.*the file is damaged"):
        from_proto(proto)


def test_a_function_that_calls_itself() -> None:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    endless = helper.make_function("my", "Endless", ["a"], ["b"], [node("Endless", "a", "b", domain="my")], opsets)
    proto = model([node("Endless", "x", "y", domain="my")], {"x": [1]}, ["y"], functions=[endless], domains={"my": 1})
    with pytest.raises(ModelError, match="calls itself"):
        from_proto(proto)


def test_symbols_only_where_they_can_stay() -> None:
    proto = model([node("Slice", "x s e", "y")], {"x": ["N", 4]}, ["y"], {"s": ints(1), "e": ints(2)})
    with pytest.raises(ModelError, match="cuts the symbolic axis 0"):
        from_proto(proto, {"x": [Symbol("N", 4), 4]})


@pytest.mark.parametrize("seed", range(6))
def test_damaged_bytes_never_end_in_a_traceback(tmp_path: Path, seed: int) -> None:
    nodes = [
        node("Conv", "x w", "a", pads=[1, 1, 1, 1]), node("Clip", "a", "b", min=0.0, max=6.0), node("Shape", "b", "s"),
        node("Slice", "s", "t", starts=[0], ends=[1]),
        node("Concat", "t rest", "u", axis=0), node("Reshape", "b u", "c"), node("Gemm", "c m", "d", transB=1), node("Softmax", "d", "y"),
    ]  # fmt: skip
    constants = {"w": weights(2, 1, 3, 3), "rest": ints(-1), "m": weights(3, 32)}
    content = model(nodes, {"x": ["N", 1, 4, 4]}, ["y"], constants, opset=9).SerializeToString()
    generator = np.random.default_rng(seed)
    path = tmp_path / "model.onnx"
    refused = 0
    for _ in range(150):
        damaged = bytearray(content)
        for place in generator.integers(0, len(damaged), generator.integers(1, 4)):
            damaged[place] = generator.integers(0, 256)
        path.write_bytes(damaged)
        try:
            load_model(path)
        except EdgecError:
            refused += 1
    assert refused > 50


def test_split_into_another_number_of_parts_than_it_says() -> None:
    """ONNX Runtime ends the process on such a file."""
    with pytest.raises(ModelError, match="num_outputs is 2, but it has 3 outputs"):
        from_proto(model([node("Split", "x", "a b c", num_outputs=2)], {"x": [6]}, ["a", "b", "c"], opset=18))


@pytest.mark.parametrize("place", [5, -6])
def test_a_place_beyond_an_axis(place: int) -> None:
    proto = model([node("Gather", "x i", "y", axis=1)], {"x": [3, 5]}, ["y"], {"i": ints(1, -2, place)})
    with pytest.raises(ModelError, match=r"an index lies outside of axis 1 of \[3,5\]"):
        from_proto(proto)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceProd", "ReduceL1"])
def test_sums_of_booleans(op: str) -> None:
    with pytest.raises(ModelError, match=f"{op}.*cannot take bool"):
        from_proto(model([node(op, "x", "y")], {"x": (TensorProto.BOOL, [3, 5])}, ["y"], opset=20))


@pytest.mark.parametrize(("mode", "kind"), [("linear", "int32"), ("cubic", "uint8")])
def test_means_of_pixels_that_are_whole_numbers(mode: str, kind: str) -> None:
    scales, element = {"s": np.array([1, 1, 2, 2], np.float32)}, getattr(TensorProto, kind.upper())
    with pytest.raises(ModelError, match=f"mode {mode} of {kind} is not supported.*cast to float32"):
        from_proto(model([node("Resize", "x _ s", "y", mode=mode)], {"x": (element, [1, 1, 4, 4])}, ["y"], scales))


@pytest.mark.parametrize(("op", "inputs"), [("RandomNormal", ""), ("RandomUniformLike", "k"), ("Bernoulli", "k"), ("Multinomial", "k")])
def test_what_is_drawn_anew_at_each_run_is_no_constant(op: str, inputs: str) -> None:
    attributes = {"shape": [1, 3]} if op == "RandomNormal" else {}
    drawn = [node(op, inputs, "d", **attributes), node("Cast", "d", "e", to=TensorProto.FLOAT), node("Add", "x e", "y")]
    with pytest.raises(ModelError, match="no implementation"):
        from_proto(model(drawn, {"x": [1, 3]}, ["y"], {"k": np.full((1, 3), 0.5, np.float32)}))


@pytest.mark.parametrize("depth", [0, -(1 << 40)])
def test_no_vector_is_of_a_depth_below_one(depth: int) -> None:
    known = {"d": np.array(depth), "v": np.array([0, 1], np.float32)}
    with pytest.raises(ModelError, match="has a depth of"):
        from_proto(model([node("Cast", "x", "i", to=TensorProto.INT64), node("OneHot", "i d v", "y")], {"x": [3]}, ["y"], known))


def test_an_input_that_holds_nothing_along_a_huge_axis() -> None:
    with pytest.raises(ModelError, match="input e: needs 18,446,744,073,709,551,616 bytes"):
        from_proto(model([node("Relu", "x", "y")], {"x": [2], "e": [0, 2**62]}, ["y"]))


def test_a_number_of_places_is_a_list_of_one() -> None:
    """As a scalar nothing else reads it."""
    with pytest.raises(ModelError, match=r"k has the shape \[\], needs \[1\]"):
        from_proto(model([node("TopK", "x k", "y i")], {"x": [5]}, ["y"], {"k": np.array(2)}))
