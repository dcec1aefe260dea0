"""Timing programs on a board, in rounds."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.errors import UsageError


@dataclass(frozen=True)
class Options:
    """How to measure. seconds and runs: the least of each, over all rounds together. threads: each count is measured by itself.

    cores: pinned to, instead of what the inventory says; () for none. repeats: how often a measurement that the board spoiled is done
    again, after `pause` seconds. samples: runs kept of each program, over all rounds.
    """

    seconds: float = 2.0
    runs: int = 100
    rounds: int = 5
    threads: tuple[int, ...] = (1,)
    cores: tuple[int, ...] | None = None
    isa: str | None = None
    profile: bool = False
    repeats: int = 2
    pause: float = 5.0
    samples: int = 4096

    def __post_init__(self) -> None:
        if self.rounds < 2:
            raise UsageError(f"{self.rounds} round", where="--rounds", hint="an interval needs at least 2 of them")
