"""benchmarks/peers.py with the one peer that tests have, and the statistics under it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import require

ROOT = Path(__file__).parents[2]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_the_best_rival_is_compared_and_the_interval_holds_the_ratio() -> None:
    rounds = script("rounds")
    drift = [1.0, 3.0, 1.5, 1.0, 2.0, 1.0, 1.2, 1.0]
    times = {name: [[us * factor] * 3 for factor in drift] for name, us in {"ours": 10.0, "slow": 40.0, "fast": 20.0, "free": 1.0}.items()}
    for figure in rounds.FIGURES:
        found = rounds.ratio_of(times, "ours", ["slow", "fast"], figure)
        assert found.best == "fast" and found.low <= found.ratio <= found.high
        assert abs(found.ratio - 2) < 1e-9 and found.high - found.low < 1e-9, "what slows all of them changes nothing"
    assert rounds.geometric_mean([found, found])[0] == found.ratio


def test_programs_take_turns_forwards_and_backwards() -> None:
    order: list[str] = []

    def program(name: str, us: float):  # type: ignore[no-untyped-def]
        return lambda runs: order.append(name) or [us] * runs

    times = script("rounds").interleaved({"a": program("a", 100.0), "b": program("b", 1e6)}, 2, 0.001)
    assert "".join(order) == "ab" + "ab" + "ba" and [len(turn) for turn in times["a"]] == [10, 10] and len(times["b"][0]) == 3


@pytest.mark.thorough
def test_edgec_and_a_peer_are_timed_on_the_same_model(tmp_path: Path) -> None:
    require("gcc", "make")
    python, result = tmp_path / "environment" / "bin" / "python", tmp_path / "result.json"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (tmp_path / "environment" / "ready").touch()
    words = ["--environment", tmp_path / "environment", "--json", result, "--peers", "onnxruntime", "openvino", "--threads", "1", "2"]
    few = ["--precision", "int8", "--rounds", "3", "--turn", "0.001", "--cores", "0", "0"]
    command = [sys.executable, ROOT / "benchmarks/peers.py", ROOT / "examples/digits/digits.onnx", *words, *few]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(result.read_text())
    assert [row["threads"] for row in rows] == [1, 2] and all({*row["us"]} == {"edgec", "onnxruntime"} for row in rows)
    assert done.stderr.count("without openvino: ModuleNotFoundError") == 2
    assert "| digits |" in done.stdout and "| geometric mean |" in done.stdout
