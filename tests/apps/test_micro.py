"""Packages for microcontrollers: examined where there is no system, and as the libraries that makers of such programs take."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import yaml

import edgec
from edgec.base.errors import GateError, UsageError
from edgec.boards.deploy.parcel import open_parcel
from edgec.cli.main import main
from edgec.package import Package
from edgec.targets import all_targets, command_of, load_target
from tests.apps.micros import CARD, CLANG, SHAPE, digits, model
from tests.conftest import require

BELONGS_TO_COMPILERS = re.compile(r"mem(cpy|move|set)|__aeabi_\w+")
FLAGS = [*CLANG.split(), *load_target("micro").flags]


def test_the_exam_passes_without_a_system() -> None:
    package = digits()
    assert package.examined == ("portable",)
    facts = package.examine()
    assert facts["passed"] and facts["isa"] == "portable" and len(facts["vectors"]) == 3
    assert all(output["exact"] for vector in facts["vectors"] for output in vector["outputs"])


def test_a_wrong_weight_fails_it(tmp_path: Path) -> None:
    copy = tmp_path / "digits"
    shutil.copytree(digits().directory, copy)
    program = copy / "build" / "digits_exam"
    image, source = bytearray(program.read_bytes()), (copy / "src/digits_weights.c").read_bytes()
    line = next(found for found in re.findall(rb'^ {4}"(.*)"$', source, re.MULTILINE) if len(found) > 64)
    piece = re.sub(rb"\\([0-7]{3}|.)", lambda found: bytes([int(found[1], 8)]) if len(found[1]) == 3 else found[1], line)
    image[image.index(piece)] ^= 1
    program.write_bytes(image)
    with pytest.raises(GateError, match="with status 1") as caught:
        Package(copy).examine()
    assert "WRONG" in caught.value.render() and "FAILED" in caught.value.render()


def test_it_runs_over_arrays_and_is_timed(tmp_path: Path) -> None:
    """QEMU counts instructions: what takes them all is the same in each run."""
    package, image = digits(), np.random.default_rng(2).standard_normal(SHAPE).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(model(tmp_path)).run(None, {"image": image})
    with package.load() as loaded:
        (found,) = loaded(image)
        assert np.abs(found - expected).max() < 0.05 * np.abs(expected).max()
        assert loaded(image)[0].tobytes() == found.tobytes()
    times = package.benchmark(0.001, runs=3, samples=2)
    assert times["min_us"] == pytest.approx(times["p99_us"], abs=0.1) and times["min_us"] > 5 and len(times["samples_us"]) == 2
    assert sum(us for *_, us in package.profile(0.001)) == pytest.approx(times["min_us"], rel=0.1)


def test_the_page_of_documentation_compiles(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "micro.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    (tmp_path / "app.c").write_text(code.replace("LOGITS", "SCORES"), encoding="utf-8")
    words = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-ffreestanding", f"-I{digits().directory}/include", "-fsyntax-only"]
    done = subprocess.run([*FLAGS, *words, str(tmp_path / "app.c")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = dict(re.findall(r"^\| `([\w-]+)` \|.*?\|(?: (mps\d-an\d+))?", page, re.MULTILINE))
    bare = {target.name: target.emulator[2] for target in all_targets() if target.os == "none"}
    assert set(rows) == set(bare) and all(rows[name] in (board, "") for name, board in bare.items())


@pytest.mark.thorough
def test_the_commands_of_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("clang", "ld.lld", "qemu-system-arm")
    page = (Path(__file__).parents[2] / "docs" / "micro.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(Path(__file__).parents[2] / "examples")
    assert main(shlex.split(line)[1:]) == 0
    package = Package(tmp_path / "digits-micro")
    assert package.isas() == ["dsp"] and package.examine()["passed"]
    (code,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    (tmp_path / "app.c").write_text(code, encoding="utf-8")
    subprocess.run([*FLAGS, "-std=c99", "-ffreestanding", "-Wall", "-Werror", "-Idigits-micro/include", "-c", "app.c"], check=True)


def test_what_it_cannot_do_is_said(tmp_path: Path) -> None:
    with pytest.raises(GateError) as caught:
        digits().examine(threads=2)
    assert "one thread" in caught.value.render()
    with pytest.raises(UsageError, match="weights in flash"):
        edgec.build(model(tmp_path), target="micro", out=tmp_path / "out", precision="fp32", weights="bin", compile=False)


def test_the_core_asks_for_nothing(needs) -> None:
    """No malloc, no files, no threads: nothing but what compilers call by themselves. Nothing of it is changed in RAM."""
    needs("nm")
    package = digits()
    library = str(package.directory / "build" / "libdigits.a")
    lines = subprocess.run(["nm", "-g", library], capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = [line.split()[-2:] for line in lines if line and not line.endswith(":")]
    defined = {name for kind, name in symbols if kind not in "Uw"}
    foreign = {name for kind, name in symbols if kind in "Uw"} - defined
    assert all(BELONGS_TO_COMPILERS.fullmatch(name) for name in foreign), sorted(foreign)
    assert not [name for kind, name in symbols if kind in "BbDd"]


def test_its_memory_is_said() -> None:
    package = digits()
    flash, ram = (note for note in package.notes if note.startswith(("flash", "RAM")))
    assert f"{package.manifest.weights.bytes:,} are weights" in flash and f"RAM: {package.manifest.arena.bytes:,} bytes" in ram
    taken = int(re.findall(r"[\d,]+", flash)[0].replace(",", ""))
    assert package.manifest.weights.bytes < taken < package.manifest.weights.bytes + 100_000


def test_it_goes_to_emulated_boards() -> None:
    parcel = open_parcel(digits().directory)
    assert (parcel.arch, parcel.os, parcel.checked_listing) == ("cortex-m", "none", "")


def test_every_manifest_names_its_sources() -> None:
    folder = digits().directory
    sources = {f"src/{path.name}" for path in (folder / "src").glob("*.c")}
    assert {"src/digits.c", "src/digits_weights.c"} < sources and not list((folder / "src").glob("*.S"))
    component, zephyr = (folder / "CMakeLists.txt").read_text(), (folder / "zephyr/CMakeLists.txt").read_text()
    assert set(re.findall(r"src/\w+\.c", component)) == set(re.findall(r"src/\w+\.c", zephyr)) == sources
    properties = dict(line.split("=", 1) for line in (folder / "library.properties").read_text().splitlines())
    assert (properties["version"], properties["author"], properties["url"]) == (CARD["version"], CARD["author"], CARD["url"])
    assert properties["sentence"] == CARD["title"] and properties["includes"] == "digits.h"
    library = json.loads((folder / "library.json").read_text(encoding="utf-8"))
    assert (library["name"], library["version"], library["license"]) == ("digits", CARD["version"], CARD["license"])
    known = yaml.safe_load((folder / "idf_component.yml").read_text(encoding="utf-8"))
    assert known == {"version": CARD["version"], "description": library["description"], "license": "MIT", "url": CARD["url"]}
    module = yaml.safe_load((folder / "zephyr/module.yml").read_text(encoding="utf-8"))
    assert all((folder / module["build"][key]).exists() for key in ("cmake", "kconfig"))
    switch = re.findall(r"^config (\w+)$", (folder / "zephyr/Kconfig").read_text(), re.MULTILINE)
    assert switch == ["EDGEC_DIGITS"] and f"if(CONFIG_{switch[0]})" in zephyr


@pytest.mark.thorough
def test_cmake_builds_the_library(tmp_path: Path, needs) -> None:
    """As any project for a Cortex-M does."""
    needs("cmake", "make")
    system = ["-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_SYSTEM_PROCESSOR=arm", "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"]
    compiler = ["-DCMAKE_C_COMPILER=clang", f"-DCMAKE_C_COMPILER_TARGET={CLANG.split('=')[1]}"]
    flags = f"-DCMAKE_C_FLAGS={' '.join(load_target('micro').flags)} -O0 -ffreestanding -I{digits().directory}/exam"
    for command in (
        ["cmake", "-S", str(digits().directory), "-B", str(tmp_path), *system, *compiler, flags, "-DCMAKE_BUILD_TYPE=Debug"],
        ["cmake", "--build", str(tmp_path)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert (tmp_path / "libdigits.a").exists()


@pytest.mark.thorough
def test_make_builds_and_examines_it(tmp_path: Path, needs) -> None:
    needs("make")
    copy = tmp_path / "digits"
    shutil.copytree(digits().directory, copy, ignore=shutil.ignore_patterns("build"))
    done = subprocess.run(["make", "CFLAGS=-O1", "all", "check"], cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "passed: 3 vectors" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]


def test_the_sketch_of_arduino_runs(tmp_path: Path) -> None:
    """As Arduino builds it: the sketch in C++ behind Arduino.h, and all of src/ with no other folder of headers; on the exam's board."""
    require("clang", "ld.lld", "qemu-system-arm")
    package = digits().directory
    core = Path(__file__).parent / "arduino"
    words = ["-O1", "-ffreestanding", "-ffunction-sections", f"-I{package}/src", f"-I{core}", f"-I{package}/exam"]
    sketch = ["-x", "c++", "-std=c++11", "-fno-exceptions", "-fno-rtti", "-include", f"{core}/Arduino.h"]
    sources = {f"{package}/examples/digits/digits.ino": sketch, f"{core}/main.cpp": ["-x", "c++", "-std=c++11"]}
    sources |= {str(path): ["-std=c99"] for path in (package / "src").glob("*.c")}
    sources |= {f"{package}/exam/{name}.c": ["-std=c99"] for name in ("board", "memory", "arm")}
    for number, (source, own) in enumerate(sources.items()):
        subprocess.run([*FLAGS, *words, *own, "-c", source, "-o", str(tmp_path / f"{number}.o")], check=True, capture_output=True)
    objects = [str(tmp_path / f"{number}.o") for number in range(len(sources))]
    script = f"-Wl,-T,{package}/exam/digits_board.ld"
    subprocess.run([*FLAGS, "-nostdlib", "-Wl,--gc-sections", script, "-o", str(tmp_path / "sketch"), *objects], check=True)
    command = command_of(load_target("micro").emulator, str(tmp_path / "sketch"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    answer, _, took = done.stdout.partition("us ")
    assert len(answer.split()) == 10 and int(took.split()[0]) > 5, done.stdout + done.stderr
