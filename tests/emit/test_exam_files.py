"""`NAME_exam --files`: the exam program looks at the files around it, by whatever list is there."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from edgec.package.manifest import sha256
from edgec.toolchain import compile_package
from tests.conftest import require
from tests.contract.examiner import STRICT
from tests.emit.packages import HOST, write_package
from tests.emit.programs import exam_of, small_program

pytestmark = pytest.mark.sampled  # by two sets of instructions


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("gcc")
    package = small_program()
    folder = write_package(tmp_path_factory.mktemp("files"), package, HOST, exam_of(package))
    built = compile_package(folder, HOST, "gcc", "-O0", (*STRICT, "-fsanitize=address,undefined"))
    assert built.exam is not None
    return built.exam


def ask(program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, "--json", "--files"], capture_output=True, text=True, check=False)


def listing(folder: Path, text: str) -> None:
    (folder / "files.json").write_text(text)


def test_a_package_where_it_was_built_is_checked_by_its_manifest(program: Path) -> None:
    folder = program.parents[1]
    (folder / "files.json").unlink(missing_ok=True)
    found = json.loads(ask(program).stdout)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert found["files_passed"] and found["passed"] and found["files_checked"] == len(manifest["files"])
    assert found["list_sha256"] == sha256((folder / "manifest.json").read_bytes())
    (folder / "Makefile").write_text("all:; echo owned\n")
    done = ask(program)
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["files_changed"] == ["Makefile"] and not found["passed"]


ROW = ' {\n   "bytes": 1,\n   "sha256": "' + "0" * 64 + '"\n  }'
LISTS: dict[str, tuple[Callable[[], str], str]] = {
    "nothing": (lambda: "", "cannot be read"),
    "cut": (lambda: '{\n "files": {\n  "a": {\n', "cannot be read"),
    "a way out": (lambda: '{\n "files": {\n  "../../etc/passwd":' + ROW + "\n }\n}\n", "cannot be read"),
    "the root": (lambda: '{\n "files": {\n  "/etc/passwd":' + ROW + "\n }\n}\n", "cannot be read"),
    "a way out within": (lambda: '{\n "files": {\n  "a/../../../etc/passwd":' + ROW + "\n }\n}\n", "cannot be read"),
    "long lines": (lambda: '{\n "files": {\n  "' + "a" * 100_000 + '":' + ROW + "\n }\n}\n", "cannot be read"),
    "other forms": (lambda: '{"files": {"a": {"bytes": 1, "sha256": "0"}}}', "cannot be read"),
    "numbers": (lambda: '{\n "files": {\n  "a": {\n   "bytes": x,\n', "cannot be read"),
    "zeros": (lambda: "\0" * 5000, "cannot be read"),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_lies_is_no_list(program: Path, name: str) -> None:
    text, words = LISTS[name]
    listing(program.parents[1], text())
    done = ask(program)
    assert done.returncode == 1 and words in done.stderr and "runtime error" not in done.stderr and "Sanitizer" not in done.stderr


def test_more_wrong_files_than_are_named(program: Path) -> None:
    rows = ",\n".join(f'  "none/{number}":{ROW}' for number in range(30))
    listing(program.parents[1], '{\n "schema_version": 1,\n "files": {\n' + rows + "\n }\n}\n")
    found = json.loads(ask(program).stdout)
    assert found["files_checked"] == 30 and len(found["files_changed"]) == 8 and not found["files_passed"]
