"""Outputs never eat inputs, nor anything that edgec did not write: one law for every verb and flag that writes."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgec.base.errors import UsageError
from edgec.base.output import check_outputs, write_file
from edgec.base.output.foreign import is_package
from edgec.base.output.mark import FORMS, is_ours, sealed
from edgec.records.results import to_line
from tests.calling import QUICK, ROOT, Program
from tests.reports.samples import job
from tests.reports.samples import package as measured

pytestmark = pytest.mark.usefixtures("kept_builds")

QUANTIZE = ("quantize", "-q", "digits.onnx", "--calib", "calibration.npz")
BUILD = ("build", "-q", "digits.onnx", "--calib", "calibration.npz", "--no-compile", *QUICK)
MINE = b"my thesis"


@pytest.fixture
def files(work: Path, package: Path) -> Path:
    """The current folder with all that verbs read: a package, results, labels, a key, external data, links of both kinds."""
    shutil.copytree(package, work / "pkg", symlinks=True)
    (work / "results.jsonl").write_text("".join(f"{to_line(record)}\n" for record in (measured(), job(measured()))))
    (work / "labels.txt").write_text("\n".join(map(str, range(10))))
    (work / "edgec.toml").write_text("[preprocess]\n")
    (work / "mine.txt").write_bytes(MINE)
    onnx.save(onnx.load("digits.onnx"), "big.onnx", save_as_external_data=True, location="big.data", size_threshold=0)
    (work / "link.onnx").symlink_to("digits.onnx")
    os.link("digits.onnx", "hard.onnx")
    return work


EATEN = {
    "the model": (*QUANTIZE, "-o", "digits.onnx"),
    "the model by a longer way": (*QUANTIZE, "-o", "pkg/../digits.onnx"),
    "the model by a link": (*QUANTIZE, "-o", "link.onnx"),
    "the model by a hard link": (*QUANTIZE, "-o", "hard.onnx"),
    "the model's external data": ("quantize", "-q", "big.onnx", "--calib", "calibration.npz", "-o", "big.data"),
    "the calibration data": (*QUANTIZE, "--report", "calibration.npz"),
    "the settings": (*QUANTIZE, "-o", "edgec.toml"),
    "a file of somebody": (*QUANTIZE, "-o", "mine.txt"),
    "both outputs in one place": (*QUANTIZE, "-o", "new", "--report", "./new"),
    "a file in a dumped folder": (*QUANTIZE, "-o", "new", "--dump", "stages"),
    "a dumped stage of a build": (*BUILD, "--dump", "stages"),
    "the input of a run": ("run", "pkg", "-i", "calibration.npz", "-o", "calibration.npz"),
    "a package's manifest": ("run", "pkg", "-i", "calibration.npz", "-o", "pkg/manifest.json"),
    "a package's model": (*QUANTIZE, "-o", "pkg/model.int8.onnx"),
    "results": ("report", "results.jsonl", "-o", "results.html"),
    "a manifest under a report": ("report", "results.jsonl", "-o", "pkg/manifest.json"),
    "the second of two reports": ("report", "results.jsonl", "-o", "new.html", "-o", "mine.md"),
    "a page beside results": ("bench", "pkg", "--all", "-o", "bench"),
    "a model inside of the package": ("build", "-q", "pkg/model.int8.onnx", "--no-compile", *QUICK, "-o", "pkg"),
    "a source that was edited": (*BUILD, "-o", "edited"),
}


@pytest.mark.parametrize("command", EATEN.values(), ids=EATEN)
def test_nothing_is_lost(program: Program, files: Path, command: tuple[str, ...]) -> None:
    os.link("results.jsonl", "results.html")
    (files / "mine.md").write_bytes(MINE)
    for place in ("stages/1-imported.eir", "bench/report.html"):
        (files / place).parent.mkdir()
        (files / place).write_bytes(MINE)
    shutil.copytree("pkg", "edited")
    (files / "edited/src/digits.c").write_bytes(b"int mine;\n")
    before = _contents(files)
    done = program(*command)
    done.failed(2)
    assert any(word in done.err for word in ("would be lost", "overwritten", "written twice", "is not edgec's")), done.err
    assert _contents(files) == before


def _contents(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()}


FORCED = {
    "the model": ("digits.onnx", (*QUANTIZE, "-o", "digits.onnx", "--force")),
    "the input of a run": ("calibration.npz", ("run", "pkg", "-i", "calibration.npz", "-o", "calibration.npz", "--force")),
    "a report": ("mine.md", ("report", "results.jsonl", "-o", "mine.md", "--force")),
}


@pytest.mark.parametrize("stages", ["new", "new/stages", "pkg/../new"])
def test_stages_are_not_dumped_where_the_package_will_be(program: Program, files: Path, stages: str) -> None:
    program(*BUILD, "-o", "new", "--dump", stages).failed(2, "--dump", "is the package's own folder")
    assert not (files / "new").exists()


@pytest.mark.parametrize(("place", "command"), FORCED.values(), ids=FORCED)
def test_force_replaces(program: Program, files: Path, place: str, command: tuple[str, ...]) -> None:
    (files / "mine.md").write_bytes(MINE)
    done = program(*command)
    assert done.code == 0 and is_ours(files / place), done.err


@pytest.mark.parametrize(
    "command",
    [
        (*QUANTIZE, "-o", "new.onnx", "--report", "new.json", "--dump", "stages"),
        ("run", "pkg", "-i", "calibration.npz", "-o", "new.npz"),
        ("report", "results.jsonl", "-o", "a.html", "-o", "a.md", "-o", "a.xml", "-o", "a.json"),
        (*BUILD, "-o", "new", "--dump", "stages"),
    ],
    ids=lambda command: command[0],
)
def test_what_edgec_wrote_is_written_again(program: Program, files: Path, command: tuple[str, ...]) -> None:
    for _ in range(2):
        done = program(*command)
        assert done.code == 0, done.err


def test_what_edgec_wrote_is_an_input_like_any_other(program: Program, files: Path) -> None:
    assert program("run", "pkg", "-i", "calibration.npz", "-o", "calibration-2.npz").code == 0
    assert program(*QUANTIZE, "-o", "int8.onnx").code == 0
    before = _contents(files)
    program("quantize", "-q", "int8.onnx", "-o", "int8.onnx").failed(2, "is an input")
    assert _contents(files) == before


def test_devices_no_pipe_and_no_folder_is_replaced(work: Path) -> None:
    os.mkfifo("pipe.md")
    (work / "folder.md").mkdir()
    for path in ("/dev/null", "pipe.md", "folder.md"):
        for force in (False, True):
            with pytest.raises(UsageError, match="cannot write"):
                write_file(Path(path), b"x", ".md", force=force)
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("form", FORMS)
def test_the_mark_is_lost_with_any_change(tmp_path: Path, form: str) -> None:
    content = {".json": b'{"a": 1}\n', ".npz": b"PK\5\6" + bytes(18)}.get(form, b"x\n" if form != ".onnx" else b"")
    path = tmp_path / f"file{form}"
    written = sealed(content, form)
    path.write_bytes(written)
    assert is_ours(path)
    for place in {0, len(written) // 2, len(written) - 1}:
        path.write_bytes(written[:place] + bytes([written[place] ^ 1]) + written[place + 1 :])
        assert not is_ours(path)
    path.write_bytes(written + b"\n")
    assert not is_ours(path)


def test_files_with_the_mark_are_what_they_were(program: Program, files: Path) -> None:
    assert program(*QUANTIZE, "-o", "int8.onnx", "--report", "report.json").code == 0
    model = onnx.load("int8.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [entry.key for entry in model.metadata_props] == ["generated"]
    assert set(json.loads(Path("report.json").read_text())) > {"generated", "layers", "outputs"}
    assert program("run", "pkg", "-i", "calibration.npz", "-o", "out.npz").code == 0
    assert np.load("out.npz")["logits"].shape[1] == 10


def test_a_write_checks_again_what_came_meanwhile(tmp_path: Path) -> None:
    check_outputs([tmp_path / "a.md"])
    (tmp_path / "a.md").write_bytes(MINE)
    with pytest.raises(UsageError, match="would be lost"):
        write_file(tmp_path / "a.md", b"x", ".md")
    assert (tmp_path / "a.md").read_bytes() == MINE


@pytest.mark.parametrize("end", ["pipe", "/dev/zero"])
def test_a_manifest_that_never_ends_is_none(tmp_path: Path, end: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "manifest.json").symlink_to(end)
    assert not is_package(tmp_path)


# Rebuilding a package


def test_a_rebuild_keeps_a_users_links_folders_and_files_wherever_they_are(program: Program, work: Path) -> None:
    assert program("build", "-q", "digits.onnx", "--precision", "fp32", "-o", "pkg", *QUICK).code == 0
    (work / "elsewhere").mkdir()
    (work / "elsewhere/precious.txt").write_bytes(MINE)
    for place in ("pkg/build/link", "pkg/link", "pkg/src/link"):
        (work / place).symlink_to(work / "elsewhere")
    (work / "pkg/build/dangling").symlink_to("nowhere")
    (work / "pkg/build/mine/empty").mkdir(parents=True)
    (work / "pkg/build/mine.o").write_bytes(MINE)
    (work / "pkg/empty").mkdir()
    assert program("build", "-q", "digits.onnx", "--precision", "fp32", "-o", "pkg", *QUICK).code == 0
    for place in ("pkg/build/link", "pkg/link", "pkg/src/link"):
        assert (work / place).is_symlink() and (work / place / "precious.txt").read_bytes() == MINE
    assert (work / "pkg/build/dangling").is_symlink() and (work / "pkg/build/mine.o").read_bytes() == MINE
    assert (work / "pkg/build/mine/empty").is_dir() and (work / "pkg/empty").is_dir()
    assert program("build", "-q", "digits.onnx", "--precision", "fp32", "--no-compile", "-o", "pkg", *QUICK).code == 0
    assert not list((work / "pkg/build").glob("digits*")), "what was compiled goes with the package that it was compiled from"


def _in_place_of_a_file(package: Path) -> None:
    (package / "src/digits.c").rename(package / "mine.c")
    (package / "src/digits.c").symlink_to("../mine.c")


def _folder_in_place_of_a_file(package: Path) -> None:
    (package / "single").write_text("a file where --single-file needs a folder")


def _foreign_file_of_the_same_name(package: Path) -> None:
    (package / "single").mkdir()
    (package / "single/digits.h").write_text("mine")


@pytest.mark.parametrize("change", [_in_place_of_a_file, _folder_in_place_of_a_file, _foreign_file_of_the_same_name])
def test_what_is_in_the_way_is_refused_unless_forced(program: Program, work: Path, change: Callable[[Path], None]) -> None:
    build = ("build", "-q", "digits.onnx", "--precision", "fp32", "--no-compile", "-o", "pkg", *QUICK)
    assert program(*build).code == 0
    change(work / "pkg")
    before = _contents(work)
    program(*build, "--single-file").failed(2, "what is not edgec's", "--force")
    assert _contents(work) == before
    done = program(*build, "--single-file", "--force")
    assert done.code == 0 and (work / "pkg/single/digits.h").is_file() and not (work / "pkg/src/digits.c").is_symlink(), done.err


def test_a_folder_that_is_no_package_is_not_even_replaced_by_force(program: Program, work: Path) -> None:
    (work / "thesis").mkdir()
    (work / "thesis/thesis.tex").write_bytes(MINE)
    program(*BUILD, "-o", "thesis", "--force").failed(2, "not an edgec package")
    assert (work / "thesis/thesis.tex").read_bytes() == MINE


def test_an_edgec_toml_cannot_force(program: Program, work: Path) -> None:
    (work / "edgec.toml").write_text("[build]\nforce = true\n")
    program(*BUILD).failed(2, "unknown setting", "force")


# The one door

# file -> why it writes by itself
WRITERS = {
    "edgec/base/output": "the door",
    "edgec/toolchain": "in the package that is being made, in folders of tempfile's",
    "edgec/cache/store.py": "in the user's cache",
    "edgec/apps/wheel_archive.py": "in the package that is being made",
    "edgec/provenance/seal.py": "in the package that is being made",
    "edgec/boards/connect/local_files.py": "below a board's work folder",
    "edgec/boards/connect/ssh_files.py": "on a board, over SSH",
    "edgec/boards/farm/journal.py": "results, which it only adds to",
    "edgec/exam/judging.py": "a file of tempfile's",
    "edgec/provenance/copy.py": "into a folder of tempfile's",
    "edgec/cli/bug.py": "a file of tempfile's",
    "edgec/exporters": "in folders of tempfile's",
    "edgec/cli/guard.py": "takes away what tempfile made for a process that died",
    "edgec/export/onnx_file.py": "save(), for tests and for whoever uses the library",
}
# what writes: methods of paths, and functions of modules
METHODS = {"write_bytes", "write_text", "touch", "symlink_to", "hardlink_to", "rename"}
FUNCTIONS = {
    "shutil": {"move", "copy", "copy2", "copyfile", "copytree", "rmtree"},
    "os": {"replace", "rename", "link", "symlink", "truncate"},
}


def _writes(node: ast.Call) -> bool:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    owner = function.value.id if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) else ""
    words = [item.value for item in [*node.args, *(key.value for key in node.keywords)] if isinstance(item, ast.Constant)]
    opened = name == "open" and any(isinstance(word, str) and len(word) < 4 and set(word) & set("wax+") for word in words)
    return opened or name in METHODS or name in FUNCTIONS.get(owner, ())


def test_every_file_is_written_through_one_door() -> None:
    for path in sorted((ROOT / "edgec").rglob("*.py")):
        home = path.relative_to(ROOT).as_posix()
        if "_data" in path.parts or any(home == known or home.startswith(f"{known}/") for known in WRITERS):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.Call) and _writes(node)), f"{home}:{node.lineno} writes: use edgec.base.output"
