"""--min-sqnr and --max-drop: what users see of a goal that holds, one that layers in float32 reach, and one that nothing reaches."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import edgec
from edgec.export import to_onnx
from edgec.package import Package
from edgec.records.results import Job, packages_of, read_results, to_line
from tests.calling import QUICK, Program, names_in
from tests.quant.small import samples
from tests.quant.test_exact_rewrites import bounded_net
from tests.reports.test_hostile import Page

pytestmark = pytest.mark.usefixtures("kept_builds")

DATA = ("--calib", "calibration.npz", "--samples", "24")
HIGH = "44"  # dB: more than the example has in int8


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_goal_that_holds_changes_no_byte_of_the_package(program: Program, work: Path) -> None:
    arguments = ("build", "digits.onnx", *DATA, *QUICK, "--no-compile")
    assert program(*arguments, "-o", "plain").code == 0
    done = program(*arguments, "-o", "asked", "--min-sqnr", "20", "--max-drop", "5%")
    assert done.code == 0 and "reached with all layers in int8" in done.out
    assert files(work / "plain") == files(work / "asked")


def test_layers_that_a_package_keeps_in_float32(program: Program, work: Path) -> None:
    done = program("build", "digits.onnx", *DATA, *QUICK, "-o", "out", "--min-sqnr", HIGH, "--json")
    assert done.code == 0 and done.json["exam"] == "passed", done.err
    goal = Package(work / "out").manifest.goal
    assert goal is not None and goal.min_sqnr == float(HIGH) and goal.max_drop is None and goal.samples == 24 and not goal.apart
    assert goal.before.sqnr < goal.min_sqnr <= goal.after.sqnr and all(kept.sqnr < goal.min_sqnr for kept in goal.kept)
    names = [kept.node for kept in goal.kept]
    assert [kept["node"] for kept in done.json["goal"]["kept"]] == names
    floats = [kept.node for kept in goal.kept if kept.type == "float32"]
    assert json.loads((work / "out/calibration.json").read_text())["exclude"] == floats
    card = (work / "out/MODEL_CARD.md").read_text(encoding="utf-8")
    assert "at least 44 dB" in card and "no int8" in card and f"{goal.after.sqnr:.2f} dB" in card and names[0] in card
    told = program("compare", "digits.onnx", "out", "--data", "evaluation.npz", "--samples", "4", "--layers", "--json").json
    assert set(floats) <= set(told["diagnosis"]["kept_in_float"])


def test_what_quantize_says_of_its_goal(program: Program, work: Path) -> None:
    done = program("quantize", "digits.onnx", *DATA, "--min-sqnr", HIGH, "--report", "report.html")
    assert done.code == 0, done.err
    for words in (
        "goal: reached with",
        "kept from int8",
        "of the error",
        "adds to the time",
        "best tries",
        "kept for the goal",
    ):
        assert words in done.out
    text = (work / "report.html").read_text(encoding="utf-8")
    Page(re.sub(r"<!--.*?-->", "", text))
    assert all(words in text for words in ("Asked: at least 44 dB", "Kept from int8", "against estimated time", "<circle", "attempts"))
    edgec.quantize("digits.onnx", calib="calibration.npz", samples=24, out="without.onnx")
    images = np.load("evaluation.npz")["image"][:24]
    exact, stored, without = (
        np.concatenate([onnxruntime.InferenceSession(name).run(None, {"image": image[None]})[0] for image in images])
        for name in ("digits.onnx", "digits.int8.onnx", "without.onnx")
    )
    assert ((exact - stored) ** 2).sum() < ((exact - without) ** 2).sum()
    assert edgec.quantize("digits.onnx", calib="calibration.npz", samples=24, max_drop="1%").report.goal["kept"] == ()  # type: ignore[index]


def test_nothing_is_left_of_a_goal_that_nothing_reaches(program: Program, work: Path) -> None:
    before = names_in(work)
    for verb in (("build", *QUICK), ("quantize", "--report", "report.json")):
        done = program(*verb, "digits.onnx", *DATA, "--min-sqnr", "99")
        done.failed(1, "digits.onnx", "at least 99 dB", "at best", "of the outputs' error begins here", "--precision fp32")
    assert names_in(work) == before


def test_what_a_bench_has_measured_decides(program: Program, work: Path) -> None:
    """In a file of settings too; times that are not those of this model's package in int8 are refused."""
    assert program("build", "digits.onnx", *DATA, *QUICK, "-o", "int8").code == 0
    assert program("build", "digits.onnx", "--precision", "fp32", *QUICK, "-o", "fp32").code == 0
    short = ("--seconds", "0.05", "--runs", "4", "--rounds", "2", "--repeats", "0", "--threads", "1", "--profile", "--accept-noise")
    for packages in (["int8", "fp32"], ["fp32"]):
        assert program("bench", *packages, *short, "-o", f"bench-{len(packages)}").code == 0
    (work / "edgec.toml").write_text("[build]\nprofile = 'bench-2/results.jsonl'\n")
    done = program("quantize", "digits.onnx", *DATA, "--min-sqnr", HIGH)
    assert done.code == 0 and "goal: reached with" in done.out, done.err
    asked = ("quantize", "digits.onnx", *DATA, "--force", "--min-sqnr", HIGH, "--profile")
    program(*asked, "bench-1/results.jsonl").failed(2, "no int8 package of this model", "bench-1/results.jsonl", "--profile")
    records = read_results(work / "bench-2/results.jsonl")
    of_int8 = next(key for key, facts in packages_of(records).items() if facts.precision == "int8")
    noisy = [replace(one, status="unsteady", noise="busy") if isinstance(one, Job) and one.package == of_int8 else one for one in records]
    (work / "noisy.jsonl").write_text("".join(f"{to_line(one)}\n" for one in noisy))
    program(*asked, "noisy.jsonl").failed(2, "its times are not known well: busy", "--accept-noise")
    program(*asked, "none.jsonl").failed(2, "none.jsonl", "no such file")
    program("quantize", "digits.onnx", *DATA, "--profile", "none.jsonl").failed(2, "--profile", "--min-sqnr")


def test_goals_that_mean_nothing(program: Program, work: Path) -> None:
    program("build", "digits.onnx", "--precision", "fp32", "--min-sqnr", "20").failed(2, "--min-sqnr", "int8")
    for flag, value in (("--max-drop", "0.5"), ("--max-drop", "100%"), ("--max-drop", "-1%"), ("--min-sqnr", "-3"), ("--min-sqnr", "1e3")):
        program("quantize", "digits.onnx", *DATA, f"{flag}={value}").failed(2, flag, value)
    assert program("quantize", "digits.onnx", *DATA, "-o", "q.onnx").code == 0
    program("build", "q.onnx", "--min-sqnr", "20").failed(2, "q.onnx", "came quantized", "--min-sqnr")


@pytest.mark.parametrize("text", ["min_sqnr = 30\nmax_drop = '0.5%'", "min_sqnr = '30 dB'\nmax_drop = '.5 %'"])
def test_goals_in_a_file_of_settings(program: Program, work: Path, text: str) -> None:
    (work / "edgec.toml").write_text(f"[build]\n{text}\ncalib = 'calibration.npz'\n")
    done = program("build", "digits.onnx", "--dry-run", "--json")
    assert done.code == 0 and (done.json["plan"]["min_sqnr"], done.json["plan"]["max_drop"]) == (30, 0.005)
    assert done.json["settings"]["max_drop"]["from"].endswith("edgec.toml")
    told = program("quantize", "digits.onnx", "--dry-run", "--min-sqnr", "25", "--json").json["settings"]
    assert (told["min_sqnr"]["value"], told["min_sqnr"]["from"]) == (25, "--min-sqnr") and not (work / "digits.int8.onnx").exists()


def test_a_layer_in_float32_among_equalized_ones(work: Path) -> None:
    """Its Clip has a bound for each channel: the package computes what the calibration says, or its exam fails."""
    graph = bounded_net(64.0)
    onnx.save(to_onnx(graph), "bounded.onnx")
    data = np.concatenate([sample["x"] for sample in samples(graph, 8)()])
    package = edgec.build("bounded.onnx", calib=data, min_sqnr=33, target="portable", cc="gcc -O0", out="out")
    goal, calibration = package.manifest.goal, json.loads((work / "out/calibration.json").read_text())
    assert goal is not None and package.examined and {kept.node for kept in goal.kept} == {"Conv2"}
    assert {"conv_0", "clip_1"} <= calibration["factors"].keys()
    assert abs(min(package.manifest.sqnr_db.values()) - goal.after.sqnr) < 1
