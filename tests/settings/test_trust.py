"""An edgec.toml that lies beside a model may have come with it: nothing in it runs, signs, or leads out of its folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from edgec.base.errors import UsageError
from edgec.settings import FILE, ConfigFile, find_file, resolve
from edgec.settings.config import SETTINGS
from tests.calling import QUICK, Program, names_in

TRACE = "it ran"
EVIL = f"""
from pathlib import Path
Path({TRACE!r}).touch()
def f():
    Path({TRACE!r}).touch()
    return []
"""


@pytest.fixture
def download(work: Path) -> Path:
    """A folder with the model, as it came from somewhere; the current folder is the one around it."""
    folder = work / "download"
    folder.mkdir()
    for name in ("digits.onnx", "calibration.npz"):
        (work / name).rename(folder / name)
    (folder / "prep.py").write_text(EVIL)
    return folder


def settle(folder: Path, *lines: str) -> None:
    (folder / FILE).write_text("\n".join(["[build]", *lines, ""]))


HOSTILE = {
    "cc": f'cc = "sh -c \'touch \\"{TRACE}\\"; gcc\'"',
    "sign": 'sign = "key"',
    "key": 'key = "key.pub"',
    "calib": 'calib = "prep.py:f"',
    "out": 'out = "../outside"',
    "dump": 'dump = "/tmp/edgec-trust-test"',
    "labels": 'labels = "../secret.txt"',
    "gpu": 'gpu = "../results.jsonl"',
    "profile": 'profile = "../results.jsonl"',
    "tuned": 'tuned = "../tuned.json"',
    "budget": 'budget = "memory=1T"',
    "operators": 'operators = ["prep.py"]',
    "trust_model": "trust_model = true",
}
VERBS = (
    ("build", "download/digits.onnx", "--no-compile"),
    ("build", "download/digits.onnx", "--dry-run"),
    ("build", "download/digits.onnx", "--dry-run", "--json"),
    ("quantize", "download/digits.onnx"),
    ("inspect", "download/digits.onnx"),
    ("bench", "download/digits.onnx", "--all"),
    ("tune", "download/digits.onnx"),
)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: " ".join(verb))
def test_every_verb_refuses_a_hostile_file_with_one_error_that_lists_all(
    program: Program, work: Path, download: Path, verb: tuple[str, ...]
) -> None:
    settle(download, *HOSTILE.values())
    before = names_in(work)
    done = program(*verb)
    done.failed(2, *(f"download/edgec.toml [build] {key}: " for key in HOSTILE), "--trust-config")
    assert names_in(work) == before and not (work / TRACE).exists() and not Path("/tmp/edgec-trust-test").exists()


def test_every_setting_that_names_a_place_or_a_danger_is_among_these() -> None:
    assert {key for key, setting in SETTINGS.items() if setting.path or setting.danger} == set(HOSTILE)


@pytest.mark.parametrize(
    ("place", "refused"),
    [
        ("calibration.npz", False),
        ("sub/../calibration.npz", False),
        ("../download/calibration.npz", False),
        ("../secret.npz", True),
        ("/etc/passwd", True),
        ("link.npz", True),
        ("linked", True),
        ("pictures", True),
        ("on", False),
    ],
)
def test_paths_may_not_leave_the_folder_by_any_way(work: Path, download: Path, place: str, refused: bool) -> None:
    """A folder of data is looked through, since a link in it would bring pictures of the user's into the package's exam."""
    (work / "secret.npz").write_text("x")
    (download / "link.npz").symlink_to("../secret.npz")
    (download / "linked").symlink_to("/etc")
    (download / "pictures").mkdir()
    (download / "pictures" / "a.png").symlink_to("../../secret.npz")
    (download / "sub").mkdir()
    settle(download, f'calib = "{place}"')
    file = find_file(download / "digits.onnx")
    assert file is not None and not file.trusted
    if refused:
        with pytest.raises(UsageError, match="leads out of its folder"):
            resolve({}, {}, file)
    else:
        assert resolve({}, {}, file).calib == str(download / place)


@pytest.mark.parametrize("place", ["pipe", "pictures"])
def test_nobody_waits_for_a_pipe(download: Path, place: str) -> None:
    (download / "pictures").mkdir()
    for pipe in ("pipe", "pictures/a.png"):
        os.mkfifo(download / pipe)
    settle(download, f'calib = "{place}"')
    with pytest.raises(UsageError, match="no file and no folder"):
        resolve({}, {}, ConfigFile(download / FILE, False))


def test_the_package_lies_below_the_folder_not_in_its_place(download: Path) -> None:
    settle(download, 'out = "."')
    with pytest.raises(UsageError, match="leads out of its folder"):
        resolve({}, {}, ConfigFile(download / FILE, False))


def test_what_a_flag_or_a_variable_decides_is_not_asked_of_the_file(download: Path) -> None:
    settle(download, HOSTILE["cc"], HOSTILE["sign"], 'observer = "minmax"')
    config = resolve({"cc": "gcc"}, {"EDGEC_SIGN": "mine"}, ConfigFile(download / FILE, False))
    assert (config.cc, config.sign, config.observer) == ("gcc", Path("mine"), "minmax")


def test_the_user_can_say_that_the_file_is_theirs(program: Program, work: Path, download: Path) -> None:
    settle(download, 'calib = "prep.py:f"', 'out = "../outside"', f'cc = "{QUICK[1]}"')
    (download / "prep.py").write_text("import numpy\ndef f():\n    yield numpy.eye(8, dtype=numpy.float32)[None, None]\n")
    build = ("build", "-q", "download/digits.onnx", "--target", "portable", "--no-compile")
    program(*build).failed(2, "--trust-config")
    for trust in (("--trust-config",), ("--config", "download/edgec.toml")):
        done = program(*build, *trust, "--json")
        assert done.code == 0 and Path(done.json["package"]).resolve() == work / "outside", done.err


def test_the_current_folders_file_is_the_users_own(work: Path, download: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(download, HOSTILE["cc"])
    for model in (Path("digits.onnx"), download / "digits.onnx", Path("../download/digits.onnx")):
        monkeypatch.chdir(download)
        assert find_file(model) == ConfigFile(model.parent / FILE, True)
        monkeypatch.chdir(work)
        assert find_file(download / "digits.onnx") == ConfigFile(download / FILE, False)
    (work / FILE).write_text("")
    (download / FILE).unlink()
    assert find_file(download / "digits.onnx") == ConfigFile(Path(FILE), True)
    with pytest.raises(UsageError, match="no such file"):
        find_file(download / "digits.onnx", Path("none.toml"))


def test_a_dry_run_starts_and_writes_nothing_that_a_trusted_file_names(program: Program, work: Path) -> None:
    (work / "prep.py").write_text(EVIL)
    settle(work, HOSTILE["cc"], 'calib = "prep.py:f"', 'dump = "stages"', 'target = "rpi4"', "wheel = true")
    before = names_in(work)
    for verb in ("build", "quantize"):
        done = program(verb, "digits.onnx", "--dry-run")
        assert done.code == 0, done.err
    assert names_in(work) == before


def test_the_plan_says_where_every_setting_came_from(program: Program, work: Path, download: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(download, 'observer = "minmax"', 'calib = "calibration.npz"', "seed = 7")
    monkeypatch.setenv("EDGEC_SEED", "8")
    done = program("build", "download/digits.onnx", "--dry-run", "--json", "--target", "rpi4", "--no-compile")
    found = done.json["settings"]
    assert set(found) == set(SETTINGS)
    assert found["observer"] == {"value": "minmax", "from": "download/edgec.toml"}
    assert found["calib"] == {"value": "download/calibration.npz", "from": "download/edgec.toml"}
    assert found["seed"] == {"value": 8, "from": "EDGEC_SEED"}
    assert found["target"] == {"value": "rpi4", "from": "--target"}
    assert found["precision"] == {"value": "int8", "from": "default"}
    for verb in (("build", "--no-compile"), ("build", "--no-compile", "--dry-run"), ("quantize", "--dry-run")):
        shown = program(verb[0], "download/digits.onnx", *verb[1:])
        words = re.sub(" +", " ", shown.out + shown.err)
        assert "minmax download/edgec.toml" in words and "calibration.npz download/edgec.toml" in words, words
    assert "precision int8 default" in re.sub(" +", " ", program("build", "download/digits.onnx", "--dry-run", "--no-compile").out)


def test_operators_are_the_users_own_where_the_file_is(program: Program, work: Path, download: Path) -> None:
    """Paths are seen from the file, one or several; whoever may be strange is not run."""
    (download / "prep.py").write_text(f"{EVIL}\nfrom edgec.operators import custom\nmine = custom('com.acme', 'Mine')(lambda x: -x)\n")
    for value in ('"prep.py"', '["prep.py"]'):
        settle(download, f"operators = {value}")
        program("inspect", "download/digits.onnx").failed(2, "names Python code to run", "give --operators yourself, or --trust-config")
        assert not (work / TRACE).exists()
    for verb in (("--trust-config",), ("--config", "download/edgec.toml"), ("--operators", "download/prep.py")):
        assert program("inspect", "download/digits.onnx", *verb).code == 0
    assert (work / TRACE).exists()
    settle(download, "operators = [3]")
    program("inspect", "download/digits.onnx", "--trust-config").failed(2, "[build] operators", "write a path")


def test_data_beside_the_model_can_be_calibrated_with(program: Program, download: Path) -> None:
    """What is harmless in such a file is obeyed, as ever."""
    settle(download, 'calib = "calibration.npz"', 'target = "portable"', 'out = "made"')
    done = program("build", "-q", "download/digits.onnx", "--no-compile", "--json")
    assert done.code == 0 and done.json["package"] == "download/made", done.err
