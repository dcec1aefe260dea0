"""Whether a board can run a package, and which target fits it best."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from edgec.base.errors import Problem
from edgec.boards.board.board import Facts
from edgec.boards.device import Device
from edgec.targets import EVERYWHERE, load_target

# vocabulary -> what the processor must have for it, in the kernel's words
FEATURES: Mapping[str, tuple[str, ...]] = {
    "portable": (),
    "sse41": ("sse4_1",),
    "avx2": ("avx2", "fma"),
    "avxvnni": ("avx2", "fma", "avx_vnni"),
    "avx512vnni": ("avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"),
    "neon": ("asimd",),
    "dotprod": ("asimddp",),
    "i8mm": ("asimddp", "i8mm"),
    "fp16": ("asimdhp",),
    "neon32": ("neon",),
    "dsp": ("dsp",),  # of microcontrollers, which say nothing of themselves
    "helium": ("mve",),
    "wasm128": ("simd128",),  # of engines, which take another module where they lack it
    "relaxed7": ("relaxed_simd",),
    "relaxed8": ("relaxed_simd",),
}
_SAME = {"neon": "asimd"}  # 64-bit kernels say asimd to 32-bit programs too
# what a device tree calls a board -> its target; the first that is found
_BOARDS = (
    (r"Raspberry Pi (Compute Module )?5(00)?\b", "rpi5"),
    (r"Raspberry Pi (Compute Module )?4(00|S)?\b", "rpi4"),
    (r"Raspberry Pi (Compute Module )?3\b", "rpi3"),
    (r"Raspberry Pi Zero 2\b", "rpi-zero2"),
)
# (system, arch) -> its target
_TARGETS = {
    ("android", "aarch64"): "android-arm64",
    ("android", "armv7"): "android-armv7",
    ("macos", "aarch64"): "macos-arm64",
    ("windows", "x86_64"): "windows-x64",
    ("linux", "aarch64"): "linux-arm64",
    ("linux", "armv7"): "rpi-32bit",
    ("linux", "riscv64"): "linux-riscv64",
}


def propose_target(facts: Facts) -> str:
    """The target whose packages run best on the board; `portable` where no other one is certain to run."""
    for arch in facts.archs:
        name = _TARGETS.get((facts.os, arch)) or ("x86-64" if arch == "x86_64" else "portable")
        if name == "linux-arm64":
            name = next((target for pattern, target in _BOARDS if re.search(pattern, facts.model)), name)
        if not _missing(facts, load_target(name).vocabularies):
            return name
    return "portable"


def instructions(facts: Facts) -> list[str]:
    """The vocabularies that the board's processor has, from the least to the best."""
    names = load_target(propose_target(facts)).vocabularies
    return [name for name in names if facts.features and FEATURES.get(name) and not _missing(facts, [name])]


def unfit(facts: Facts, device: Device, arch: str, os: str, vocabularies: Sequence[str]) -> list[Problem]:
    """Why a package cannot run on the board; nothing when it can, as far as the board tells.

    arch, os, vocabularies: of the package's target, the vocabularies from the one that always runs to the best. Where programs run
    through an emulator (a prefix), the board itself tells nothing: the entry's target says what runs there.
    """
    if device.prefix or device.connection == "emulated":
        target = load_target(device.target)
        if arch in EVERYWHERE or target.arch in EVERYWHERE or arch == target.arch:
            return []
        what = f"the package is for {arch} and the board runs {target.arch} through an emulator"
        return [Problem(what, device.name, f"build for it: --target {device.target}")]
    hint = f"build for it: --target {propose_target(facts)}"
    here = " or ".join(facts.archs) + (" (32-bit programs)" if facts.bits == 32 and facts.machine.endswith("64") else "")
    if arch not in EVERYWHERE and facts.archs and arch not in facts.archs:
        return [Problem(f"the package is for {arch} and the board runs {here}", device.name, hint)]
    problems = []
    if os != "any" and facts.os and os != facts.os:
        problems.append(Problem(f"the package is for {os} and the board runs {facts.os}", device.name, hint))
    if missing := _missing(facts, vocabularies):
        what = f"the package needs {' and '.join(missing)} ({vocabularies[0]}), which the board's processor does not have"
        problems.append(Problem(what, device.name, hint))
    return problems


def misfits(facts: Facts, device: Device) -> list[Problem]:
    """Where the entry of an inventory is wrong about its board."""
    target = load_target(device.target)
    problems = unfit(facts, device, target.arch, target.os, target.vocabularies)
    problems = [Problem(item.what.replace("the package", f"target {target.name}", 1), item.where, _entry_hint(facts)) for item in problems]
    if facts.cores and (beyond := [core for core in device.cores if core >= facts.cores]):
        what = f"cores {', '.join(map(str, beyond))} are not there: the board has {facts.cores}"
        problems.append(Problem(what, device.name, f"cores: at most {facts.cores - 1}"))
    return problems


def _entry_hint(facts: Facts) -> str:
    return f"target: {propose_target(facts)}"


def remarks(facts: Facts, device: Device, target: str) -> list[Problem]:
    """What a package of a target leaves unused on the board, or is tuned for in vain: it runs, and another one would suit better."""
    if device.prefix or device.connection == "emulated":
        return []
    best, ours = load_target(propose_target(facts)), load_target(target)
    unused = [name for name in instructions(facts) if name not in ours.vocabularies]
    hint = f"build for {best.name}"
    if best.arch == ours.arch and unused:
        return [Problem(f"packages for {ours.name} leave {' and '.join(unused)} of its processor unused", device.name, hint)]
    boards = [name for _, name in _BOARDS]
    if ours.name in boards and best.name in boards and ours.name != best.name:
        return [Problem(f"this is a {facts.model}, not a board for {ours.name}", device.name, hint)]
    return []


def _missing(facts: Facts, vocabularies: Sequence[str]) -> list[str]:
    """What the first vocabulary needs and the processor has not; nothing where features are not told."""
    words = FEATURES.get(vocabularies[0], ()) if vocabularies and facts.features else ()
    return [word for word in words if word not in facts.features and _SAME.get(word) not in facts.features]
