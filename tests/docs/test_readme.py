"""README and docs: every command block is run, in order, in a folder that holds the examples; lists are the code's own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import onnx
import pytest

import edgec
from edgec.base.budget import Budget, parse_budget
from edgec.base.errors import DeviceError, EdgecError, GateError, ModelError, ToolchainError, UsageError
from edgec.cli.verbs import VERBS
from edgec.emit import INT8_CONTRACT
from edgec.emit.vocabularies import VOCABULARIES
from edgec.quant.given.preprocess import Preprocess
from edgec.settings import FILE, ConfigFile, resolve
from edgec.settings.config import FLAGS
from tests.calling import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What a line of a README stands for here: `make` sets up an environment, which CI does itself, with the demo in it
STANDS_FOR = {f"make {rule}": f"grep -q '^{rule}:' Makefile" for rule in ("demo", "test")}
STANDS_FOR["pip install digits-py/dist/*.whl"] = f"{sys.executable} -m pip install -q --no-index --no-deps -t site digits-py/dist/*.whl"
NDK = "ndk"  # a folder as Android's has it, for a clang that does not optimize
# 200 boxes, of which the first numbers of 200 rows say which are there
DETECTOR = """<ir_version: 9, opset_import: ["" : 18]> detector (float[200,5] image) => (float[N,4] boxes) {
  parts = Constant<value_ints = [1, 4]>()  score, all = Split<axis = 1>(image, parts)  half = Constant<value_float = 0.5>()
  is = Greater(score, half)  flat = Constant<value_ints = [-1]>()  there = Reshape(is, flat)  boxes = Compress<axis = 0>(all, there)
}"""
# Language of a block -> the file that it is
FILES = {"c": "app.c", "cpp": "app.cpp", "js": "app.mjs"}


def blocks(text: str, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(text) if kind == language]


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a user has it after a clone and `pip install .`"""
    place = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "examples", place / "examples")
    shutil.copy(ROOT / "Makefile", place)
    clang = place / NDK / "toolchains/llvm/prebuilt/here/bin/clang"
    clang.parent.mkdir(parents=True)
    clang.write_text('#!/bin/sh\nexec clang "$@" -O0\n')
    clang.chmod(0o755)
    return place


def run(command: str, folder: Path) -> str:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": "site",
        "CC": "gcc -O0",
        "ANDROID_NDK_HOME": str(folder / NDK),
        "EDGEC_CACHE": "yes",  # as users have it
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    if "--target wasm" in command:
        environment["CC"] = "clang --target=wasm32 -O0"
    done = subprocess.run(["sh", "-ec", command], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.long
def test_every_block_of_the_readme_works_in_order(folder: Path, needs: Callable[..., None]) -> None:
    """The foreign board needs its compiler and emulator, the GPU a compiler of shaders and Mesa's Vulkan on the CPU, the web clang."""
    needs("aarch64-linux-gnu-gcc", "qemu-aarch64", "glslangValidator", "g++", "clang", "wasm-ld", "node")
    outputs: dict[str, str] = {}
    for language, body in BLOCK.findall(README):
        if language in FILES:
            (folder / FILES[language]).write_text(body)
        elif language == "python":
            (folder / "snippet.py").write_text(body)
            predicted, actual = run(f"{sys.executable} snippet.py", folder).split()
            assert predicted == actual
        elif language == "sh":
            for line in body.splitlines():
                outputs[line] = run(STANDS_FOR.get(line, line), folder)
    assert re.match(r"done with \w+: logits\[0\] = -?\d", outputs["./app"])
    said = [outputs["./app-cpp"], run("node app.mjs", folder)]
    numbers = [re.search(r"logits\[0\] = (-?[\d.]+)", text) for text in (outputs["./app"], *said)]
    assert len({round(float(number[1]), 5) for number in numbers if number}) == 1 and all(numbers), "one model, one answer"
    assert "passed: 3 vectors" in outputs["digits-gpu/build/digits_exam --gpu"]
    assert (folder / "logits.npz").exists() and (folder / "digits-rpi4-int8").is_dir()
    for line in section("A first package").splitlines():
        for path in re.findall(r"`([\w./*]+)`", line.split("|")[1]) if line.startswith("| `") else []:
            assert list((folder / "digits").glob(path.rstrip("/"))), f"{path} is not in the package"


@pytest.mark.thorough
def test_the_demo_tells_accuracy_and_speed(folder: Path, needs: Callable[..., None]) -> None:
    needs("gcc")
    said = run(f"{sys.executable} examples/demo.py", folder)
    assert "edgec int8" in said and "98." in said and "latency" in said


def test_the_settings_of_the_readme_are_understood(tmp_path: Path) -> None:
    (toml,) = blocks(README, "toml")
    (tmp_path / "edgec.toml").write_text(toml)
    config = resolve({}, {}, ConfigFile(tmp_path / FILE, True))
    assert config.target == "rpi4" and config.calib == str(tmp_path / "photos")
    assert Preprocess.parse(config.preprocess).shorter == 256


def test_lists_of_the_readme_are_complete() -> None:
    assert re.findall(r"\| `edgec (\w+)` \|", section("Verbs")) == list(VERBS)
    families = {1: GateError, 2: UsageError, 3: ModelError, 4: ToolchainError, 5: DeviceError, 70: EdgecError}
    assert all(family.exit_code == code for code, family in families.items())
    codes = re.search(r"Exit codes: (.*?)\.\s", section("Verbs").replace("\n", " "))
    assert codes and set(map(int, re.findall(r"\b(\d+) ", codes[1]))) == {0, 130, *families}
    assert "edgec[zig]" in README or "'.[zig]'" in README
    spoken = {
        "portable": "Portable C",
        "sse41": "SSE4.1",
        "avx2": "AVX2",
        "avxvnni": "AVX-VNNI",
        "avx512vnni": "AVX-512-VNNI",
        "neon": "NEON",
    }
    spoken |= {"dotprod": "dotprod", "i8mm": "i8mm", "fp16": "half arithmetic", "neon32": "32-bit NEON", "wasm128": "WebAssembly's SIMD128"}
    spoken |= {"dsp": "DSP instructions of Cortex-M", "helium": "Helium"}
    spoken |= dict.fromkeys(("relaxed7", "relaxed8"), "relaxed dot products")
    assert set(spoken) == set(VOCABULARIES) and all(name in README.replace("\n  ", " ") for name in spoken.values())


def test_paths_of_the_readme_exist() -> None:
    tour = section("A tour of the sources")
    for path in re.findall(r"`((?:edgec|templates|runtimes|targets)[\w/.]*)`", tour) + re.findall(r"\]\((docs/[\w.]+)\)", README):
        assert (ROOT / path).exists(), path
    rooms = {path.name for path in (ROOT / "edgec").iterdir() if (path / "__init__.py").exists()}
    named = {word.split("/")[1] for word in re.findall(r"`(edgec/\w+)`", tour)}
    assert rooms == named & rooms, "a room that the tour leaves out"


def test_the_usage_page_has_every_setting_and_flag() -> None:
    usage = (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")
    for name, setting in FLAGS.items():
        flag = f"--no-{name}" if name in ("compile", "cache") else f"--{name.replace('_', '-')}"
        assert f"`{flag}`" in usage and (f"`{name}`" in usage or setting.switch), name
    for key in Preprocess.__dataclass_fields__:
        assert f"`{key}`" in usage, key
    written = ",".join(key + amount for key, amount in re.findall(r"\| `(\w+=)` \| (\w+) \|", usage))
    assert parse_budget(written) == Budget() and len(written.split(",")) == len(fields(Budget))


def test_packages_name_the_version_of_the_contract_s_page() -> None:
    page = (ROOT / "docs" / "int8.md").read_text(encoding="utf-8")
    assert page.startswith(f"# The INT8 contract, version {INT8_CONTRACT}\n") and f"\nVersion {INT8_CONTRACT} " in page


def test_the_package_page_compiles(package: Path, tmp_path: Path) -> None:
    """Its C blocks, one after the other, are one program, but for the one of a detector."""
    found = blocks((ROOT / "docs" / "package.md").read_text(encoding="utf-8"), "c")
    (tmp_path / "app.c").write_text("\n".join(block for block in found if "detector.h" not in block))
    (tmp_path / "detect.c").write_text("\n".join(block for block in found if "detector.h" in block))
    flags = "-std=c99 -Wall -Wextra -Werror -D_POSIX_C_SOURCE=200809L -pthread"
    run(f"gcc {flags} -I{package}/include app.c {package}/build/libdigits.a -o app", tmp_path)
    onnx.save(onnx.parser.parse_model(DETECTOR), tmp_path / "detector.onnx")
    edgec.build(tmp_path / "detector.onnx", target="portable", precision="fp32", out=tmp_path / "detector", compile=False)
    run(f"gcc {flags} -Idetector/include -c detect.c", tmp_path)
    assert "done" in run(f"./app {package}/src/digits_weights.bin", tmp_path)
