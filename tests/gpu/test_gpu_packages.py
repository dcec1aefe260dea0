"""Packages for Vulkan as files: what is in them, that every compiler takes them, and how edgec builds and examines them."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import edgec
from edgec.base.codec import encode
from edgec.base.errors import GateError, ToolchainError, UsageError
from edgec.emit import emit_exam
from edgec.emit.gpu.host import GPU_STATUSES
from edgec.emit.gpu.variants import VARIANTS
from edgec.emit.gpu.vulkan import SpirvJob, spirv_file, spirv_jobs
from edgec.package import Package
from edgec.targets import load_target, target_names
from edgec.toolchain import compile_package, compile_shaders, run_exam
from edgec.toolchain.spirv import find_shader_compiler, without_names
from tests.conftest import once, require
from tests.contract.examiner import STRICT, WHOLE
from tests.contract.subjects import program_of, random_float_net, random_net
from tests.contract.test_symbolic import subject
from tests.contract.variants import AARCH64
from tests.emit.drafts import drafted, gpu_plan, offloaded
from tests.gpu.lavapipe import is_wanted
from tests.gpu.packages import lavapipe, start, write_vulkan_package

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
X86, TARGET = load_target("x86-64"), load_target("linux-vulkan")
QUICK = "-O1" if WHOLE else "-O0"
ONE = replace(TARGET, vocabularies=TARGET.vocabularies[:1])
NET = random_net("unet")
VULKAN = [name for name in target_names() if load_target(name).gpu == "vulkan"]


@pytest.fixture
def software(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs that edgec starts find lavapipe alone."""
    require("gcc", "glslangValidator", "spirv-val")
    for name, value in lavapipe().items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def package(shared: Path) -> Path:
    """A package of two segments, compiled."""
    require("gcc")

    def make(folder: Path) -> None:
        compile_package(write_vulkan_package(folder, NET, ONE, shared), ONE, "gcc", QUICK, STRICT)

    return once(shared / "gpu" / "package", make)


# Files


def test_a_package_for_vulkan_is_that_of_its_processor_and_more() -> None:
    """Of the files that both have, only those differ that know of the host, when shaders can read the weights of both."""
    program = program_of(NET, TARGET)
    plain, gpu = (dict(drafted(program, target).files) for target in (X86, TARGET))
    assert set(plain) < set(gpu)
    changed = {
        "include/unet_1.h",
        "src/unet_1.c",
        "src/unet_1_internal.h",
        "src/unet_1_dispatch.c",
        "CMakeLists.txt",
        "Makefile",
        "packaging/unet_1.pc.in",
        "packaging/unet_1Targets.cmake",
    }
    assert {path for path in plain if plain[path] != gpu[path]} == changed
    assert not [path for path, data in plain.items() if b"offload" in bytes(data) or b"gpu" in bytes(data).lower()]


@pytest.mark.parametrize("name", VULKAN)
def test_every_target_with_vulkan_has_the_shaders_and_the_host(name: str) -> None:
    target = load_target(name)
    draft = drafted(program_of(NET, target), target)
    gpu = draft.manifest.gpu
    assert gpu is not None and gpu.glsl is not None and gpu.api == "vulkan" and gpu.shaders > 15 and len(gpu.glsl) == gpu.shaders
    assert set(gpu.glsl) == {path for path in draft.files if path.endswith(".comp")}
    assert {"src/unet_1_vulkan_host.c", "include/unet_1_gpu.h"} <= set(draft.files)


def test_the_manifest_says_where_every_call_runs_and_why() -> None:
    program = program_of(NET, TARGET)
    manifest = encode(drafted(program, TARGET).manifest)
    calls = manifest["gpu"]["calls"]
    assert len(calls) == len(manifest["calls"])
    assert {call["because"] for call in calls if call["on"] == "cpu"} and all(call["group"] for call in calls if call["on"] == "gpu")
    on_gpu = [index for index, call in enumerate(calls) if call["on"] == "gpu"]
    assert on_gpu == [index for first, end in manifest["gpu"]["segments"] for index in range(first, end)]
    assert len(on_gpu) == manifest["gpu"]["shaders"] < len(calls) and set(manifest["gpu"]["barriers"]) < set(on_gpu)


def test_equal_programs_give_equal_shaders(package: Path, tmp_path: Path) -> None:
    again = write_vulkan_package(tmp_path, NET, ONE, None)
    for path in sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file()):
        assert (package / path).read_bytes() == (again / path).read_bytes(), path


def module_of(word: str) -> bytes:
    """The form of SPIR-V: a header and one instruction, whose operands spell the word."""
    operands = word.encode().ljust(400)
    return struct.pack("<6I", 0x07230203, 0x10000, 0, 9, 0, (len(operands) // 4 + 1) << 16 | 5) + operands[:400]


def test_shaders_without_variants_of_their_own_share_one() -> None:
    draft = drafted(program_of(NET, ONE), ONE)
    jobs = spirv_jobs(draft)
    text = spirv_file(draft, [(job, module_of(job.file + job.variant)) for job in jobs])["src/unet_1_shaders.c"].decode()
    assert text.count("static const uint8_t") == len({(job.file, job.variant) for job in jobs}) < 3 * len({job.file for job in jobs})
    same = spirv_file(draft, [(job, module_of("")) for job in jobs])["src/unet_1_shaders.c"].decode()
    assert same.count("static const uint8_t") == 1


def test_every_status_is_in_the_header_and_in_words(package: Path) -> None:
    header, source = (package / "include/unet_1.h").read_text(), (package / "src/unet_1_dispatch.c").read_text()
    for name, words in GPU_STATUSES:
        assert f"UNET_1_{name} = " in header and f'"{words}"' in source


# Compilers


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_every_source_is_cpp17_too(package: Path, compiler: str) -> None:
    require(compiler.replace("clang++", "clang"))
    sources = [str(path.relative_to(package)) for path in sorted(package.glob("*/*.c"))]
    flags = ["-x", "c++", "-std=c++17", *STRICT, "-Iinclude", "-Isrc", "-Iexam", "-fsyntax-only"]
    done = subprocess.run([compiler, *flags, *sources], cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and len(sources) >= 9, done.stderr[:3000]


@pytest.mark.parametrize("compiler", ["gcc -m64", "clang", "arm-linux-gnueabihf-gcc"])
def test_the_host_is_strict_c99(package: Path, compiler: str) -> None:
    """In 32 bits too, where most handles of Vulkan's are numbers."""
    require(compiler.split()[0])
    flags = ["-std=c99", *STRICT, "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Iinclude", "-Isrc", "-fsyntax-only"]
    sources = ["src/unet_1_vulkan_host.c", "src/unet_1_gpu_tables.c", "src/unet_1_shaders.c"]
    done = subprocess.run([*compiler.split(), *flags, *sources], cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


@pytest.mark.thorough
def test_cmake_and_make_build_it_and_the_exam_passes_on_the_gpu(shared: Path, tmp_path: Path) -> None:
    require("cmake", "make", "gcc")
    folder = write_vulkan_package(tmp_path / "package", random_float_net("squeezenet"), ONE, shared)
    built = tmp_path / "cmake"
    for command in (["cmake", "-S", str(folder), "-B", str(built), "-DCMAKE_C_FLAGS=-O0"], ["cmake", "--build", str(built), "-j2"]):
        start(command, {})
    start(["make", "-j2", "all", "CFLAGS=-O0"], {}, folder=folder)
    for program in (built / "squeezenet_1_float_exam", folder / "build/squeezenet_1_float_exam"):
        assert is_wanted(json.loads(start([program, "--json", "--gpu"], lavapipe("core")).stdout)["gpu"])


@pytest.mark.thorough
def test_for_another_processor_it_builds_and_runs_on_the_cpu_where_there_is_no_driver(shared: Path, tmp_path: Path) -> None:
    require(*AARCH64)
    target = load_target("rpi5-vulkan")
    built = compile_package(write_vulkan_package(tmp_path, NET, target, shared), target, AARCH64[0], QUICK, STRICT)
    assert run_exam(built, target).returncode == 0
    refused = run_exam(built, target, ["--gpu"])
    assert refused.returncode == 1 and b"there is no GPU" in refused.stderr


def test_sanitizers_find_nothing(shared: Path, tmp_path: Path) -> None:
    """What LLVM forgets within lavapipe is not ours; test_vulkan_host counts what is."""
    require("gcc")
    flags = ("-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    built = compile_package(write_vulkan_package(tmp_path, NET, ONE, shared, "c"), ONE, "gcc", QUICK, flags)
    assert built.exam is not None
    start([built.exam, "--gpu", "--gpu-verify", "--gpu-cache", tmp_path / "cache"], {**lavapipe(), "ASAN_OPTIONS": "detect_leaks=0"})


# The compiler of shaders


def job(text: str) -> SpirvJob:
    return SpirvJob("vulkan/000_test.comp", text, "base", (), "vulkan1.0")


def test_without_a_compiler_of_shaders_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("ANDROID_NDK_HOME", raising=False)
    monkeypatch.delenv("ANDROID_NDK_ROOT", raising=False)
    with pytest.raises(ToolchainError, match="apt install") as error:
        compile_shaders([job("")])
    assert "ANDROID_NDK_HOME" in str(error.value) and "brew" in str(error.value)
    assert compile_shaders([]) == []


def test_the_ndk_has_a_compiler_of_shaders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    glslc = tmp_path / "shader-tools/linux-x86_64/glslc"
    glslc.parent.mkdir(parents=True)
    glslc.write_text("#!/bin/sh\n")
    glslc.chmod(0o755)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("ANDROID_NDK_HOME", str(tmp_path))
    assert find_shader_compiler().command == str(glslc) and find_shader_compiler().check == ""


def test_a_shader_that_is_refused_is_named() -> None:
    require("glslangValidator")
    good = "#version 450\nlayout(local_size_x = 1) in;\nvoid main() {}\n"
    with pytest.raises(ToolchainError, match="refuses a shader") as error:
        compile_shaders([job(good), job("#version 450\nvoid main() { nonsense(); }\n")])
    assert "vulkan/000_test.comp" in str(error.value) and "nonsense" in str(error.value)


def test_both_compilers_give_shaders_that_are_valid_without_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("glslangValidator", "glslc", "spirv-val")
    jobs = [item for item in spirv_jobs(drafted(program_of(NET, ONE), ONE)) if "007" in item.file]
    assert len(jobs) >= 2
    found = {name: str(shutil.which(name)) for name in ("glslangValidator", "glslc", "spirv-val")}
    for name in ("glslangValidator", "glslc"):
        folder = tmp_path / name
        folder.mkdir()
        for tool in (name, "spirv-val"):
            (folder / tool).symlink_to(found[tool])
        monkeypatch.setenv("PATH", str(folder))
        assert Path(find_shader_compiler().command).name == name
        codes = [code for _, code in compile_shaders(jobs)]
        assert all(without_names(code) == code and b"arena_words" not in code for code in codes) and len(codes) == len(jobs)


def test_something_else_than_spirv_is_refused() -> None:
    for code in (b"", b"\x07\x23\x02\x03" + bytes(16), b"\x03\x02\x23\x07" + bytes(17)):
        with pytest.raises(ToolchainError, match="something else than little-endian SPIR-V"):
            without_names(code)


# edgec


def test_edgec_builds_a_package_for_vulkan_and_runs_it_on_the_gpu(software: None, tmp_path: Path) -> None:
    built = edgec.build(
        DIGITS / "digits.onnx", calib=DIGITS / "calibration.npz", target="linux-vulkan", cc="gcc -O0", out=tmp_path / "digits"
    )
    assert built.has_gpu and built.finds_gpu()
    on_gpu, on_cpu = built.examine(gpu=True), built.examine()
    assert is_wanted(on_gpu.pop("gpu")) and on_gpu == on_cpu
    assert is_wanted(built.benchmark(0.01, gpu=True)["gpu"]) and "gpu" not in built.benchmark(0.01)
    assert len(built.profile(0.01, gpu=True)) == len(built.manifest.calls)
    sample = np.load(DIGITS / "calibration.npz")["image"][:1]
    with built.load(gpu=True) as gpu, built.load() as cpu:
        np.testing.assert_array_equal(gpu(sample)[0], cpu(sample)[0])
    files = built.manifest.files
    assert "src/digits_shaders.c" in files and all((built.directory / path).stat().st_size == facts.bytes for path, facts in files.items())


def test_a_wrong_answer_on_the_gpu_fails_the_exam(package: Path, tmp_path: Path, software: None) -> None:
    """A shader that does not run is enough; the processor's own answers stay right."""
    folder = tmp_path / "package"
    shutil.copytree(package, folder)
    (tables,) = folder.glob("src/*_gpu_tables.c")
    less, changes = re.subn(r"\{\d+, 1, 1\}, (\d+, 1, .*/\* call_5_)", r"{1, 1, 1}, \1", tables.read_text())
    assert changes == 1 and less != tables.read_text()
    tables.write_text(less)
    built = compile_package(folder, ONE, "gcc", QUICK)
    assert Package(folder).examine()["passed"]
    with pytest.raises(GateError):
        Package(folder).examine(gpu=True)
    done = run_exam(built, ONE, ["--gpu", "--gpu-verify"])
    assert done.returncode == 1 and b"its answers are wrong" in done.stderr


def test_a_package_without_a_gpu_says_so(software: None, tmp_path: Path) -> None:
    built = edgec.build(DIGITS / "digits.onnx", precision="fp32", target="portable", cc="gcc -O0", out=tmp_path / "digits")
    assert not built.has_gpu and not built.finds_gpu()
    with pytest.raises(UsageError, match="nothing of this package runs on a GPU"):
        built.examine(gpu=True)
    done = start([built.directory / "build/digits_exam", "--gpu"], {}, status=1)
    assert "the package has nothing for one" in done.stderr


def test_a_missing_driver_is_an_error_and_not_a_silent_run_on_the_cpu(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VK_ICD_FILENAMES", "VK_DRIVER_FILES"):
        monkeypatch.setenv(name, "/none")
    manifest = json.loads((package / "manifest.json").read_text())
    assert manifest["gpu"]["shaders"] > 0
    found = Package(package)
    assert not found.finds_gpu()
    with pytest.raises(GateError) as error:
        found.examine(gpu=True)
    assert "there is no GPU" in str(error.value)


def test_sizes_chosen_at_run_time_stay_on_the_cpu_and_say_why(tmp_path: Path) -> None:
    require("gcc")
    net, data = subject("int8")
    program = program_of(net, ONE)
    plan = gpu_plan(program, ONE)
    assert plan is not None and not plan.shaders and set(plan.calls) == {"has symbolic sizes"}
    draft = drafted(program, ONE)
    draft = draft.plus({**emit_exam(program, ONE, data), **spirv_file(draft, [])})
    for name, content in draft.complete().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    built = compile_package(tmp_path, ONE, "gcc", "-O0", STRICT)
    assert run_exam(built, ONE).returncode == 0
    refused = run_exam(built, ONE, ["--gpu"])
    assert refused.returncode == 1 and b"the GPU lacks what the package needs" in refused.stderr


def test_a_target_has_no_gpu_unless_it_says_so() -> None:
    assert set(VULKAN) >= {"linux-vulkan", "linux-arm64-vulkan", "rpi5-vulkan", "android-vulkan"}
    assert load_target("rpi5-vulkan").vocabularies == load_target("rpi5").vocabularies and not load_target("rpi5").gpu
    assert offloaded(program_of(NET, X86), X86) is None and [variant.name for variant in VARIANTS[:3]] == ["base", "bytes", "dot4"]
