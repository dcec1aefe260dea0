"""Settings: which source wins, and what is said of those that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgec.config import BuildConfig, resolve
from edgec.errors import UsageError


def test_flags_win_over_the_environment_which_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "edgec.toml").write_text(
        '[build]\ntarget = "rpi3"\nprecision = "fp32"\nobserver = "mse"\nshape = { image = [1, 3, 8, 8] }\n'
    )
    config = resolve({"target": "rpi5", "cc": None}, {"EDGEC_TARGET": "rpi4", "EDGEC_PRECISION": "int8", "HOME": "/"}, tmp_path)
    assert (config.target, config.precision, config.observer) == ("rpi5", "int8", "mse")
    assert config.shape == {"image": (1, 3, 8, 8)}


def test_defaults_without_any_source(tmp_path: Path) -> None:
    assert resolve({}, {}, tmp_path) == BuildConfig()


def test_the_preprocess_table_is_carried(tmp_path: Path) -> None:
    (tmp_path / "edgec.toml").write_text("[preprocess]\nmean = [0.5]\n")
    assert resolve({}, {}, tmp_path).preprocess == {"mean": [0.5]}


@pytest.mark.parametrize(("word", "value"), [('"on"', "on"), ("false", "off"), ('"bench/results.jsonl"', Path("bench/results.jsonl"))])
def test_the_gpu_takes_a_word_or_results_beside_the_file(tmp_path: Path, word: str, value: str | Path) -> None:
    (tmp_path / "edgec.toml").write_text(f"[build]\ngpu = {word}\n")
    assert resolve({}, {}, tmp_path).gpu == (tmp_path / value if isinstance(value, Path) else value)
    with pytest.raises(UsageError, match=r"auto, on, off, or the results\.jsonl"):
        resolve({"gpu": "perhaps"}, {}, tmp_path)


def test_every_problem_is_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "edgec.toml").write_text('[build]\nprecison = "int8"\nsamples = 0\n[biuld]\n')
    with pytest.raises(UsageError) as caught:
        resolve({"precision": "int4", "shape": ["image"]}, {}, tmp_path)
    text = str(caught.value)
    assert caught.value.exit_code == 2 and len(caught.value.problems) == 5
    for words in ("did you mean 'precision'?", "positive whole number", "did you mean 'build'?", "'int4'", "NAME=1,3,224,224"):
        assert words in text


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "edgec.toml").write_text("[build")
    with pytest.raises(UsageError, match=r"edgec\.toml"):
        resolve({}, {}, tmp_path)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("off", False)])
def test_switches_read_words(tmp_path: Path, text: str, value: bool) -> None:
    assert resolve({}, {"EDGEC_FUSE_PREPROCESS": text}, tmp_path).fuse_preprocess is value
