"""How large an error is against what it disturbs."""

from __future__ import annotations

from math import log10

import numpy as np

from edgec.records.diagnosis import BEST

BLOCK = 1 << 20  # numbers that are widened at once


class Noise:
    """Energy of a stream of numbers and of its error; what is not finite on either side has none, and what one side lacks is zero."""

    def __init__(self) -> None:
        self.signal = self.error = 0.0

    def add(self, exact: np.ndarray, stored: np.ndarray) -> None:
        whole, rounded = exact.reshape(-1), stored.reshape(-1)
        if whole.size != rounded.size:
            whole, rounded = (np.pad(array, (0, max(whole.size, rounded.size) - array.size)) for array in (whole, rounded))
        for begin in range(0, whole.size, BLOCK):
            wide, found = (array[begin : begin + BLOCK].astype(np.float64) for array in (whole, rounded))
            finite = np.isfinite(wide) & np.isfinite(found)
            if not finite.all():
                wide, found = wide[finite], found[finite]
            found -= wide
            self.signal += float(np.square(wide).sum())
            self.error += float(np.square(found).sum())

    @property
    def sqnr(self) -> float:
        """10 log10(signal / error) in dB, rounded to 1/100."""
        if self.error <= 0:
            return BEST
        return round(10 * log10(max(self.signal, 1e-300) / self.error), 2)
