"""What has no place in a target's integers is refused with a reason, and what has one is addressed right."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from edgec.base.budget import Budget, spending
from edgec.base.errors import ModelError
from edgec.emit import emit_sources
from edgec.frontend import from_proto
from edgec.ir.types import Symbol
from edgec.lower import lower
from edgec.lower.limits import check_limits
from edgec.lower.plan import plan
from edgec.passes import optimize
from edgec.program.program import Program
from edgec.schedule import schedule
from edgec.targets import load_target
from edgec.toolchain import compile_package
from tests.conftest import require
from tests.contract.examiner import write_package
from tests.contract.subjects import exam_of, random_net

GIB = 1 << 30


def softmax_twice(rows: int, target: str, batch: int = 0) -> Program:
    """Two tensors of rows x 4 floats in the arena."""
    shape = ["N", rows // batch, 4] if batch else [rows, 4]
    nodes = [helper.make_node("Softmax", ["x"], [name], axis=axis) for name, axis in (("a", 0), ("b", -1))]
    nodes += [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("ReduceMax", ["s"], ["y"], keepdims=0)]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, "large", given, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with spending(Budget(tensors=64 * GIB)):
        net = from_proto(model, {"x": (Symbol("N", batch), rows // batch, 4)} if batch else {}).graph
        optimize(net)
        program = schedule(lower(net, load_target(target), "large"), load_target(target))
    plan(program)
    return program


@pytest.mark.parametrize(
    ("target", "batch", "why"),
    [
        ("rpi-32bit", 0, "armv7 has"),
        ("android-armv7", 0, "armv7 has"),
        ("wasm", 0, "wasm32 has"),
        ("linux-vulkan", 0, "shaders"),
        ("x86-64", 4, "open sizes"),
    ],
)
def test_an_arena_of_6_gb_is_refused_where_it_has_no_place(target: str, batch: int, why: str) -> None:
    program = softmax_twice(200_000_000, target, batch)
    with pytest.raises(ModelError, match=f"arena: 6,4[0-9,]* bytes, .*{why}"):
        check_limits(program, load_target(target))
    check_limits(softmax_twice(4000, target, batch), load_target(target))


def test_an_arena_whose_parts_take_2_gb_once_they_are_aligned_is_refused() -> None:
    target = load_target("rpi-32bit")
    program = softmax_twice(4000, target.name)
    program.scratch_bytes = 2**31 - 64 - program.arena_bytes
    check_limits(program, target)
    program.scratch_bytes += 1
    with pytest.raises(ModelError, match="arena: 2,147,483,648 bytes, armv7 has"):
        check_limits(program, target)


def test_a_tensor_of_more_elements_than_an_index_counts_is_refused() -> None:
    with pytest.raises(ModelError, match="2\\^31 - 1 is the most"):
        softmax_twice(600_000_000, "x86-64")


@pytest.mark.parametrize("target", ["x86-64", "linux-arm64"])
def test_places_beyond_2_gb_are_written_in_full(target: str) -> None:
    program = softmax_twice(300_000_000, target)
    check_limits(program, load_target(target))
    far = max(buffer.address or 0 for buffer in program.buffers.values())
    assert far > 2**31
    assert f"run->arena + {far})" in emit_sources(program, load_target(target)).files["src/large.c"].decode()


def test_sources_for_any_processor_do_not_compile_for_too_small_ones(tmp_path: Path) -> None:
    require("gcc", "arm-linux-gnueabihf-gcc")
    target = load_target("portable")
    for path, content in emit_sources(softmax_twice(300_000_000, "portable"), target, "bin").files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    for compiler, fits in (("gcc", True), ("arm-linux-gnueabihf-gcc", False)):
        command = [compiler, "-std=c99", "-Iinclude", "-Isrc", "-c", "src/large.c", "-o", "large.o"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == fits and ("needs_a_64_bit_processor" in done.stderr) != fits, done.stderr


THREADS = """
#include "NAME.h"
#include "NAME_pool.h"
#include <stdlib.h>

static void never(void *user, NAME_task task, void *argument, int32_t parts) { abort(); }

int main(void) {
    NAME_t net;
    void *arena = NULL;
    if (posix_memalign(&arena, MACRO_ARENA_ALIGNMENT, MACRO_ARENA_BYTES_FOR(2)) != 0) return 1;
    if (NAME_init(&net, arena, MACRO_ARENA_BYTES_FOR(2)) != MACRO_OK) return 2;
    if (NAME_set_parallel(&net, never, NULL, 2) != MACRO_OK) return 3;
    for (int32_t threads = 3; threads > 0 && threads <= INT32_MAX / 2; threads *= 2) { /* 3 * 2^n, and then what wraps to 0 and 1 */
        if (NAME_set_parallel(&net, never, NULL, threads) != MACRO_ARENA_TOO_SMALL) return 4;
        if (NAME_pool_start(arena, 64 + sizeof(struct NAME_pool), threads + 1000) != NULL) return 5;
    }
    const uint64_t wrapped = ((uint64_t)1 << 32) / (MACRO_ARENA_BYTES_FOR(1) - MACRO_ARENA_BYTES_FOR(0)) + 1;
    if (NAME_set_parallel(&net, never, NULL, (int32_t)wrapped) != MACRO_ARENA_TOO_SMALL) return 6;
    const uint64_t workers = ((uint64_t)1 << 32) / sizeof(struct NAME_worker) + 1;
    return workers <= INT32_MAX && NAME_pool_start(arena, 64 + sizeof(struct NAME_pool), (int32_t)workers) != NULL ? 7 : 0;
}
"""


def test_no_number_of_threads_wraps_to_a_small_one(tmp_path: Path) -> None:
    """On 32 bits the arena for 2^32 / scratch + 1 threads seems to be that for one."""
    require("arm-linux-gnueabihf-gcc", "qemu-arm")
    net, target = random_net("squeezenet"), load_target("rpi-32bit")
    write_package(tmp_path, net, target, exam_of(net), "c")
    built = compile_package(tmp_path, target, "arm-linux-gnueabihf-gcc", "-O1")
    (tmp_path / "main.c").write_text(THREADS.replace("NAME", net.name).replace("MACRO", net.name.upper()))
    sources = ["main.c", f"build/lib{net.name}.a"]
    command = [*built.compiler.command, "-std=gnu99", *target.flags, "-static", "-Iinclude", "-o", "main", *sources, "-pthread"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([*target.emulator, "./main"], cwd=tmp_path, check=False).returncode == 0
