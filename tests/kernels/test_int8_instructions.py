"""The hot int8 kernels are made of the instructions that their vocabulary is named for, and nothing is contracted or spilled: neither in
the loops of floats and of halves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from edgec.emit.kernels import render_kernel_header, render_kernels
from edgec.kernels import HALF_OF, ConvFloat, ConvInt8, DepthwiseInt8, ProductFloat, ProductInt8Float
from edgec.program.arguments import Arguments
from edgec.schedule import choose_all
from edgec.targets import Target
from tests.contract.examiner import STRICT, WHOLE
from tests.kernels.int8_harness import ARM64, ARMV7, NEON, USED, X86, call, compile_kernels, compiler_command, fused, need

OBJDUMP = {"x86_64": "objdump", "aarch64": "aarch64-linux-gnu-objdump", "armv7": "arm-linux-gnueabihf-objdump"}
HOT = [
    (X86, "sse41", r"66 0f f5 .*\tpmaddwd"),
    (X86, "avx2", r"vpmaddwd"),
    (X86, "avxvnni", r"\tc4 .*vpdpbusd"),
    (X86, "avx512vnni", r"\t62 .*vpdpbusd .*zmm"),
    (NEON, "neon", r"\tsmlal2?\s.*8h"),
    (ARM64, "dotprod", r"\tsdot\s"),
    (ARM64, "i8mm", r"\tsmmla\s"),
    (ARMV7, "neon32", r"\tvmlal\.s8\s"),
]
ALL = [(target, vocabulary) for target in (X86, NEON, ARM64, ARMV7) for vocabulary in target.vocabularies]
CODES: frozenset[type[Arguments]] = frozenset({ConvInt8, ProductInt8Float})
FLOATS: frozenset[type[Arguments]] = frozenset({ConvFloat, ProductFloat})
HALVES: frozenset[type[Arguments]] = frozenset({HALF_OF[ConvFloat]})
HELD: frozenset[type[Arguments]] = USED if WHOLE else CODES
LONG = {"avx512vnni": pytest.mark.long}  # of which a compiler makes a hundred thousand instructions
# Those that others stand for in `make test`
ALIKE = dict.fromkeys(("sse41", "avxvnni", "i8mm", "neon32"), pytest.mark.thorough)
# Vectors on the stack, and in another register
SPILLED = r"\t(?:st[rp]\s+[qv]|vst\S*\s+[{dq]|vpush).*\[?sp"
MOVED = r"\tmov\s+v\d+\.16b|\tvmov\s+[qd]\d+, [qd]|\tvorr\s+[qd]"
# Of AVX-512's registers floats of sums end by one, whose product is exact: int8_floating_avx512.h
ONCE = r"\tvfmadd\d+ps .*zmm.*"
# Words that ask for a fused multiplication do so where it is exact; a call in its place leaves those that a compiler would make
FUSED, WORDS = "vfmaq_f32(", "#include <arm_neon.h>\n"
CALLED = f"{WORDS}float32x4_t fused(float32x4_t, float32x4_t, float32x4_t);\n"
FORBIDDEN = r"vpmaddubsw|pmaddubsw|vfn?m(add|sub)|\tfn?m(add|sub|la|ls)\b|\tvfma"


@dataclass(frozen=True)
class Loop:
    """Where products are made, how one looks, and of how many of them one may come with an instruction that only keeps a register free.

    least: the products of a loop that time is spent in, which is none of single pixels and vectors.
    """

    target: Target
    vocabulary: str
    product: str
    kinds: frozenset[type[Arguments]] = CODES
    spare: int = 16
    least: int = 8

    @property
    def name(self) -> str:
        return f"{self.vocabulary}{' floats' if self.kinds == FLOATS else ' halves' if self.kinds == HALVES else ''}"


LOOPS = [
    Loop(NEON, "neon", r"\tsmlal2?\s|\tsmull2?\s"),
    Loop(ARM64, "dotprod", r"\tsdot\s"),
    Loop(ARM64, "i8mm", r"\tsmmla\s"),
    Loop(ARMV7, "neon32", r"\tvmlal\.s|\tvmull\.s", spare=8),
    Loop(NEON, "neon", r"\tfmla\s", FLOATS),
    Loop(ARMV7, "neon32", r"\tvmla\.f|\tvmul\.f|\tvfma\.f", FLOATS, spare=8),
    Loop(ARM64, "fp16", r"\tfmla\s+v\d+\.8h", HALVES, least=16),
]


def listing(target: Target, vocabulary: str, compiler: str, kinds: frozenset[type[Arguments]], shared: Path) -> str:
    """Disassembly of the kernels, built as an app would that enables everything its processor has."""
    slots = choose_all(kinds, vocabulary, target)
    text = render_kernels("t", vocabulary, slots, target)
    return disassembled(target, vocabulary, compiler, (render_kernel_header("t", slots, target), text), shared, "-O2")


def unfused(target: Target, vocabulary: str, compiler: str, shared: Path) -> str:
    """That of HELD where no words ask for a fused multiplication. With EDGEC_TEST_ALL test_int8.py runs most of the objects."""
    slots = choose_all(HELD, vocabulary, target)
    text = render_kernels("t", vocabulary, slots, target).replace(FUSED, "fused(").replace(WORDS, CALLED, 1)
    level = "-O3" if WHOLE and compiler == "gcc" else "-O2"
    return disassembled(target, vocabulary, compiler, (render_kernel_header("t", slots, target), text), shared, level)


def disassembled(target: Target, vocabulary: str, compiler: str, texts: tuple[str, str], shared: Path, level: str) -> str:
    words = [*compiler_command(target, compiler), level, *fused(target, vocabulary), *STRICT]
    return call([need(OBJDUMP[target.arch]), "-d", str(compile_kernels(shared, vocabulary, *texts, words))])


@pytest.mark.sampled
@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    ("target", "vocabulary", "pattern"), [pytest.param(*hot, marks=(ALIKE | LONG).get(hot[1], ()), id=hot[1]) for hot in HOT]
)
def test_hot_instruction(target: Target, vocabulary: str, pattern: str, compiler: str, shared: Path) -> None:
    text = unfused(target, vocabulary, compiler, shared)
    assert len(re.findall(pattern, text)) >= 8, f"{vocabulary} has too few {pattern}"
    assert not re.findall(FORBIDDEN, re.sub(ONCE, "", text) if vocabulary == "avx512vnni" else text)


@pytest.mark.sampled
@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("vocabulary", [pytest.param("avxvnni", marks=ALIKE["avxvnni"]), "avx512vnni"])
def test_no_spill_in_the_inner_loop(vocabulary: str, compiler: str, shared: Path) -> None:
    """The loop without a branch that has the most vpdpbusd stores nothing on the stack."""
    loops = straight_loops(unfused(X86, vocabulary, compiler, shared))
    inner = max(loops, key=lambda loop: loop.count("vpdpbusd") if "broadcastd" in loop else 0)
    assert inner.count("vpdpbusd") >= 8
    assert not re.findall(r"mov\w+\s+%[yz]mm\d+,\S*\(%[er][sb]p", inner), inner


def straight_loops(text: str) -> Iterator[str]:
    """Those of an x86 listing that have no branch within."""
    begin = 0
    for jump in re.finditer(r"\n.*\tj[a-z]+ +([0-9a-f]+) .*(?=\n)", text):
        run, begin = text[begin : jump.start()], jump.end()
        at = run.find(f" {jump[1]}:\t")
        if at >= 0:
            yield run[at:]


@pytest.mark.parametrize("vocabulary", [pytest.param("sse41", marks=ALIKE["sse41"]), "avx2"])
def test_taps_are_added_as_they_are_multiplied(vocabulary: str, shared: Path) -> None:
    """By gcc, in the straight run of instructions with the most products of a depthwise convolution: few wait in memory."""
    runs = re.split(r"\n.*\tj[a-z]+ .*\n", listing(X86, vocabulary, "gcc", frozenset({DepthwiseInt8}), shared))
    longest = max(runs, key=lambda run: run.count("pmaddwd"))
    spilled = re.findall(r"mov\w+\s+%[xy]mm\d+,\S*\(%[er][sb]p", longest)
    assert len(spilled) < longest.count("pmaddwd") / 4, longest


@pytest.mark.sampled
@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("loop", [pytest.param(loop, marks=ALIKE.get(loop.vocabulary, ()), id=loop.name) for loop in LOOPS])
def test_sums_stay_in_their_registers(loop: Loop, compiler: str, shared: Path) -> None:
    """Of every loop that convolutions and products spend their time in: nothing is stored on the stack, and gcc, whose order of
    instructions is the source's, hardly ever copies a register."""
    found = [
        (function, len(re.findall(loop.product, body)), body)
        for function, body in innermost(listing(loop.target, loop.vocabulary, compiler, loop.kinds, shared))
    ]
    hot = [row for row in found if row[1] >= loop.least]
    assert len(hot) >= 3, [(function, count) for function, count, _ in found]
    for function, count, body in hot:
        spilled, moved = len(re.findall(SPILLED, body)), len(re.findall(MOVED, body)) if compiler == "gcc" else 0
        assert spilled + moved <= count // loop.spare, f"{function} {spilled=} {moved=}\n{body}"


def innermost(text: str) -> Iterator[tuple[str, str]]:
    """Loops of an ARM listing that have no branch within, and the functions they are of."""
    for function in re.split(r"\n(?=[0-9a-f]+ <)", text):
        begin = 0
        for branch in re.finditer(r"\n *[0-9a-f]+:\t[0-9a-f ]+\t(?:b|cb|tb|ret)[a-z.]*\b(?:.*?\b([0-9a-f]+) <)?.*", function):
            run, begin = function[begin : branch.start()], branch.end()
            if branch[1] and (head := re.search(rf"\n *{branch[1]}:", run)):
                yield function.partition("<")[2].partition(">")[0], run[head.start() :]


def test_fast_math_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "t_kernels_portable.c"
    slots = choose_all(USED, "portable", X86)
    (tmp_path / "t_kernels.h").write_text(render_kernel_header("t", slots, X86))
    source.write_text(render_kernels("t", "portable", slots, X86))
    with pytest.raises(AssertionError, match="ffast-math"):
        call([need("gcc"), "-std=c99", "-ffast-math", "-c", str(source), "-o", str(tmp_path / "o.o")])


@pytest.mark.sampled
@pytest.mark.parametrize(("target", "vocabulary"), ALL)
def test_is_cpp_too(target: Target, vocabulary: str, tmp_path: Path) -> None:
    """To both compilers; without EDGEC_TEST_ALL they take turns. builds.py has kernels that run as what g++ makes of them."""
    source = tmp_path / f"t_kernels_{vocabulary}.cc"
    slots = choose_all(USED, vocabulary, target)
    (tmp_path / "t_kernels.h").write_text(render_kernel_header("t", slots, target))
    source.write_text(render_kernels("t", vocabulary, slots, target))
    turn = ALL.index((target, vocabulary)) % 2
    for compiler in ("gcc", "clang")[0 if WHOLE else turn : 2 if WHOLE else turn + 1]:
        flags = ("-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
        call([*compiler_command(target, compiler), *flags, "-x", "c++", str(source)])
