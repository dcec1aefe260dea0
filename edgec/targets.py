"""What edgec knows of the processors it builds for: targets/*.yaml as frozen facts."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import yaml

from edgec.base.errors import Problem, UsageError, did_you_mean
from edgec.base.resources import resource


@dataclass(frozen=True)
class Target:
    """One target. Vocabularies are listed from the baseline, which always runs, to the best; init picks the last that the CPU has."""

    name: str
    description: str
    arch: str  # x86_64, aarch64, armv7, riscv64, cortex-m, or one of EVERYWHERE
    os: str  # linux, android, macos, ios, windows, web, any, or none: the program is alone on its processor
    vocabularies: tuple[str, ...]
    signed_activations: bool  # int8 (True) or uint8 (False) inside the package
    half_vocabularies: tuple[str, ...] = ()  # in place of the others in packages of halves; none where these would gain nothing
    float_vocabularies: tuple[str, ...] = ()  # in place of the others in packages of floats; none where these have all of them
    compilers: tuple[str, ...] = ()  # tried in order after --cc and $CC
    zig_triple: str = ""
    flags: tuple[str, ...] = ()
    zig_flags: tuple[str, ...] = ()  # in place of `flags` for zig, which knows processors by -mcpu alone
    reorders: bool = False  # it is for processors that take instructions in any order
    second_cache: int = 0  # bytes that the second cache of one of its cores holds, in the least of them that is common; 0: not told
    gpu: str = ""  # vulkan or metal: the package has shaders and a host for them too
    form: str = ""  # swift, android, web or micro: the package is also what developers of such applications expect
    gpu_default: bool = True  # without a measurement, calls go to the GPU
    emulator: tuple[str, ...] = ()  # command that runs a foreign executable here, e.g. qemu-aarch64 -L ...; see command_of
    board: tuple[str, ...] = ()  # of the emulated one without a system: where flash begins, its size, the same of RAM, the clock in Hz


HOST = "host"
PROGRAM, ARGUMENTS = "{program}", "{arguments}"  # in the words of an emulator whose own options come last
# Target.arch of sources for any processor: plain C, and one tree that holds the vocabularies of several
EVERYWHERE = ("portable", "universal")
# (system, machine) as Python names them -> the target of that machine
_HOSTS = {
    ("Linux", "x86_64"): "x86-64",
    ("Linux", "aarch64"): "linux-arm64",
    ("Linux", "armv7l"): "rpi-32bit",
    ("Linux", "riscv64"): "linux-riscv64",
    ("Darwin", "arm64"): "macos-arm64",
    ("Darwin", "x86_64"): "x86-64",
    ("Windows", "AMD64"): "windows-x64",
}
_MACHINES = {"x86_64": ("x86_64", "AMD64"), "aarch64": ("aarch64", "arm64"), "armv7": ("armv7l",), "riscv64": ("riscv64",)}


def target_names() -> list[str]:
    """Every name that load_target takes, `host` first."""
    return [HOST, *sorted(path.stem for path in resource("targets").glob("*.yaml"))]


def all_targets() -> list[Target]:
    """Every target that a YAML file describes."""
    return [load_target(name) for name in target_names() if name != HOST]


def load_target(name: str) -> Target:
    """The target called `name`; `host` is the target of this machine. UsageError for an unknown name or a wrong file."""
    if name == HOST:
        return load_target(host_name())
    if name not in target_names():
        raise UsageError(f"unknown target {name!r}", hint=did_you_mean(name, target_names()))
    facts = _facts(name, ())
    target = _target(name, facts)
    return replace(target, emulator=()) if runs_here(target) else target


def command_of(prefix: Sequence[str], program: str, *arguments: str) -> list[str]:
    """The command that starts a program behind a prefix. A prefix that has places for them takes program and arguments there."""
    if not any(PROGRAM in word for word in prefix):
        return [*prefix, program, *arguments]
    return [word.replace(ARGUMENTS, " ".join(arguments)).replace(PROGRAM, program) for word in prefix]


def host_name() -> str:
    """The name of this machine's target."""
    return _HOSTS.get((platform.system(), platform.machine()), "portable")


def runs_here(target: Target) -> bool:
    """Whether this machine executes the target's programs without an emulator."""
    return target.arch in EVERYWHERE or platform.machine() in _MACHINES.get(target.arch, ())


@cache
def _facts(name: str, chain: tuple[str, ...]) -> Mapping[str, Any]:
    """The file's keys over those of the file it extends. A key that is null returns to its default."""
    path = resource("targets", f"{name}.yaml")
    if name in chain:
        raise UsageError("targets extend each other in a circle", where=" -> ".join((*chain, name)))
    try:
        facts = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"no target {name!r}", where=chain[-1] if chain else name, hint=did_you_mean(name, target_names())) from error
    except yaml.YAMLError as error:
        raise UsageError(f"not YAML: {error}", where=str(path)) from error
    if not isinstance(facts, dict):
        raise UsageError("must hold keys and values", where=str(path))
    known = {field.name for field in fields(Target)} - {"name"} | {"extends"}
    problems = [Problem(f"unknown key {key!r}", path.name, did_you_mean(str(key), known)) for key in facts if key not in known]
    if problems:
        raise UsageError(f"the target {name} is not understood", problems)
    base = facts.pop("extends", None)
    return {**(_facts(base, (*chain, name)) if base else {}), **facts}


def _target(name: str, facts: Mapping[str, Any]) -> Target:
    values: dict[str, Any] = {"name": name}
    problems = []
    for field in fields(Target):
        value = facts.get(field.name)
        wanted = {"tuple[str, ...]": list, "bool": bool, "int": int, "str": str}[str(field.type)]
        if field.name == "name" or (value is None and field.name not in _required()):
            continue
        if type(value) is not wanted:
            problems.append(Problem(f"must be {wanted.__name__}, is {type(value).__name__}", f"{name}.yaml: {field.name}"))
        else:
            values[field.name] = tuple(str(item) for item in value) if isinstance(value, list) else value
    if problems:
        raise UsageError(f"the target {name} is not understood", problems)
    return Target(**values)


def _required() -> tuple[str, ...]:
    return ("description", "arch", "os", "vocabularies", "signed_activations")
