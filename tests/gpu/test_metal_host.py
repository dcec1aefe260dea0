"""The Metal host without a Mac: parsed against stubs of Apple's headers, and run on a fake Metal, which executes the package's own
kernels on the CPU. What it shows is the host's doing: commands, waiting, statuses, memory."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgec.emit.constants import PIECE, layout_constants
from edgec.emit.gpu.dialect import Metal
from edgec.targets import Target, load_target
from edgec.toolchain import compile_package, run_exam
from tests.conftest import once
from tests.contract.examiner import WHOLE
from tests.contract.subjects import Net, exam_of, program_of, random_float_net, random_net
from tests.emit.drafts import drafted, gpu_plan
from tests.emit.packages import write_package
from tests.gpu.fake_metal import call, link, parse_host

HERE = Path(__file__).parent
TARGET = replace(load_target("portable"), gpu="metal")  # its C runs here


def package_of(net: Net, folder: Path, target: Target = TARGET) -> Path:
    return write_package(folder, program_of(net, target), target, exam_of(net))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An int8 net whose softmax is the CPU's."""
    return package_of(random_net("resnet"), tmp_path_factory.mktemp("metal"))


NAME = "resnet_1"


# The package


def embedded(source: str) -> list[str]:
    """The strings of NAME_metal_source, as a compiler reads them."""
    table = source.split("_metal_source[] = {\n")[1].split("    NULL,")[0]
    pieces = table.removesuffix(",\n").split('",\n')
    joined = ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', piece + '"')) for piece in pieces]
    return [re.sub(r"\\(n|.)", lambda found: "\n" if found[1] == "n" else found[1], piece) for piece in joined]


def test_the_shaders_are_a_metal_file_and_the_same_text_in_c(package: Path) -> None:
    pieces = embedded((package / f"src/{NAME}_metal_source.c").read_text())
    assert "".join(pieces) == (package / f"metal/{NAME}.metal").read_text()
    assert all(len(piece.encode()) <= PIECE and piece.endswith("\n") for piece in pieces)
    assert len(pieces) > 5


def test_the_prelude_stands_once_and_every_kernel_has_a_name_of_its_own(package: Path) -> None:
    text = (package / f"metal/{NAME}.metal").read_text()
    layout_constants(program := program_of(random_net("resnet"), TARGET))
    plan = gpu_plan(program, TARGET)
    assert plan is not None and text.startswith(Metal(False).head) and text.count("#include") == 1
    names = re.findall(r"kernel void (\w+)\(", text)
    assert names == [shader.name for shader in plan.shaders] and len(set(names)) == len(names)


def test_the_manifest_says_where_calls_run_and_equal_programs_give_equal_packages(package: Path) -> None:
    facts = json.loads((package / "manifest.json").read_text())
    places = [call["on"] for call in facts["gpu"]["calls"]]
    assert facts["gpu"]["api"] == "metal" and places[0] == "gpu" and set(places) == {"gpu", "cpu"}
    again = drafted(program_of(random_net("resnet"), TARGET), TARGET).files
    assert all((package / path).read_bytes() == content for path, content in again.items())


@pytest.mark.parametrize("name", ["macos-metal", "ios-metal"])
def test_packages_for_apple_hold_the_host_and_the_shaders(name: str) -> None:
    target = load_target(name)
    net = random_float_net("resnet")
    files = drafted(program_of(net, target), target).files
    assert {f"metal/{net.name}.metal", f"src/{net.name}_metal.m", f"include/{net.name}_gpu.h"} <= set(files)
    assert b"MTLMathModeSafe" in files[f"src/{net.name}_metal.m"]


@pytest.mark.parametrize("name", ["macos-metal", "ios-metal"] if WHOLE else ["ios-metal"])
def test_packages_for_apple_build_with_cmake_as_far_as_no_sdk_is_needed(name: str, tmp_path: Path, needs: Any) -> None:
    """Their C with another compiler for the same processor, where it runs too."""
    needs("cmake", "make", "aarch64-linux-gnu-gcc", "qemu-aarch64", "clang")
    package = package_of(random_net("resnet"), tmp_path / "package", load_target(name))
    parse_host(package, "-fobjc-arc", "-fobjc-runtime=macosx-12.0")
    build = tmp_path / "build"
    cross = ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc", "-DCMAKE_BUILD_TYPE=Debug"]
    call("cmake", "-S", str(package), "-B", str(build), *cross)
    call("cmake", "--build", str(build))
    assert "passed" in call("qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu", str(build / f"{NAME}_exam"))


# Without a Mac: sources, and a library that says there is no GPU


def test_the_library_says_no_gpu_where_there_is_no_objective_c(package: Path, tmp_path: Path) -> None:
    shutil.copytree(package, folder := tmp_path / "package")
    built = compile_package(folder, TARGET, optimize="-O1")
    assert run_exam(built, TARGET).returncode == 0
    told = run_exam(built, TARGET, ["--gpu"])
    assert told.returncode != 0 and b"there is no GPU" in told.stderr and b"built without its host" in told.stderr


def test_cmake_builds_the_c_part_and_the_exam_passes(package: Path, tmp_path: Path, needs: Any) -> None:
    needs("cmake", "make", "gcc")
    call("cmake", "-S", str(package), "-B", str(tmp_path), "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_BUILD_TYPE=Debug")
    call("cmake", "--build", str(tmp_path))
    call("ctest", "--test-dir", str(tmp_path), "--output-on-failure")


def test_make_builds_the_c_part(package: Path, tmp_path: Path, needs: Any) -> None:
    needs("make", "gcc")
    shutil.copytree(package, folder := tmp_path / "package")
    call("make", "-C", str(folder), "check", "CFLAGS=-O0")


@pytest.mark.parametrize(
    "flags",
    [
        ("-fobjc-arc", "-fobjc-runtime=macosx-12.0"),
        ("-fobjc-arc", "-fobjc-runtime=macosx-12.0", "-DOLD_SDK"),
        ("-fobjc-arc", "-fobjc-runtime=ios-15.0", "-DTARGET_OS_OSX=0"),
        ("-fno-objc-arc", "-fobjc-runtime=macosx-12.0"),
        ("-x", "objective-c++", "-std=c++17", "-fobjc-arc", "-fobjc-runtime=ios-15.0"),
    ],
    ids=["mac", "old-sdk", "ios", "no-arc", "objective-c++"],
)
def test_the_host_is_objective_c(package: Path, flags: tuple[str, ...]) -> None:
    parse_host(package, *flags)


# On the fake


def link_exam(package: Path, memory: str, folder: Path) -> Path:
    return link(package, memory, sorted(package.glob("exam/*.c")), folder / "exam")


def give(exam: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([exam, "--gpu", "--gpu-verify"], capture_output=True, text=True, env={**os.environ, **environment}, check=False)


BACKWARDS = {"FAKE_BACKWARDS": "1", "FAKE_ORDER": "1"}  # everything that is not ordered happens in another order


@pytest.mark.parametrize("memory", ["arc", "manual"])
def test_an_int8_net_passes_its_exam_on_the_fake_in_any_order(package: Path, tmp_path: Path, memory: str) -> None:
    exam = link_exam(package, memory, tmp_path)
    for environment in ({}, BACKWARDS) if memory == "arc" else (BACKWARDS,):
        given = give(exam, **environment)
        assert given.returncode == 0 and "exact" in given.stdout, given.stdout + given.stderr


def test_without_its_barriers_a_net_fails_on_the_fake(package: Path, tmp_path: Path) -> None:
    shutil.copytree(package, folder := tmp_path / "package")
    tables = folder / f"src/{NAME}_gpu_tables.c"
    tables.write_text(re.sub(r", 1\}, /\* call", ", 0}, /* call", tables.read_text()))
    given = give(link_exam(folder, "arc", tmp_path), **BACKWARDS)
    assert given.returncode != 0 and "cannot use a GPU" in given.stderr  # --gpu-verify sees it first


# Faults


@pytest.fixture(scope="module", params=["arc", "manual"])
def driver(request: pytest.FixtureRequest, package: Path, shared: Path) -> Path:
    text = (HERE / "metal_driver.c").read_text()
    for word, meant in (("INPUT_BYTES", f"{NAME.upper()}_INPUT_X_BYTES"), ("OUTPUT_BYTES", output_bytes(package))):
        text = text.replace(word, meant)

    def make(folder: Path) -> None:
        (folder / "driver.c").write_text(re.sub(r"\bMACRO(?=_)", NAME.upper(), re.sub(r"\bNAME(?=_|\b)", NAME, text)))
        link(package, request.param, [folder / "driver.c"], folder / "driver")

    return once(shared / "metal" / request.param, make) / "driver"


def output_bytes(package: Path) -> str:
    (found,) = set(re.findall(r"\w+_OUTPUT_\w+_BYTES", (package / f"include/{NAME}.h").read_text()))
    return found


@pytest.fixture(scope="module")
def statuses(package: Path) -> dict[int, str]:
    found = re.findall(rf"{NAME.upper()}_(\w+) = (\d+)", (package / f"include/{NAME}.h").read_text())
    return {int(number): name for name, number in found}


def drive(driver: Path, statuses: dict[int, str], *words: str) -> dict[str, Any]:
    done = subprocess.run([driver, *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    facts |= {phase: statuses[facts[phase]] for phase in ("start", "nothing")}
    for phase in ("first", "second", "stopped"):
        facts[phase] = (statuses[facts[phase][0]], facts[phase][1])
    return facts


RIGHT = ("OK", True)


def test_two_runs_on_the_gpu_are_right_and_leave_nothing_behind(driver: Path, statuses: dict[int, str], package: Path) -> None:
    facts = drive(driver, statuses)
    shaders = json.loads((package / "manifest.json").read_text())["gpu"]
    assert (facts["start"], facts["device"], facts["first"], facts["second"]) == ("OK", "Fake GPU 0", RIGHT, RIGHT)
    assert facts["pipelines"] == shaders["shaders"]  # made once
    assert facts["command_buffers"] == 2 * len(shaders["segments"]) + 1 and facts["dispatches"] == 2 * shaders["shaders"]
    assert facts["barriers"] == 2 * len(shaders["barriers"])
    assert (facts["safe_math"], facts["alive"], facts["messages"], facts["stopped"]) == (1, 0, 0, RIGHT)
    assert facts["nothing"] == "OK"  # a command buffer of its own


def test_calls_apart_are_a_command_buffer_each(driver: Path, statuses: dict[int, str], package: Path) -> None:
    facts = drive(driver, statuses, "apart=1")
    count = json.loads((package / "manifest.json").read_text())["gpu"]["shaders"]
    assert facts["first"] == facts["second"] == RIGHT and facts["command_buffers"] == 2 * count + 1 and facts["dispatches"] == 2 * count


def test_other_weights_are_used_from_the_next_run_on(driver: Path, statuses: dict[int, str]) -> None:
    facts = drive(driver, statuses, "other_weights=1")
    assert facts["first"] == facts["second"] == facts["stopped"] == RIGHT and facts["alive"] == 0


REFUSED = [
    (("start.devices=0",), "NO_GPU", "no device"),
    (("device=2",), "NO_GPU", "no device"),
    (("start.no_queue=1",), "GPU_MEMORY", "command queue"),
    (("start.bad_source=1",), "GPU_SHADER", "shaders: fake error 3"),
    (("start.missing_function=3",), "GPU_SHADER", "is not in the library"),
    (("start.bad_pipeline=2",), "GPU_SHADER", "fake error 2"),
    (("start.most_threads=63",), "GPU_UNFIT", "threads in a group"),
    (("start.most_shared=16",), "GPU_UNFIT", "threadgroup memory"),
    (("start.most_bytes=256",), "GPU_MEMORY", "buffers"),
    (("start.missing_buffer=1",), "GPU_MEMORY", "buffers"),
    (("start.missing_buffer=3",), "GPU_MEMORY", "buffers"),
    (("start.missing_buffer=4", "verify=1"), "GPU_MEMORY", "verification"),
    (("start.error=9", "verify=1"), "GPU_LOST", "verification"),
    (("start.delay_ms=400", "timeout=0.05", "verify=1"), "GPU_TIMEOUT", "verification"),
    (("bytes=100",), "BAD_ARGUMENT", ""),
    (("shift=8",), "ARENA_MISALIGNED", ""),
    (("timeout=-1",), "BAD_ARGUMENT", ""),
    (("device=-1",), "BAD_ARGUMENT", ""),
    (("other_variant=1",), "BAD_ARGUMENT", ""),
]


@pytest.mark.parametrize(("words", "status", "said"), REFUSED, ids=[" ".join(item[0]) for item in REFUSED])
def test_a_start_that_fails_says_why_and_leaves_the_cpu(
    driver: Path, statuses: dict[int, str], words: tuple[str, ...], status: str, said: str
) -> None:
    facts = drive(driver, statuses, *words)
    assert facts["start"] == status and said in facts["message"] and (facts["messages"] > 0) == bool(said)
    assert (facts["device"], facts["first"], facts["second"], facts["alive"]) == ("none", RIGHT, RIGHT, 0)


FAILED = [
    (("first.error=2", "second.error=0"), "GPU_TIMEOUT", "OK"),  # the system's own time-out
    (("first.error=3", "second.error=0"), "GPU_LOST", "OK"),
    (("first.error=7", "second.error=0"), "GPU_LOST", "OK"),  # in the background, for instance
    (("first.error=8", "second.error=8"), "GPU_MEMORY", "GPU_MEMORY"),
    (("first.no_commands=1", "second.no_commands=0"), "GPU_MEMORY", "OK"),
    (("first.no_encoder=1", "second.no_encoder=0"), "GPU_MEMORY", "OK"),
    (("start.idle=1", "timeout=0.05", "first.delay_ms=300", "second.delay_ms=0"), "GPU_TIMEOUT", "GPU_TIMEOUT"),
]


@pytest.mark.parametrize(("words", "first", "second"), FAILED, ids=[" ".join(item[0]) for item in FAILED])
def test_a_run_that_fails_is_a_status_and_the_cpu_runs_after_a_stop(
    driver: Path, statuses: dict[int, str], words: tuple[str, ...], first: str, second: str
) -> None:
    facts = drive(driver, statuses, *words)
    assert facts["start"] == "OK" and facts["first"] == (first, False) and facts["second"] == (second, second == "OK")
    assert facts["stopped"] == RIGHT and facts["alive"] == 0 and facts["messages"] > 0


@pytest.mark.parametrize("words", [words for words, _, _ in FAILED], ids=[" ".join(item[0]) for item in FAILED])
def test_the_cpu_does_what_the_gpu_fails_where_the_caller_allows_it(driver: Path, statuses: dict[int, str], words: tuple[str, ...]) -> None:
    facts = drive(driver, statuses, *words, "cpu_on_failure=1")
    assert facts["first"] == facts["second"] == facts["stopped"] == RIGHT and facts["alive"] == 0


@pytest.mark.parametrize("words", [("device=1",), ("device=2", "start.devices=3"), ("verify=1", "start.backwards=1"), ("restart=1",)])
def test_good_starts(driver: Path, statuses: dict[int, str], words: tuple[str, ...]) -> None:
    facts = drive(driver, statuses, *words)
    assert facts["start"] == "OK" and facts["first"] == facts["second"] == RIGHT and facts["alive"] == 0
    assert facts["device"] == ("Fake GPU 1" if "device=2" in words else "Fake GPU 0")


def test_two_instances_share_nothing(driver: Path, statuses: dict[int, str]) -> None:
    facts = drive(driver, statuses, "both=1", "start.devices=2")
    assert facts["first"] == facts["second"] == RIGHT and facts["alive"] == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words", [("both=1", "restart=1"), ("start.bad_pipeline=2",), ("timeout=0.01", "first.delay_ms=300"), ("first.error=3",)]
)
def test_no_memory_is_lost_or_misused(driver: Path, needs: Any, words: tuple[str, ...]) -> None:
    """The runtime keeps its tables to the end; what else is not freed, or used after that, is a fault. No kernels run: valgrind does not
    know the stacks of their threads."""
    needs("valgrind")
    command = ["valgrind", "-q", "--leak-check=full", driver, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "FAKE_IDLE": "1"})
    assert done.returncode == 0 and json.loads(done.stdout)["alive"] == 0, done.stderr
    for block in re.split(r"==\d+== \n", done.stderr):
        assert "__objc_exec_class" in block or not re.search(r"Invalid|uninitialised|definitely lost", block), block


def test_the_example_of_the_page_runs_with_a_library_that_has_no_gpu(package: Path, tmp_path: Path, needs: Any) -> None:
    needs("gcc")
    page = (HERE.parents[1] / "docs/gpu.md").read_text()
    (example,) = re.findall(r"```c\n(.*?)```", page, re.S)
    names = {
        "DIGITS_INPUT_IMAGE": f"{NAME.upper()}_INPUT_X",
        "DIGITS_OUTPUT_LOGITS_ELEMENTS": output_bytes(package).replace("BYTES", "ELEMENTS"),
    }
    for word, meant in (names | {"DIGITS": NAME.upper(), "digits": NAME}).items():
        example = example.replace(word, meant)
    (tmp_path / "main.c").write_text(example)
    sources = [str(path) for path in sorted(package.glob("src/*.c"))]
    call(
        "gcc",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{package}/include",
        f"-I{package}/src",
        str(tmp_path / "main.c"),
        *sources,
        "-pthread",
        "-o",
        str(tmp_path / "main"),
    )
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "GPU none: there is no GPU, or no driver for it\n")
    assert "built without its host" in done.stderr


def test_the_page_has_every_status_and_option(package: Path) -> None:
    page = (HERE.parents[1] / "docs/gpu.md").read_text()
    header = (package / f"include/{NAME}_gpu.h").read_text()
    members = re.sub(r"/\*.*?\*/|\)\(.*?\)", "", header.split("_gpu_options {")[1].split("};")[0])
    options = re.findall(r"(\w+);", members)
    assert len(options) >= 9 and all(f"`{option}`" in page for option in options)
    statuses = re.findall(rf"{NAME.upper()}_(NO_GPU|GPU_\w+) = ", (package / f"include/{NAME}.h").read_text())
    assert len(statuses) == 6 and all(f"`{status}`" in page for status in statuses)
