"""The C interface as an application uses it: statuses, memory limits, sizes, and guard pages around the arena."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from edgec.toolchain import compile_package
from tests.emit.packages import HOST, write_package
from tests.emit.programs import exam_of, symbolic_program

pytestmark = pytest.mark.sampled  # by two sets of instructions

PROGRAM = """
#define _DEFAULT_SOURCE
#include "anysize.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define EXPECT(condition) do { if (!(condition)) { printf("line %d: %s\\n", __LINE__, #condition); return 1; } } while (0)

static int calls;
static void serial(void *user, anysize_task task, void *argument, int32_t parts) {
    (void)user;
    calls++;
    for (int32_t part = parts - 1; part >= 0; part--) task(argument, part, parts);
}

int main(void) {
    const size_t page = 4096, pages = (ANYSIZE_ARENA_BYTES_FOR(2) + page - 1) / page;
    unsigned char *memory = (unsigned char *)mmap(NULL, (pages + 2) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(mprotect(memory + page, pages * page, PROT_READ | PROT_WRITE) == 0);
    unsigned char *const arena = memory + (pages + 1) * page - ANYSIZE_ARENA_BYTES_FOR(2); /* ends where the guard page begins */
    anysize_t net, other;
    float x[ANYSIZE_INPUT_X_ELEMENTS], y[ANYSIZE_OUTPUT_Y_ELEMENTS];
    for (int i = 0; i < ANYSIZE_INPUT_X_ELEMENTS; i++) x[i] = (float)i;
    memset(&net, 0, sizeof net);
    EXPECT(anysize_run(&net, 1, x, y) == ANYSIZE_NOT_INITIALIZED);
    EXPECT(anysize_init(&net, arena, ANYSIZE_ARENA_BYTES - 1) == ANYSIZE_ARENA_TOO_SMALL);
    EXPECT(anysize_run(&net, 1, x, y) == ANYSIZE_NOT_INITIALIZED);
    EXPECT(anysize_init(&net, arena + 1, ANYSIZE_ARENA_BYTES) == ANYSIZE_ARENA_MISALIGNED);
    EXPECT(anysize_init(&net, NULL, ANYSIZE_ARENA_BYTES) == ANYSIZE_BAD_ARGUMENT);
    EXPECT(anysize_init(&net, arena, ANYSIZE_ARENA_BYTES_FOR(2)) == ANYSIZE_OK);
    EXPECT(anysize_run(&net, 0, x, y) == ANYSIZE_BAD_SIZE);
    EXPECT(anysize_run(&net, ANYSIZE_MAX_BATCH + 1, x, y) == ANYSIZE_BAD_SIZE);
    EXPECT(anysize_run(&net, 1, NULL, y) == ANYSIZE_BAD_ARGUMENT);
    EXPECT(anysize_run(&net, ANYSIZE_MAX_BATCH, x, y) == ANYSIZE_OK);
    EXPECT(y[0] == 2.0f * x[ANYSIZE_INPUT_X_ELEMENTS - 4]);
    EXPECT(anysize_force_isa(&net, "no such") == ANYSIZE_NO_SUCH_ISA);
    EXPECT(anysize_force_isa(&net, "BASELINE") == ANYSIZE_OK && strcmp(anysize_isa(&net), "BASELINE") == 0);
    EXPECT(anysize_set_parallel(&net, serial, NULL, 2) == ANYSIZE_OK);
    EXPECT(anysize_run(&net, 2, x, y) == ANYSIZE_OK && calls == 0 && y[0] == 2.0f * x[4]); /* too small to be handed over */
    EXPECT(anysize_set_shares(&net, 0, 0) == ANYSIZE_BAD_ARGUMENT && anysize_set_shares(&net, 1, -2) == ANYSIZE_BAD_ARGUMENT);
    EXPECT(anysize_set_shares(&net, ANYSIZE_MAX_BLOCKS + 1, 0) == ANYSIZE_BAD_ARGUMENT);
    EXPECT(anysize_set_shares(&net, 1, 0) == ANYSIZE_OK);
    EXPECT(anysize_run(&net, 2, x, y) == ANYSIZE_OK && calls == 2 && y[0] == 2.0f * x[4]);
    EXPECT(anysize_set_shares(&net, ANYSIZE_MAX_BLOCKS, 0) == ANYSIZE_OK);
    EXPECT(anysize_run(&net, 2, x, y) == ANYSIZE_OK && calls == 4 && y[0] == 2.0f * x[4]);
    EXPECT(anysize_set_parallel(&net, NULL, NULL, 2) == ANYSIZE_BAD_ARGUMENT);
    EXPECT(anysize_init(&other, arena, ANYSIZE_ARENA_BYTES) == ANYSIZE_OK);
    EXPECT(anysize_set_weights(&other, arena, 1) == ANYSIZE_BAD_ARGUMENT);
    EXPECT(anysize_reset(&other) == ANYSIZE_OK && strcmp(anysize_strerror(0), "done") == 0);
    EXPECT(ANYSIZE_ABI_VERSION >= 1 && ANYSIZE_INT8_CONTRACT >= 1);
    return 0;
}
"""


def test_the_interface_keeps_its_word(tmp_path: Path) -> None:
    program = symbolic_program()
    folder = write_package(tmp_path, program, HOST, exam_of(program, {"batch": 2}))
    built = compile_package(folder, HOST, None, "-O1")
    (folder / "main.c").write_text(PROGRAM.replace("BASELINE", HOST.vocabularies[0]))
    command = ["cc", "-std=c99", "-Iinclude", "main.c", *map(str, built.objects), "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_build_files_build_and_check(tmp_path: Path, needs) -> None:
    needs("make", "cmake")
    program = symbolic_program()
    folder = write_package(tmp_path, program, HOST, exam_of(program, {"batch": 2}))
    subprocess.run(["make", "-s", "all", "check", "CFLAGS=-O1"], cwd=folder, check=True, capture_output=True)
    assert (folder / "build/libanysize.so").exists()
    subprocess.run(["cmake", "-S", ".", "-B", "cmake", "-DCMAKE_BUILD_TYPE=Debug"], cwd=folder, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", "cmake"], cwd=folder, check=True, capture_output=True)
    subprocess.run(["ctest"], cwd=folder / "cmake", check=True, capture_output=True)
