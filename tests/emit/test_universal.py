"""One tree of sources for several processors: the same bytes wherever it is compiled, each time in that processor's own vocabularies."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgec.targets import load_target
from edgec.toolchain import compile_package
from tests.conftest import require
from tests.contract.examiner import STRICT, available, examine, hashes, write_package
from tests.contract.subjects import Net, exam_of, random_float_net, random_net
from tests.contract.variants import ARM, Run

UNIVERSAL = load_target("universal")
ARM32 = "qemu-arm -L /usr/arm-linux-gnueabihf -cpu"
NEON32 = ("-march=armv7-a", "-mfpu=neon")


def emulated(command: str, *runs: tuple[str, str]) -> tuple[Run, ...]:
    return tuple(Run(isa, forced=False, emulator=(*command.split(), cpu)) for cpu, isa in runs)


# compiler, flags, the programs it takes, and what init chooses on which processor
PLACES = {
    "x86-64": ("gcc", (), ("gcc",), (Run("sse41", forced=False),)),
    "plain C": ("gcc", ("-DEDGEC_PORTABLE",), ("gcc",), (Run("portable", threads=2, forced=False),)),
    "arm64": (
        "aarch64-linux-gnu-gcc", (), ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
        emulated(ARM, ("cortex-a53", "neon"), ("cortex-a76", "dotprod"), ("max", "i8mm")),
    ),
    "armv7": ("arm-linux-gnueabihf-gcc", NEON32, ("arm-linux-gnueabihf-gcc", "qemu-arm"), emulated(ARM32, ("cortex-a15", "neon32"))),
    "armv7 without NEON": (
        "arm-linux-gnueabihf-gcc", ("-march=armv7-a", "-mfpu=vfpv3-d16"), ("arm-linux-gnueabihf-gcc", "qemu-arm"),
        emulated(ARM32, ("cortex-a15", "portable")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("make", [random_net, random_float_net])
def test_the_same_sources_answer_alike_everywhere(make, tmp_path: Path) -> None:
    net: Net = make("resnet")
    folder = write_package(tmp_path, net, UNIVERSAL, exam_of(net))
    answers = {}
    for place, (compiler, flags, programs, runs) in PLACES.items():
        require(*programs)
        built = compile_package(folder, UNIVERSAL, compiler, "-O0", (*STRICT, *flags))
        for run in filter(lambda run: available(run.isa), runs):
            answers[place, run.isa] = hashes(examine(built, UNIVERSAL, run))
    assert len(answers) >= 6
    if make is random_net:
        assert len({tuple(answer) for answer in answers.values()}) == 1, answers
