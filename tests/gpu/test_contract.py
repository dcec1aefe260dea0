"""Whole networks as packages on lavapipe: the evaluator's bytes in every variant of the shaders, and silent validation layers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.dialect import Glsl
from edgec.emit.gpu.memory import io_offsets
from edgec.emit.gpu.schedule import schedule
from edgec.emit.gpu.shaders import shaders
from edgec.targets import load_target
from edgec.toolchain import Built, compile_package
from tests.conftest import require
from tests.contract.examiner import STRICT, WHOLE, expected_hashes, hashes
from tests.contract.subjects import FAMILIES, Net, exam_of, program_of, random_float_net, random_net
from tests.gpu.lavapipe import VARIANTS, Step, compile_all, run_steps
from tests.gpu.packages import lavapipe, start, write_vulkan_package
from tests.operators.vulkan import write_package

TARGET = load_target("linux-vulkan")
SMALL = TARGET if WHOLE else replace(TARGET, vocabularies=TARGET.vocabularies[:1])  # its CPU half is others' matter
FLOAT_FAMILIES = FAMILIES if WHOLE else FAMILIES[:2]
TWO = Path(__file__).with_name("two_instances.c")


def build(net: Net, folder: Path) -> Built:
    require("gcc")
    write_vulkan_package(folder, net, SMALL)
    return compile_package(folder, SMALL, "gcc", "-O2" if WHOLE else "-O0", STRICT)


def examine(built: Built, variant: str, validation: str = "core") -> dict[str, Any]:
    """The findings of the exam on the GPU, which fails when an answer is wrong or a validation layer says anything."""
    assert built.exam is not None
    done = start([built.exam, "--json", "--gpu", "--gpu-variant", variant], lavapipe(validation))
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["passed"] and "llvmpipe" in found["gpu"] and not done.stderr
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_int8_packages_give_the_evaluators_bytes_in_every_variant(family: str, tmp_path: Path) -> None:
    net = random_net(family)
    built = build(net, tmp_path)
    found = {tuple(hashes(examine(built, variant))) for variant in VARIANTS}
    assert found == expected_hashes(exam_of(net), net.graph.outputs)


@pytest.mark.parametrize("family", FAMILIES if WHOLE else FAMILIES[:1])
def test_synchronization_validation_has_nothing_to_say(family: str, tmp_path: Path) -> None:
    """It takes a dispatch to use every byte of its buffers: here each one waits for those before it."""
    write_vulkan_package(tmp_path, random_net(family), SMALL)
    (tables,) = (tmp_path / "src").glob("*_gpu_tables.c")
    text, changes = re.subn(r"\d\}, /\* call_", "1}, /* call_", tables.read_text())
    assert changes > 9
    tables.write_text(text)
    examine(compile_package(tmp_path, SMALL, "gcc", "-O0"), VARIANTS[-1], "synchronization")


@pytest.mark.parametrize("family", FLOAT_FAMILIES)
def test_float_packages_agree_with_onnxruntime(family: str, tmp_path: Path) -> None:
    """The tolerance of the CPU, a tenth of what the exam asks of a GPU."""
    built = build(random_float_net(family), tmp_path)
    for variant in VARIANTS:
        found = examine(built, variant)
        assert max(output["difference"] for vector in found["vectors"] for output in vector["outputs"]) <= 1e-4


def test_float_exams_allow_a_gpu_a_thousandth(tmp_path: Path) -> None:
    """Answers that are off by half of that are right on the GPU, by twice of it wrong; the CPU's limit is another one."""
    require("gcc")
    net = random_float_net(FAMILIES[0])
    data, program = exam_of(net), program_of(net, SMALL)
    for shift, on_cpu, on_gpu in ((5e-4, 1, 0), (2e-3, 1, 1)):
        moved = [{name: value + np.float32(shift) * np.abs(value).max() for name, value in answer.items()} for answer in data.outputs]
        write_package(tmp_path, program, SMALL, replace(data, outputs=moved))
        exam = compile_package(tmp_path, SMALL, "gcc", "-O0").exam
        assert exam is not None
        start([exam], {}, status=on_cpu)
        start([exam, "--gpu"], lavapipe(), status=on_gpu)


@pytest.mark.parametrize("make", [random_net, random_float_net], ids=["int8", "float"])
@pytest.mark.parametrize("family", FAMILIES)
def test_calls_between_two_barriers_run_in_any_order(family: str, make: Callable[[str], Net]) -> None:
    """What synchronization validation cannot know: that the schedule's barriers suffice."""
    program = program_of(make(family), TARGET)
    weights = layout_constants(program)
    found = shaders(program, TARGET, Glsl(TARGET.signed_activations))
    plan = schedule(program, ["" if shader is not None else "has none" for shader in found])
    compile_all((shader.source for shader in found if shader is not None), "base")
    arena, io = np.random.default_rng(1).integers(0, 64, (2, max(program.arena_bytes, io_offsets(program)[""])), np.uint8)
    for first, end in plan.segments:
        starts = [first, *(index for index in sorted(plan.barriers) if first < index < end), end]
        groups = [[shader for shader in found[a:b] if shader is not None] for a, b in pairwise(starts)]
        orders = ([shader for group in groups for shader in group[::step]] for step in (1, -1))
        one, other = (
            run_steps([Step(shader.source, shader.grid) for shader in order], arena.tobytes(), weights, io.tobytes()) for order in orders
        )
        assert one == other


def test_two_instances_at_once_are_both_right(tmp_path: Path) -> None:
    net = random_net(FAMILIES[0])
    build(net, tmp_path)
    (tmp_path / TWO.name).write_text(TWO.read_text().replace("NAME", net.name).replace("MACRO", net.name.upper()))
    command = ["gcc", "-std=gnu99", *STRICT, "-Iinclude", "-Iexam", TWO.name, f"exam/{net.name}_vectors.c", f"build/lib{net.name}.a"]
    start([*command, "-o", "two", "-pthread", "-ldl"], {}, folder=tmp_path)
    done = start([tmp_path / "two"], lavapipe("core"))
    assert (done.stdout, done.stderr) == ("right\nright\n", "")
