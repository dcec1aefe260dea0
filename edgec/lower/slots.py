"""A plan for more blocks than can be compared with each other: those of one size share slots, in order of time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Protocol


class Block(Protocol):
    """What edgec/lower/plan.py calls a Life."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...


def by_slots(lives: Iterable[Block]) -> dict[str, int]:
    """Addresses in as many steps as there are blocks: each takes a slot of its size that has become free, else a new one at the end."""
    addresses: dict[str, int] = {}
    free: dict[int, list[int]] = defaultdict(list)
    alive: list[tuple[int, int, int]] = []  # last use, address, size
    end = 0
    for life in sorted(lives, key=lambda life: life.first):
        while alive and alive[0][0] < life.first:
            _, address, size = heappop(alive)
            free[size].append(address)
        if free[life.size]:
            addresses[life.name] = free[life.size].pop()
        else:
            addresses[life.name], end = end, end + life.size
        heappush(alive, (life.last, addresses[life.name], life.size))
    return addresses
