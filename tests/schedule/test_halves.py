"""Which tensors become halves, as text of Programs before and after, and what packages of such graphs answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec import BuildConfig
from edgec.frontend import from_proto
from edgec.lower import lower
from edgec.passes import optimize
from edgec.pipeline.finish import build
from edgec.program.program import LoopCall, Program, TemplateCall, When
from edgec.program.turns import carried, spans
from edgec.program.walk import loads, stores
from edgec.schedule.halves import LEAST, NOTHING, with_halves
from edgec.targets import load_target
from tests.conftest import require

TARGET = load_target("rpi5")


def model(nodes: Sequence[onnx.NodeProto], shape: Sequence[int], constants: dict[str, np.ndarray], *outputs: str) -> onnx.ModelProto:
    """Of the float input `x`."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    known = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in constants.items()]
    graph = helper.make_graph(list(nodes), "net", [x], given, known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def lowered(found: onnx.ModelProto) -> Program:
    graph = from_proto(found).graph
    optimize(graph)
    return lower(graph, TARGET, "net")


def conv(x: str, y: str, weights: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node("Conv", [x, weights], [y], y, **attributes)


def pointwise(outputs: int, inputs: int) -> np.ndarray:
    return np.full((outputs, inputs, 1, 1), 1 / inputs)


def squeeze(side: int) -> onnx.ModelProto:
    """The means of each column of a layer's result, which two layers read that cannot be one, and more of what both make."""
    nodes = [
        conv("x", "a", "w"), helper.make_node("ReduceMean", ["a", "axes"], ["mean"], "mean"), conv("mean", "b", "w"),
        conv("mean", "c", "v", pads=[0, 1, 0, 1]), conv("b", "y", "w"), conv("c", "z", "w"),
    ]  # fmt: skip
    found = model(nodes, [1, 8, side, 4], {"w": np.eye(8)[:, :, None, None], "v": np.eye(8)[:, :, None, None] * np.ones((1, 3))}, "y", "z")
    found.graph.initializer.append(numpy_helper.from_array(np.array([2]), "axes"))
    return found


def kinds(program: Program) -> dict[str, str]:
    """The type of each buffer that a run makes."""
    return {name: buffer.dtype.value for name, buffer in program.buffers.items() if buffer.kind.value == "arena"}


def totals(program: Program) -> dict[str, str]:
    """The types of the buffers that a loop reads and writes."""
    found = [set(loads(call.body)) & set(stores(call.body)) for call in program.calls if isinstance(call, LoopCall)]
    return {name: program.buffers[name].dtype.value for names in found for name in names}


def test_totals_that_a_loop_keeps_in_memory_stay_floats() -> None:
    program = with_halves(lowered(squeeze(112)))
    assert totals(program) == {"mean": "float32"}
    assert [kinds(program)[name] for name in ("a", "b", "c")] == ["float16"] * 3


def test_what_is_scattered_onto_stays_floats() -> None:
    nodes = [helper.make_node("MatMul", [x, "w"], [y], y) for x, y in (("x", "a"), ("sum", "b"), ("c", "y"))]
    nodes.insert(2, helper.make_node("Relu", ["b"], ["c"], "c"))
    nodes.insert(1, helper.make_node("ScatterND", ["a", "where", "x"], ["sum"], "sum", reduction="add"))
    found = model(nodes, [4, 8], {"w": np.eye(8)}, "y")
    found.graph.initializer.append(numpy_helper.from_array(np.zeros((4, 1), np.int64), "where"))
    assert totals(with_halves(lowered(found))) == {"sum_ScatterND": "float32"}


def test_what_a_loop_carries_stays_floats_and_each_turn_makes_its_own_halves() -> None:
    step = helper.make_graph(
        [conv("s", "a", "w"), helper.make_node("Add", ["a", "p"], ["n"], "add"), helper.make_node("Identity", ["n"], ["row"], "row")],
        "step",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8, 4, 4]) for name in "sp"],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8, 4, 4]) for name in ("n", "row")],
    )
    nodes = [
        conv("x", "b", "w"), helper.make_node("Unsqueeze", ["b", "axis"], ["u"], "u"), helper.make_node("Tile", ["u", "often"], ["t"], "t"),
        helper.make_node("Scan", ["b", "t"], ["y", "rows"], "scan", body=step, num_scan_inputs=1),
    ]  # fmt: skip
    found = model(nodes, [1, 8, 4, 4], {"w": pointwise(8, 8)}, "y", "rows")
    constants = {"axis": np.array([0]), "often": np.array([12, 1, 1, 1, 1])}
    found.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    program = with_halves(lowered(found))
    assert {program.buffers[name].dtype.value for name in carried(program)} == {"float32", "int32"}
    (span,) = spans(program).values()
    made = [call.call.within for call in program.calls[span.first : span.end]]
    assert made == [("scan",)] * len(made) and any(
        "as float16" in " ".join(call.call.comment) for call in program.calls[span.first : span.end]
    )


def conversions(program: Program) -> list[tuple[str, When | None]]:
    """What conversions of the means make, and when."""
    return [(call.call.writes[0], call.call.when) for call in program.calls if call.call.reads == ("mean",) and isinstance(call, LoopCall)]


def readers(program: Program) -> list[str]:
    return [name for call in program.calls if isinstance(call, TemplateCall) for name in call.call.reads if name.startswith("mean")]


def test_readers_of_one_tensor_share_its_halves() -> None:
    program = with_halves(lowered(squeeze(112)))
    assert (conversions(program), readers(program)) == ([("mean_float16", None)], ["mean_float16"] * 2)


@pytest.mark.parametrize(("first", "second", "made"), [(True, True, 1), (True, False, 2), (True, None, 2), (None, True, 1)])
def test_halves_that_may_be_left_out_serve_readers_of_which_the_same_is_said(first: bool | None, second: bool | None, made: int) -> None:
    program = lowered(squeeze(112))
    conditions = [None if holds is None else When("flag", holds) for holds in (first, second)]
    left = iter(conditions)
    program.calls = [
        replace(call, call=replace(call.call, when=next(left))) if call.call.reads[0] == "mean" else call for call in program.calls
    ]
    assert [when for _, when in conversions(with_halves(program))] == conditions[:made]


def test_a_write_makes_another_twin() -> None:
    program = lowered(squeeze(112))
    place = [call.call.reads[0] for call in program.calls].index("mean") + 1
    program.calls.insert(place, next(call for call in program.calls if call.call.writes == ("mean",)))
    assert [name for name, _ in conversions(with_halves(program))] == ["mean_float16", "mean_float16_2"]


@pytest.mark.parametrize(("factor", "halves"), [(1, True), (LEAST / 2, False), (NOTHING / 2, True), (0, True), (2.0**20, False)])
def test_each_channels_weights_must_keep_their_digits(factor: float, halves: bool) -> None:
    weights = np.eye(8)[:, :, None, None]
    weights[3] *= factor
    nodes = [conv("x", "a", "w"), conv("a", "y", "u")]
    program = with_halves(lowered(model(nodes, [1, 8, 4, 4], {"w": weights, "u": pointwise(8, 8)}, "y")))
    assert (kinds(program)["a"] == "float16") is halves


def test_layers_that_write_or_read_what_leaves_the_range_stay_floats() -> None:
    nodes = [conv(x, y, "w") for x, y in ("xa", "ab", "bc", "cd", "dy")]
    program = lowered(model(nodes, [1, 8, 4, 4], {"w": pointwise(8, 8)}, "y"))
    found = with_halves(program, {"b"})
    assert [kinds(found)[name] for name in "abcd"] == ["float16", "float32", "float32", "float16"]
    assert [call.arguments.kernel for call in found.calls if isinstance(call, TemplateCall)] == [
        "conv_half", "conv_float", "conv_float", "conv_half", "conv_half"
    ]  # fmt: skip


def test_a_package_answers_as_the_model_does(tmp_path: Path) -> None:
    """Of ones: means of 112 rows, and of four numbers whose sum is beyond the range; named as kernels of halves name nothing."""
    require("aarch64-linux-gnu-gcc", "qemu-aarch64")
    found = squeeze(112)
    pool = helper.make_node("AveragePool", ["large"], ["pool"], "pool", kernel_shape=[2, 2], strides=[2, 2])
    found.graph.node.extend([conv("x", "large", "up"), pool, conv("pool", "p", "down")])
    constants = {"up": 20000 * pointwise(8, 8), "down": pointwise(8, 8) / 20000}
    found.graph.initializer.extend(numpy_helper.from_array(array.astype(np.float32), name) for name, array in constants.items())
    found.graph.output.append(helper.make_tensor_value_info("p", TensorProto.FLOAT, None))
    onnx.save(found, tmp_path / "model.onnx")
    np.savez(tmp_path / "ones.npz", x=np.ones((1, 8, 112, 4), np.float32))
    config = BuildConfig(
        target="rpi5",
        precision="fp16",
        name="inputs_float32",
        calib=tmp_path / "ones.npz",
        cc="aarch64-linux-gnu-gcc -O1",
        out=tmp_path / "out",
    )
    assert build(tmp_path / "model.onnx", config).examined == ("neon", "fp16")
