"""`--precision fp16` on the command line: which targets have it, what its packages answer, and the commands of the documents."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from edgec.cli.verbs import parse
from edgec.targets import all_targets, load_target
from tests.calling import Program

ROOT = Path(__file__).parents[2]
PAGES = ("docs/usage.md", "docs/raspberry-pi.md", "docs/android.md")


def documented(page: str) -> list[str]:
    """The command of a page."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
    (found,) = (line for block in blocks for line in block.splitlines() if "--precision fp16" in line)
    return shlex.split(found)[1:]


@pytest.mark.parametrize("page", PAGES)
def test_the_documents_commands_are_understood(page: str) -> None:
    assert parse(documented(page)).verb == "build"


def test_targets_without_half_arithmetic_say_which_have_it(program: Program) -> None:
    able = [target.name for target in all_targets() if target.half_vocabularies and not target.gpu]
    assert able == ["android-arm64", "ios-arm64", "linux-arm64", "macos-arm64", "rpi5"]
    for name in ("rpi4", "rpi-zero2", "x86-64", "wasm"):
        done = program("build", "digits.onnx", "--precision", "fp16", "--target", name)
        done.failed(2, f"{name} has no fp16: its processors do not compute with halves", f"or for {', '.join(able)}")
    done = program("build", "digits.onnx", "--precision", "fp16", "--target", "rpi5-vulkan")
    done.failed(2, "rpi5-vulkan has no fp16: its shaders have --gpu-precision float16")


def test_a_plan_says_the_sets_of_kernels(program: Program) -> None:
    plan = program("build", "digits.onnx", "--precision", "fp16", "--target", "rpi5", "--dry-run", "--json").json["plan"]
    assert (plan["precision"], plan["vocabularies"]) == ("fp16", ["neon", "fp16"])


def test_codes_are_not_halves(program: Program, package: Path) -> None:
    done = program("build", package / "model.int8.onnx", "--precision", "fp16", "--target", "rpi5", "--no-compile")
    done.failed(2, "the model has codes in it, which halves do not hold", "--precision fp32")


def test_states_are_not_halves(program: Program) -> None:
    done = program("build", "digits.onnx", "--precision", "fp16", "--target", "rpi5", "--state", "h:h_next", "--dry-run")
    done.failed(2, "--precision: fp16 is for models without states", "a state adds up what halves round away")


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES)
def test_the_documents_packages_pass_their_exam(program: Program, needs, work: Path, page: str) -> None:
    """With both sets of kernels, and the same bytes with any number of threads."""
    needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
    words = ["digits.onnx" if word.endswith("/digits.onnx") else word for word in documented(page)]
    done = program(*words, "--cc", "aarch64-linux-gnu-gcc", "--json")
    assert done.json["exam"] == "passed" and done.json["examined"] == ["neon", "fp16"]
    if page == PAGES[0]:
        exam = [*load_target("rpi5").emulator, "digits-halves/build/digits_exam", "--json", "--threads"]
        answers = [json.loads(subprocess.run([*exam, str(count)], capture_output=True, check=True).stdout) for count in (1, 2, 3, 8)]
        assert {answer["isa"] for answer in answers} == {"fp16"} and len({json.dumps(answer["vectors"]) for answer in answers}) == 1
