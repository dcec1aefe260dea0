"""Whether a measurement can be trusted: a board that slows itself down measures its cooling, not the package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edgec.records.results import Latency, State

MOST_DROP = 0.05  # of the frequency under load


def spoiled(before: State, after: State, latencies: Iterable[Latency]) -> str:
    """Why a measurement between two looks at the board is not valid; "" when it is."""
    if reasons := sorted({*before.throttled, *after.throttled}):
        return f"the board throttled: {', '.join(reasons)}"
    for latency in latencies:
        if latency.gpu:
            continue  # a processor that waits for the GPU may rest
        most, least = _drop(latency.frequencies_khz)
        if least < most * (1 - MOST_DROP):
            return f"the clock fell from {most / 1000:.0f} to {least / 1000:.0f} MHz under load"
    return ""


def _drop(frequencies: Sequence[int]) -> tuple[int, int]:
    """The pair (earlier, later) with the largest fall. A round starts with what its governor had to raise first: a low start after a
    high end of the round before is no fall."""
    worst, most = (0, 0), 0
    for first, last in zip(frequencies[::2], frequencies[1::2], strict=True):
        most = max(most, first)
        if most - last > worst[0] - worst[1]:
            worst = (most, last)
        most = max(most, last)
    return worst
