"""Packages for other processors: built here, run through the emulator that the target names, or left as sources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.calling import Program

pytestmark = pytest.mark.usefixtures("kept_builds")

EMULATED = {
    "rpi4": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "rpi-32bit": ("arm-linux-gnueabihf-gcc", "qemu-arm"),
    "linux-riscv64": ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
}


@pytest.mark.parametrize("target", EMULATED)
def test_a_foreign_package_runs_through_its_emulator(program: Program, needs: Callable[..., None], target: str, package: Path) -> None:
    """And gives the bytes that this machine gives."""
    needs(*EMULATED[target])
    compiler = EMULATED[target][0] + " -O0"
    done = program("build", "-q", "--calib", "calibration.npz", "digits.onnx", "--target", target, "--cc", compiler, "-o", "out")
    assert done.code == 0 and "passed" in done.out, done.err
    images = np.load("evaluation.npz")["image"][:5]
    np.savez("few.npz", image=images)
    assert program("run", "out", "-i", "few.npz", "-o", "there.npz").code == 0
    assert program("run", package, "-i", "few.npz", "-o", "here.npz").code == 0
    assert np.array_equal(np.load("there.npz")["logits"], np.load("here.npz")["logits"])
    assert program("compare", "digits.onnx", "out", "--data", "few.npz", "--min-agreement", "0.8").code == 0


@pytest.mark.parametrize("target", ["macos-arm64", "ios-arm64", "windows-x64", "android-arm64", "android-armv7"])
def test_sources_for_where_no_compiler_is(program: Program, target: str) -> None:
    done = program("build", "-q", "digits.onnx", "--precision", "fp32", "--target", target, "--no-compile", "-o", "out")
    assert done.code == 0 and target in done.out and Path("out/src/digits.c").is_file()


@pytest.mark.parametrize(("target", "words"), [("macos-arm64", "edgec[zig]"), ("ios-arm64", "--no-compile"), ("windows-x64", "mingw")])
def test_a_missing_cross_compiler(program: Program, monkeypatch: pytest.MonkeyPatch, target: str, words: str, work: Path) -> None:
    monkeypatch.setattr("edgec.toolchain.find.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(work))
    done = program("build", "digits.onnx", "--precision", "fp32", "--target", target)
    done.failed(4, f"no C compiler for target {target}", words)
    assert "lowering" not in done.err


def test_a_missing_emulator(program: Program, needs: Callable[..., None], monkeypatch: pytest.MonkeyPatch, work: Path) -> None:
    needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
    arguments = ("build", "-q", "digits.onnx", "--precision", "fp32", "--target", "rpi4", "--cc", "aarch64-linux-gnu-gcc -O0", "-o", "out")
    assert program(*arguments).code == 0
    monkeypatch.setenv("PATH", str(work))
    program("run", "out", "-i", "evaluation.npz").failed(5, "qemu-aarch64", "qemu-user")
