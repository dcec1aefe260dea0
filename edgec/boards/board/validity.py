"""Whether a measurement can be trusted: a board that slows itself down measures its cooling, not the package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edgec.records.results import Latency, State

MOST_DROP = 0.05  # of the frequency under load
WIDEST = 0.2  # of the median: a 95 % interval beyond that says little
BUSY = 0.5  # runnable tasks beside a measurement that wants every core


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


def noisy(before: State, cores: int, latencies: Sequence[Latency]) -> str:
    """Why figures of a measurement that nothing spoiled are not known well all the same; "" when they are.

    before: of the board when it was not yet measured, so that its load is that of others. cores: all that it has; 0 where it does not
    tell. latencies: of one package, whose fastest way counts.
    """
    best = min(latencies, key=lambda one: one.p50_us, default=None)
    if best is None:
        return ""
    if before.load is not None and cores and before.load >= BUSY and before.load + best.threads > cores:
        return f"the board is busy with something else: a load of {before.load:.2f} on {cores} cores"
    width = (best.high_us - best.low_us) / best.p50_us
    if width > WIDEST:
        return f"the 95 % interval of the median is {width:.0%} of it wide, more than {WIDEST:.0%}"
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
