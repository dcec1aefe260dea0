"""The int8 kernels of each of WebAssembly's vocabularies give the bytes of docs/int8.md clauses 4 and 16 to 18, in a real engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgec.emit.kernels import render_kernel_header, render_kernels
from edgec.schedule import choose_all
from edgec.targets import Target
from tests.kernels.int8_harness import USED, X86, Program, call, driver_source
from tests.kernels.test_int8 import agree, any_cases, attention_cases, conv_cases, depthwise_cases, float_cases, function_cases
from tests.kernels.wasm import CLANG, NODE, SHIM, relaxed

STACK = "-Wl,-z,stack-size=1048576"  # unoptimized, every value that a kernel names has a place of its own

# the vocabulary, the compiler's flags, and every how many-th case
ALWAYS = (
    ("wasm128", ("-O2", "-msimd128"), 1),
    ("relaxed7", ("-O2", "-mrelaxed-simd", *relaxed("ANY")), 1),
    ("relaxed8", ("-O2", "-mrelaxed-simd", *relaxed("UNSIGNED")), 1),
)
MORE = (
    ("wasm128", ("-O0", "-msimd128"), 4),
    ("portable", ("-O2",), 4),
    *(("relaxed7", ("-O1", "-mrelaxed-simd", *relaxed(behaviour)), 4) for behaviour in ("UNSIGNED", "SIGNED", "SATURATING", "WRAPPING")),
)


@pytest.mark.parametrize(
    ("vocabulary", "flags", "step"),
    [*ALWAYS, *(pytest.param(*build, marks=pytest.mark.thorough) for build in MORE)],
    ids=lambda item: "".join(word for word in item if word[:2] in ("-O", "-m", "-D")) if isinstance(item, tuple) else str(item),
)
def test_int8_kernels(vocabulary: str, flags: tuple[str, ...], step: int, needs: Callable[..., None], tmp_path: Path) -> None:
    needs("clang", "wasm-ld", "node")
    if not Path("/usr/include/wasm32-wasi").exists():
        pytest.skip("needs wasi-libc: apt-get install wasi-libc libclang-rt-14-dev-wasm32")
    target = Target("wasm", "", "wasm32", "web", ("portable", "wasm128", "relaxed7", "relaxed8"), False)
    slots = choose_all(USED, vocabulary, target)
    (tmp_path / "t_kernels.h").write_text(render_kernel_header("t", slots, target), encoding="utf-8")
    (tmp_path / "kernels.c").write_text(render_kernels("t", vocabulary, slots, target), encoding="utf-8")
    (tmp_path / "driver.c").write_text(driver_source(vocabulary, target), encoding="utf-8")
    program, sources = str(tmp_path / "driver.wasm"), [str(tmp_path / "kernels.c"), str(tmp_path / "driver.c")]
    call([*CLANG, "-std=gnu99", *flags, f"-I{SHIM}", STACK, *sources, "-o", program, "-lm"])
    driver = Program((*NODE, program), target)
    for cases in (conv_cases(X86), float_cases(X86), depthwise_cases(X86), any_cases(X86), attention_cases(X86), function_cases(X86)):
        agree(driver, cases[::step])
