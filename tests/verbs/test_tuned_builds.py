"""A tuning record and builds: what it changes, and what of it is nobody's loss."""

from __future__ import annotations

from pathlib import Path

import pytest

import edgec
from edgec.base.errors import UsageError
from edgec.package import Package
from edgec.package.manifest import sha256
from edgec.records.tuning import TunedBoard, TunedLayer, Tuning
from tests.calling import QUICK, Program

SPARE = ("--effort", "fast", "--calib", "calibration.npz")
CONV1 = (
    "conv_int8: 1x8x8 every 1 to 8x8 every 16, window 3x3 stride 1x1 dilation 1x1 pad 1x1, "
    "residual_pixel_stride 0, groups 1, in_channels 1, out_channels 16"
)


def record(path: str, choices: dict[str, str], vocabularies: tuple[str, ...] = ("portable",)) -> Path:
    layers = {name: TunedLayer("merged", {}, variant) for name, variant in choices.items()}
    board = TunedBoard("A processor", vocabularies[-1], vocabularies, "a compiler", "0.1.0", layers)
    Path(path).write_bytes(Tuning(boards=(board,)).text)
    return Path(path)


def sources(folder: str) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in Path(folder).rglob("*") if path.suffix in (".c", ".h", ".S")}


def test_the_same_record_gives_the_same_package_and_stands_in_it(program: Program) -> None:
    tuned = record("tuned.json", {CONV1: "panels"})
    for out, more in (("plain", ()), ("first", ("--tuned", tuned)), ("second", ("--tuned", tuned))):
        done = program("build", "digits.onnx", *SPARE, *QUICK, "--no-compile", "-o", out, *more)
        assert done.code == 0, done.err
    files = [{path.relative_to(out): path.read_bytes() for path in Path(out).rglob("*") if path.is_file()} for out in ("first", "second")]
    assert files[0] == files[1]
    assert "conv_int8_merged" in Path("plain/src/digits_kernels_portable.c").read_text()
    assert "conv_int8_merged" not in Path("first/src/digits_kernels_portable.c").read_text()
    manifest = Package("first").manifest
    assert manifest.tuned_sha256 == sha256(tuned.read_bytes()) and Package("plain").manifest.tuned_sha256 is None
    assert "tuned as measured on A processor (portable) with a compiler" in manifest.notes
    assert f"`{manifest.tuned_sha256}`" in Path("first/MODEL_CARD.md").read_text() and str(tuned) not in manifest.text.decode()


def test_answers_are_the_same_bytes(program: Program) -> None:
    """A tuned package is examined as every other; here on the answers of the integer model."""
    done = program("build", "digits.onnx", *SPARE, *QUICK, "-o", "tuned", "--tuned", record("tuned.json", {CONV1: "panels"}), "--json")
    assert done.code == 0 and done.json["exam"] == "passed"
    program("build", "digits.onnx", *SPARE, *QUICK, "-o", "plain")
    for out in ("plain", "tuned"):
        assert program("run", out, "-i", "evaluation.npz", "-o", f"{out}.npz").code == 0
    assert Path("plain.npz").read_bytes() == Path("tuned.npz").read_bytes()


def test_what_cannot_be_is_not_obeyed_and_told(program: Program) -> None:
    """Of another processor, of other layers, of variants that are none: the cost model chooses, as without a record."""
    program("build", "digits.onnx", *SPARE, *QUICK, "--no-compile", "-o", "plain")
    cases = {
        "chooses nothing for portable": record("other.json", {CONV1: "panels"}, ("neon",)),
        "'winograd9'": record("unknown.json", {CONV1: "winograd9"}),
        "/conv1 cannot be computed by 'dots'": record("unfit.json", {CONV1: "dots"}),
        "tuned as measured on": record("strange.json", {"conv_int8: a layer of another model": "panels"}),
    }
    for words, path in cases.items():
        done = program("build", "digits.onnx", *SPARE, *QUICK, "--no-compile", "-o", path.stem, "--tuned", path)
        assert done.code == 0 and words in done.err, done.err
        assert sources(path.stem) == sources("plain")


def test_a_file_that_is_no_record_is_refused_before_the_work(program: Program) -> None:
    Path("broken.json").write_text('{"kind": "edgec tuning"}')
    for path, words in (("broken.json", "not a record of edgec tune"), ("none.json", "no such file"), (".", "is no file")):
        program("build", "digits.onnx", *SPARE, *QUICK, "-o", "out", "--tuned", path).failed(2, words)
        assert not Path("out").exists()


def test_the_settings_file_names_a_record(program: Program) -> None:
    record("tuned.json", {CONV1: "panels"})
    Path("edgec.toml").write_text('[build]\ntuned = "tuned.json"\n')
    done = program("build", "digits.onnx", *SPARE, *QUICK, "--no-compile", "-o", "out", "--json")
    assert done.code == 0 and any("tuned as measured on" in note for note in done.json["notes"])
    program("build", "digits.onnx", *SPARE, *QUICK, "--no-compile", "-o", "tuned.json").failed(2, "tuned.json")


def test_a_kept_build_is_not_that_of_another_record(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEC_CACHE", "yes")
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path.cwd() / "cache"))
    built = []
    for variant in ("panels", "merged", "panels"):
        tuned = record("tuned.json", {CONV1: variant})
        edgec.build("digits.onnx", calib="calibration.npz", effort="fast", target="portable", compile=False, out="out", tuned=tuned)
        built.append("conv_int8_merged" in Path("out/src/digits_kernels_portable.c").read_text())
    assert built == [False, True, False]
    with pytest.raises(UsageError, match="no such file"):
        edgec.build("digits.onnx", precision="fp32", target="portable", compile=False, tuned="gone.json")
