"""A package touches no byte that is not its own: sanitizers, forbidden pages around every piece of memory, valgrind."""

from __future__ import annotations

import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from edgec.targets import Target, load_target
from edgec.toolchain import Built, compile_package
from tests.conftest import require
from tests.contract.examiner import NOT_INLINED, WHOLE, able, available, build_variant, examine, quick, write_package
from tests.contract.subjects import FAMILIES, Net, exam_of, random_float_net, random_net
from tests.contract.variants import USUAL, X86, Run, Variant, name_of, usual

X86_64, PORTABLE = able(load_target("x86-64")), load_target("portable")
SANITIZE = (NOT_INLINED, "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
SANITIZED = ((X86_64, X86), (PORTABLE, ("portable",)))
# Without EDGEC_TEST_ALL: the nets, and which of the two each is for
ENDS = replace(X86_64, vocabularies=(X86[0], X86_64.vocabularies[-1]))
SOME = {("int8", "unet"): SANITIZED[1:], ("float", "resnet"): [(ENDS, ENDS.vocabularies)]}
KINDS = {"int8": random_net, "float": random_float_net}
# Without EDGEC_TEST_ALL these stand for all
NETS = [(kind, family) for kind in KINDS for family in FAMILIES if WHOLE or (kind, family) in SOME]
BUILT = [(variant, kind, family) for kind in KINDS for family, variant in usual(kind, WHOLE)]
NATIVE, FOREIGN = ([built for built in BUILT if built[0] in variants] for variants in (USUAL[:2], USUAL[2:4]))
GUARD = Path(__file__).parent / "guard.c"


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "family"), NETS)
def test_sanitizers_find_nothing_in_any_exam(kind: str, family: str, tmp_path: Path) -> None:
    """The weights are string literals here, because only those have red zones around them."""
    require("gcc")
    net = KINDS[kind](family)
    for target, vocabularies in SANITIZED if WHOLE else SOME[kind, family]:
        folder = write_package(tmp_path / target.name, net, target, exam_of(net), "c")
        built = compile_package(folder, target, "gcc", "-O0", SANITIZE)
        for isa in filter(target.vocabularies.__contains__, filter(available, vocabularies)):
            for threads in (1, 3):
                examine(built, target, Run(isa, threads))


def guarded(kind: str, family: str, variant: Variant, shared: Path, tmp_path: Path) -> Path:
    """The program of guard.c for a package that test_matrix.py builds too."""
    net = KINDS[kind](family)
    built, target = build_variant(net, exam_of(net), variant if kind == "int8" or WHOLE else quick(variant), shared)
    return link(net, built, target, tmp_path)


def link(net: Net, built: Built, target: Target, folder: Path) -> Path:
    assert built.library is not None
    package = built.library.parents[1]
    (folder / "guard.c").write_text(GUARD.read_text().replace("NAME", net.name).replace("MACRO", net.name.upper()))
    static = ["-static"] if target.emulator else []
    sources = ["guard.c", f"{package}/exam/{net.name}_vectors.c", f"{package}/build/lib{net.name}.a"]
    includes = [f"-I{package}/include", f"-I{package}/exam"]
    command = [*built.compiler.command, "-std=gnu99", *target.flags, *static, *includes, "-o", "guard", *sources, "-pthread"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "guard"


@pytest.mark.sampled
@pytest.mark.parametrize(("variant", "kind", "family"), NATIVE, ids=name_of)
def test_pages_around_the_memory_are_never_touched(kind: str, family: str, variant: Variant, shared: Path, tmp_path: Path) -> None:
    """Also: one byte less, or a misaligned arena, fails in init."""
    require(*variant.needs)
    program = guarded(kind, family, variant, shared, tmp_path)
    for isa in filter(available, dict.fromkeys(run.isa for run in variant.runs)):
        for threads in ("1", "3"):
            done = subprocess.run([program, isa, threads], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{isa}, {threads} threads: status {done.returncode} {done.stderr}"


def test_a_forbidden_page_stops_the_program(tmp_path: Path) -> None:
    """The page test has teeth: with a header that asks for too little memory it dies."""
    require("gcc")
    net = random_net("squeezenet")
    write_package(tmp_path, net, PORTABLE, exam_of(net))
    header = tmp_path / "include" / f"{net.name}.h"
    small, changes = re.subn(r"\(\(size_t\)\d+ \+", "((size_t)64 +", header.read_text())
    assert changes == 1
    header.write_text(small)
    program = link(net, compile_package(tmp_path, PORTABLE, "gcc", "-O1"), PORTABLE, tmp_path)
    assert subprocess.run([program], check=False).returncode == -signal.SIGSEGV


@pytest.mark.sampled
@pytest.mark.parametrize(("variant", "kind", "family"), FOREIGN, ids=name_of)
def test_nor_on_other_processors(kind: str, family: str, variant: Variant, shared: Path, tmp_path: Path) -> None:
    require(*variant.needs)
    program = guarded(kind, family, variant, shared, tmp_path)
    for isa, emulator in {run.isa: run.emulator for run in variant.runs}.items():
        done = subprocess.run([*emulator, str(program), isa, "2"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{isa}: status {done.returncode} {done.stderr}"


@pytest.mark.parametrize("isa", ["portable", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("sse41", "avx2"))])
def test_valgrind_finds_nothing(isa: str, tmp_path: Path) -> None:
    require("gcc", "valgrind")
    target = PORTABLE if isa == "portable" else replace(X86_64, vocabularies=X86[: X86.index(isa) + 1])
    net = random_net("squeezenet")
    built = compile_package(write_package(tmp_path, net, target, exam_of(net)), target, "gcc", "-O1", ("-g",))
    command = ["valgrind", "-q", "--error-exitcode=9", str(built.exam), "--isa", isa]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
