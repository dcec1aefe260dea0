"""Which C compiler builds for a target: --cc, $CC, the target's own, the Android NDK, then ziglang."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from edgec.base.environment import child_environment
from edgec.base.errors import Problem, ToolchainError
from edgec.targets import EVERYWHERE, HOST, Target, load_target

# What `cc -dumpmachine` begins with
PREFIXES = {
    "x86_64": ("x86_64", "amd64"),
    "aarch64": ("aarch64", "arm64"),
    "armv7": ("arm", "thumb"),
    "riscv64": ("riscv64",),
    "wasm32": ("wasm32",),
    "cortex-m": ("thumb", "arm-none"),
}
_PACKAGES = {"aarch64": "gcc-aarch64-linux-gnu", "armv7": "gcc-arm-linux-gnueabihf", "riscv64": "gcc-riscv64-linux-gnu"}


@dataclass(frozen=True)
class Compiler:
    """A command that compiles C for the target, and the archiver beside it."""

    command: tuple[str, ...]
    archiver: tuple[str, ...]
    origin: str  # how it was found, in words
    is_zig: bool = False


def find_compiler(target: Target, cc: str | None = None, *, start: bool = True) -> Compiler:
    """The first compiler that makes code for `target`; ToolchainError when there is none, or when `cc` is not one.

    start: whether `cc` may be started, to hear what it compiles for; without that it is one where a program of its name is installed.
    """
    if cc:
        return _required(cc, target, start)
    tried = []
    for name, origin in _candidates(target):
        found = _named(name, target, origin)
        if found is not None:
            return found
        tried.append(Problem("not found, or for another processor", f"{name} ({origin})"))
    if _triple(target) and find_spec("ziglang") is not None:
        return zig_for(_triple(target), target.os)
    raise ToolchainError(f"no C compiler for target {target.name}", tried, hint=_hint(target))


def _triple(target: Target) -> str:
    """What zig compiles for; sources for any processor are compiled for this machine."""
    return target.zig_triple or (load_target(HOST).zig_triple if target.arch in EVERYWHERE else "")


def zig_for(triple: str, system: str) -> Compiler:
    """ziglang, which is installed. It brings the C libraries of most systems; of iOS it has none, but macOS's declarations are the same."""
    zig = (sys.executable, "-m", "ziglang")
    headers: tuple[str, ...] = ()
    if system == "ios":
        folder = Path(str(find_spec("ziglang").origin)).parent  # type: ignore[union-attr]
        headers = ("-isystem", str(folder / "lib" / "libc" / "include" / "any-darwin-any"))
    return Compiler((*zig, "cc", "-target", triple, *headers), (*zig, "ar"), "ziglang", is_zig=True)


def _hint(target: Target) -> str:
    ways = [f"apt install {_PACKAGES.get(target.arch, 'gcc')}"]
    if target.os == "web":
        ways = ["apt install clang lld"]
    if target.os == "none":
        ways = ["apt install clang lld", "apt install gcc-arm-none-eabi"]
    if target.os == "windows":
        ways = ["apt install gcc-mingw-w64-x86-64"]
    if target.os == "android":
        ways = ["set ANDROID_NDK_HOME"]
    if target.os in ("macos", "ios"):
        ways = []
    ways += ["pip install 'edgec[zig]'"] if _triple(target) else []
    return " or ".join([*ways, "--cc COMMAND", "--no-compile to leave the sources"])


def _candidates(target: Target) -> Iterator[tuple[str, str]]:
    if os.environ.get("CC"):
        yield os.environ["CC"], "$CC"
    ndk = os.environ.get("ANDROID_NDK_HOME") or os.environ.get("ANDROID_NDK_ROOT")
    if target.os == "android" and ndk:
        for folder in sorted(Path(ndk).glob("toolchains/llvm/prebuilt/*/bin")):
            yield from ((str(folder / name), "Android NDK") for name in target.compilers if "android" in name)
    yield from ((name, "target") for name in target.compilers)


def _required(command: str, target: Target, start: bool) -> Compiler:
    """What the user named, or an error that says why it cannot be used."""
    found = _named(command, target, "--cc", start)
    if found is not None:
        return found
    words = words_of(command, "--cc")
    if not words or shutil.which(words[0]) is None:
        hint = "name one that is installed, or --no-compile to leave the sources"
        raise ToolchainError(f"no such compiler: {command}", where="--cc", hint=hint)
    machine = machine_of(words) or "an unknown processor"
    raise ToolchainError(f"{command} makes code for {machine}, not {target.arch}", where="--cc", hint=_hint(target))


def _named(command: str, target: Target, origin: str, start: bool = True) -> Compiler | None:
    """`command` as a Compiler, when it is there and makes code for the target's processor."""
    words = words_of(command, origin)
    program = shutil.which(words[0]) if words else None
    if program is None:
        return None
    if start and target.arch not in EVERYWHERE and not machine_of(words).startswith(PREFIXES[target.arch]):
        return None
    if Path(words[0]).name != words[0]:  # compilers are started in the package's folder
        words = (str(Path(program).absolute()), *words[1:])
    is_zig = Path(words[0]).stem == "zig" or words[1:3] == ("-m", "ziglang")
    return Compiler(words, (_archiver(program),), origin, is_zig)


def words_of(command: str, where: str) -> tuple[str, ...]:
    """A command as its words, as shells have them; on Windows a backslash is a letter. ToolchainError where a quote has no end."""
    try:
        return tuple(shlex.split(command, posix=os.name != "nt"))
    except ValueError as error:
        raise ToolchainError(f"cannot be read: {command}", where=where, hint="end what a quotation mark begins") from error


def machine_of(words: tuple[str, ...]) -> str:
    """What the compiler says it compiles for; a `-target` given to it decides in clang and zig."""
    command = [*words, "-dumpmachine"]
    done = subprocess.run(command, env=child_environment(), capture_output=True, text=True, errors="replace", check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _archiver(program: str) -> str:
    """`ar` of the same family: aarch64-linux-gnu-gcc -> aarch64-linux-gnu-ar; llvm-ar beside an NDK's clang."""
    path = Path(program)
    prefix = path.name.rpartition("-")[0]
    for candidate in (f"{prefix}-ar" if prefix else "ar", str(path.parent / "llvm-ar"), "ar", "llvm-ar"):
        if shutil.which(candidate):
            return candidate
    return "ar"


def version_of(compiler: Compiler) -> str:
    """What the compiler says of itself, in a line, and the words that it is called with beside its name."""
    done = subprocess.run(
        [*compiler.command, "--version"], env=child_environment(), capture_output=True, text=True, errors="replace", check=False
    )
    said = next(iter(done.stdout.splitlines()), "") if done.returncode == 0 else ""
    return " ".join([said.strip() or Path(compiler.command[0]).name, *compiler.command[1:]])
