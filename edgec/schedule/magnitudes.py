"""How large halves can get, call by call: which layers' sums stay in their range whatever a network is asked, so that nobody need look."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from edgec.kernels.halves import CHANNELS, LARGEST, STRETCH
from edgec.program.program import AnyCall, Program, TemplateCall

STEP = 2.0**-11  # of a number: what rounding it to a half moves it by at most
AROUND = 4  # roundings of a weight, a bias, an input, and of the last sum


class Magnitudes:
    """The largest magnitudes that the calls so far may have left in each buffer, by its root; those of all halves where no better is known.

    others: roots of which nothing is, since they hold something else than halves, or what is not of this run.
    """

    def __init__(self, program: Program, roots: Mapping[str, str], others: Collection[str]) -> None:
        self._program, self._roots = program, roots
        again = (name for call in program.calls if call.call.within for name in call.call.writes)  # one turn reads what others leave
        self._found = dict.fromkeys((*others, *(roots[name] for name in again)), LARGEST)

    def take(self, call: AnyCall, halves: bool) -> bool:
        """Counts a call in. Whether it is a layer of halves all of whose sums are in their range, however far they have got.

        halves: whether a kernel of halves computes it.
        """
        sums = self._sums(call.arguments) if halves and isinstance(call, TemplateCall) else None
        left, sure = LARGEST, False
        if sums is not None:
            assert isinstance(call, TemplateCall)
            left, sure = _clamped(call.arguments, sums[1]), sums[0] < LARGEST
        for name in call.call.writes:
            root = self._roots[name]
            self._found[root] = max(self._found.get(root, 0.0), left)
        return sure

    def _sums(self, a: Any) -> tuple[float, float] | None:
        """The largest sum of products on its way, and the largest result, of a convolution."""
        if type(a) not in CHANNELS:
            return None
        channels = CHANNELS[type(a)](a)
        weights, bias = (abs(self._data(pointer.buffer)).reshape(channels, -1) for pointer in (a.weights, a.bias))
        terms = weights.shape[1]
        growth = (1 + STEP) ** (min(terms, STRETCH) + terms // STRETCH + AROUND)
        most = float((bias.sum(axis=1) + weights.sum(axis=1) * self._of(a.x.buffer)).max()) * growth
        beside = getattr(a, "residual", None)
        return most, most + (self._of(beside.buffer) * (1 + STEP) if beside is not None else 0.0)

    def _data(self, name: str) -> np.ndarray:
        data = self._program.buffers[name].data
        assert data is not None, "layers of halves have constant weights"
        return data.astype(np.float64)

    def _of(self, name: str) -> float:
        return self._found.get(self._roots[name], LARGEST)


def _clamped(arguments: Any, most: float) -> float:
    """The largest magnitude of a result of which that of the sum is `most`."""
    return float(min(LARGEST, max(min(most, abs(float(arguments.low))), min(most, abs(float(arguments.high))))))
