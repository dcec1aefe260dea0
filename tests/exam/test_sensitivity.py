"""An exam must fail when somebody changes what it guards: one byte of the weights, one multiplier, one padding value."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from edgec.emit import layout_constants
from edgec.kernels import ConvInt8, DepthwiseInt8
from edgec.program.program import Kind, Program, TemplateCall
from edgec.targets import load_target
from tests.conftest import require
from tests.contract.examiner import WHOLE, write_package
from tests.contract.subjects import SEED, Net, exam_of, program_of, random_net

PORTABLE = load_target("portable")
FAMILIES = ("mobilenet", "squeezenet", "unet", "resnet") if WHOLE else ("mobilenet",)
FLIPS = 12 if WHOLE else 4

Change = Callable[[Net, random.Random, bytes], bytes]


@cache
def planned(net: Net) -> Program:
    program = program_of(net, PORTABLE)
    layout_constants(program)
    return program


def passes(folder: Path, weights: str) -> bool:
    """Bring the exam up to date with the package's own Makefile and take it. A flip that does not compile proves nothing."""
    name = folder.name
    command = ["make", "-s", "CC=gcc", "CFLAGS=-O0", f"WEIGHTS={weights}", f"build/{name}_exam"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[-2000:]
    done = subprocess.run([f"build/{name}_exam"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1) and ("FAILED" in done.stdout) == (done.returncode == 1), done.stdout + done.stderr
    return done.returncode == 0


def flipped(data: bytes, position: int, bit: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :]


def weight_byte(net: Net, choice: random.Random, blob: bytes) -> bytes:
    """One bit of a byte of the blob, padding included."""
    return flipped(blob, choice.randrange(len(blob)), choice.randrange(8))


def multiplier(net: Net, choice: random.Random, blob: bytes) -> bytes:
    """One bit of a binary32 number in the blob, its last one included."""
    program = planned(net)
    pointers = [
        call.arguments.scale
        for call in program.calls
        if isinstance(call, TemplateCall) and isinstance(call.arguments, (ConvInt8, DepthwiseInt8))
    ]
    buffer = program.buffers[choice.choice(pointers).buffer]
    assert buffer.kind is Kind.CONSTANT and buffer.dtype.value == "float32" and buffer.address is not None
    return flipped(blob, buffer.address + choice.randrange(buffer.max_bytes), choice.randrange(8))


def literal_byte(net: Net, choice: random.Random, text: bytes) -> bytes:
    """One bit of one octal escape in a string literal."""
    place = choice.choice(list(re.finditer(rb"\\[0-3][0-7][0-7]", text)))
    return flipped(text, place.end() - 1, choice.randrange(3))


def _steps(text: bytes) -> list[re.Match[bytes]]:
    """The calls of convolutions; a transposed one's padding may lie under pixels that are cropped."""
    return list(re.finditer(rb"/\* %\d+ = Conv\b.*?_(?:conv|depthwise)_int8 layer = .*?\n}", text, re.S))


def _member(step: bytes, name: bytes) -> tuple[int, bytes]:
    """Where a layer's number begins, and its digits: each line of numbers ends with their names."""
    for line in re.finditer(rb"^ +(.*), /\* (.*) \*/$", step, re.M):
        names = line[2].split(b", ")
        if name in names:
            numbers = line[1].split(b", ")[: names.index(name) + 1]
            return line.start(1) + sum(len(number) + 2 for number in numbers[:-1]), numbers[-1]
    raise AssertionError(f"no {name!r} in {step!r}")


def padding_value(net: Net, choice: random.Random, text: bytes) -> bytes:
    """The zero point of a convolution's input where there is padding, one more or one less."""
    step = choice.choice([step for step in _steps(text) if _member(step[0], b"pad_top")[1] != b"0"])
    return _stepped(text, step, b"zero_x", choice)


def zero_point(net: Net, choice: random.Random, text: bytes) -> bytes:
    """The zero point of a convolution's output, one more or one less; before a residual addition it would cancel."""
    alone = rb"_depthwise_int8 layer|NULL, /\* residual \*/"
    step = choice.choice([step for step in _steps(text) if re.search(alone, step[0])])
    return _stepped(text, step, b"zero_y", choice)


def _stepped(text: bytes, step: re.Match[bytes], name: bytes, choice: random.Random) -> bytes:
    start, digits = _member(step[0], name)
    number = int(digits) + (1 if digits == b"0" else choice.choice((-1, 1)))
    return _replace(text, step.start() + start, digits, b"%d" % number)


def literal_multiplier(net: Net, choice: random.Random, text: bytes) -> bytes:
    """The second hexadecimal digit of a multiplier in the source: up to one part in 32."""
    number = choice.choice(list(re.finditer(rb"\* 0x1\.[0-9a-f]([0-9a-f])", text)))
    return _replace(text, number.start(1), number[1], b"%x" % (int(number[1], 16) ^ 8))


def _replace(text: bytes, start: int, old: bytes, new: bytes) -> bytes:
    assert text[start : start + len(old)] == old
    return text[:start] + new + text[start + len(old) :]


# what is changed -> in which file, and with which form of the weights the package is linked
CHANGES: dict[Change, tuple[str, str]] = {
    weight_byte: ("src/{}_weights.bin", "S"),
    multiplier: ("src/{}_weights.bin", "S"),
    literal_byte: ("src/{}_weights.c", "c"),
    padding_value: ("src/{}.c", "S"),
    literal_multiplier: ("src/{}.c", "S"),
    zero_point: ("src/{}.c", "S"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("change", CHANGES, ids=lambda item: item.__name__)
@pytest.mark.parametrize("family", FAMILIES)
def test_one_flip_fails_the_exam(family: str, change: Change, tmp_path: Path) -> None:
    require("gcc", "make")
    net = random_net(family)
    file, form = CHANGES[change]
    folder = write_package(tmp_path / net.name, net, PORTABLE, exam_of(net))
    path = folder / file.format(net.name)
    whole, choice = path.read_bytes(), random.Random(f"{family} {change.__name__} {SEED}")
    assert passes(folder, form), "before any flip"
    for _ in range(FLIPS):
        damaged = change(net, choice, whole)
        assert damaged != whole
        path.write_bytes(damaged)
        assert not passes(folder, form), [(a, b) for a, b in zip(whole.split(b"\n"), damaged.split(b"\n"), strict=False) if a != b][:1]
    path.write_bytes(whole)
    assert passes(folder, form), "after the last flip was undone"
