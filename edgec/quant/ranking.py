"""In which order layers go to float32: by the error that goes, for the time that comes."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from edgec.quant.forecast import Forecast

LEAST = 1e-9  # parts of the error, and of the time, below which there is nothing to choose by
Names = frozenset[str]


def ranked(forecast: Forecast) -> list[Names]:
    """Growing sets of layers to keep in float32, from the first choice to all but one layer with weights.

    Layers that have to go together for any gain do. Every set differs from the one before in what computes in integers.
    """
    kept: Names = frozenset()
    found: list[Names] = []
    groups = forecast.groups()
    heap = [(-_worth(forecast, kept, group), place) for place, group in enumerate(groups)]
    heapify(heap)
    while heap:
        _, place = heappop(heap)
        group = groups[place]
        if group <= kept or not forecast.matrices(kept | group):
            continue
        worth = -_worth(forecast, kept, group)
        if heap and worth > heap[0][0]:  # less than it was, since part of it is there already
            heappush(heap, (worth, place))
            continue
        if forecast.integers(kept | group) != forecast.integers(kept):
            kept |= group
            found.append(kept)
    return found


def _worth(forecast: Forecast, kept: Names, group: Names) -> float:
    """The error that goes, for the time that comes."""
    gain = forecast.gone(kept | group) - forecast.gone(kept)
    price = max((forecast.latency(kept | group) - forecast.latency(kept)) / forecast.latency(frozenset()), LEAST)
    return gain / price if gain > LEAST else -price


def lightest_first(forecast: Forecast, kept: Names) -> Sequence[str]:
    """The layers of `kept`, those first that seem to be needed least."""
    whole = forecast.gone(kept)
    lost = {name: whole - forecast.gone(kept - {name}) for name in kept}
    costs = {name: forecast.latency(kept - {name}) for name in kept}
    return sorted(kept, key=lambda name: (lost[name], costs[name], name))
