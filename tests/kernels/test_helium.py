"""The int8 kernels of Helium give the bytes of docs/int8.md clauses 4 and 16 to 18 on an emulated Cortex-M55."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgec.emit.kernels import render_kernel_header, render_kernels
from edgec.kernels.depthwise_int8 import VARIANTS as DEPTHWISE
from edgec.schedule import choose_all
from edgec.targets import Target, command_of
from tests.kernels.int8_harness import USED, Program, call, driver_source
from tests.kernels.micro import CLANG, FLAGS, LINKING, QEMU
from tests.kernels.test_int8 import (
    agree,
    any_cases,
    attention_cases,
    conv_cases,
    depthwise_cases,
    few_channels_cases,
    float_cases,
    function_cases,
)

HELIUM = Target("cortex-m55", "", "cortex-m", "none", ("helium",), True)


@pytest.mark.parametrize(("flags", "step"), [("-O2", 1), pytest.param("-O0", 4, marks=pytest.mark.thorough)])
def test_int8_kernels(flags: str, step: int, needs: Callable[..., None], tmp_path: Path) -> None:
    needs("clang", "ld.lld", "qemu-system-arm")
    slots = choose_all(USED, "helium", HELIUM)
    (tmp_path / "t_kernels.h").write_text(render_kernel_header("t", slots, HELIUM), encoding="utf-8")
    (tmp_path / "kernels.c").write_text(render_kernels("t", "helium", slots, HELIUM), encoding="utf-8")
    (tmp_path / "driver.c").write_text(driver_source("helium", HELIUM), encoding="utf-8")
    strict = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    call([*CLANG, *FLAGS, *strict, flags, "-c", str(tmp_path / "kernels.c"), "-o", str(tmp_path / "kernels.o")])
    call([*CLANG, "-std=gnu99", "-O1", str(tmp_path / "driver.c"), str(tmp_path / "kernels.o"), *LINKING, "-o", str(tmp_path / "driver")])
    driver = Program(tuple(command_of(QEMU, str(tmp_path / "driver"))), HELIUM)
    for made in (conv_cases, few_channels_cases, float_cases, depthwise_cases, any_cases, attention_cases, function_cases):
        agree(driver, made(HELIUM)[::step])
    agree(driver, depthwise_cases(HELIUM)[::step], variant=DEPTHWISE[-1])
