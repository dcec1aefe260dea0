"""What every option of a build does to the package, proven by its exam and by its answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import edgec
from edgec.package import Package
from edgec.quant.given.options import OBSERVERS
from edgec.quant.trials.steps import CHEAP
from tests.calling import QUICK, Program, names_in
from tests.nets import MODELS

pytestmark = pytest.mark.usefixtures("kept_builds")

BUILD = ("build", "-q", "digits.onnx", "--calib", "calibration.npz", "--samples", "20", "-o", "out", *QUICK)


@pytest.fixture(scope="session")
def unet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A net whose input and output are pictures of several channels, with data for it."""
    folder = tmp_path_factory.mktemp("unet")
    model = MODELS["unet"](3)
    onnx.save(model, folder / "unet.onnx")
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    np.savez(folder / "x.npz", x=np.random.default_rng(1).standard_normal((4, *shape[1:])).astype(np.float32))
    return folder


def packaged(unet: Path, **settings: object) -> Package:
    """Built for this machine, and examined."""
    package = edgec.build(unet / "unet.onnx", target="portable", cc="gcc -O0", observer="minmax", out="out", **settings)  # type: ignore[arg-type]
    assert package.examine()["passed"]
    return package


def in_model_form(package: Package, image: np.ndarray) -> dict[str, np.ndarray]:
    """The answers, of samples and as numbers in the form that the model has."""
    (taken,) = package.inputs
    answers = edgec.run(package, {taken.name: np.concatenate([taken.face.of_model(part[None]) for part in image])})
    assert all(answers[tensor.name].dtype == tensor.dtype for tensor in package.outputs)
    return {tensor.name: tensor.face.to_model(answers[tensor.name], np.dtype(np.float32)) for tensor in package.outputs}


@pytest.mark.parametrize(
    ("precision", "io", "layout"),
    [("int8", "model", "nhwc"), ("int8", "uint8", "nhwc"), ("fp32", "model", "nhwc")],
)
def test_io_and_layout_only_change_how_tensors_look(unet: Path, work: Path, precision: str, io: str, layout: str) -> None:
    calib = str(unet / "x.npz")
    image = np.load(calib)["x"]
    plain = in_model_form(packaged(unet, precision=precision, calib=calib, io="int8" if io == "uint8" else io), image)
    package = packaged(unet, precision=precision, calib=calib, io=io, io_layout=layout)
    (taken,) = package.inputs
    assert taken.dtype == np.dtype(io if io != "model" else "float32")
    assert taken.shape == ((1, *image.shape[2:], image.shape[1]) if layout == "nhwc" else (1, *image.shape[1:]))
    for name, answer in in_model_form(package, image).items():
        assert np.array_equal(answer, plain[name])
    scores = edgec.compare(unet / "unet.onnx", package, calib)
    assert all(score.sqnr_db > (20 if precision == "int8" else 100) for score in scores.outputs)


def test_a_value_that_nothing_quantizes_stays_and_is_named(program: Program) -> None:
    done = program(*BUILD[:1], *BUILD[2:], "--io", "int8", "--exclude", "/conv1", "--no-compile")
    assert done.code == 0 and "note: image stays as the model has it" in done.err


@pytest.mark.parametrize("form", ["c", "bin"])
def test_forms_of_weights(program: Program, work: Path, form: str, package: Path) -> None:
    done = program(*BUILD[:-4], *QUICK, "--weights", form, "-o", "out")
    assert done.code == 0 and "passed" in done.out
    manifest = json.loads((work / "out/manifest.json").read_text())
    assert manifest["weights"]["form"] == form
    images = np.load("evaluation.npz")["image"][:3]
    assert edgec.run("out", {"image": images})["logits"].shape == (3, 10)


def test_no_compile_leaves_sources_that_make_builds(program: Program, work: Path, needs: Callable[..., None]) -> None:
    import subprocess

    needs("make")
    done = program(*BUILD, "--no-compile")
    assert done.code == 0 and "not run here" in done.out and not (work / "out/build").exists()
    program("run", "out", "-i", "evaluation.npz").failed(5, "no exam program", "`make`")
    made = subprocess.run(["make", "-C", "out", "-s", "check", "CC=gcc", "CFLAGS=-O0"], capture_output=True, text=True, check=False)
    assert made.returncode == 0 and "passed" in made.stdout, made.stderr
    assert program("run", "out", "-i", "evaluation.npz").code == 0


def test_the_name_is_everywhere(program: Program, work: Path) -> None:
    assert program("build", "-q", "digits.onnx", "--precision", "fp32", "--name", "MyNet", "--no-compile").code == 0
    out = work / "MyNet-x86-64-fp32" if (work / "MyNet-x86-64-fp32").exists() else next(work.glob("MyNet-*-fp32"))
    assert names_in(out / "include") == {"MyNet.h", "MyNet.hpp", "MyNet_pool.h"} and "MyNet_init" in (out / "include/MyNet.h").read_text()


def test_excluded_nodes_stay_in_float(program: Program, work: Path) -> None:
    done = program("quantize", "digits.onnx", "--calib", "calibration.npz", "--exclude", "/conv2,/classifier", "--exclude", "/add*")
    assert done.code == 0 and "excluded by the options" in done.out
    model = onnx.load("digits.int8.onnx")
    made_by = {output: node.op_type for node in model.graph.node for output in node.output}
    float_convs = [
        node for node in model.graph.node if node.op_type in ("Conv", "Gemm") and made_by.get(node.input[1]) != "DequantizeLinear"
    ]
    assert len(float_convs) == 2
    kept = program("inspect", "digits.int8.onnx", "--json").json["kept_in_float"]
    assert kept == {"/classifier": "its weights are no 8-bit numbers"}  # the others have no codes near


@pytest.mark.parametrize("observer", OBSERVERS)
def test_every_observer(program: Program, observer: str) -> None:
    facts = program("quantize", "digits.onnx", "--calib", "calibration.npz", "--observer", observer, "--samples", "30", "--json").json
    assert facts["outputs"]["logits"] > 20


def test_an_effort_is_chosen_by_flag_file_or_python_and_recorded(program: Program, work: Path) -> None:
    (work / "edgec.toml").write_text("[build]\neffort = 'high'\n")
    plan = program("build", "digits.onnx", "--calib", "calibration.npz", "--dry-run", "--no-compile", "--json").json["plan"]
    assert plan["effort"] == "high"
    assert program(*BUILD, "--no-compile", "--effort", "fast").code == 0
    calibration, manifest = (json.loads((work / "out" / name).read_text()) for name in ("calibration.json", "manifest.json"))
    assert calibration["effort"] == manifest["options"]["effort"] == "fast"
    assert {step["step"] for step in manifest["quantization_steps"]} <= CHEAP
    quantized = edgec.quantize("digits.onnx", calib="calibration.npz", samples=20, effort="fast")
    assert quantized.calibration == calibration
    refused = program("quantize", "digits.onnx", "--calib", "calibration.npz", "--effort", "fats")
    assert refused.code == 2 and "--effort" in refused.err and "did you mean 'fast'?" in refused.err


def test_stages_are_dumped_in_order(program: Program, work: Path) -> None:
    assert program(*BUILD, "--no-compile", "--dump", "stages").code == 0
    wanted = {
        "1-imported.eir",
        "1-imported.onnx",
        "2-optimized.eir",
        "2-optimized.onnx",
        "3-quantized.eir",
        "3-quantized.onnx",
        "4-matched.eir",
        "5-program.eir",
    }
    assert names_in(work / "stages") == wanted
    assert "QuantizeLinear" in (work / "stages/3-quantized.eir").read_text()
    assert " = clause 4 Conv+Relu(" in (work / "stages/4-matched.eir").read_text()
    planned = (work / "stages/5-program.eir").read_text()
    assert " = conv_int8  items " in planned and "  with " in planned and "  rows " in planned
    onnx.checker.check_model(str(work / "stages/3-quantized.onnx"))


def test_another_compiler(program: Program, needs: Callable[..., None]) -> None:
    needs("clang")
    done = program("build", "digits.onnx", "--precision", "fp32", "--cc", "clang -O1", "--target", "portable", "-o", "out")
    assert done.code == 0 and "clang -O1" in done.err and "passed" in done.out


def test_the_batch_is_set_by_the_shape(program: Program, work: Path) -> None:
    arguments = ("build", "-q", "digits.onnx", "--precision", "fp32", "--shape", "image=4,1,8,8", "-o", "out", *QUICK)
    assert program(*arguments).code == 0
    assert program("run", "out", "-i", "evaluation.npz").code == 0
    assert np.load("out.npz")["logits"].shape == (360, 10)
    facts = program("compare", "digits.onnx", "out", "--data", "evaluation.npz", "--labels", "labels", "--json").json
    assert facts["samples"] == 360 and facts["accuracy"]["package"][0] == pytest.approx(0.9833, abs=1e-4)


def test_settings_of_the_file_and_of_the_environment(program: Program, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in edgec.toml, which lies beside the model, are relative to it."""
    (work / "models").mkdir()
    for name in ("digits.onnx", "calibration.npz"):
        (work / name).rename(work / "models" / name)
    (work / "models/edgec.toml").write_text("[build]\ncalib = 'calibration.npz'\ntarget = 'rpi3'\nobserver = 'minmax'\nout = 'made'\n")
    monkeypatch.setenv("EDGEC_TARGET", "rpi4")
    monkeypatch.setenv("EDGEC_OBSERVER", "entropy")
    plan = program("build", "models/digits.onnx", "--observer", "percentile", "--dry-run", "--no-compile", "--json").json["plan"]
    assert (plan["target"], plan["observer"], plan["calibration"], plan["package"]) == (
        "rpi4",
        "percentile",
        "models/calibration.npz",
        "models/made",
    )


def test_names_that_mean_something_in_c(program: Program, work: Path) -> None:
    """Of the model, and of its inputs and outputs."""
    names = ("int", "instance", "run", "NULL", "3d", "a.b", "a_b", "class", "i")
    nodes = [onnx.helper.make_node("Sum", names, ["static"], name="*/ while(1);")]
    float32 = onnx.TensorProto.FLOAT
    inputs = [onnx.helper.make_tensor_value_info(name, float32, [2]) for name in names]
    outputs = [onnx.helper.make_tensor_value_info("static", float32, [2])]
    graph = onnx.helper.make_graph(nodes, "g", inputs, outputs)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), "switch.onnx")
    done = program(
        "build", "-q", "switch.onnx", "--precision", "fp32", "--target", "portable", "--cc", "gcc -O0 -Wall -Wextra -Werror", "-o", "out"
    )
    assert done.code == 0 and "passed" in done.out, done.err
    ones = np.ones(2, np.float32)
    assert np.array_equal(edgec.run("out", dict.fromkeys(names, ones))["static"], len(names) * ones)
    program("build", "digits.onnx", "--precision", "fp32", "--no-compile", "--name", "while").failed(2, "--name", "'while'")
