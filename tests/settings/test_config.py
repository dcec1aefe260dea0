"""Settings: which source wins, and what is said of those that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgec.base.errors import UsageError
from edgec.settings import FILE, ConfigFile, resolve
from edgec.settings.config import BuildConfig


def test_flags_win_over_the_environment_which_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "edgec.toml").write_text(
        '[build]\ntarget = "rpi3"\nprecision = "fp32"\nobserver = "mse"\nshape = { image = [1, 3, 8, 8] }\n'
    )
    config = resolve(
        {"target": "rpi5", "cc": None}, {"EDGEC_TARGET": "rpi4", "EDGEC_PRECISION": "int8", "HOME": "/"}, ConfigFile(tmp_path / FILE, True)
    )
    assert (config.target, config.precision, config.observer) == ("rpi5", "int8", "mse")
    assert config.shape == {"image": (1, 3, 8, 8)}


def test_defaults_without_any_source() -> None:
    assert resolve({}, {}) == BuildConfig()


def test_the_preprocess_table_is_carried(tmp_path: Path) -> None:
    (tmp_path / "edgec.toml").write_text("[preprocess]\nmean = [0.5]\n")
    assert resolve({}, {}, ConfigFile(tmp_path / FILE, True)).preprocess == {"mean": [0.5]}


@pytest.mark.parametrize(("word", "value"), [('"on"', "on"), ("false", "off"), ('"bench/results.jsonl"', Path("bench/results.jsonl"))])
def test_the_gpu_takes_a_word_or_results_beside_the_file(tmp_path: Path, word: str, value: str | Path) -> None:
    (tmp_path / "edgec.toml").write_text(f"[build]\ngpu = {word}\n")
    assert resolve({}, {}, ConfigFile(tmp_path / FILE, True)).gpu == (tmp_path / value if isinstance(value, Path) else value)
    with pytest.raises(UsageError, match=r"auto, on, off, or the results\.jsonl"):
        resolve({"gpu": "perhaps"}, {}, ConfigFile(tmp_path / FILE, True))


def test_every_problem_is_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "edgec.toml").write_text('[build]\nprecison = "int8"\nsamples = 0\n[biuld]\n')
    with pytest.raises(UsageError) as caught:
        resolve({"precision": "int4", "shape": ["image"]}, {}, ConfigFile(tmp_path / FILE, True))
    text = str(caught.value)
    assert caught.value.exit_code == 2 and len(caught.value.problems) == 5
    for words in ("did you mean 'precision'?", "positive whole number", "did you mean 'build'?", "'int4'", "NAME=1,3,224,224"):
        assert words in text


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "edgec.toml").write_text("[build")
    with pytest.raises(UsageError, match=r"edgec\.toml"):
        resolve({}, {}, ConfigFile(tmp_path / FILE, True))


@pytest.mark.parametrize(("text", "value"), [("true", True), ("off", False)])
def test_switches_read_words(text: str, value: bool) -> None:
    assert resolve({}, {"EDGEC_FUSE_PREPROCESS": text}).fuse_preprocess is value


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("build = " + "[" * 10000, "edgec.toml"),
        (f"[build]\nseed = {'9' * 5000}\n", "edgec.toml"),
        (f"[build]\nseed = 0x{'f' * 5000}\n", "64 bits"),
        (f"[preprocess]\nmean = [0.5, 0x{'f' * 17}]\n", "64 bits"),
        ("[build]\ncalib = { image = [1] }\n", "calib"),
        ('[build]\nout = "a\\u0000b"\n', "out"),
        ("[build]\nshape = { image = [inf] }\n", "shape"),
        ("#" * (1 << 20) + "\n", "larger"),
    ],
)
def test_odd_files_are_errors(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(UsageError, match=word):
        resolve({}, {}, ConfigFile(tmp_path / FILE, True))
