"""rows_codes8 and rows_codes4 against float64 numpy, in every vocabulary."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from edgec.kernels import RowsCodes4, RowsCodes8
from edgec.kernels.convolution import pack_panels
from edgec.kernels.rows_codes import pack_codes4, pack_codes8, pack_groups
from edgec.program.arguments import Window
from tests.kernels import reference
from tests.kernels.builds import BUILDS
from tests.kernels.driver import Build, Case, run
from tests.kernels.test_float import limits, stored
from tests.kernels.windows import pixels, splits, stride_of

Expected = tuple[np.ndarray, np.ndarray]


def random_rows(seed: int) -> tuple[Case, Expected]:
    """Arguments of either kernel with what they stand for: y in float64, and the bound of its rounding errors."""
    rng = np.random.default_rng(seed)
    four = seed % 2 == 0
    rows, inputs, outputs = int(rng.choice((1, 1, 2, 3, 5, 60))), int(rng.integers(1, 70)), int(rng.integers(1, 71))
    if seed % 8 == 0:
        outputs = int(rng.integers(129, 300))  # more than one item of panels
    group = min(inputs, int(rng.choice((1, 2, 5, 16, 32, 64, 70))))
    low, high = (-8, 7) if four else (-128, 127)
    codes = rng.integers(low, high, (outputs, inputs), endpoint=True)
    codes.reshape(-1)[:2] = (low, high)[: codes.size]
    scale = rng.uniform(0.01, 1, (outputs, -(-inputs // group))).astype(np.float32)
    offset = rng.integers(-300, 300, scale.shape).astype(np.float32) if rng.random() < 0.5 else None
    bias = rng.standard_normal(outputs).astype(np.float32)
    in_stride, out_stride, r_stride = (stride_of(rng, count) for count in (inputs, outputs, outputs))
    x, y = pixels(rng, rows, inputs, in_stride), pixels(rng, rows, outputs, out_stride)
    residual = pixels(rng, rows, outputs, r_stride) if rng.random() < 0.4 else None
    w = Window(1, 1, rows, in_stride, 1, rows, out_stride, 1, 1, 1, 1, 1, 1, 0, 0)
    bounds = limits(rng)
    arguments = (RowsCodes4 if four else RowsCodes8)(
        w, x, pack_codes4(codes, group) if four else pack_codes8(codes), pack_groups(scale),
        None if offset is None else pack_groups(offset), pack_panels(bias[None]), y, residual, r_stride, inputs, outputs,
        group, *bounds,
    )  # fmt: skip
    wide = codes + (0 if offset is None else np.repeat(offset, group, 1)[:, :inputs].astype(np.int64))
    weights = wide.astype(np.float64) * np.repeat(scale, group, 1)[:, :inputs]
    image = reference.image(w, x, inputs).astype(np.float64)
    total, size = image @ weights.T + bias, abs(image) @ abs(weights).T + abs(bias)
    if residual is not None:
        other = stored(w, residual, r_stride, outputs)
        total, size = total + other, size + abs(other)
    value = reference.place(w, y.astype(np.float64), np.clip(total, *bounds))
    return Case(arguments, splits(rng)), (value, reference.place(w, np.zeros(y.shape), size * 1e-6))


@cache
def random_cases() -> list[tuple[Case, Expected]]:
    return [random_rows(seed) for seed in range(96)]


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_random_rows(build: Build, shared: Path) -> None:
    answers = run(build, [case for case, _ in random_cases()], shared)
    for (case, (want, error)), got in zip(random_cases(), answers, strict=True):
        between = np.isnan(want)
        assert np.array_equal(np.isnan(got), between), case.arguments
        assert (abs(got - want)[~between] <= error[~between]).all(), (case.arguments, np.nanmax(abs(got - want) / error))
