"""The frame of the fuzzers: trials repeat by seed and number, and one that hangs, runs wild or dies is a find, not the end."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import helper

from edgec.base.errors import ModelError
from edgec.frontend import from_proto
from tests.fuzz.frame import Tally, fuzz, key_of


def run(tmp_path: Path, seed: int = 0, **options: int) -> Tally:
    return fuzz("troubled", seed, seconds=600, finds=tmp_path / "finds", **{"count": 12, **options})


def test_every_trouble_is_a_find_and_the_rest_is_counted(tmp_path: Path) -> None:
    tally = run(tmp_path)
    assert {key: count for key, (count, _) in tally.finds.items()} == {
        "JSONDecodeError in decoder.py:raw_decode": 2,
        "OverBudget in tests/fuzz/troubled.py:trial": 1,
        "MemoryError in tests/fuzz/troubled.py:trial": 1,
        "died of SIGSEGV": 1,
        "a law": 1,
    }
    assert tally.trials == 12 and tally.kinds == {"fine": 6, "find": 6} and set(tally.operators) == {"Relu"}
    kept = tmp_path / "finds" / "JSONDecodeError_in_decoder.py_raw_decode"
    assert "--seed 0 --first" in (kept / "find.txt").read_text() and (kept / "evidence.txt").is_file()


def test_trials_repeat_by_seed_and_number(tmp_path: Path) -> None:
    all_of_them, again = run(tmp_path, count=4), run(tmp_path, first=2, count=2)
    assert all_of_them.finds.keys() & again.finds.keys() == {"a law"}
    assert all_of_them.finds["a law"][1] == again.finds["a law"][1]
    assert run(tmp_path, seed=1, count=4, workers=2).finds["a law"][1] != again.finds["a law"][1]


def test_finds_are_told_apart_by_the_innermost_place_of_edgec() -> None:
    with pytest.raises(ModelError) as caught:
        from_proto(onnx.ModelProto(opset_import=[helper.make_opsetid("", 99)]))
    assert key_of(caught.value) == "ModelError in edgec/frontend/load.py:_versions"
