"""Python wheels: a package's module and its ready-made library, one file for each processor, tagged with what the library proves."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from edgec.base.errors import ToolchainError, UsageError
from edgec.base.version import __version__
from edgec.cache import NOTHING, Store
from edgec.package.manifest import Content, read_manifest
from edgec.targets import EVERYWHERE, Target
from edgec.toolchain.elf import Demands, demands
from edgec.toolchain.freestanding import find_freestanding, link_freestanding
from edgec.toolchain.zip_file import archived

# Target.arch -> the ABIs of Linux that it is compiled for
_ABIS = {"x86_64": ("x86_64",), "aarch64": ("arm64-v8a",), "armv7": ("armhf",)}
_EVERY_ABI = ("x86_64", "arm64-v8a", "armhf")
# ABI -> its name in tags, and bits and machine of its libraries
_MACHINES = {"x86_64": ("x86_64", 64, 62), "arm64-v8a": ("aarch64", 64, 183), "armhf": ("armv7l", 32, 40)}
_HARD_FLOAT = 0x400  # a flag of ARM's: floats are passed in floating-point registers
# A library that needs no other one and no version of a symbol runs with the oldest C libraries that tags are agreed for
_SYSTEMS = ("manylinux_2_17", "manylinux2014", "musllinux_1_1")


def check_wheel(target: Target, weights: str, compiled: bool, cc: str | None = None, *, start: bool = True) -> None:
    """Why no wheel can be made: a UsageError, or a ToolchainError where a processor has no compiler. start: whether `cc` may be started."""
    if not wheel_abis(target):
        hint = "choose a target for Linux on x86-64, 64-bit or 32-bit ARM, or `universal` for all three"
        raise UsageError(f"no wheels are made for {target.name}", where="--wheel", hint=hint)
    if weights == "bin":
        raise UsageError("a wheel holds its weights", where="--wheel", hint="leave out --weights bin")
    if not compiled:
        raise UsageError("a wheel holds a compiled library", where="--wheel", hint="leave out --no-compile")
    for abi in wheel_abis(target) if start or cc is None else ():
        find_freestanding(abi, _compiler(target, cc))


def wheel_abis(target: Target) -> tuple[str, ...]:
    """What a wheel is made for, each; none where Python is not installed from wheels."""
    if target.form or target.os not in ("linux", "any"):
        return ()
    return _EVERY_ABI if target.arch in EVERYWHERE else _ABIS.get(target.arch, ())


def _compiler(target: Target, cc: str | None) -> str | None:
    """A compiler that the user names makes code for one processor."""
    return cc if len(wheel_abis(target)) == 1 else None


def wheel_paths(target: Target, files: Iterable[str]) -> tuple[str, ...]:
    """Where make_wheels puts them, given the paths of a package's files."""
    name = _distribution(files)
    return tuple(f"dist/{name}-py3-none-{platform_tag(abi)}.whl" for abi in wheel_abis(target))


def platform_tag(abi: str) -> str:
    machine = _MACHINES[abi][0]
    return ".".join(f"{system}_{machine}" for system in _SYSTEMS)


def make_wheels(
    directory: Path, target: Target, files: Mapping[str, Content], cc: str | None = None, optimize: str = "-O3", store: Store = NOTHING
) -> list[Path]:
    """The wheels of the package in `directory`, which holds `files`, apps.wheel's among them. Equal libraries give equal bytes.

    ToolchainError where a processor has no compiler, or in the compiler's own words.
    """
    name = read_manifest(directory)[0].name
    parts = {path.removeprefix("python/"): content for path, content in files.items() if path.startswith("python/") and path.count("/") > 1}
    sources = sorted(path for path in files if path.startswith("python/") and path.count("/") == 1 and path.endswith(".c"))
    (module,) = {path.partition("/")[0] for path in parts if path.endswith("/__init__.py")}
    found = []
    (directory / "dist").mkdir(exist_ok=True)
    for abi, path in zip(wheel_abis(target), wheel_paths(target, files), strict=True):
        result = f"build/wheel-{abi}/lib{name}.so"
        made = link_freestanding(directory, abi, _compiler(target, cc), sources, result=result, optimize=optimize, store=store)
        library = made.read_bytes()
        prove(abi, demands(library))
        wheel = pack(parts | {f"{module}/lib{name}.so": library}, _distribution(files), platform_tag(abi))
        (directory / path).write_bytes(wheel)
        found.append(directory / path)
    return found


def prove(abi: str, found: Demands) -> None:
    """ToolchainError where the library is not what platform_tag(abi) promises."""
    _, bits, machine = _MACHINES[abi]
    float_fits = abi != "armhf" or found.flags & _HARD_FLOAT
    if not (found.none and (found.bits, found.machine) == (bits, machine) and float_fits):
        raise ToolchainError(f"the library needs more than its wheel promises: {found}", where=abi, hint="try another compiler with --cc")


def pack(parts: Mapping[str, Content], distribution: str, platform: str) -> bytes:
    """A wheel of these files: path -> content, sorted, all of one time. The folder DISTRIBUTION.dist-info gets WHEEL and RECORD."""
    information = f"{distribution}.dist-info"
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in platform.split("."))
    wheel = f"Wheel-Version: 1.0\nGenerator: edgec {__version__}\nRoot-Is-Purelib: false\n{tags}"
    held: dict[str, Content] = dict(sorted(parts.items())) | {f"{information}/WHEEL": wheel.encode()}
    rows = [f"{path},sha256={_digest(content)},{len(content)}\n" for path, content in held.items()]
    held[f"{information}/RECORD"] = "".join([*rows, f"{information}/RECORD,,\n"]).encode()
    return archived(held)


def _digest(content: Content) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _distribution(files: Iterable[str]) -> str:
    """NAME-VERSION, from the path of METADATA."""
    (path,) = (path for path in files if path.startswith("python/") and path.endswith(".dist-info/METADATA"))
    return path.split("/")[1].removesuffix(".dist-info")
