"""What a board is: frozen facts that do not change while it is up, read from the parts that a probe answers."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass

from edgec.boards.board import parsers

# uname -m (or what Python calls it) -> Target.arch
_ARCHS = {
    "x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64", "armv7l": "armv7", "armv8l": "armv7",
    "armv6l": "armv6", "riscv64": "riscv64", "i686": "x86", "i386": "x86",
}  # fmt: skip
_NARROW = {"aarch64": "armv7", "x86_64": "x86"}  # what a 64-bit kernel with 32-bit programs runs
_ABIS = {"arm64-v8a": "aarch64", "armeabi-v7a": "armv7", "x86_64": "x86_64", "riscv64": "riscv64"}
_SYSTEMS = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}


@dataclass(frozen=True)
class Facts:
    """A board as it describes itself, in printable lines. Empty, 0 or None: it does not tell.

    machine: as uname -m has it. bits: of its programs, which may be 32 on a 64-bit kernel. archs: Target.arch values whose programs run
    there without an emulator. os: linux, android, macos or windows. most_frequencies_khz: of each core. clock_offset_s: its clock less
    ours, to a second.
    """

    model: str = ""
    processor: str = ""
    features: frozenset[str] = frozenset()
    cores: int = 0
    machine: str = ""
    bits: int = 0
    archs: tuple[str, ...] = ()
    os: str = ""
    system: str = ""
    kernel: str = ""
    libc: str = ""
    gpu: str = ""
    memory_bytes: int = 0
    most_frequencies_khz: tuple[int, ...] = ()
    disk_free_bytes: int | None = None
    writable: bool | None = None
    clock_offset_s: float | None = None
    uptime_s: float | None = None


def facts_of(parts: Mapping[str, str]) -> Facts:
    """Facts from the parts of `probes.FACTS`; never fails, whatever the board says."""
    said = {name: parts.get(name, "") for name in _PARTS}
    names = [parsers.line(word) for word in said["uname"].split("\n")[:3]]
    kind, kernel, machine = [*names, "", "", ""][:3]
    phone, mac = parsers.properties(said["properties"]), parsers.sysctl(said["sysctl"])
    android = "ro.build.version.release" in phone
    bits = parsers.bits(said["bits"]) or 0
    return Facts(
        model=parsers.first_line(said["model"]) or parsers.cpuinfo_model(said["cpuinfo"]) or _phone_model(phone) or mac.get("hw.model", ""),
        processor=_processor(said["cpuinfo"], phone, mac),
        features=parsers.features(said["cpuinfo"]) or parsers.apple_features(mac),
        cores=_cores(said, mac),
        machine=machine,
        bits=bits,
        archs=archs_of(machine, bits, phone.get("ro.product.cpu.abilist", "")),
        os="android" if android else _SYSTEMS.get(kind, "windows" if kind.startswith(("MINGW", "MSYS", "CYGWIN")) else kind.lower()),
        system=f"Android {phone['ro.build.version.release']}" if android else parsers.release(said["release"]) or _mac_system(mac),
        kernel=f"{kind} {kernel}".strip(),
        libc=parsers.libc(said["libc"]),
        gpu=parsers.gpu(said["gpu"]),
        memory_bytes=parsers.memory(said["memory"]) or parsers.whole(mac.get("hw.memsize", "")) or 0,
        most_frequencies_khz=tuple(khz for _, khz in sorted(parsers.kilohertz(said["most_frequencies"]).items())),
        disk_free_bytes=parsers.disk_free(said["disk"]),
        writable={"yes": True, "no": False}.get(said["writable"].strip()),
    )


_PARTS = (
    "uname", "bits", "model", "cpuinfo", "cores", "most_frequencies", "memory", "release", "libc", "properties", "sysctl", "disk",
    "writable", "gpu",
)  # fmt: skip


def archs_of(machine: str, bits: int, abis: str = "") -> tuple[str, ...]:
    """Target.arch values of programs that run there. abis: Android's list, which counts where it is told."""
    if abis:
        return tuple(_ABIS[abi] for abi in abis.split(",") if abi in _ABIS)
    arch = _ARCHS.get(machine.lower(), "")
    arch = _NARROW.get(arch, arch) if bits == 32 else arch
    return (arch,) if arch else ()


def _phone_model(phone: Mapping[str, str]) -> str:
    return " ".join(phone[key] for key in ("ro.product.manufacturer", "ro.product.model") if key in phone)


def _processor(cpuinfo: str, phone: Mapping[str, str], mac: Mapping[str, str]) -> str:
    """The name, and what phones call the chip."""
    chip = " ".join(phone[key] for key in ("ro.soc.manufacturer", "ro.soc.model") if key in phone)
    name = parsers.processor(cpuinfo) or parsers.line(mac.get("machdep.cpu.brand_string", ""))
    return f"{chip} ({name})" if chip and name else chip or name


def _cores(said: Mapping[str, str], mac: Mapping[str, str]) -> int:
    return parsers.whole(said["cores"]) or parsers.count_cores(said["cpuinfo"]) or parsers.whole(mac.get("hw.ncpu", "")) or 0


def _mac_system(mac: Mapping[str, str]) -> str:
    return f"macOS {mac['kern.osproductversion']}" if "kern.osproductversion" in mac else ""


def facts_of_python() -> Facts:
    """What Python knows of this machine: all there is on a Windows machine without a shell."""
    kind, machine = platform.system(), platform.machine()
    return Facts(
        processor=parsers.line(platform.processor()),
        cores=os.cpu_count() or 0,
        machine=machine,
        archs=archs_of(machine, 0),
        os=_SYSTEMS.get(kind, kind.lower()),
        system=parsers.line(platform.platform()),
        kernel=f"{kind} {platform.release()}",
    )
