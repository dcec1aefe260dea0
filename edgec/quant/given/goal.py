"""What a user asks of a quantized network's answers, and what was found on the way to it: facts alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Accuracy:
    """sqnr: of the output that is furthest from the float network's, in dB, or of what a final Softmax or Sigmoid reads.

    drop: share of the samples whose best class is another one; None where the network has no classes.
    """

    sqnr: float
    drop: float | None = None

    def __str__(self) -> str:
        changed = "" if self.drop is None else f", another best class in {self.drop:.1%} of the samples"
        return f"{self.sqnr:.2f} dB{changed}"


@dataclass(frozen=True)
class Goal:
    """min_sqnr: dB, at least; max_drop: the largest share of samples whose best class may change. None: nothing is asked of it."""

    min_sqnr: float | None = None
    max_drop: float | None = None

    def reached(self, found: Accuracy) -> bool:
        loud = self.min_sqnr is None or found.sqnr >= self.min_sqnr
        return loud and (self.max_drop is None or (found.drop is not None and found.drop <= self.max_drop))

    def __str__(self) -> str:
        loud = [] if self.min_sqnr is None else [f"an SQNR of at least {self.min_sqnr:g} dB"]
        alike = [] if self.max_drop is None else [f"another best class in at most {self.max_drop * 100:g}% of the samples"]
        return " and ".join(loud + alike)


@dataclass(frozen=True)
class Kept:
    """A layer that stays in `type`: float32, or int16, where it reads codes of 16 bits. error: the part of the outputs' error that goes
    with it, as predicted.

    sqnr, drop: of the outputs with this layer in int8, and all others that are kept as they are. macs: its share of the network's
    multiply-accumulates; latency: the share of the estimated time of the network in int8 that it adds; bytes: that int8 would save.
    """

    node: str
    operator: str
    error: float
    sqnr: float
    drop: float | None
    macs: float
    latency: float
    bytes: int
    type: str = "float32"


@dataclass(frozen=True)
class Attempt:
    """The network with `kept` layers in float32 or, `wide` of them, with 16 bits. float_macs: share of the

    multiply-accumulates in float32; latency: estimated, 1 with all in int8.
    """

    kept: int
    sqnr: float
    drop: float | None
    float_macs: float
    latency: float
    wide: int = 0


@dataclass(frozen=True)
class GoalReport:
    """The goal, and how it was reached. samples: that judged; apart: whether nothing was fitted to them.

    before: with all layers in int8; after: as it is now; attempts: what was tried, in that order.
    """

    goal: Goal
    samples: int
    apart: bool
    before: Accuracy
    after: Accuracy
    kept: tuple[Kept, ...] = ()
    attempts: tuple[Attempt, ...] = ()
