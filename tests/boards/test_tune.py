"""`edgec tune` as users call it: on this machine, and on an emulated board behind a real sshd, whose line is cut on the way."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import edgec
from edgec.boards.device import Device
from edgec.cli.main import main
from edgec.kernels import VARIANTS, ConvFloat, ConvInt8
from edgec.package import Package
from edgec.records.tuning import TunedBoard, read_tuning
from edgec.targets import load_target
from tests.boards.benches import QUICK
from tests.boards.boards import Board
from tests.boards.inventories import keep
from tests.calling import Ended, Program
from tests.conftest import require
from tests.nets import Net

INT8 = ("--calib", "calibration.npz", "--effort", "fast")
FOREIGN = ("qemu-arm", "-L", "/usr/arm-linux-gnueabihf")


@pytest.fixture
def tune(bench: Program, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
    """`edgec tune`, quickly, in the folder of `bench`."""
    monkeypatch.setenv("CC", "gcc -O0")

    def call(*arguments: object) -> Ended:
        capfd.readouterr()
        code = main(["tune", *QUICK, "--rounds", "3", *map(str, arguments)])
        return Ended(code, *capfd.readouterr())

    return call


@pytest.fixture
def worst(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[type], None]:
    """Rig the cost model: it takes the variant for all layers, whatever the others would gain. Kept builds of others knew another one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def rig(kind: type) -> None:
        *special, last = VARIANTS[kind]
        none_pays = [replace(variant, pays=lambda arguments, vocabularies: False) for variant in special]
        monkeypatch.setitem(VARIANTS, kind, (*none_pays, last))

    return rig


def board_of(path: str) -> TunedBoard:
    return read_tuning(Path(path))[0].boards[-1]


def agrees(found: dict[str, object], path: str) -> None:
    """What was decided is what the record's own measurements say."""
    board = board_of(path)
    best = {
        name: min((one.ratio, variant) for variant, one in layer.tried.items() if one.high < 1)[1]
        for name, layer in board.layers.items()
        if any(one.high < 1 for one in layer.tried.values())
    }
    gains: list[dict[str, float]] = found["gains"]  # type: ignore[assignment]
    assert bool(gains) == bool(best)
    fastest = min(gains, key=lambda gain: gain["base_us"], default={"ratio": 2.0})
    assert found["kept"] == (fastest["ratio"] <= 1 and all(gain["low"] <= 1 for gain in gains))
    assert board.choices.items() <= best.items() and bool(board.choices) == found["kept"]
    assert all(layer.tried and layer.base not in layer.tried for layer in board.layers.values())


def test_what_is_recorded_is_what_was_measured_and_builds_go_by_it(tune: Program, bench: Program) -> None:
    done = tune("digits.onnx", *INT8, "--json")
    assert done.code == 0, done.err
    found = done.json
    agrees(found, "tuned.json")
    board, target = board_of("tuned.json"), load_target("host")
    assert (board.vocabularies, board.vocabulary) == (target.vocabularies, found["vocabulary"]) and board.processor and board.compiler
    assert found["left"] == 0 and found["tried"] == max(len(layer.tried) for layer in board.layers.values())
    package = edgec.build("digits.onnx", calib="calibration.npz", effort="fast", tuned="tuned.json", out="tuned", compile=False)
    assert any(board.processor in note for note in package.notes) == bool(board.choices)
    assert bench("digits.onnx", *INT8, "--tuned", "tuned.json", "-o", "benched").code == 0
    assert Package("benched/packages/digits-host-int8").manifest.tuned_sha256 == package.manifest.tuned_sha256
    again = tune("digits.onnx", *INT8)
    assert again.code == 0 and "0 tries for" in again.out and "try 1" not in again.err, "all of it is known"
    assert board_of("tuned.json").layers.keys() == board.layers.keys()


def test_a_rigged_cost_model_is_outdone_or_equalled(tune: Program, worst: Callable[[type], None]) -> None:
    """A convolution that Winograd's way computes in half the time: the record has what was measured, and the package never got slower."""
    net = Net("net", 1, (1, 64, 28, 28))
    onnx.save(net.model(net.node("Conv", ["x", net.normal(64, 64, 3, 3)], 64, kernel_shape=[3, 3])), "net.onnx")
    worst(ConvFloat)
    done = tune("net.onnx", "--json")
    assert done.code == 0, done.err
    agrees(done.json, "tuned.json")
    (layer,) = board_of("tuned.json").layers.values()
    assert layer.base == "panels" and "winograd" in layer.tried
    package = edgec.build("net.onnx", precision="fp32", tuned="tuned.json", out="tuned")
    slots = Path("tuned/src/net.c").read_text()
    assert ("conv_float_winograd" in slots) == (layer.variant == "winograd") and package.examined


def test_a_rigged_cost_model_of_codes(tune: Program, worst: Callable[[type], None]) -> None:
    """In plain C, where one way there is for few channels; and the answers are the same bytes."""
    keep(Device("here", "portable", "local", work="here"))
    worst(ConvInt8)
    done = tune("digits.onnx", *INT8, "--json")
    assert done.code == 0, done.err
    agrees(done.json, "tuned.json")
    (layer,) = board_of("tuned.json").layers.values()
    assert layer.base == "panels" and set(layer.tried) == {"merged"}
    inputs = {"image": np.load("evaluation.npz")["image"][:16]}
    plain, tuned = (
        edgec.build("digits.onnx", calib="calibration.npz", effort="fast", target="portable", out=out, tuned=record)
        for out, record in (("plain", None), ("tuned", "tuned.json"))
    )
    assert all(np.array_equal(*pair) for pair in zip(edgec.run(plain, inputs).values(), edgec.run(tuned, inputs).values(), strict=True))


def test_nothing_is_begun_that_has_no_time(tune: Program) -> None:
    done = tune("digits.onnx", *INT8, "--most-seconds", 0.001)
    assert done.code == 0 and "the same command goes on" in done.out and "0 tries" in done.out and not Path("tuned.json").exists()


def test_what_cannot_be_is_refused_before_any_work(tune: Program) -> None:
    tune("digits.onnx", *INT8, "--most-seconds", "nan").failed(2, "--most-seconds")
    tune("digits.onnx", *INT8, "--isa", "neon", "--device", "local").failed(2, "no vocabulary 'neon'")
    tune("digits.onnx", *INT8, "--device", "kitchen").failed(2, "kitchen")
    tune("nothing.onnx").failed(2, "no such file")
    Path("mine.json").write_text('{"my": "notes"}')
    tune("digits.onnx", *INT8, "-o", "mine.json").failed(2, "not a record of edgec tune")
    assert Path("mine.json").read_text() == '{"my": "notes"}'
    keep(Device("one", "host", "local", work="one"), Device("two", "host", "local", work="two"))
    tune("digits.onnx", *INT8).failed(2, "which board?")


def test_an_emulated_board_whose_line_is_cut_loses_nothing(tune: Program, board: Board) -> None:
    """32-bit ARM behind a real sshd. What was compared before is in the record, no build goes by half of it, the next run ends it."""
    require("qemu-arm", "arm-linux-gnueabihf-gcc")
    keep(board.device("pi", target="rpi-32bit", prefix=FOREIGN))
    cut: list[str] = []
    said: list[str] = []

    def tell(words: str) -> None:
        said.append(words)
        if words.startswith("try 2") and not cut:
            cut.append(words)
            board.stop()

    options = {"calib": "calibration.npz", "effort": "fast", "seconds": 0.04, "runs": 10, "rounds": 3, "threads": [1], "accept_noise": True}
    with pytest.raises(edgec.EdgecError) as lost:
        edgec.tune("digits.onnx", device="pi", retries=0, tell=tell, **options)  # type: ignore[arg-type]
    assert lost.value.exit_code == 5 and cut and "the same command goes on from there" in said[-1]
    half = board_of("tuned.json")
    assert half.choices == {} and half.vocabulary == "neon32" and [len(layer.tried) for layer in half.layers.values()] == [1, 1]
    package = edgec.build(
        "digits.onnx", calib="calibration.npz", effort="fast", target="rpi-32bit", tuned="tuned.json", out="half", compile=False
    )
    assert any("chooses nothing" in note for note in package.notes)
    board.start()
    done = tune("digits.onnx", *INT8, "--device", "pi", "--json")
    assert done.code == 0, done.err
    agrees(done.json, "tuned.json")
    rest = int(re.findall(r"\d+", cut[0])[1]) - 1
    assert done.json["tried"] == rest >= 1 and done.json["left"] == 0 and f"try 1 of {rest}" in done.err
    assert board_of("tuned.json").layers.keys() == half.layers.keys()


def test_an_emulated_board_outdoes_or_equals_a_rigged_cost_model(tune: Program, worst: Callable[[type], None], board: Board) -> None:
    """Two models, whose layers could all be computed better by another way; neither got slower, and the built packages answer as before."""
    require("qemu-arm", "arm-linux-gnueabihf-gcc")
    keep(board.device("pi", target="rpi-32bit", prefix=FOREIGN))
    net = Net("net", 1, (1, 32, 14, 14))
    onnx.save(net.model(net.node("Conv", ["x", net.normal(32, 32, 3, 3)], 32, kernel_shape=[3, 3])), "net.onnx")
    worst(ConvFloat)
    worst(ConvInt8)
    for model, settings, tried in (("net", (), {"winograd"}), ("digits", INT8, {"merged", "winograd"})):
        done = tune(f"{model}.onnx", *settings, "--device", "pi", "--json", "-o", f"{model}.json")
        assert done.code == 0, done.err
        found = done.json
        agrees(found, f"{model}.json")
        layers = board_of(f"{model}.json").layers.values()
        assert {layer.base for layer in layers} == {"panels"} and tried & {name for layer in layers for name in layer.tried}
        assert not found["kept"] or min(found["gains"], key=lambda gain: gain["base_us"])["ratio"] <= 1
        assert found["kept"] == any(layer.variant is not None for layer in layers)
        assert bool(board_of(f"{model}.json").choices) == found["kept"]
        given = {"calib": "calibration.npz", "effort": "fast"} if settings else {"precision": "fp32"}
        package = edgec.build(f"{model}.onnx", target="rpi-32bit", tuned=f"{model}.json", out=model, **given)  # type: ignore[arg-type]
        assert package.examined
