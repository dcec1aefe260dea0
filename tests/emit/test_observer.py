"""NAME_set_observer: every call of a run is told once, in the order of the manifest, to whom the instance says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgec.emit import ExamData
from edgec.frontend import from_proto
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.program.program import Program
from edgec.schedule import schedule
from edgec.toolchain import compile_package
from tests.contract import examiner
from tests.contract.subjects import exam_of as exam_of_net
from tests.contract.subjects import random_net
from tests.emit.packages import HOST, write_package
from tests.emit.programs import exam_of, pool_answer, pool_program, random_inputs, small_program, symbolic_program
from tests.operators.loop_cases import loop_cases

pytestmark = pytest.mark.sampled  # by two sets of instructions

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")

PROGRAM = """
#include "NAME_exam.h"
#include <stdio.h>
#include <stdlib.h>

static void *aligned(size_t bytes) {
    char *const memory = (char *)malloc(bytes + MACRO_ARENA_ALIGNMENT);
    return memory + MACRO_ARENA_ALIGNMENT - (size_t)memory % MACRO_ARENA_ALIGNMENT;
}

static void serial(void *user, NAME_task task, void *argument, int32_t parts) {
    (void)user;
    for (int32_t part = 0; part < parts; part++) task(argument, part, parts);
}

static void show(void *user, int32_t call) {
    printf("%s%d ", (const char *)user, (int)call);
}

static void run(NAME_t *instance) {
    unsigned char *tensors[INPUTS + OUTPUTS];
    for (int i = 0; i < INPUTS + OUTPUTS; i++) tensors[i] = (unsigned char *)calloc(exam_ports[i].bytes + 8, 1);
    if (exam_run(instance, exam_vectors[VECTORS].sizes, tensors) != MACRO_OK) exit(1);
    printf("\\n");
}

int main(void) {
    NAME_t first, second;
    first.kernels = NULL;
    if (NAME_set_observer(&first, show, NULL) != MACRO_NOT_INITIALIZED) return 1;
    if (NAME_set_observer(NULL, show, NULL) != MACRO_NOT_INITIALIZED) return 1;
    if (NAME_init(&first, aligned(MACRO_ARENA_BYTES_FOR(3)), MACRO_ARENA_BYTES_FOR(3)) != MACRO_OK) return 1;
    if (NAME_init(&second, aligned(MACRO_ARENA_BYTES), MACRO_ARENA_BYTES) != MACRO_OK) return 1;
    run(&first);
    if (NAME_set_observer(&first, show, "a") != MACRO_OK || NAME_set_observer(&second, show, "b") != MACRO_OK) return 1;
    run(&first);
    run(&second);
    run(&first);
    if (NAME_set_parallel(&first, serial, NULL, 3) != MACRO_OK) return 1;
    run(&first);
    if (NAME_set_observer(&first, NULL, NULL) != MACRO_OK) return 1;
    run(&first);
    printf("%d\\n", MACRO_CALLS);
    return 0;
}
"""


def pool_exam(program: Program) -> ExamData:
    given = random_inputs(program, 1, {"batch": 2})
    return ExamData([given], [{"y": pool_answer(given["x"])}], {"y": True})


def small(folder: Path) -> Path:
    program = small_program()
    return write_package(folder, program, HOST, exam_of(program))


def symbolic(folder: Path) -> Path:
    program = symbolic_program()
    return write_package(folder, program, HOST, exam_of(program, {"batch": 2}))


def pooled(folder: Path) -> Path:
    program = pool_program()
    return write_package(folder, program, HOST, pool_exam(program))


def quantized(folder: Path) -> Path:
    net = random_net("mobilenet")
    return examiner.write_package(folder, net, HOST, exam_of_net(net))


def looped(folder: Path) -> Path:
    """With a loop whose first turn need not begin."""
    case = next(case for case in loop_cases() if case.name == "long_loop_while_below_-9.0")
    graph = from_proto(case.model).graph
    program = schedule(lower(graph, HOST, "looped"), HOST)
    plan(program)
    expected = dict(zip(graph.outputs, case.expected, strict=True))
    return write_package(folder, program, HOST, ExamData([case.inputs], [expected], dict.fromkeys(graph.outputs, True)))


@pytest.mark.parametrize("write", [small, symbolic, pooled, quantized, looped])
def test_every_call_is_told_once_in_the_manifests_order(write: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = write(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    name, calls = manifest["name"], len(manifest["calls"])
    built = compile_package(folder, HOST, "gcc", "-O0")
    (folder / "main.c").write_text(PROGRAM.replace("NAME", name).replace("MACRO", name.upper()))
    objects = [*map(str, built.objects), f"build/{name}_vectors.o"]
    subprocess.run(["gcc", *STRICT, "-Iinclude", "-Iexam", "main.c", *objects, "-o", "main"], cwd=folder, check=True)
    done = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=True)
    a, b = ([f"{letter}{call}" for call in range(calls + 1)] for letter in "ab")
    assert [line.split() for line in done.stdout.splitlines()] == [[], a, b, a, a, [], [str(calls)]]


def test_a_model_that_computes_nothing_has_a_call_all_the_same(tmp_path: Path) -> None:
    import edgec

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(tmp_path / "same.onnx"))
    package = edgec.build(tmp_path / "same.onnx", out=tmp_path / "same", precision="fp32", cc="gcc -O0")
    profile = package.profile(0.01)
    assert [name for name, _, _ in profile] == [call.name for call in package.manifest.calls]
    assert len(profile) == 1
    with package.load() as same:
        assert np.array_equal(same(np.float32([[1, 2, 3]]))[0], [[1, 2, 3]])
