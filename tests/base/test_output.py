"""A package directory appears complete or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgec.base.errors import ToolchainError, UsageError
from edgec.base.output import MARKER, complete_directory, write_file

SIGNED = b'{"edgec_version": "1", "files": {"src/a.c": {}}}'
FILES = {MARKER: SIGNED, "src/a.c": b"int a;\n"}


def test_files_appear_together(tmp_path: Path) -> None:
    with complete_directory(tmp_path / "deep" / "package", FILES) as folder:
        assert not (tmp_path / "deep" / "package").exists()
        (folder / "made").write_text("x")
    assert sorted(path.name for path in (tmp_path / "deep" / "package").iterdir()) == ["made", MARKER, "src"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["package"]


def test_a_failure_leaves_nothing_and_keeps_the_old_package(tmp_path: Path) -> None:
    with complete_directory(tmp_path / "package", FILES):
        pass
    with pytest.raises(ToolchainError), complete_directory(tmp_path / "package", {MARKER: b"new"}):
        raise ToolchainError("the compiler failed")
    assert (tmp_path / "package" / MARKER).read_bytes() == SIGNED
    assert [path.name for path in tmp_path.iterdir()] == ["package"]


def test_an_old_package_is_replaced_whole(tmp_path: Path) -> None:
    for files in (FILES, {MARKER: b"new"}):
        with complete_directory(tmp_path / "package", files):
            pass
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["package", f"package/{MARKER}"]


def test_what_others_put_into_a_package_stays(tmp_path: Path) -> None:
    for _ in range(2):
        with complete_directory(tmp_path / "package", FILES) as folder:
            (folder / "build").mkdir()
            (folder / "build" / "a.o").write_text("x")
            (folder / "build.json").write_text('{"files": {"build/a.o": {}}}')
        (tmp_path / "package" / "notes").mkdir(exist_ok=True)
        (tmp_path / "package" / "notes" / "mine.txt").write_text("x")
        (tmp_path / "package" / "build" / "old.o").write_text("x")
    with complete_directory(tmp_path / "package", {MARKER: SIGNED}):
        pass
    found = {str(path.relative_to(tmp_path / "package")) for path in (tmp_path / "package").rglob("*") if path.is_file()}
    assert found == {MARKER, "notes/mine.txt", "build/old.o"}


@pytest.mark.parametrize("text", ["{}", "[]", "no JSON", '{"name": "a web application"}'])
def test_a_manifest_of_something_else_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / MARKER).write_text(text)
    with pytest.raises(UsageError, match="not an edgec package"), complete_directory(tmp_path, FILES):
        pass
    assert (tmp_path / MARKER).read_text() == text


def test_an_interruption_keeps_the_old_package(tmp_path: Path) -> None:
    with complete_directory(tmp_path / "package", FILES):
        pass
    with pytest.raises(KeyboardInterrupt), complete_directory(tmp_path / "package", FILES):
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["package"]


def test_what_is_not_a_package_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match="not an edgec package"), complete_directory(tmp_path / "precious", FILES):
        pass
    assert (tmp_path / "precious" / "thesis.tex").exists()


def test_an_unwritable_place_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot write"), complete_directory(tmp_path / "file" / "package", FILES):
        pass
    with pytest.raises(UsageError, match="cannot write"):
        write_file(tmp_path / "file" / "out.md", b"x", ".md")


def test_a_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "out.npz").mkdir()
    with pytest.raises(UsageError, match="cannot write"):
        write_file(tmp_path / "out.npz", b"x", ".md")
    assert [path.name for path in tmp_path.iterdir()] == ["out.npz"]
