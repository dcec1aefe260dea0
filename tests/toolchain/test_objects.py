"""Objects from the cache: those that the same compiler would make of the same sources, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgec.base.errors import ToolchainError
from edgec.cache import NOTHING, Store
from edgec.toolchain.find import Compiler
from edgec.toolchain.objects import _identity, compile_object
from tests.conftest import require

SOURCE = "#include <part.h>\nint answer(void) { return PART; }\n"
WORDS = ("-std=c99", "-O1", "-fPIC", "-Iinclude", "-Isrc")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("include", "src", "build", "cache"):
        (tmp_path / name).mkdir()
    (tmp_path / "src/one.c").write_text(SOURCE)
    (tmp_path / "src/part.h").write_text("#define PART 1\n")
    return tmp_path


def compiled(folder: Path, words: tuple[str, ...] = WORDS, store: Store | None = None, command: str = "gcc") -> tuple[bytes, int]:
    """The object, and how many entries the cache has then."""
    store = store or Store(folder / "cache")
    compile_object(Compiler((command,), ("ar",), "test"), folder, "src/one.c", words, "build/one.o", store)
    found = (folder / "build/one.o").read_bytes()
    (folder / "build/one.o").unlink()
    assert not list((folder / "build").iterdir())
    return found, len(store.entries())


def test_the_same_is_found_and_anything_else_is_compiled(folder: Path) -> None:
    require("gcc")
    plain, entries = compiled(folder)
    assert entries == 2 and plain == compiled(folder, store=NOTHING)[0]
    assert compiled(folder) == (plain, 2)
    marked = Store(folder / "cache")
    key = next(path.name for path, _ in marked.entries() if path.name.startswith("object"))
    marked.put(key, b"found")
    assert compiled(folder)[0] == b"found"  # no compiler said that
    (folder / "src/part.h").write_text("#define PART 2\n")
    other, entries = compiled(folder)
    assert other not in (plain, b"found") and entries == 3
    (folder / "include/part.h").write_text("#define PART 3\n")  # stands before the one that was read
    assert compiled(folder)[0] not in (plain, other, b"found")
    assert compiled(folder, (*WORDS, "-DNAME=1"))[1] > entries


@pytest.mark.parametrize("word", ["-g", "-save-temps", "-Wa,-ahl", "-Wp,-DPART=7", "-include", "@words", "-frandom-seed=1"])
def test_words_that_are_not_known_are_not_cached(folder: Path, word: str) -> None:
    require("gcc")
    store = Store(folder / "cache")
    (folder / "words").write_text("-O2")
    compiler = Compiler(("gcc",), ("ar",), "test")
    words = [*WORDS, word, *(["src/part.h"] if word == "-include" else [])]
    compile_object(compiler, folder, "src/one.c", words, "build/one.o", store)
    assert not store.entries()


def wrapper(folder: Path, text: str) -> str:
    path = folder / "wrapper"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_a_wrapper_that_writes_no_rules_keeps_nothing(folder: Path) -> None:
    require("gcc")
    command = wrapper(
        folder, '#!/bin/sh\nfor a; do case $a in -MD|-MF|*.o.d|-\\#*) ;; *) set -- "$@" "$a";; esac; shift; done; exec gcc "$@"\n'
    )
    assert compiled(folder, command=command) == (compiled(folder, store=NOTHING)[0], 0)


def test_what_is_no_program_is_said_as_without_a_cache(folder: Path) -> None:
    command = wrapper(folder, "no program")
    said = []
    for store in (NOTHING, Store(folder / "cache")):
        with pytest.raises(ToolchainError) as caught:
            compiled(folder, store=store, command=command)
        said.append(str(caught.value))
    assert said[0] == said[1] and "wrapper" in said[0]


@pytest.mark.parametrize("command", ["gcc", "clang"])
def test_a_compiler_has_one_identity_wherever_it_was_asked(command: str) -> None:
    require(command)
    assert _identity.__wrapped__((command, "-O1")) == _identity.__wrapped__((command, "-O1"))


def test_what_a_compiler_refuses_is_no_entry(folder: Path) -> None:
    require("gcc")
    (folder / "src/one.c").write_text("no C")
    store = Store(folder / "cache")
    with pytest.raises(ToolchainError, match="gcc failed"):
        compile_object(Compiler(("gcc",), ("ar",), "test"), folder, "src/one.c", WORDS, "build/one.o", store)
    assert not store.entries()


def test_variables_that_name_headers_count(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("gcc")
    _, entries = compiled(folder)
    monkeypatch.setenv("C_INCLUDE_PATH", str(folder / "include"))
    assert compiled(folder)[1] > entries
