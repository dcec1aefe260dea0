"""Calling one compiler, and what a compilation leaves."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgec.base.environment import child_environment
from edgec.base.errors import Problem, ToolchainError
from edgec.cache.folder import cache_folder
from edgec.toolchain.find import Compiler

SHOWN_LINES = 12  # of a compiler's words


@dataclass(frozen=True)
class Built:
    """What compile_package made. `objects` are the core's (no pool, no exam)."""

    exam: Path | None
    library: Path | None  # shared where the target can have one, else static
    objects: tuple[Path, ...]
    compiler: Compiler


def optimization(compiler: Compiler, optimize: str) -> list[str]:
    """A level in the compiler's command is its user's choice. zig calls UBSan's runtime at -O0 unless it is told not to."""
    level = [] if any(word.startswith("-O") for word in compiler.command) else [optimize]
    return [*level, "-fno-sanitize=undefined"] if compiler.is_zig else level


def call(command: Sequence[str], compiler: Compiler, directory: Path, what: str) -> str:
    """What one command, run in the package directory, prints; ToolchainError with its first lines when it fails."""
    environment = child_environment()
    if compiler.is_zig and not {"ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"} <= environment.keys():
        cache = str(cache_folder("zig"))
        environment = {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache} | environment
    try:
        done = subprocess.run(list(command), cwd=directory, env=environment, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise ToolchainError(str(error), where=command[0]) from error
    if done.returncode != 0:
        words = [Problem(line) for line in (done.stderr or done.stdout).splitlines()[:SHOWN_LINES]]
        tool = compiler.archiver if tuple(command[: len(compiler.archiver)]) == compiler.archiver else compiler.command
        hint = "try another compiler with --cc, or --no-compile to leave the sources"
        raise ToolchainError(f"{' '.join(tool)} failed", words, where=what, hint=hint)
    return done.stdout
