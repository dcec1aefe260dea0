"""A package directory appears complete or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgec.errors import EdgecError, ToolchainError, UsageError
from edgec.output import MARKER, complete_directory, write_file

FILES = {MARKER: b"{}", "src/a.c": b"int a;\n"}


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
    assert (tmp_path / "package" / MARKER).read_bytes() == b"{}"
    assert [path.name for path in tmp_path.iterdir()] == ["package"]


def test_an_old_package_is_replaced_whole(tmp_path: Path) -> None:
    for files in (FILES, {MARKER: b"new"}):
        with complete_directory(tmp_path / "package", files):
            pass
    assert [path.name for path in (tmp_path / "package").iterdir()] == [MARKER]


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
        write_file(tmp_path / "file" / "out.npz", b"x")


def test_a_full_disk_is_a_clear_error() -> None:
    with pytest.raises(EdgecError, match="cannot write"):
        write_file(Path("/proc/self/nothing"), b"x")
