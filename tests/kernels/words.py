"""Small C programs in the words of one vocabulary, outside of any kernel."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from edgec.emit.kernels import in_halves, runtime_text
from edgec.emit.vocabularies import VOCABULARIES
from edgec.targets import command_of
from tests.kernels.driver import Build
from tests.kernels.int8_harness import cpu_has, need, simde_command

BEGINNING = """
#ifndef KERNEL_TARGET
#define KERNEL_TARGET @TARGET@
#endif
#define INLINE static inline __attribute__((unused)) KERNEL_TARGET
#include <stdint.h>
#include <string.h>
/* As in templates/c/kernels.c.j2. */
#if defined(__clang__) && __clang_major__ < 16 && defined(__aarch64__) && !defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
#define __ARM_FEATURE_FP16_VECTOR_ARITHMETIC 1
#endif
@INCLUDE@
"""


def check(build: Build, program: str, folder: Path, headers: Sequence[str] = ()) -> None:
    """Fails unless `program`, which is in the words of floats, exits with 0; for a build of halves it is put into theirs.

    headers: files of runtimes/c that it needs, too.
    """
    for tool in (build.compiler[0], *build.emulator[:1]):
        need(tool)
    compiler = build.compiler
    if build.simde or not (build.emulator or cpu_has(build.vocabulary)):
        compiler = (*simde_command(compiler[0]), *compiler[1:])
    words = VOCABULARIES[build.vocabulary]
    target = words.clang if "clang" in build.compiler[0] else words.gcc
    names = ["prologue.h", "math.h", f"vocabulary/{words.half if build.halves else words.float.header}", *headers]
    text = "\n".join((
        BEGINNING.replace("@TARGET@", f'__attribute__((target("{target}")))' if target else "")
        .replace("@INCLUDE@", f"#include <{words.include}>" if words.include else ""),
        "typedef __fp16 half;" if build.halves else "",
        *map(runtime_text, names),
        in_halves(program) if build.halves else program,
    ))  # fmt: skip
    suffix = "cpp" if "c++" in build.compiler else "c"
    (folder / f"words.{suffix}").write_text(text, encoding="utf-8")
    subprocess.run([*compiler, *build.flags, "-o", "words", f"words.{suffix}", *build.libraries], cwd=folder, check=True)
    subprocess.run(command_of(build.emulator, str(folder / "words")), check=True)
