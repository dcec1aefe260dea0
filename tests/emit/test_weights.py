"""The weights that a package takes from its caller are those that it was built with, by their SHA-256."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgec.base.resources import resource
from edgec.emit import emit_sources, layout_constants
from edgec.targets import load_target
from edgec.toolchain import compile_package
from tests.contract.examiner import write_package
from tests.contract.subjects import exam_of, program_of, random_float_net, random_net

HASH = """
#include "sha256.h"
#include <stdio.h>

/* The digest of each length of a sequence of bytes, given in pieces of each of the sizes. */
int main(void) {
    static unsigned char bytes[300];
    const size_t pieces[] = {1, 7, 63, 64, 65, 300};
    for (int i = 0; i < 300; i++) bytes[i] = (unsigned char)(i * 37 + i / 7);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        for (int i = 0; i < 6; i++) {
            struct edgec_sha256 hash;
            unsigned char digest[EDGEC_SHA256_BYTES];
            char text[65];
            edgec_sha256_begin(&hash);
            for (size_t at = 0; at < length; at += pieces[i]) {
                edgec_sha256_add(&hash, bytes + at, length - at < pieces[i] ? length - at : pieces[i]);
            }
            edgec_sha256_end(&hash, digest);
            edgec_sha256_text(digest, text);
            puts(text);
        }
    }
    return 0;
}
"""

PROGRAM = """
#include "NAME.h"
#include <stdlib.h>
#include <string.h>

int main(void) {
    NAME_t net;
    unsigned char *const weights = aligned_alloc(64, MACRO_WEIGHTS_BYTES);
    if (NAME_init(&net, aligned_alloc(64, MACRO_ARENA_BYTES), MACRO_ARENA_BYTES) != MACRO_OK) return 1;
    const void *const own = NAME_weights_in_use(&net);
    memcpy(weights, own, MACRO_WEIGHTS_BYTES);
    if (NAME_set_weights(&net, weights, MACRO_WEIGHTS_BYTES) != MACRO_OK || NAME_weights_in_use(&net) != weights) return 2;
    if (NAME_set_weights(&net, own, MACRO_WEIGHTS_BYTES) != MACRO_OK || NAME_weights_in_use(&net) != own) return 3;
    for (size_t i = 0; i < MACRO_WEIGHTS_BYTES; i += MACRO_WEIGHTS_BYTES / 16 + 1) {
        weights[i] ^= 1u << i % 8;
        if (NAME_set_weights(&net, weights, MACRO_WEIGHTS_BYTES) != MACRO_BAD_WEIGHTS || NAME_weights_in_use(&net) != own) return 4;
        weights[i] ^= 1u << i % 8;
    }
    if (NAME_set_weights(&net, weights + 1, MACRO_WEIGHTS_BYTES) != MACRO_ARENA_MISALIGNED) return 5;
    if (NAME_set_weights(&net, weights, MACRO_WEIGHTS_BYTES - 1) != MACRO_BAD_ARGUMENT) return 6;
    weights[0] ^= 1;
    if (NAME_set_weights_unchecked(&net, weights, MACRO_WEIGHTS_BYTES) != MACRO_OK || NAME_weights_in_use(&net) != weights) return 7;
    if (NAME_set_weights_unchecked(&net, weights, MACRO_WEIGHTS_BYTES + 1) != MACRO_BAD_ARGUMENT) return 8;
    return 0;
}
"""


def test_pieces_of_any_length_have_the_hash_of_the_whole(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(HASH)
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", f"-I{resource('runtimes', 'c')}"]
    subprocess.run(["gcc", *flags, "-o", "main", "main.c"], cwd=tmp_path, check=True)
    found = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    data = bytes((i * 37 + i // 7) % 256 for i in range(300))
    assert found == [hashlib.sha256(data[:length]).hexdigest() for length in range(301) for _ in range(6)]


def test_a_package_refuses_the_weights_of_another(tmp_path: Path) -> None:
    net, target = random_net("squeezenet"), load_target("portable")
    folder = write_package(tmp_path, net, target, exam_of(net), "c")
    built = compile_package(folder, target, "gcc", "-O0", ("-fsanitize=address,undefined",))
    assert built.library is not None
    (folder / "main.c").write_text(PROGRAM.replace("NAME", net.name).replace("MACRO", net.name.upper()))
    command = ["gcc", "-std=gnu11", "-Iinclude", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "main.c"]
    subprocess.run([*command, "-o", "main", str(built.library), "-pthread"], cwd=folder, check=True)
    assert subprocess.run(["./main"], cwd=folder, check=False, env={"ASAN_OPTIONS": "detect_leaks=0"}).returncode == 0


def test_large_weights_are_written_as_c_only_where_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    target = load_target("portable")
    program = program_of(random_float_net("squeezenet"), target)

    def has(weights: str = "incbin", literals: bool = False) -> bool:
        return f"src/{program.name}_weights.c" in emit_sources(program, target, weights, literals=literals).files

    assert has()
    monkeypatch.setattr("edgec.emit.package.MOST_LITERALS", len(layout_constants(program)) - 1)
    assert not has() and has(literals=True) and has("c") and not has("bin")
    assert b"--weights c" in bytes(emit_sources(program, target).files["CMakeLists.txt"])


def test_weights_lie_in_the_blob_once() -> None:
    program = program_of(random_float_net("squeezenet"), load_target("portable"))
    before = {name: buffer.data.tobytes() for name, buffer in program.buffers.items() if buffer.data is not None}
    blob = layout_constants(program)
    assert layout_constants(program).obj is blob.obj
    for name, data in before.items():
        buffer = program.buffers[name]
        assert buffer.address is not None and buffer.address % 64 == 0 and bytes(blob[buffer.address :][: len(data)]) == data
        assert buffer.data is not None and buffer.data.tobytes() == data and np.shares_memory(buffer.data, np.asarray(blob))
