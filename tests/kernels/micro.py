"""Kernels on an emulated Cortex-M55: compiled with what stands for a C library there, and run by QEMU."""

from __future__ import annotations

from pathlib import Path

from edgec.targets import load_target

SHIM = Path(__file__).parent / "micro"
RUNTIMES = Path(__file__).parents[2] / "runtimes"
FLAGS = (
    *load_target("cortex-m55").flags, "-ffreestanding", "-fno-stack-protector", f"-I{SHIM}", f"-I{RUNTIMES}/micro",
    f"-I{RUNTIMES}/freestanding", "-DMICRO", "-Dmain=driver_main",
)  # fmt: skip
CLANG = ("clang", "--target=thumbv8.1m.main-none-eabihf")
# What a driver is compiled and linked with
LINKING = (
    *FLAGS, "-nostdlib", "-static", "-fuse-ld=lld", f"-Wl,-T,{SHIM}/board.ld", "-Wno-pedantic", f"{SHIM}/host.c",
    f"{RUNTIMES}/freestanding/memory.c", f"{RUNTIMES}/freestanding/arm.c",
)  # fmt: skip
QEMU = (
    "qemu-system-arm", "-M", "mps3-an547", "-display", "none", "-monitor", "none", "-serial", "none", "-nic", "user,restrict=on",
    "-semihosting-config", "enable=on,target=native,arg=driver {arguments}", "-kernel", "{program}",
)  # fmt: skip
