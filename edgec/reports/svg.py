"""Small pictures: scales, ticks and shapes. They are data; a template writes them as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """One SVG element; `style` is a class of the page's style sheet, `hint` shows under a pointer."""

    element: str
    style: str
    attributes: tuple[tuple[str, str], ...]
    text: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Picture:
    """Width and height in pixels at which its letters have their right size. Without a title it is decoration beside a number."""

    width: int
    height: int
    shapes: tuple[Shape, ...]
    title: str = ""
    description: str = ""


@dataclass(frozen=True)
class Scale:
    """Maps low..high to the pixels start..end; what lies outside is drawn at the edge."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """At most about `most` round values within."""
        step = _round_step((self.high - self.low) / max(most, 1))
        first = math.ceil(self.low / step - 1e-9)
        return [index * step for index in range(first, first + most + 2) if index * step <= self.high + step * 1e-6]


def scale(values: Iterable[float], start: float, end: float, *, zero: bool = False) -> Scale:
    """A scale that holds all values, and 0 if asked; never of no extent."""
    every = [*values, *([0.0] if zero else [])] or [0.0]
    low, high = min(every), max(every)
    if high - low <= max(abs(low), abs(high)) * 1e-9 + 1e-12:
        margin = abs(high) * 0.1 + 1e-6
        low, high = (low if zero and low == 0 else low - margin), high + margin
    return Scale(low, high, start, end)


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= step * (1 - 1e-9))


def rectangle(x: float, y: float, width: float, height: float, style: str, hint: str = "") -> Shape:
    return Shape("rect", style, _numbers(x=x, y=y, width=max(width, 0.0), height=max(height, 0.0)), hint=hint)


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> Shape:
    return Shape("line", style, _numbers(x1=x1, y1=y1, x2=x2, y2=y2))


def dot(x: float, y: float, radius: float, style: str, hint: str = "") -> Shape:
    return Shape("circle", style, _numbers(cx=x, cy=y, r=radius), hint=hint)


def words(x: float, y: float, text: str, style: str, anchor: str = "start") -> Shape:
    return Shape("text", style, (*_numbers(x=x, y=y), ("text-anchor", anchor)), text)


def path(points: Sequence[tuple[float, float]], style: str) -> Shape:
    """A line through points."""
    return Shape("path", style, (("d", "M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in points)),))


def whisker(x1: float, x2: float, y: float, style: str) -> list[Shape]:
    """A horizontal interval with its ends."""
    return [line(x1, y, x2, y, style), line(x1, y - 3, x1, y + 3, style), line(x2, y - 3, x2, y + 3, style)]


def upright_whisker(x: float, y1: float, y2: float, style: str) -> list[Shape]:
    return [line(x, y1, x, y2, style), line(x - 4, y1, x + 4, y1, style), line(x - 4, y2, x + 4, y2, style)]


def _numbers(**values: float) -> tuple[tuple[str, str], ...]:
    return tuple((name, _number(value)) for name, value in values.items())


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if abs(value) >= 0.05 else "0"
