"""The words that bound results: the nearest number that is not beyond the bounds, whichever end there is, and NaN of NaN."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.builds import BUILDS, HALVES
from tests.kernels.driver import Build
from tests.kernels.words import check

PROGRAM = """
enum { COUNT = 12, MOST = 16 };
static int differ(double a, double b) { return a == a || b == b ? a != b : 0; }
KERNEL_TARGET int main(void) {
    volatile double zero = 0.0;
    const double numbers[COUNT] = {0.0, 1.0, -1.0, 6.0, -0.5, 2048.0, -65504.0, 65504.0, 0.0625,
                                   1.0 / zero, -1.0 / zero, zero / zero};
    float v[MOST], low[MOST], high[MOST];
    int at, bottom, top, lane, wrong = 0;
    for (at = 0; at < COUNT; at++) {
        for (bottom = 0; bottom < COUNT - 1; bottom++) {
            const double above = numbers[at] < numbers[bottom] ? numbers[bottom] : numbers[at];
            for (lane = 0; lane < MOST; lane++) {
                v[lane] = (float)numbers[(at + lane) % COUNT]; /* the others must not matter to a lane */
                low[lane] = (float)numbers[bottom];
            }
            floats_store(v, floats_at_least(floats_load(v), floats_load(low)));
            wrong += differ((double)v[0], above);
            for (top = 0; top < COUNT - 1; top++) {
                if (numbers[top] < numbers[bottom]) continue;
                for (lane = 0; lane < MOST; lane++) {
                    v[lane] = (float)numbers[(at + 2 * COUNT - lane) % COUNT];
                    high[lane] = (float)numbers[top];
                }
                floats_store(v, floats_clamp(floats_load(v), floats_load(low), floats_load(high)));
                wrong += differ((double)v[0], above > numbers[top] ? numbers[top] : above);
            }
        }
    }
    return wrong != 0;
}
"""


@pytest.mark.parametrize("build", [build for build in (*BUILDS, *HALVES) if not build.simde], ids=str)
def test_numbers_within_bounds_and_beyond(build: Build, tmp_path: Path) -> None:
    check(build, PROGRAM, tmp_path)
