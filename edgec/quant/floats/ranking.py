"""In which order layers go to float32: by the error that goes with them, for what they cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from edgec.quant.floats.forecast import Forecast

LEAST = 1e-9  # parts of the error, and of the time, below which there is nothing to choose by
Names = frozenset[str]
Price = Callable[[Forecast, Names, Names], float]  # of a group, where others are kept already


def by_number(forecast: Forecast, kept: Names, group: Names) -> float:
    """How many layers are kept more."""
    return float(len(group - kept))


def by_time(forecast: Forecast, kept: Names, group: Names) -> float:
    """What they add to the estimated time of a run."""
    return (forecast.latency(kept | group) - forecast.latency(kept)) / forecast.latency(())


PRICES: tuple[Price, ...] = (by_number, by_time)


def ranked(forecast: Forecast, price: Price) -> list[Names]:
    """Growing sets of layers to keep in float32, from the first choice to all but one layer with weights.

    Layers that have to go together for any gain do. Every set differs from the one before in what computes in integers.
    """
    groups, kept = list(dict.fromkeys(map(forecast.needed, forecast.groups()))), Names()
    found: list[Names] = []

    def worth(group: Names) -> float:
        gain, cost = forecast.gone(kept | group) - forecast.gone(kept), max(price(forecast, kept, group), LEAST)
        return gain / cost if gain > LEAST else -cost

    heap = [(-worth(group), place) for place, group in enumerate(groups)]
    heapify(heap)
    while heap:
        _, place = heappop(heap)
        group = groups[place]
        if group <= kept or not forecast.matrices(kept | group):
            continue
        now = -worth(group)
        if heap and now > heap[0][0]:  # less than it was, since part of it is there already
            heappush(heap, (now, place))
        elif forecast.integers(kept | group) != forecast.integers(kept):
            kept |= group
            found.append(kept)
    return found


def lightest_first(forecast: Forecast, kept: Names) -> Sequence[str]:
    """The layers of `kept`, those first that seem to be needed least."""
    whole = forecast.gone(kept)
    lost = {name: whole - forecast.gone(kept - {name}) for name in kept}
    times = {name: forecast.latency(kept - {name}) for name in kept}
    return sorted(kept, key=lambda name: (lost[name], times[name], name))
