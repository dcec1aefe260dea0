"""Which samples are fitted to, and which judge: shares of them, each with every fourth one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from edgec.quant.given.options import Sample, Samples
from edgec.quant.runs.statistics import SHARES

FEW = 16  # samples: each half is measured with what was fitted to the other; of more a quarter measures what was fitted to the others
JUDGES = 32  # samples at most that a trial runs

Pairs = Sequence[tuple[Collection[int], Collection[int]]]  # shares that are fitted to, and those that judge
TURNS: Pairs = [((1, 2, 3), (0,)), ((0, 2, 3), (1,)), ((0, 1, 3), (2,))]  # what the usual one leaves


def shares_of(count: int) -> Pairs:
    """The shares of `count` samples that are fitted to, and those that are held back, for each fold."""
    if count == 1:
        return [(range(SHARES), range(SHARES))]
    return [((0, 2), (1, 3)), ((1, 3), (0, 2))] if count < FEW else [((0, 1, 2), (3,))]


def part(samples: Samples, shares: Collection[int]) -> Samples:
    """The samples of some shares."""

    def chosen() -> Iterator[Sample]:
        return (sample for index, sample in enumerate(samples()) if index % SHARES in shares)

    return chosen


def some(samples: Samples, count: int, most: int = JUDGES) -> Samples:
    """`most` of `count` samples, evenly spread."""
    wanted = {place * count // most for place in range(most)} if count > most else set(range(count))

    def chosen() -> Iterator[Sample]:
        return (sample for index, sample in enumerate(samples()) if index in wanted)

    return chosen
