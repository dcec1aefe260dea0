"""Every verb from end to end: tables for people, JSON for programs, quiet and verbose, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import edgec
from tests.calling import QUICK, Program, names_in

BUILD = ("build", "--calib", "calibration.npz", "digits.onnx", *QUICK)


def test_build_writes_a_package_that_passes_its_exam(program: Program, work: Path) -> None:
    done = program(*BUILD, "-o", "out")
    assert done.code == 0, done.err
    assert "exam" in done.out and "passed" in done.out and "34.0 KiB" in done.out
    for words in (
        "precision",
        "compiler",
        "gcc -O0",
        "calibration.npz",
        "mse",
        "] ranges",
        "] compiling",
        "] examining",
        "note: input image",
    ):
        assert words in done.err
    assert names_in(work / "out") >= {
        "include",
        "src",
        "exam",
        "build",
        "Makefile",
        "CMakeLists.txt",
        "model.int8.onnx",
        "calibration.json",
    }
    assert not [name for name in names_in(work) if name.startswith(".")]


def test_build_answers_in_json_alone(program: Program, work: Path) -> None:
    facts = program(*BUILD, "--json").json
    assert facts["package"] == "digits-portable-int8" and facts["exam"] == "passed" and facts["macs"] == 304768
    assert facts["arena_bytes"] > 0 and facts["weights_bytes"] > 0
    assert names_in(work) == {"digits.onnx", "calibration.npz", "evaluation.npz", "digits-portable-int8"}


def test_quiet_says_nothing_but_the_result(program: Program) -> None:
    assert program(*BUILD, "-q", "--no-compile").err == ""


def test_verbose_tells_which_rewrites_were_applied(program: Program) -> None:
    done = program("inspect", "-v", "digits.onnx")
    assert done.code == 0 and "edgec.passes: round 1" in done.err


def test_a_dry_run_writes_nothing(program: Program, work: Path) -> None:
    before = names_in(work)
    done = program(*BUILD, "--dry-run")
    assert done.code == 0 and "digits-portable-int8" in done.out and "GlobalAveragePool" in done.out
    facts = program(*BUILD, "--dry-run", "--json").json
    assert facts["plan"]["compiler"] == "gcc -O0" and facts["operators"]["Conv"] == 4 and facts["unsupported"] == []
    assert names_in(work) == before


def test_quantize_writes_the_model_and_the_report(program: Program, work: Path) -> None:
    done = program("quantize", "--calib", "calibration.npz", "digits.onnx", "--report", "report.json")
    assert done.code == 0 and "worst first" in done.out and "/conv3" in done.out
    report = json.loads((work / "report.json").read_text())
    layers, steps = report["layers"], report["steps"]
    assert "on held-back samples" in done.out and "bias correction" in done.out
    assert {"bias correction", "observer", "rounding"} <= {step["step"] for step in steps}
    assert all(step["taken"] or step["after"] == step["before"] for step in steps)
    assert len(layers) > 5 and [layer["sqnr"] for layer in layers] == sorted(layer["sqnr"] for layer in layers)
    assert (work / "digits.int8.onnx").stat().st_size < 60_000
    facts = program("quantize", "--calib", "calibration.npz", "digits.onnx", "-o", "other.onnx", "--json").json
    assert facts["model"] == "other.onnx" and facts["layers"] == layers and facts["outputs"]["logits"] > 30


def test_run_writes_the_outputs_of_every_sample(program: Program, work: Path, package: Path) -> None:
    done = program("run", package, "-i", "evaluation.npz", "-o", "answers.npz")
    assert done.code == 0 and "logits" in done.out
    logits, labels = np.load(work / "answers.npz")["logits"], np.load("evaluation.npz")["labels"]
    assert logits.shape == (360, 10) and (logits.argmax(1) == labels).mean() > 0.97
    one = np.load("evaluation.npz")["image"][:1]
    np.save("one.npy", one)
    facts = program("run", package, "-i", "one.npy", "--threads", "2", "--isa", "portable", "--json").json
    assert facts["outputs"] == [{"name": "logits", "dtype": "float32", "shape": [1, 10]}]
    assert np.array_equal(np.load("out.npz")["logits"], logits[:1])
    program("run", package, "--input", "one.npy").failed(2, "--input names tensors of a model", "-i, --inputs")
    program("run", package, "-i", "one.npy", "--output", "out.npz").failed(2, "--output names tensors of a model", "-o, --out")


def test_compare_scores_a_package(program: Program, package: Path) -> None:
    arguments = ("compare", "digits.onnx", package, "--data", "evaluation.npz", "--labels", "labels")
    done = program(*arguments)
    assert done.code == 0 and "360 samples" in done.out and "top-1" in done.out and "98.33%" in done.out
    facts = program(*arguments, "--json").json
    assert facts["samples"] == 360 and facts["accuracy"]["fp32"][0] == pytest.approx(0.9833, abs=1e-4)
    assert facts["accuracy"]["package"][0] >= 0.975 and facts["outputs"][0]["sqnr_db"] > 30 and facts["outputs"][0]["agreement"] > 0.98


def test_compare_fails_below_the_agreement_that_was_asked_for(program: Program, package: Path) -> None:
    arguments = ("compare", "digits.onnx", package, "--data", "evaluation.npz")
    assert program(*arguments, "--min-agreement", "0.9").code == 0
    done = program(*arguments, "--min-agreement", "1.01", "--json")
    done.failed(1, "agreement of logits", "below 1.01")
    assert done.json["passed"] is False


def test_compare_warns_of_answers_that_are_far_off(program: Program, package: Path) -> None:
    """In its last lines, with the layers to look at; what may not be so fails."""
    model = onnx.load("digits.onnx")
    weights = next(tensor for tensor in model.graph.initializer if len(tensor.dims) == 2)
    weights.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(weights), weights.name))
    onnx.save(model, "opposite.onnx")
    arguments = ("compare", "opposite.onnx", package, "--data", "evaluation.npz", "--samples", "40")
    done = program(*arguments)
    *_, first, second = done.out.splitlines()
    assert done.code == 0 and first.startswith("warning: output logits is far from the model's: SQNR -") and "agreement" in first
    assert second.startswith("warning: the worst layers are ") and second.count(" dB)") == 3
    done = program(*arguments, "--min-sqnr", "20", "--min-agreement", "0.9", "--json")
    done.failed(1, "agreement of logits", "SQNR of logits", "below 20")
    assert done.json["passed"] is False and len(done.json["warnings"]) == 2
    assert program("compare", "digits.onnx", package, "--data", "evaluation.npz", "--min-sqnr", "20", "--json").json["warnings"] == []


def test_inspect_a_model(program: Program) -> None:
    done = program("inspect", "digits.onnx")
    assert done.code == 0
    for words in ("GlobalAveragePool", "304,768", "33,196", "layers", "weight bytes", "batch dimension N is set to 1"):
        assert words in done.out
    facts = program("inspect", "digits.onnx", "--json", "--shape", "image=4,1,8,8").json
    assert facts["macs"] == 4 * 304768 and facts["inputs"][0]["shape"] == [4, 1, 8, 8] and facts["parameters"] == 33196
    assert all(layer["bytes"] > 0 for layer in facts["layers"])


def test_inspect_a_package(program: Program, package: Path) -> None:
    facts = program("inspect", package, "--json").json
    assert facts["kind"] == "package" and facts["macs"] == 304768
    assert sum(layer["weights_bytes"] for layer in facts["layers"]) <= facts["weights_bytes"] + 64 * len(facts["layers"])
    shown = program("inspect", package).out.split()
    assert {"/conv3", "/pool", "/classifier"} <= set(shown) and not {"/relu3", "/add3"} & set(shown)


def test_targets_are_listed(program: Program) -> None:
    assert "rpi4" in program("targets").out
    targets = {target["name"]: target for target in program("targets", "--json").json["targets"]}
    wanted = (
        "portable x86-64 rpi3 rpi4 rpi5 rpi-zero2 android-arm64 linux-arm64 rpi-32bit android-armv7 linux-riscv64 macos-arm64 ios-arm64"
    )
    assert set(targets) >= set(wanted.split())
    assert sum(target["host"] for target in targets.values()) == 1


def test_help_names_verbs_flags_and_exit_codes(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    for arguments, words in ((["--help"], "quantize"), (["build", "--help"], "--fuse-preprocess")):
        with pytest.raises(SystemExit) as ended:
            program(*arguments)
        assert ended.value.code == 0
        text = capfd.readouterr().out
        assert words in text and "3 model not supported" in " ".join(text.split())


def test_the_version_is_told(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program("--version")
    assert ended.value.code == 0 and capfd.readouterr().out == f"edgec {edgec.__version__}\n"


def test_python_runs_it_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "edgec", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"edgec {edgec.__version__}"
    done = subprocess.run([sys.executable, "-m", "edgec", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: edgec ")


def test_no_color_is_honoured(work: Path, needs: Callable[..., None]) -> None:
    """On a terminal, which `script` makes, colours appear without NO_COLOR and none do with it."""
    needs("script")
    command = f"{sys.executable} -m edgec.cli.main inspect nothing.onnx"
    for value, colours in (("", True), ("1", False)):
        environment = {"PATH": "/usr/bin:/bin", "TERM": "xterm-256color", **({"NO_COLOR": value} if value else {})}
        done = subprocess.run(["script", "-qec", command, "/dev/null"], env=environment, capture_output=True, text=True, check=False)
        assert "no such file" in done.stdout and ("\x1b[1;31m" in done.stdout) is colours


def test_a_closed_pipe_is_no_error(work: Path) -> None:
    command = f"{sys.executable} -m edgec.cli.main targets | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted where Linux lists them")
def test_numpy_multiplies_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many cores there are."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    program = "import os; from edgec.cli.main import main; main(['targets']); import numpy; print(len(os.listdir('/proc/self/task')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1"
