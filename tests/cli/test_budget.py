"""Models that ask for too much, through the program: exit code 3, the node, the flag that raises the limit, and nothing written."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import helper

from edgec.frontend import load_model
from edgec.ir.liveness import live_bytes
from edgec.passes import optimize
from tests.calling import QUICK, Program, names_in
from tests.frontend.test_budget import CASES, nested_functions

FP32 = ("--precision", "fp32", "--no-compile", *QUICK)


@pytest.mark.parametrize("name", ["functions", "constant of shape", "resize", "transposed convolution"])
def test_a_bomb(program: Program, work: Path, name: str) -> None:
    proto, key, _ = CASES[name]
    (work / "bomb.onnx").write_bytes(proto.SerializeToString())
    before = names_in(work)
    limits = ["--budget", "nodes=2000"] if key == "nodes" else ["--budget", "tensors=1M,constants=1M"]
    for verb, *others in (("build", *FP32), ("inspect",)):
        program(verb, "bomb.onnx", *others, *limits).failed(3, f"--budget {key}=")
    assert names_in(work) == before


def test_the_budget_of_a_stranger_does_not_count(program: Program, work: Path) -> None:
    """An edgec.toml beside a model, elsewhere, may not raise what the model may cost."""
    (work / "theirs").mkdir()
    (work / "theirs" / "m.onnx").write_bytes(nested_functions(5).SerializeToString())
    (work / "theirs" / "edgec.toml").write_text('[build]\nbudget = "nodes=1000000"\n')
    program("build", "theirs/m.onnx", *FP32).failed(2, "budget", "--trust-config")
    program("build", "theirs/m.onnx", *FP32, "--budget", "nodes=10").failed(3, "--budget nodes=")
    assert program("build", "theirs/m.onnx", *FP32, "--trust-config").code == 0


def test_calibration_is_refused_before_it_runs_what_is_too_much(program: Program, work: Path) -> None:
    """It looks at all activations together, which a run of the model never has in memory."""
    graph = load_model(work / "digits.onnx").graph
    optimize(graph)
    one_run = f"tensors={live_bytes(graph)[0]}"
    assert program("build", "digits.onnx", *FP32, "--budget", one_run).code == 0
    program("quantize", "digits.onnx", "--calib", "calibration.npz", "--budget", one_run).failed(3, "digits.onnx", "--budget tensors=")


def part(number: int, content: bytes) -> bytes:
    """A field of a protobuf message that holds bytes."""
    length, digits = len(content), b""
    while length > 127:
        length, digits = length >> 7, digits + bytes([length & 127 | 128])
    return bytes([number << 3 | 2]) + digits + bytes([length]) + content


def test_a_deep_file(program: Program, work: Path) -> None:
    """Branches in branches, deeper than any reader follows."""
    graph = b""
    for _ in range(20_000):
        graph = part(1, part(4, b"If") + part(5, part(1, b"then_branch") + part(6, graph)))
    (work / "deep.onnx").write_bytes(
        onnx.ModelProto(ir_version=8, opset_import=[helper.make_opsetid("", 17)]).SerializeToString() + part(7, graph)
    )
    for verb, *others in (("build", *FP32), ("inspect",)):
        program(verb, "deep.onnx", *others).failed(3, "deep.onnx: not an ONNX file")
