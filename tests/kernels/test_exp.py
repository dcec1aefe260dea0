"""floats_exp is near edgec_expf of what is not positive, 0 where that is, and NaN of NaN, in every vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.builds import BUILDS
from tests.kernels.driver import Build
from tests.kernels.words import check

PROGRAM = """
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
    check(build, PROGRAM, tmp_path, ["vocabulary/float_exp.h"])
