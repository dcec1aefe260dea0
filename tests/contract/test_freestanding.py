"""A package is plain C: strict compilers, C++, megabytes of weights as text, and nothing undefined but a written list."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec.targets import load_target
from edgec.toolchain import compile_package
from tests.conftest import require
from tests.contract.examiner import NOT_INLINED, STRICT, WHOLE, build_variant, examine, write_package
from tests.contract.subjects import FAMILIES, Net, exam_of, quantized_net, random_float_net, random_net
from tests.contract.variants import AARCH64, ARMV7, CLANG_ARM, CLANG_ARM32, OFTEN, USUAL, X86, Run, Variant, turn

X86_64 = load_target("x86-64")
KINDS = {"int8": random_net, "float": random_float_net}
NETS = [(kind, family) for kind in KINDS for family in FAMILIES]
TARGETS = ("x86-64", "portable", "linux-arm64", "rpi-32bit")

# Symbols that a core object may leave to whoever links it (a compiler's helpers by their prefix)
LIBRARY = {"memcpy", "memmove", "memset", "_GLOBAL_OFFSET_TABLE_"}
HELPERS = re.compile(r"__aeabi_\w+|__aarch64_\w+")
# target -> compilers, and what they need
CORES = {
    "x86-64": {"gcc": ("gcc",), "clang": ("clang",)},
    "linux-arm64": {"aarch64-linux-gnu-gcc": AARCH64, CLANG_ARM: ("clang", *AARCH64)},
    "rpi-32bit": {"arm-linux-gnueabihf-gcc": ARMV7, CLANG_ARM32: ("clang", *ARMV7)},
}
LEVELS = ("-O0", "-O2", "-O3")
BUILDS = [
    Variant(f"{target}-{compiler}{level}".replace(" ", "_"), target, compiler, level, (NOT_INLINED,) if level == "-O0" else (), needs=needs)
    for target, compilers in CORES.items()
    for compiler, needs in compilers.items()
    for level in LEVELS
]
# Each has the net of a kind that test_matrix.py builds too, if it does, and at each level a processor's two compilers have both kinds;
# without EDGEC_TEST_ALL there are no others.
BUILT = {(variant.target, variant.cc, variant.optimize): turn(variant) for variant in OFTEN if not variant.flags}
BUILT |= {(variant.target, variant.cc, variant.optimize): FAMILIES[n % len(FAMILIES)] for n, variant in enumerate(USUAL)}
SYMBOLS = [
    (build, kind, BUILT.get((build.target, build.cc, build.optimize), FAMILIES[n % len(FAMILIES)]))
    for n, build in enumerate(BUILDS)
    if WHOLE or (build.target, build.cc, build.optimize) in BUILT
    for kind in [[*KINDS][n % 2 if WHOLE else 0]]
]
# Each target has two nets of each kind; without it, one of all.
SOURCES = [
    (target, *net) for n, target in enumerate(TARGETS) for m, net in enumerate(NETS) if ((m - 3 * n) % 5 in (0, 2) if WHOLE else m == 3 * n)
]


@pytest.mark.parametrize(("build", "kind", "family"), SYMBOLS, ids=lambda item: item if isinstance(item, str) else item.name)
def test_the_core_needs_nothing_and_keeps_to_its_prefix(build: Variant, kind: str, family: str, shared: Path) -> None:
    require(*build.needs, "nm")
    net = KINDS[kind](family)
    built, _ = build_variant(net, exam_of(net), build, shared)
    done = subprocess.run(["nm", "-g", *map(str, built.objects)], capture_output=True, text=True, check=True)
    symbols = [line.split()[-2:] for line in done.stdout.splitlines() if line and not line.endswith(":")]
    defined = {name for kind, name in symbols if kind not in "Uw"}
    foreign = {name for kind, name in symbols if kind in "Uw"} - defined - LIBRARY
    assert f"{net.name}_run" in defined
    assert all(name.startswith(f"{net.name}_") for name in defined), sorted(defined)
    assert all(HELPERS.fullmatch(name) for name in foreign), sorted(foreign)


@pytest.mark.parametrize(("target", "kind", "family"), SOURCES)
def test_every_source_is_cpp17_too(target: str, kind: str, family: str, tmp_path: Path) -> None:
    """The exam's sources included. clang++ sees the foreign processors' sources only for the symbols, above."""
    net, aim = KINDS[kind](family), load_target(target)
    compilers = {"x86-64": ("g++", "clang++"), "portable": ("g++", "clang++")}.get(target, (aim.compilers[0].replace("gcc", "g++"),))
    require(*(name.replace("clang++", "clang") for name in compilers))
    folder = write_package(tmp_path, net, aim, exam_of(net))
    sources = [str(path.relative_to(folder)) for path in sorted(folder.glob("*/*.c"))]
    assert len(sources) >= 6
    for compiler in compilers:
        flags = ["-x", "c++", "-std=c++17", *STRICT, *aim.flags, "-Iinclude", "-Isrc", "-Iexam", "-fsyntax-only"]
        done = subprocess.run([compiler, *flags, *sources], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{compiler}: {done.stderr[:3000]}"


@cache
def large_net() -> Net:
    """Four megabytes of weights in one product."""
    generator = np.random.default_rng(3)
    weights = (generator.standard_normal((2048, 2048)) / 45).astype(np.float32)
    bias = generator.standard_normal(2048).astype(np.float32)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2048]) for name in "xy")
    constants = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")]
    graph = helper.make_graph([helper.make_node("Gemm", ["x", "w", "b"], ["y"], "/large", transB=1)], "large", [x], [y], constants)
    return quantized_net(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "large", correct_bias=False, shape_sums=False
    )


@pytest.mark.parametrize("weights", ["c", "incbin", "bin"])
@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=pytest.mark.thorough)])
def test_megabytes_of_weights(compiler: str, weights: str, tmp_path: Path) -> None:
    require(compiler, "g++")
    net, aim = large_net(), replace(X86_64, vocabularies=X86[:1])
    folder = write_package(tmp_path, net, aim, exam_of(net), weights)
    assert (folder / f"src/{net.name}_weights.bin").stat().st_size > 4_000_000
    built = compile_package(folder, aim, compiler, "-O1", STRICT)
    assert examine(built, aim, Run(X86[0]))["weights_passed"]
    if weights == "c":
        command = [compiler.replace("gcc", "g++").replace("clang", "clang++"), "-x", "c++", "-std=c++17", *STRICT, "-fsyntax-only"]
        done = subprocess.run([*command, f"src/{net.name}_weights.c"], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]
