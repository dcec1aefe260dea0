"""What edgec knows of the processors it builds for: targets/*.yaml as frozen facts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One target. Vocabularies are listed from the baseline, which always runs, to the best; init picks the last that the CPU has."""

    name: str
    description: str
    arch: str  # x86_64, aarch64, armv7, riscv64 or portable
    os: str  # linux, android, macos, ios, windows or any
    vocabularies: tuple[str, ...]
    signed_activations: bool  # int8 (True) or uint8 (False) inside the package
    k_multiple: int  # 8-bit weights are padded to this many input channels: 4 or 8
    compilers: tuple[str, ...] = ()  # tried in order after --cc and $CC
    zig_triple: str = ""
    flags: tuple[str, ...] = ()
    emulator: tuple[str, ...] = ()  # command that runs a foreign executable here, e.g. qemu-aarch64 -L ...
