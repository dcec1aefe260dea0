"""Whole networks as packages on lavapipe: the evaluator's bytes in every variant of the shaders, and silent validation layers."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgec.targets import load_target
from edgec.toolchain import Built, compile_package
from tests.conftest import once, require
from tests.contract.examiner import STRICT, WHOLE, expected_hashes, hashes
from tests.contract.subjects import FAMILIES, Net, exam_of, program_of, random_float_net, random_net
from tests.gpu.lavapipe import VARIANTS, is_wanted
from tests.gpu.packages import lavapipe, start, write_vulkan_package
from tests.operators.vulkan import write_package

TARGET = load_target("linux-vulkan")
SMALL = TARGET if WHOLE else replace(TARGET, vocabularies=TARGET.vocabularies[:1])  # its CPU half is others' matter
INT8_FAMILIES, FLOAT_FAMILIES = (FAMILIES, FAMILIES) if WHOLE else (FAMILIES[3:], FAMILIES[:2])  # every net but the largest in one kind
TWO = Path(__file__).with_name("two_instances.c")


def build(net: Net, shared: Path) -> Built:
    """The package, once for all tests of a run."""
    require("gcc")
    record = "built.pickle"

    def make(folder: Path) -> None:
        write_vulkan_package(folder, net, SMALL, shared)
        built = compile_package(folder, SMALL, "gcc", "-O2" if WHOLE else "-O0", STRICT)
        (folder / record).write_bytes(pickle.dumps(built))

    built: Built = pickle.loads((once(shared / "gpu" / net.name, make) / record).read_bytes())
    return built


def examine(built: Built, variant: str, validation: str = "synchronization") -> dict[str, Any]:
    """The findings of the exam on the GPU, which fails when an answer is wrong or a validation layer says anything."""
    assert built.exam is not None
    done = start([built.exam, "--json", "--gpu", "--gpu-variant", variant], lavapipe(validation))
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["passed"] and is_wanted(found["gpu"]) and not done.stderr
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("family", INT8_FAMILIES)
def test_int8_packages_give_the_evaluators_bytes_in_every_variant(family: str, shared: Path) -> None:
    net = random_net(family)
    built = build(net, shared)
    found = {tuple(hashes(examine(built, variant))) for variant in VARIANTS}
    assert found == expected_hashes(exam_of(net), net.graph.outputs)


@pytest.mark.sampled
@pytest.mark.parametrize("family", FLOAT_FAMILIES)
def test_float_packages_agree_with_onnxruntime(family: str, shared: Path) -> None:
    """The tolerance of the CPU, a tenth of what the exam asks of a GPU."""
    built = build(random_float_net(family), shared)
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


def test_two_instances_at_once_are_both_right(shared: Path, tmp_path: Path) -> None:
    net = random_net(FAMILIES[0])
    exam = build(net, shared).exam
    assert exam is not None
    package = exam.parents[1]
    (tmp_path / TWO.name).write_text(TWO.read_text().replace("NAME", net.name).replace("MACRO", net.name.upper()))
    command = ["gcc", "-std=gnu99", *STRICT, "-Iinclude", "-Iexam", tmp_path / TWO.name, f"exam/{net.name}_vectors.c"]
    start([*command, f"build/lib{net.name}.a", "-o", tmp_path / "two", "-pthread", "-ldl"], {}, folder=package)
    done = start([tmp_path / "two"], lavapipe("core"))
    assert (done.stdout, done.stderr) == ("right\nright\n", "")
