"""States on a GPU: they go there and come back, once where a run succeeds, and stay as they were where it fails."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgec.base.part import Part
from edgec.emit import ExamData
from edgec.exam.reference import FloatModel
from edgec.exam.streaming import streamed
from edgec.frontend import from_proto
from edgec.passes import optimize
from edgec.toolchain import compile_package
from tests.conftest import once, require
from tests.contract.examiner import STRICT
from tests.contract.subjects import Net
from tests.gpu.packages import write_vulkan_package
from tests.gpu.test_vulkan_host import HERE, LOST, OK, RIGHT, SMALL, link, on_lavapipe
from tests.states import STATES, model_of

SEGMENTS = {"average": 1, "cache": 2}  # of a step; the processor scatters the cache's row between them
STEPS, OTHERS = 4, 2  # of a stream, and of another one behind it
RUN = ["reset", "run"]


def asked(net: Net) -> ExamData:
    """Two streams of whole numbers, whose answers are exact in any order; the first goes on from what is there."""
    generator, types = np.random.default_rng(4), net.original.types
    inputs = [
        {
            name: generator.integers(-3, 4, types[name].static_shape).astype(types[name].dtype.numpy) * types[name].dtype.is_float
            for name in net.original.given
        }
        for _ in range(STEPS + OTHERS)
    ]
    found = [answers for part in (inputs[:STEPS], inputs[STEPS:]) for answers in streamed(net.original, FloatModel(net.original), part)]
    answers = [dict(zip(net.original.answered, answer, strict=True)) for answer in found]
    return ExamData(inputs, answers, dict.fromkeys(net.original.answered, True), anew=[STEPS])


@pytest.fixture(params=SEGMENTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def program(name: str, shared: Path) -> Path:
    """driver.c with the package."""
    require("gcc")
    text, states = STATES[name]
    original = from_proto(model_of(text), part=Part(states=states)).graph
    net = Net(name, original, original.copy())
    optimize(net.graph)

    def make(folder: Path) -> None:
        write_vulkan_package(folder, net, SMALL, shared, data=asked(net))
        compile_package(folder, SMALL, "gcc", "-O0", STRICT)
        (folder / "driver.c").write_text((HERE / "driver.c").read_text().replace("NAME", name).replace("MACRO", name.upper()))
        link(folder, name, "driver")

    return once(shared / "gpu" / f"states-{name}", make) / "driver"


def test_every_step_has_the_state_of_the_one_before(program: Path) -> None:
    """Also the first one after a verification, and when the processor takes over."""
    words = ["run", *RUN, "verify=1", "start", "run", *RUN, "stop", *RUN, "run"]
    wrong = "run done wrong"  # what goes on from another state
    assert on_lavapipe(program, *words, validation="synchronization") == [RIGHT, RIGHT, f"start {OK}", RIGHT, RIGHT, RIGHT, wrong]


def test_a_step_that_fails_on_the_gpu_begins_again_on_the_processor(name: str, program: Path) -> None:
    tries = range(1, (STEPS + OTHERS) * SEGMENTS[name] + 1)
    words = [word for number in tries for word in (*RUN[:1], f"fail={number}", *RUN[1:])]
    assert on_lavapipe(program, "cpu=1", "start", *words, validation="") == [f"start {OK}", *[RIGHT] * len(tries)]


def test_a_step_that_fails_leaves_the_state_as_it_was(name: str, program: Path) -> None:
    words = [word for number in range(1, SEGMENTS[name] + 1) for word in ("reset", f"fail={number}", "run", "run")]
    assert on_lavapipe(program, "start", *words, validation="") == [f"start {OK}", *[f"run {LOST}", RIGHT] * SEGMENTS[name]]
