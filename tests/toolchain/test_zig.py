"""Packages for systems that no compiler of a Linux distribution knows, linked by the real ziglang: its first use compiles C libraries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgec.boards.deploy.executable import made_for
from edgec.targets import load_target
from edgec.toolchain import compile_package
from edgec.toolchain.call import call
from tests.contract.examiner import WHOLE
from tests.emit.packages import write_package
from tests.emit.programs import exam_of, small_program
from tests.toolchain.zig import need_zig

# target -> (system, architecture) of what is linked for it
LINKED = {"windows-x64": ("windows", "x86_64"), "macos-arm64": ("macos", "aarch64")}
COMPILED = {"ios-arm64": b"\xcf\xfa\xed\xfe"}  # Apple's own linker knows the rest of iOS
APPLICATION = """
#include "small.h"
#include <stdio.h>
static unsigned char arena[SMALL_ARENA_BYTES + SMALL_ARENA_ALIGNMENT];
int main(void) {
    small_t model;
    unsigned char *const aligned = arena + (SMALL_ARENA_ALIGNMENT - (uintptr_t)arena % SMALL_ARENA_ALIGNMENT) % SMALL_ARENA_ALIGNMENT;
    puts(small_strerror(small_init(&model, aligned, SMALL_ARENA_BYTES)));
    return 0;
}
"""


def check(name: str, folder: Path) -> None:
    """Compiles a package, and links an application with it where zig has the system's libraries."""
    need_zig()
    program, target = small_program(), replace(load_target(name), compilers=())
    built = compile_package(write_package(folder, program, target, exam_of(program, vectors=1)), target, optimize="-O0")
    assert built.compiler.is_zig and built.objects
    if name in COMPILED:
        assert all(path.read_bytes().startswith(COMPILED[name]) for path in built.objects)
        return
    (folder / "app.c").write_text(APPLICATION)
    library = f"build/{next((folder / 'build').glob('*.a')).name}"
    command = [*built.compiler.command, "-O0", "-fno-sanitize=undefined", "-Iinclude", "app.c", library, "-o", "app"]
    call(command, built.compiler, folder, "app.c")
    assert made_for((folder / "app").read_bytes()) == LINKED[name]
    if built.exam is not None:
        assert made_for(built.exam.read_bytes()) == LINKED[name]


if WHOLE:  # a hundred megabytes to fetch, and a minute for the C library of the first target

    @pytest.mark.parametrize("name", [*LINKED, *COMPILED])
    def test_packages_for_other_systems_link(name: str, tmp_path: Path) -> None:
        check(name, tmp_path)
