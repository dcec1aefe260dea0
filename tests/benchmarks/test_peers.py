"""benchmarks/peers.py with the one peer that tests have, and the statistics under it."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
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

    times, died = script("rounds").interleaved({"a": program("a", 100.0), "b": program("b", 1e6)}, 2, 0.001)
    assert not died and "".join(order) == "ab" + "ab" + "ba" and [len(turn) for turn in times["a"]] == [10, 10] and len(times["b"][0]) == 3


def engine(rounds: ModuleType, code: str, limit: float) -> Any:
    return rounds.Turns([sys.executable, "-c", f"import sys, os, time, threading, ctypes\nprint('{{}}', flush=True)\n{code}"], {}, limit)


def test_a_program_that_dies_is_left_out_and_said() -> None:
    rounds = script("rounds")
    lives = engine(rounds, "for line in sys.stdin: print([100.0] * int(line), flush=True)", 60)
    dies = engine(rounds, "for line in sys.stdin:\n if int(line) > 3: os._exit(7)\n print([200.0] * 3, flush=True)", 60)
    hangs = engine(rounds, "time.sleep(1000)", 1)
    programs = {"lives": lives, "dies": dies, "hangs": hangs}
    try:
        times, died = rounds.interleaved({name: one.times for name, one in programs.items()}, 2, 0.01)
    finally:
        for one in programs.values():
            one.close()
    assert [len(turn) for turn in times["lives"]] == [100, 100] and list(times) == ["lives"]
    assert died == {"dies": "died with status 7", "hangs": "gave no answer within 1 s"}


def test_a_thread_that_outlives_its_process_keeps_nobody_waiting() -> None:
    code = "threading.Thread(target=time.sleep, args=[1000]).start()\nsys.stdin.readline()\nctypes.CDLL(None).pthread_exit(None)"
    rounds = script("rounds")
    half_dead = engine(rounds, code, 2)
    with pytest.raises(rounds.Died, match="no answer within 2 s"):
        half_dead.times(1)
    silent = rounds.Turns([sys.executable, "-c", "import time; time.sleep(1000)"], {}, 1)
    assert silent.ready == {"error": "gave no answer within 1 s"}


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")  # as it is for who runs it
    return script("peers")


def test_the_table_has_a_row_for_each_model_and_a_column_for_each_peer(peers: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    rounds = script("rounds")
    us = {"edgec": 10.0, "onnxruntime": 30.0, "mnn": 20.0}
    ratio = rounds.ratio_of({name: [[time] * 3] * 4 for name, time in us.items()}, "edgec", ["onnxruntime"], next(iter(rounds.FIGURES)))
    rows = [peers.Row(name, "int8", 2, "avx2", ("onnxruntime",), ratio) for name in ("one", "two")]
    peers.show(rows)
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[1] == "| model | edgec | onnxruntime | (mnn) | best | ratio | 95 % |"
    assert [line.split(" | ")[:5] for line in lines[3:5]] == [
        [f"| {name}", "10.0", "30.0", "20.0", "onnxruntime"] for name in ("one", "two")
    ]
    assert peers.as_json(rows[0])["ratio"] == 3 and "3.00" in lines[-1]


def test_an_engine_whose_answers_are_others_does_not_count(peers: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    rounds = script("rounds")
    ratio = rounds.ratio_of({name: [[us] * 3] * 4 for name, us in {"edgec": 10.0, "openvino": 5.0}.items()}, "edgec", [], "median")
    row = peers.Row("one", "int8", 1, "avx2", (), ratio, {"openvino": 0.029})
    peers.show([row])
    assert "| one | 10.0 | (5.0: 2.9% off) | - | - | - |" in capsys.readouterr().out
    assert "ratio" not in peers.as_json(row) and peers.as_json(row)["wrong"] == {"openvino": 0.029}


def test_answers_are_compared_by_element_whatever_their_order(peers: ModuleType, tmp_path: Path) -> None:
    answers = script("answers")
    ours = [np.array([0.0, 10.0]), np.array([0.0, 0.0, 2.0])]
    assert answers.distance(ours[::-1], ours) == 0 and answers.distance(ours[:1], ours) == math.inf
    assert answers.distance([np.array([10.0, 0.0]), ours[1]], ours) == 1, "as long as ours, and another"
    assert answers.distance([np.array([math.nan, 10.0]), ours[1]], ours) == math.inf
    assert answers.tolerance("int8", ours, [np.array([1.0, 11.0]), ours[1]]) == pytest.approx(0.2)
    assert answers.tolerance("int8", ours, None) == answers.LEAST["int8"]
    for name, outputs in {"edgec": ours, "near": [one * 1.0001 for one in ours], "far": [one * 1.2 for one in ours]}.items():
        np.savez(tmp_path / f"{name}.npz", *outputs)
    assert set(peers.mistaken(tmp_path, ["near", "far"], "fp32", False)) == {"far"}


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
