"""Compiling one source into an object, or finding the object that the same compiler made of the same source, headers and words."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from edgec.base.environment import child_environment
from edgec.cache import NOTHING, Store
from edgec.cache.keys import key_of, of_file
from edgec.toolchain.call import call
from edgec.toolchain.find import Compiler

# Words that say how a source becomes an object, which depends on nothing else then: none reads or writes another file.
_KNOWN = re.compile(
    r"-(O\w*|std=\S+|pedantic|pipe|m\S+|D\S+|I\S+|W(?![apl],)\S+|-target=\S+|nostdlibinc|nostdinc|Qunused-arguments|fuse-ld=\S+"
    r"|f(no-)?(PIC|pic|PIE|pie|freestanding|visibility=\S+|(function|data)-sections|stack-protector|(asynchronous-)?unwind-tables|ident|sanitize=\S+"
    r"|fp-contract=\S+|strict-aliasing|builtin|common|omit-frame-pointer))"
)
_WITH_OPERAND = ("-target", "-isystem")
# Variables that name folders of headers, parts of the compiler, or the system that is compiled for
_VARIABLES = (
    "CCC_OVERRIDE_OPTIONS", "COMPILER_PATH", "CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "INCLUDE",
    "IPHONEOS_DEPLOYMENT_TARGET", "LANG", "LC_ALL", "MACOSX_DEPLOYMENT_TARGET", "PATH", "SDKROOT", "SOURCE_DATE_EPOCH",
)  # fmt: skip
_HEADERS = ("include", "src", "exam")  # a package's folders that may have some


def compile_object(compiler: Compiler, directory: Path, source: str, words: Sequence[str], result: str, store: Store = NOTHING) -> None:
    """Compile `source` with `words` into `result`, paths in the package `directory`. ToolchainError as the compiler words it."""
    command = [*compiler.command, *words]
    if store is NOTHING or not source.endswith(".c") or compiler.is_zig or not _is_known(command):  # zig keeps a cache of its own
        call([*command, "-c", source, "-o", result], compiler, directory, source)
        return
    try:
        key = _key(command, directory, source)
    except OSError:  # it is no program, which the call says in words
        call([*command, "-c", source, "-o", result], compiler, directory, source)
        return
    content = _found(store, key, directory)
    if content is not None:
        (directory / result).write_bytes(content)
        return
    call([*command, "-MD", "-MF", f"{result}.d", "-c", source, "-o", result], compiler, directory, source)
    with suppress(OSError):  # a wrapper wrote no rules, or a header is gone: nothing is kept
        read = _read_rules(_taken(directory / f"{result}.d"))
        if source in read:
            name = _object_key(key, directory, read)
            store.put(key, json.dumps(read).encode())
            store.put(name, (directory / result).read_bytes())


def _is_known(command: Sequence[str]) -> bool:
    """Whether all the words are; a second program, as of a wrapper, is not."""
    words = iter(command[1:])
    return all(next(words, None) is not None if word in _WITH_OPERAND else _KNOWN.fullmatch(word) for word in words)


def _key(command: Sequence[str], directory: Path, source: str) -> str:
    """Of the list of what a compilation reads. A new header could stand before one that was read, so the names of all count."""
    names = sorted(path.relative_to(directory).as_posix() for folder in _HEADERS for path in (directory / folder).rglob("*.h"))
    environment = child_environment()
    said = [(name, environment.get(name)) for name in _VARIABLES]
    return key_of("reads", _identity(tuple(command)), source, of_file(directory / source), names, said)


def _found(store: Store, key: str, directory: Path) -> bytes | None:
    listed = store.get(key)
    if listed is None:
        return None
    try:
        return store.get(_object_key(key, directory, json.loads(listed)))
    except OSError:  # a header that is no longer there
        return None


def _object_key(key: str, directory: Path, read: Sequence[str]) -> str:
    return key_of("object", key, [(name, _hash(directory / name)) for name in read])


def _hash(path: Path) -> str:
    facts = path.stat()
    return _remembered(path, facts.st_size, facts.st_mtime_ns, facts.st_ino)


@cache
def _remembered(path: Path, *facts: int) -> str:
    """Sources share most of their headers."""
    return of_file(path)


@cache
def _identity(command: tuple[str, ...]) -> tuple[object, ...]:
    """The command, what it says it would call, and which files these programs are: an update changes one of them at least."""
    program = shutil.which(command[0]) or command[0]
    plan = [*command, "-###", "-pipe", "-x", "c", "-c", os.devnull, "-o", "object"]
    with TemporaryDirectory() as folder:  # a wrapper may compile all the same
        done = subprocess.run(plan, cwd=folder, env=child_environment(), capture_output=True, check=False)
        said = (done.stdout + done.stderr).decode(errors="surrogateescape").replace(os.path.realpath(folder), ".").replace(folder, ".")
    called = sorted({path for word in said.split() if os.path.isabs(path := word.strip('"')) and os.access(path, os.X_OK)} | {program})
    files = [(path, *_facts(path)) for path in called if os.path.isfile(path)]
    return command, done.returncode, said, files


def _facts(path: str) -> tuple[str, int, int]:
    real = os.path.realpath(path)
    found = os.stat(real)
    return real, found.st_size, found.st_mtime_ns


def _taken(path: Path) -> str:
    """What a file says that nobody needs then."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    path.unlink()
    return text


def _read_rules(text: str) -> list[str]:
    """What a compiler's rule for make says that it read: `object.o: a.c b.h \\` and further lines."""
    _, _, names = text.replace("\\\n", " ").partition(": ")
    found = re.findall(r"(?:\\.|[^\s\\])+", names)
    return [re.sub(r"\\(.)", r"\1", name).replace("$$", "$") for name in found]
