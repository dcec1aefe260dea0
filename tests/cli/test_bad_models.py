"""Models that cannot be built: one clear error of the right family, everything at once, and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgec
from tests.calling import DIGITS, QUICK, Program, names_in

Change = Callable[[onnx.ModelProto], None]
BLOCKERS = (
    "/relu1 (Rleu",
    "did you mean 'Relu'?",
    "/relu2 (Multinomial",
    "cut the graph",
    "/relu3 (com.acme.Relu",
    "domain com.acme",
)


def unknown_operators(model: onnx.ModelProto) -> None:
    nodes = {node.name: node for node in model.graph.node}
    nodes["/relu1"].op_type, nodes["/relu2"].op_type, nodes["/relu3"].domain = "Rleu", "Multinomial", "com.acme"
    model.opset_import.append(helper.make_opsetid("com.acme", 1))


def cycle(model: onnx.ModelProto) -> None:
    next(node for node in model.graph.node if node.name == "/conv2").input[0] = "a4"


def opset(version: int) -> Change:
    return lambda model: setattr(model.opset_import[0], "version", version)


def open_height(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "H"


def other_channels(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 3


def not_finite(model: onnx.ModelProto) -> None:
    for tensor in model.graph.initializer:
        for name, value in (("conv2.weight", np.nan), ("conv3.weight", np.inf)):
            if tensor.name == name:
                array = numpy_helper.to_array(tensor).copy()
                array.flat[3] = value
                tensor.CopyFrom(numpy_helper.from_array(array, name))


def outside(model: onnx.ModelProto) -> None:
    for tensor, location in zip(model.graph.initializer, ("../../../etc/passwd", "weights.bin"), strict=False):
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=location)


CASES: dict[str, tuple[Change, int, tuple[str, ...]]] = {
    "unknown operators": (unknown_operators, 3, ("3 operator(s)", *BLOCKERS)),
    "cycle": (cycle, 3, ("cycle through", "(")),
    "future opset": (opset(99), 3, ("operator set 99", "newer onnx package")),
    "no opset": (opset(0), 3, ("operator set 0",)),
    "open dimension": (open_height, 2, ("input image: its shape is [N,1,H,8]", "--shape image=1,1,...,8")),
    "shape mismatch": (other_channels, 3, ("/conv1 (Conv", "3 channels")),
    "weights": (not_finite, 3, ("conv2.weight: holds NaN", "conv3.weight: holds infinities", "/conv3")),
    "external data": (outside, 3, ("'../../../etc/passwd' leads out", "'weights.bin' does not exist", "copy it beside the model")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_model(program: Program, work: Path, name: str) -> None:
    change, code, words = CASES[name]
    model = onnx.load(DIGITS / "digits.onnx")
    change(model)
    (work / "bad.onnx").write_bytes(model.SerializeToString())
    before = names_in(work)
    done = program("build", "-q", "--calib", "calibration.npz", "bad.onnx", "--dump", "stages", "--no-compile")
    done.failed(code, "bad.onnx", *words)
    assert done.out == "" and names_in(work) == before
    facts = program("build", "--calib", "calibration.npz", "bad.onnx", "--no-compile", "--json").json
    assert facts["exit_code"] == code and facts["error"] and names_in(work) == before


BYTES = {
    "text": b"This is a letter, not a model.",
    "empty": b"",
    "truncated": (DIGITS / "digits.onnx").read_bytes()[:70_000],
    "zeros": bytes(1000),
}


@pytest.mark.parametrize("name", BYTES)
@pytest.mark.parametrize("verb", ["build", "inspect", "quantize"])
def test_not_a_model(program: Program, work: Path, verb: str, name: str) -> None:
    (work / "bad.onnx").write_bytes(BYTES[name])
    program(verb, "bad.onnx", *(["--no-compile"] if verb == "build" else [])).failed(3, "bad.onnx", "not an ONNX")
    assert names_in(work) == {"digits.onnx", "calibration.npz", "evaluation.npz", "bad.onnx"}


def test_inspect_lists_every_blocker(program: Program, work: Path) -> None:
    model = onnx.load("digits.onnx")
    unknown_operators(model)
    onnx.save(model, "bad.onnx")
    done = program("inspect", "bad.onnx")
    assert done.code == 3 and all(word in done.out for word in BLOCKERS) and "not supported" in done.out and "Conv" in done.out
    facts = program("inspect", "bad.onnx", "--json").json
    assert len(facts["unsupported"]) == 3 and all(item["hint"] for item in facts["unsupported"])
    assert facts["operators"]["Conv"] == 4 and facts["inputs"][0]["name"] == "image"
    program("build", "--dry-run", "bad.onnx", "--no-compile").failed(3, *BLOCKERS)
    program("quantize", "--dry-run", "bad.onnx").failed(3, *BLOCKERS)


def test_what_cannot_be_lowered_is_listed_before_the_calibration(program: Program, work: Path) -> None:
    """Gemm by weights that leave float32 is known to the import, and no target has it."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["c"], name="/product"),
        helper.make_node("Gemm", ["c", "large"], ["values"], name="/best", alpha=1000.0),
        helper.make_node("Sigmoid", ["c"], ["s"]),
        helper.make_node("Gemm", ["s", "large"], ["least"], name="/worst", alpha=1000.0),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("values", "least")]
    weights = [
        numpy_helper.from_array(np.ones((4, 3), np.float32), "w"),
        numpy_helper.from_array(np.full((3, 2), 3e38, np.float32), "large"),
    ]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, weights), opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, "best.onnx")
    np.save("x.npy", np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32))
    done = program("build", "best.onnx", "--calib", "x.npy", "--no-compile")
    done.failed(3, "/best", "Gemm", "/worst")
    assert "ranges" not in done.err
    assert program("inspect", "best.onnx").code == 3


def test_a_model_that_is_not_there_is_looked_for(program: Program, work: Path) -> None:
    """By its name, beside where it should be, and in a folder."""
    program("build", "digit.onnx", *QUICK).failed(2, "digit.onnx: no such file", "did you mean 'digits.onnx'?")
    program("build", work, *QUICK).failed(2, "is a folder, not a model", f"{work / 'digits.onnx'}")
    program("inspect", "none/x.onnx").failed(2, "give an ONNX file")


def test_shapes_that_do_not_fit_the_model(program: Program) -> None:
    done = program("build", "digits.onnx", "--no-compile", "--shape", "image=1,1,8", "--shape", "imag=1,1,8,8")
    done.failed(2, "3 dimensions", "did you mean 'image'?")
    program("inspect", "digits.onnx", "--shape", "image=1,3,8,8").failed(2, "contradicts", "[N,1,8,8]")
    program("inspect", "digits.onnx", "--shape", "1,3,8,8").failed(2, "NAME=1,3,224,224")
    program("inspect", "digits.onnx", "--shape", "image=1,x,8,8").failed(2, "NAME=1,3,224,224")
    program("inspect", "digits.onnx", "--shape", "image=0,1,8,8").failed(2, "at least 1")


def relu(tmp: Path, inputs: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto]) -> None:
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp / "odd.onnx")


def value(name: str, *shape: int, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        ([value("x", 2)], [value("y", 2), value("y", 2)], ("output y", "twice")),
        ([value("x", 2)], [], ("no outputs",)),
        ([value("x", 10**5, 10**5)], [value("y", 10**5, 10**5)], ("input x", "40,000,000,000 bytes", "--budget tensors=")),
        ([value("x", 2, kind=TensorProto.STRING)], [value("y", 2, kind=TensorProto.STRING)], ("input x", "string")),
    ],
    ids=["output twice", "no outputs", "huge", "strings"],
)
def test_odd_interfaces(
    program: Program, work: Path, inputs: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto], words: tuple[str, ...]
) -> None:
    relu(work, inputs, outputs)
    program("build", "odd.onnx", "--precision", "fp32", "--no-compile", "-o", "out").failed(3, *words)
    assert not (work / "out").exists()


@pytest.mark.parametrize("shape", [(), (1,), (2, 1, 1, 1, 1, 3)], ids=str)
def test_any_rank_is_fine(program: Program, work: Path, shape: tuple[int, ...]) -> None:
    relu(work, [value("x", *shape), value("unread", 3)], [value("y", *shape)])
    done = program("build", "-q", "odd.onnx", "--precision", "fp32", "-o", "out", *QUICK)
    assert done.code == 0 and "passed" in done.out, done.err
    x = np.full(shape, -1.5, np.float32)
    with edgec.Package(work / "out").load() as run:
        (y,) = run(x, np.zeros(3, np.float32))
    assert y.shape == shape and not y.any()
