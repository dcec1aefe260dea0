"""One tree of sources for several processors: the same bytes wherever it is compiled, each time in that processor's own vocabularies."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from edgec.boards.board.board import Facts
from edgec.boards.board.fitness import unfit
from edgec.boards.deploy.parcel import open_parcel
from edgec.boards.device import Device
from edgec.emit.kernels import runtime_text
from edgec.targets import load_target
from edgec.toolchain import compile_package
from tests.conftest import require
from tests.contract.examiner import STRICT, WHOLE, available, examine, hashes, write_package
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


# (net, where it is compiled); floats may differ by their own tolerance, so that other places than these say no more
CASES = [(random_net, tuple(PLACES)), (random_float_net, tuple(PLACES) if WHOLE else ("x86-64", "armv7"))]


@pytest.mark.parametrize(("make", "places"), [pytest.param(*CASES[0], marks=pytest.mark.thorough), CASES[1]], ids=["int8", "float"])
def test_the_same_sources_answer_alike_everywhere(make: Callable[[str], Net], places: tuple[str, ...], tmp_path: Path) -> None:
    net = make("resnet")
    folder = write_package(tmp_path, net, UNIVERSAL, exam_of(net))
    answers = {}
    for place in places:
        compiler, flags, programs, runs = PLACES[place]
        require(*programs)
        built = compile_package(folder, UNIVERSAL, compiler, "-O0", (*STRICT, *flags))
        for run in filter(lambda run: available(run.isa), runs):
            answers[place, run.isa] = hashes(examine(built, UNIVERSAL, run))
    assert len(answers) == sum(len(PLACES[place][3]) for place in places if available(PLACES[place][3][0].isa))
    if make is random_net:
        assert len({tuple(answer) for answer in answers.values()}) == 1, answers


def test_an_android_package_is_for_any_board_and_says_what_its_program_has(tmp_path: Path) -> None:
    require("gcc")
    net, target = random_net("mobilenet"), load_target("android")
    folder = write_package(tmp_path, net, target, exam_of(net))
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["arch"] == "universal" and manifest["vocabularies"] == list(target.vocabularies)
    compile_package(folder, target, "gcc", "-O0")
    parcel = open_parcel(folder)
    board = Device("board", "host", "local")
    if parcel.arch == "x86_64":
        assert parcel.vocabularies == ("sse41",)
        for feature, problems in (("sse4_1", 0), ("sse2", 1)):
            here = Facts(archs=("x86_64",), os="linux", features=frozenset({feature}))
            assert len(unfit(here, board, parcel.arch, parcel.os, parcel.vocabularies)) == problems
    assert not unfit(Facts(archs=("aarch64",), os="android"), board, target.arch, target.os, target.vocabularies)


CHOICE = """
static int asked;
#if defined(__APPLE__)
#include <stddef.h>
#include <string.h>
int sysctlbyname(const char *name, void *value, size_t *bytes, void *new_value, size_t new_bytes) {
    asked += *bytes == sizeof(int) && new_value == NULL && new_bytes == 0;
    *(int *)value = strcmp(name, "hw.optional.arm.FEAT_DotProd") == 0 || strcmp(name, "hw.optional.arm.FEAT_I8MM") == 0
        || strcmp(name, "hw.optional.arm.FEAT_FP16") == 0;
    return 0;
}
#endif
#include "dispatch.h"
#include <stdio.h>
int main(void) { return printf("%u %u %d", edgec_cpu(0), edgec_cpu_from_hwcap(1u << 20 | 1u << 10, 1u << 13), asked) < 0; }
"""


@pytest.mark.parametrize(
    ("release", "flags", "said"),
    [
        ("4.10.0-old", (), "0 112 0"),
        ("4.11.0", (), "112 112 0"),
        ("3.18.124+", (), "0 112 0"),
        ("6.1.0-rpi8-rpi-v8", (), "112 112 0"),
        ("6.1.0", ("-D__APPLE__", "-U__linux__"), "112 112 3"),
    ],
)
def test_what_arm64_systems_tell_is_asked_without_a_library(release: str, flags: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """Linux before 4.11 ends programs that read the processor's registers; Apple's systems have names for what they support."""
    require("aarch64-linux-gnu-gcc", "qemu-aarch64")
    (tmp_path / "main.c").write_text(CHOICE)
    (tmp_path / "dispatch.h").write_text(runtime_text("dispatch.h"))
    command = ["aarch64-linux-gnu-gcc", "-std=c99", "-O1", *STRICT, *flags, "-static", "main.c", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(["qemu-aarch64", "-cpu", "max", "-r", release, str(tmp_path / "main")], capture_output=True, check=True)
    assert done.stdout.decode() == said
