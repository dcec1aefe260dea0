"""floats_exp is near edgec_expf of what is not positive, 0 where that is, and NaN of NaN, in every vocabulary."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from edgec.emit.kernels import runtime_text
from edgec.emit.vocabularies import VOCABULARIES
from edgec.targets import command_of
from tests.kernels.builds import BUILDS
from tests.kernels.driver import Build
from tests.kernels.int8_harness import cpu_has, need, simde_command

PROGRAM = """
#define INLINE static inline __attribute__((unused)) KERNEL_TARGET
@INCLUDE@
@PROLOGUE@
@MATH@
@WORDS@
@EXP@
KERNEL_TARGET int main(void) {
    float x[16], y[16], z;
    uint32_t at, lane, wrong = 0;
    int32_t apart;
    for (at = 0x7f7fffffu; at < 0xffffffffu - 40000u; at += 20011u) {
        for (lane = 0; lane < 16; lane++) x[lane] = edgec_float(at + lane * 1237u);
        for (lane = 0; lane < 16; lane += FLOATS) floats_store(y + lane, floats_exp(floats_load(x + lane)));
        for (lane = 0; lane < 16; lane++) {
            z = edgec_expf(x[lane]);
            apart = (int32_t)(edgec_bits(z) - edgec_bits(y[lane]));
            wrong += z != z ? y[lane] == y[lane] : z == 0.0f ? y[lane] != 0.0f : x[lane] <= 0.0f && (apart > 2 || apart < -2);
        }
    }
    return wrong != 0;
}
"""


@pytest.mark.parametrize("build", [build for build in BUILDS if not build.simde], ids=str)
def test_negative_numbers(build: Build, tmp_path: Path) -> None:
    for tool in (build.compiler[0], *build.emulator[:1]):
        need(tool)
    compiler = build.compiler
    if not (build.emulator or cpu_has(build.vocabulary)):
        compiler = (*simde_command(compiler[0]), *compiler[1:])
    words = VOCABULARIES[build.vocabulary]
    target = words.clang if "clang" in build.compiler[0] else words.gcc
    texts = {
        "INCLUDE": f"#include <{words.include}>" if words.include else "",
        "PROLOGUE": runtime_text("prologue.h"),
        "MATH": runtime_text("math.h"),
        "WORDS": runtime_text(f"vocabulary/{words.float.header}"),
        "EXP": runtime_text("vocabulary/float_exp.h"),
    }
    attribute = f'__attribute__((target("{target}")))' if target else ""
    text = f"#ifndef KERNEL_TARGET\n#define KERNEL_TARGET {attribute}\n#endif\n{PROGRAM}"
    for name, content in texts.items():
        text = text.replace(f"@{name}@", content)
    suffix = "cpp" if "c++" in build.compiler else "c"
    (tmp_path / f"exp.{suffix}").write_text(text, encoding="utf-8")
    subprocess.run([*compiler, *build.flags, "-o", "exp", f"exp.{suffix}", *build.libraries], cwd=tmp_path, check=True)
    subprocess.run(command_of(build.emulator, str(tmp_path / "exp")), check=True)
