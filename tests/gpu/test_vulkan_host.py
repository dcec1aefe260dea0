"""The Vulkan host: right answers on lavapipe under validation; on a fake Vulkan every failure as a status, with nothing left behind."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from edgec.targets import load_target
from edgec.toolchain import compile_package
from tests.conftest import once, require
from tests.contract.examiner import STRICT, WHOLE
from tests.contract.subjects import random_net
from tests.gpu.lavapipe import is_wanted
from tests.gpu.packages import lavapipe, start, write_vulkan_package

HERE = Path(__file__).parent
TARGET = load_target("linux-vulkan")
SMALL = TARGET if WHOLE else replace(TARGET, vocabularies=TARGET.vocabularies[:1])  # its CPU half is others' matter
STARTS = 50 if WHOLE else 10
OK, RIGHT = "done", "run done right"
NO_GPU, UNFIT = "there is no GPU, or no driver for it", "the GPU lacks what the package needs, or its answers are wrong"
MEMORY, LOST = "the GPU has not enough memory", "the GPU failed: stop it, and start it again"
TIMEOUT, SHADER = "the GPU did not answer in time: stop it", "the GPU's driver refuses a shader"
BAD = "a pointer is NULL or a number is out of its range"


@pytest.fixture(scope="module")
def program(shared: Path) -> Path:
    """driver.c with a package of two segments and steps of the processor's between them."""
    require("gcc")
    net = random_net("unet")

    def make(folder: Path) -> None:
        write_vulkan_package(folder, net, SMALL, shared)
        compile_package(folder, SMALL, "gcc", "-O1" if WHOLE else "-O0", (*STRICT, "-g"))
        (folder / "driver.c").write_text((HERE / "driver.c").read_text().replace("NAME", net.name).replace("MACRO", net.name.upper()))
        link(folder, net.name, "driver")

    return once(shared / "gpu" / "host", make) / "driver"


def link(folder: Path, name: str, program: str, *sources: str) -> Path:
    """driver.c with the package's library, and with sources that come before those of the library."""
    command = ["gcc", "-std=c99", "-g", "-Wall", "-Wextra", "-Iinclude", "-Iexam", "-Isrc", "-o", program, "driver.c", *sources]
    subprocess.run([*command, f"exam/{name}_vectors.c", f"build/lib{name}.a", "-pthread", "-ldl"], cwd=folder, check=True)
    return folder / program


def hasty(program: Path) -> Path:
    """The same program, but no shader waits for those before it."""
    folder = program.parent
    (tables,) = (folder / "src").glob("*_gpu_tables.c")
    text, changes = re.subn(r"1, (\{\{.*\}\}\}, /\* call_)", r"0, \1", tables.read_text())
    assert changes > 9
    (folder / "hasty.c").write_text(text)
    return link(folder, tables.name.removesuffix("_gpu_tables.c"), "hasty", "hasty.c")


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose libvulkan.so.1 is fake_vulkan.c."""
    require("gcc")
    folder = tmp_path_factory.mktemp("fake")
    command = ["gcc", "-O1", "-g", "-Wall", "-Wextra", "-fPIC", "-shared", str(HERE / "fake_vulkan.c"), "-o", "libvulkan.so.1"]
    subprocess.run(command, cwd=folder, check=True)
    return folder


def on_lavapipe(program: Path, *words: str, validation: str = "core") -> list[str]:
    """The lines of the driver; what validation layers say, of objects that were forgotten too, fails."""
    done = start([program, *(["messages=1"] if validation else []), *words], lavapipe(validation))
    lines = done.stdout.splitlines()
    assert lines[-1] == "messages 0" and not any("ERROR" in line for line in lines), done.stdout[:4000]
    return lines[:-1]


class Told:
    """What the driver said on the fake Vulkan, what was left when the library was unloaded, and how often its functions were called."""

    def __init__(self, program: Path, fake: Path, *words: str, prefix: tuple[str, ...] = (), **settings: str) -> None:
        report = program.parent / f"report.{os.getpid()}"
        report.unlink(missing_ok=True)
        environment = {
            "LD_LIBRARY_PATH": str(fake),
            "FAKE_REPORT": str(report),
            **{f"FAKE_{key}": value for key, value in settings.items()},
        }
        self.lines = start([*prefix, program, *words], environment).stdout.splitlines()[:-1]
        reports = report.read_text().splitlines()
        self.unloaded = len(reports)
        fields = reports[-1].replace("memory ", "memory_").replace("no extensions", "no_extensions").split()
        self.counts = {name: int(value) for name, value in zip(fields[::2], fields[1::2], strict=True)}
        self.clean = self.counts["live"] == 0 and self.counts["early"] == 0


# On lavapipe


@pytest.mark.parametrize("variant", ["base", "bytes", "dot4"])
def test_every_answer_is_right_in_every_variant(program: Path, variant: str) -> None:
    words = [f"variant={variant}", "verify=1", "start", "run", "run", "stop", "run"]
    assert on_lavapipe(program, *words) == [f"start {OK}", RIGHT, RIGHT, RIGHT]


def test_synchronization_validation_is_silent_and_is_not_when_shaders_do_not_wait(program: Path) -> None:
    for variant in ("base", "dot4"):
        words = [f"variant={variant}", "start", "run", "run"]
        assert on_lavapipe(program, *words, validation="synchronization") == [f"start {OK}", RIGHT, RIGHT]
    done = start([hasty(program), "messages=1", "start", "run"], lavapipe("synchronization"))
    assert "SYNC-HAZARD-READ-AFTER-WRITE" in done.stdout


def test_two_instances_run_side_by_side(program: Path) -> None:
    words = ["start", "instance=1", "variant=base", "start", "run", "instance=0", "run", "stop", "instance=1", "run", "instance=0", "run"]
    assert on_lavapipe(program, *words) == [f"start {OK}"] * 2 + [RIGHT] * 4


def test_a_gpu_starts_and_stops_many_times_and_leaves_nothing(program: Path) -> None:
    assert on_lavapipe(program, "cycle=3") == ["cycle 3"]
    assert on_lavapipe(program, f"cycle={STARTS}", "start", "run", validation="") == [f"cycle {STARTS}", f"start {OK}", RIGHT]


def test_a_second_start_takes_the_place_of_the_first(program: Path) -> None:
    assert on_lavapipe(program, "start", "start", "run", "stop", "stop", "name") == [f"start {OK}"] * 2 + [RIGHT, "name none"]


def test_other_weights_reach_the_gpu(program: Path) -> None:
    assert on_lavapipe(program, "start", "run", "weights", "run", "weights=64", "run", "stop", "run") == [
        f"start {OK}", RIGHT, RIGHT, "run done wrong", "run done wrong",
    ]  # fmt: skip


def test_a_device_has_a_name(program: Path) -> None:
    (_, name) = on_lavapipe(program, "start", "name")
    assert is_wanted(name)


def test_validation_layers_have_ears_here(program: Path) -> None:
    """The tests above have teeth: a loader that is told of layers and of this host's messages passes them on."""
    done = start([program, "messages=1", "device=9", "start", "run"], lavapipe("core"))
    assert f"message choosing a device: {NO_GPU}" in done.stdout and RIGHT in done.stdout


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["variant=fast"], BAD), (["timeout=-1"], BAD), (["timeout=nan"], BAD), (["device=-1"], BAD), (["device=2"], NO_GPU),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused_and_the_processor_goes_on(program: Path, words: list[str], status: str) -> None:
    assert on_lavapipe(program, *words, "start", "name", "run", validation="") == [f"start {status}", "name none", RIGHT]


def test_memory_that_is_too_small_or_misaligned_is_refused(program: Path) -> None:
    lines = on_lavapipe(program, "small", "shifted", "run", validation="")
    assert lines == [f"start {BAD}", "start the memory is not aligned to 64 bytes", RIGHT]


def test_without_a_driver_there_is_no_gpu(program: Path, tmp_path: Path) -> None:
    for environment in ({"VK_ICD_FILENAMES": "/none", "VK_DRIVER_FILES": "/none"}, {"LD_LIBRARY_PATH": str(tmp_path)}):
        (tmp_path / "libvulkan.so.1").write_text("no library")
        (tmp_path / "libvulkan.so").write_text("no library")
        done = start([program, "start", "run"], environment)
        assert done.stdout.splitlines()[:2] == [f"start {NO_GPU}", RIGHT]


def test_a_cache_is_written_once_read_again_and_replaced_when_it_is_wrong(program: Path, tmp_path: Path) -> None:
    """Drivers may write other bytes each time: what was replaced is known by its being left alone."""
    cache = tmp_path / "cache"
    words = [f"cache={cache}", "start", "run"]

    def started() -> tuple[bytes, int]:
        assert on_lavapipe(program, *words) == [f"start {OK}", RIGHT]
        return cache.read_bytes(), cache.stat().st_ino

    content, _ = first = started()
    assert started() == first, "written again without need"
    changed = bytes([*content[:30], content[30] ^ 1, *content[31:]])
    for wrong in (b"", b"rubbish" * 99, content[:-1], content[:20], changed, content[:8] + b"\xff" * 8 + content[16:]):
        cache.write_bytes(wrong)
        replaced = started()
        assert replaced[0] != wrong and started() == replaced
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_a_cache_that_cannot_be_written_is_no_error(program: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "folder", tmp_path, Path("/" + "long" * 2000)):
        assert on_lavapipe(program, f"cache={path}", "start", "run", validation="") == [f"start {OK}", RIGHT]


def test_valgrind_finds_nothing(program: Path, fake: Path, tmp_path: Path) -> None:
    require("valgrind")
    prefix = ("valgrind", "-q", "--leak-check=full", "--error-exitcode=9")
    words = [f"cache={tmp_path / 'cache'}", "cycle=2", "verify=1", "start", "verify=0", "start", "run", "stop", "run"]
    told = Told(program, fake, *words, prefix=prefix)
    assert told.clean and told.lines == ["cycle 2", f"start {UNFIT}", f"start {OK}", "run done wrong", RIGHT]


# On the fake Vulkan


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("vkEnumerateInstanceVersion:-1", OK), ("vkCreateInstance:-9", NO_GPU), ("vkCreateInstance:-3", NO_GPU),
        ("vkCreateInstance:-1", MEMORY), ("vkEnumeratePhysicalDevices:-3", NO_GPU), ("vkEnumeratePhysicalDevices:5", OK),
        ("vkCreateDevice:-8", UNFIT), ("vkCreateDevice:-7", UNFIT), ("vkCreateDevice:-4", LOST), ("vkCreateDevice:-2", MEMORY),
        ("vkCreateBuffer:-2:2", MEMORY), ("vkAllocateMemory:-2", MEMORY), ("vkAllocateMemory:-2:3", MEMORY),
        ("vkAllocateMemory:-4:2", LOST),
        ("vkMapMemory:-5", MEMORY), ("vkBindBufferMemory:-2:3", MEMORY), ("vkCreateDescriptorSetLayout:-1", MEMORY),
        ("vkCreatePipelineLayout:-1", MEMORY), ("vkCreateDescriptorPool:-1", MEMORY), ("vkAllocateDescriptorSets:-1000069000", MEMORY),
        ("vkCreatePipelineCache:-1", MEMORY), ("vkCreateShaderModule:-1000012000:4", SHADER), ("vkCreateShaderModule:-1:2", MEMORY),
        ("vkCreateComputePipelines:-13:7", SHADER), ("vkCreateComputePipelines:-2:5", MEMORY), ("vkGetPipelineCacheData:-1", OK),
        ("vkCreateCommandPool:-1", MEMORY), ("vkAllocateCommandBuffers:-2", MEMORY), ("vkBeginCommandBuffer:-1:2", MEMORY),
        ("vkEndCommandBuffer:-2", MEMORY), ("vkCreateFence:-1", MEMORY),
    ],
)  # fmt: skip
def test_a_start_that_fails_leaves_nothing_behind_and_the_processor_goes_on(
    program: Path, fake: Path, fault: str, status: str, tmp_path: Path
) -> None:
    told = Told(program, fake, f"cache={tmp_path / 'cache'}", "start", "stop", "run", "run", FAULTS=fault)
    assert told.lines == [f"start {status}", RIGHT, RIGHT] and told.clean and told.unloaded == 1


@pytest.mark.parametrize(
    "name", ["vkCreateInstance", "vkEnumeratePhysicalDevices", "vkCmdDispatch", "vkCreateComputePipelines", "vkDestroyDevice"]
)
def test_a_library_without_a_function_is_no_vulkan(program: Path, fake: Path, name: str) -> None:
    """What cannot be destroyed stays; nothing is called that is not there."""
    assert Told(program, fake, "start", "run", MISSING=name).lines == [f"start {NO_GPU}", RIGHT]


def test_a_device_that_is_lost_says_so_until_it_is_started_again(program: Path, fake: Path) -> None:
    for fault in ("vkQueueSubmit:-4:2-2", "vkWaitForFences:-4:2-2"):
        words = ["instance=1", "start", "instance=0", "start", "run", "run", "name", "stop", "run", "start", "run"]
        told = Told(program, fake, *words, FAULTS=fault)
        assert told.lines[1:] == [f"start {OK}", f"run {LOST}", f"run {LOST}", 'name fake "2"', RIGHT, f"start {OK}", "run done wrong"]
        assert told.counts["live"] == 0 and told.unloaded == 1


def test_a_device_that_answers_too_late_is_left_alone(program: Path, fake: Path) -> None:
    told = Told(program, fake, "start", "run", "run", "stop", "run", FAULTS="vkWaitForFences:2:1-1")
    assert told.lines == [f"start {OK}", f"run {TIMEOUT}", f"run {TIMEOUT}", RIGHT]
    assert told.counts["vkQueueSubmit"] == 1 and told.counts["vkWaitForFences"] == 2 and told.clean, "waited for when it stops"


def test_what_a_device_that_never_answers_may_write_to_is_not_freed(program: Path, fake: Path) -> None:
    told = Told(program, fake, "start", "run", "stop", "run", FAULTS="vkWaitForFences:2")
    assert told.lines == [f"start {OK}", f"run {TIMEOUT}", RIGHT]
    assert told.counts["live"] > 10 and "vkDestroyDevice" not in told.counts


def test_the_processor_answers_in_place_of_a_gpu_that_failed_when_it_may(program: Path, fake: Path) -> None:
    for fault in ("vkQueueSubmit:-4:2-2", "vkWaitForFences:2:2-2", "vkQueueSubmit:-2"):
        assert Told(program, fake, "cpu=1", "start", "run", "run", FAULTS=fault).lines == [f"start {OK}", RIGHT, RIGHT]


def test_memory_that_is_short_for_once_is_no_lost_device(program: Path, fake: Path) -> None:
    told = Told(program, fake, "start", "run", "run", FAULTS="vkQueueSubmit:-1:1-1")
    assert told.lines == [f"start {OK}", f"run {MEMORY}", "run done wrong"] and told.clean


def test_wrong_answers_are_found_out(program: Path, fake: Path) -> None:
    told = Told(program, fake, "verify=1", "start", "run")
    assert told.lines == [f"start {UNFIT}", RIGHT] and told.clean


def test_a_verification_that_fails_says_why(program: Path, fake: Path) -> None:
    for fault, status in (("vkQueueSubmit:-4", LOST), ("vkWaitForFences:2:1-1", TIMEOUT), ("vkQueueSubmit:-2", MEMORY)):
        told = Told(program, fake, "verify=1", "cpu=1", "start", "run", FAULTS=fault)
        assert told.lines == [f"start {status}", RIGHT] and told.clean


@pytest.mark.parametrize(
    ("settings", "variant"),
    [
        ({}, "dot4"), ({"DOT": "0"}, "bytes"), ({"BYTES": "0"}, "base"), ({"EVEN": "0"}, "base"), ({"VERSION": "0"}, "base"),
        ({"VERSION": "1"}, "dot4"), ({"VERSION": "1", "DOT": "0"}, "bytes"), ({"VERSION": "2"}, "dot4"),
    ],
)  # fmt: skip
def test_the_best_variant_that_a_device_has_the_features_of_is_taken(
    program: Path, fake: Path, settings: dict[str, str], variant: str
) -> None:
    order = ["base", "bytes", "dot4"]
    for name in order:
        told = Told(program, fake, f"variant={name}", "start", **settings)
        fits = order.index(name) <= order.index(variant)
        assert told.lines == [f"start {OK if fits else UNFIT}"] and told.clean
        if fits:
            needs = {"base": False, "bytes": settings.get("VERSION", "3") < "2", "dot4": settings.get("VERSION", "3") < "3"}[name]
            assert ("extensions" in told.counts) == needs, "features of later versions are extensions of earlier ones"


@pytest.mark.parametrize("setting", [{"INVOCATIONS": "32"}, {"QUEUE": "4"}, {"RANGE": "64"}, {"DEVICES": ""}])
def test_a_device_without_what_is_needed_is_refused(program: Path, fake: Path, setting: dict[str, str]) -> None:
    status = {"INVOCATIONS": UNFIT, "QUEUE": NO_GPU, "RANGE": MEMORY, "DEVICES": NO_GPU}[next(iter(setting))]
    told = Told(program, fake, "start", "run", **setting)
    assert told.lines == [f"start {status}", RIGHT] and told.clean


@pytest.mark.parametrize(("devices", "best"), [("4,1,2", 2), ("4,1,3", 1), ("4,3", 3), ("4", 4), ("0,4", 0), ("9,4", 9), ("2,2", 2)])
def test_a_card_comes_before_a_part_of_the_processor_and_software_last(program: Path, fake: Path, devices: str, best: int) -> None:
    assert Told(program, fake, "start", "name", DEVICES=devices).lines[1] == f'name fake "{best}"'
    assert Told(program, fake, "device=1", "start", "name", DEVICES=devices).lines[1] == f'name fake "{devices[0]}"'


def test_memory_of_another_kind_is_taken_when_the_best_is_used_up(program: Path, fake: Path) -> None:
    plain = Told(program, fake, "start")
    assert plain.counts["memory_3"] == 1 and plain.counts["memory_2"] == 3, "weights near the GPU, the rest and unpacked code quick to read"
    short = Told(program, fake, "start", FAULTS="memory 3:-2,memory 2:-2:2")
    assert short.lines == [f"start {OK}"] and short.clean and short.counts["memory_1"] >= 1


def test_a_vulkan_without_debug_messages_starts_all_the_same(program: Path, fake: Path) -> None:
    told = Told(program, fake, "messages=1", "start")
    assert told.lines == [f"start {OK}"] and told.counts["vkCreateInstance"] == 2 and told.clean
