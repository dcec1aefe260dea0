"""Windows that signals are multiplied by: constants, the very numbers that ONNX Runtime computes."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source

# a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), with N the size, or one less where the window is symmetric
_HAMMING, _BLACKMAN = np.float32(25 / 46), np.float32(0.08)  # rounded before the sum: a window's ends are what such roundings leave
COEFFICIENTS = {
    "HannWindow": (0.5, 0.5, 0.0),
    "HammingWindow": (float(_HAMMING), float(1 - _HAMMING), 0.0),
    "BlackmanWindow": (float(np.float32(0.5) - _BLACKMAN), 0.5, float(_BLACKMAN)),
}


@rule(*COEFFICIENTS)
def taper(b: Builder, s: Source) -> None:
    known = b.known(s, 0, "the size")
    symmetric = int(not s.get("periodic", 1))
    if len(known) != 1 or known[0] < 1 + symmetric:
        raise ModelError(f"the size is {known}, must be one number of at least {1 + symmetric}")
    spend_constant(known[0] * 8, f"window of {known[0]} numbers")
    angles = np.arange(known[0]) * (2 * np.pi / (known[0] - symmetric))
    first, second, third = COEFFICIENTS[s.op]
    numbers = first - second * np.cos(angles) + third * np.cos(2 * angles)
    b.define(s.outputs[0], numbers.astype(_type(s.get("output_datatype", 1))))


def _type(code: int) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(helper.tensor_dtype_to_np_dtype(code))
        return found
    except KeyError:
        raise ModelError(f"output_datatype {code} is no type") from None
