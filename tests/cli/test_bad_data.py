"""Data and settings that cannot be used: one clear error, exit code 2, and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.calling import Program, names_in

Images = np.ndarray


def marred(images: Images, value: float) -> Images:
    images = images.copy()
    images[5, 0, 0, 0] = value
    return images


# name: (the arrays of the file, the words of the error)
ARRAYS: dict[str, tuple[Callable[[Images], dict[str, np.ndarray]], tuple[str, ...]]] = {
    "shape": (lambda x: {"image": x[:, :, :7]}, ("sample 0", "[1, 1, 7, 8]", "takes [1, 1, 8, 8]")),
    "dtype": (lambda x: {"image": x.astype(np.complex64)}, ("complex64", "takes float32", "convert it")),
    "pictures": (lambda x: {"image": x.astype(np.uint8)}, ("uint8", "[preprocess]")),
    "name": (lambda x: {"imagine": x, "other": x}, ("no array 'image'", "did you mean 'imagine'?")),
    "empty": (lambda x: {"image": x[:0]}, ("empty", "at least one sample")),
    "constant": (lambda x: {"image": np.ones_like(x)}, ("every number is 1", "real data")),
    "nan": (lambda x: {"image": marred(x, np.nan)}, ("sample 5", "NaN")),
    "infinite": (lambda x: {"image": marred(x, np.inf)}, ("sample 5", "infinite")),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_bad_calibration_arrays(program: Program, work: Path, name: str) -> None:
    make, words = ARRAYS[name]
    np.savez("bad.npz", **make(np.load("calibration.npz")["image"]))
    before = names_in(work)
    for verb, flags in (("build", ["--no-compile", "-o", "out"]), ("quantize", ["-o", "out.onnx"])):
        program(verb, "-q", "digits.onnx", "--calib", "bad.npz", *flags).failed(2, *words)
    assert names_in(work) == before


FUNCTIONS = """
def none(): return []
def fails():
    yield from ()
    raise KeyError("labels")
def integers(): yield {"image": 1}
def number(): return 5
"""


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("missing.npz", ("missing.npz", "no such file or folder")),
        ("text.npz", ("text.npz", "holds no plain arrays", ".npz or .npy")),
        ("empty", ("no pictures", ".png")),
        ("code.py:none", ("empty",)),
        ("code.py:fails", ("KeyError", "labels")),
        ("code.py:integers", ("sample 0", "takes float32")),
        ("code.py:number", ("not iterable",)),
        ("code.py:nine", ("no function 'nine'", "did you mean 'none'?")),
        ("nocode.py:none", ("nocode.py", "no such file")),
    ],
)
def test_bad_calibration_sources(program: Program, work: Path, source: str, words: tuple[str, ...]) -> None:
    Path("text.npz").write_text("no arrays")
    Path("empty").mkdir()
    Path("code.py").write_text(FUNCTIONS)
    program("build", "-q", "digits.onnx", "--calib", source, "--no-compile", "-o", "out").failed(2, *words)
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--target", "rpi44"], ("unknown target 'rpi44'", "did you mean 'rpi4'?")),
        (["--precision", "int4"], ("--precision", "'int4'", "did you mean 'int8'?")),
        (["--observer", "mze"], ("--observer", "did you mean 'mse'?")),
        (["--name", "1st"], ("--name", "C identifier")),
        (["--exclude", "/cnv2"], ("/cnv2", "did you mean '/conv2'?")),
        (["--samples", "0"], ("--samples", "positive whole number")),
        (["--seed", "x"], ("--seed", "whole number")),
        (["--io", "int16"], ("--io", "int8")),
        (["--io", "int8", "--precision", "fp32"], ("io int8 needs precision int8",)),
        (["--io-layout", "nhcw"], ("--io-layout", "did you mean 'nhwc'?")),
        (["--weights", "asm"], ("--weights", "known: bin, c, incbin")),
        (["--fuse-preprocess"], ("[preprocess]", "edgec.toml")),
        (["--targt", "rpi4"], ("--targt", "did you mean '--target'?")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_flags(program: Program, flags: list[str], words: tuple[str, ...]) -> None:
    done = program("build", "digits.onnx", "--calib", "calibration.npz", "--no-compile", "-o", "out", *flags)
    done.failed(2, *words)
    assert not Path("out").exists()
    if "--exclude" not in flags:
        assert "ranges" not in done.err, "known before the long work"


def test_everything_that_is_wrong_is_said_at_once(program: Program) -> None:
    done = program(
        "build", "nothing.onnx", "--target", "rpi44", "--calib", "nothing.npz", "--io", "int8", "--precision", "fp32", "-o", "digits.onnx"
    )
    done.failed(2, "5 things", "nothing.onnx: no such file", "'rpi4'", "nothing.npz", "io int8", "digits.onnx: exists")


def test_int8_needs_data(program: Program) -> None:
    for verb in (["build", "--no-compile"], ["quantize"]):
        program(*verb, "digits.onnx").failed(2, "calibration data", "--calib")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["biuld"], "did you mean 'build'?"),
        ([], "a verb is needed"),
        (["--json"], "a verb is needed"),
        (["-q", "run"], "see edgec run --help"),
        (["build"], "model"),
    ],
)
def test_bad_verbs(program: Program, arguments: list[str], words: str) -> None:
    program(*arguments).failed(2, words)
    if arguments:
        assert program(*arguments, "--json").json["exit_code"] == 2


def test_settings_of_a_bad_file(program: Program) -> None:
    Path("edgec.toml").write_text("[build]\nprecison = 'int8'\n[preprocess]\nsize = 3\nmena = 1\n")
    program("build", "digits.onnx", "--no-compile").failed(2, "edgec.toml [build] precison", "did you mean 'precision'?")
    Path("edgec.toml").write_text("[preprocess]\nsize = 3\nmena = 1\n")
    program("build", "digits.onnx", "--no-compile").failed(2, "did you mean 'mean'?", "[224, 224]")


def test_what_is_no_package(program: Program, package: Path) -> None:
    for arguments in (
        ["run", ".", "-i", "evaluation.npz"],
        ["compare", "digits.onnx", ".", "--data", "evaluation.npz"],
        ["inspect", "."],
    ):
        program(*arguments).failed(2, "not an edgec package")
    program("run", package, "-i", "nothing.npz").failed(2, "nothing.npz", "No such file")
    program("run", package, "-i", "digits.onnx").failed(2, "digits.onnx", "numpy")
    np.savez("other.npz", imag=np.zeros((1, 1, 8, 8), np.float32))
    program("run", package, "-i", "other.npz").failed(2, "input image: missing", "did you mean 'imag'?")
    program("run", package, "-i", "evaluation.npz", "--isa", "avx9000").failed(2, "avx9000", "known: portable")
    program("run", package, "-i", "evaluation.npz", "--threads", "0").failed(2, "0 threads")
