"""Which machine an executable file was made for, as its first bytes say."""

from __future__ import annotations

from collections.abc import Mapping

# e_machine of ELF, cputype of Mach-O, Machine of PE -> architecture as targets name it
_ELF: Mapping[int, str] = {0x3E: "x86_64", 0xB7: "aarch64", 0x28: "armv7", 0xF3: "riscv64"}
_MACH: Mapping[int, str] = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
_PE: Mapping[int, str] = {0x8664: "x86_64", 0xAA64: "aarch64"}


def made_for(program: bytes) -> tuple[str, str]:
    """(system, architecture) of an executable: linux, macos or windows; each is "" where it is not known."""
    if program[:4] == b"\x7fELF" and len(program) >= 20:
        little = program[5] == 1  # no big-endian processor is a target
        return "linux", _ELF.get(int.from_bytes(program[18:20], "little"), "") if little else ""
    if program[:4] == b"\xcf\xfa\xed\xfe":
        return "macos", _MACH.get(int.from_bytes(program[4:8], "little"), "")
    if program[:4] == b"\xca\xfe\xba\xbe":
        return "macos", ""  # several architectures in one file
    if program[:2] == b"MZ" and len(program) >= 64:
        start = int.from_bytes(program[60:64], "little")
        if program[start : start + 4] == b"PE\0\0":
            return "windows", _PE.get(int.from_bytes(program[start + 4 : start + 6], "little"), "")
    return "", ""
