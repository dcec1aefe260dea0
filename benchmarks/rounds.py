"""Programs that take turns, and how much faster one is than the others, with an interval: what slows the machine slows all of them."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

FIGURES: dict[str, Callable[..., Any]] = {"median": np.median, "minimum": np.min}
RESAMPLES = 2000
Times = dict[str, list[list[float]]]  # engine -> the microseconds of each of a round's runs, for every round


class Turns:
    """A process that times runs when it has its turn, and else stands still: threads that wait for work would disturb the others."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
            env={**os.environ, **environment},
        )
        self.ready: dict[str, Any] = self._answer() or {"error": f"died with status {self._process.wait()}"}
        self._stop()

    def times(self, runs: int) -> list[float]:
        """Microseconds of so many runs; RuntimeError when the process died."""
        assert self._process.stdin is not None
        self._process.send_signal(signal.SIGCONT)
        print(runs, file=self._process.stdin, flush=True)
        found = self._answer()
        if found is None:
            raise RuntimeError(f"{self.ready} died with status {self._process.wait()}")
        self._stop()
        return list(found)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    def _stop(self) -> None:
        self._process.send_signal(signal.SIGSTOP)


def interleaved(programs: Mapping[str, Callable[[int], list[float]]], rounds: int, seconds: float) -> Times:
    """So many rounds; in each every program runs for about `seconds`, three times at least. Every other round goes backwards."""
    runs = {name: max(3, int(seconds * 1e6 / min(program(3)))) for name, program in programs.items()}
    found: Times = {name: [] for name in programs}
    for index in range(rounds):
        for name in programs if index % 2 == 0 else reversed(list(programs)):
            found[name].append(programs[name](runs[name]))
    return found


@dataclass(frozen=True)
class Ratio:
    """best: who is fastest of the others; ratio: its time / ours, so more than 1 is a win; low, high: 95 % of the resamples lie within."""

    us: dict[str, float]
    best: str
    ratio: float
    low: float
    high: float
    resamples: tuple[float, ...]


def ratio_of(times: Times, ours: str, rivals: Sequence[str], figure: str, seed: int = 0) -> Ratio:
    """The figure is taken of each turn, then of all turns; rounds are resampled whole, all programs together."""
    take = FIGURES[figure]
    turns = {name: np.array([take(turn) for turn in own]) for name, own in times.items()}
    us = {name: float(take(own)) for name, own in turns.items()}
    if not rivals:
        return Ratio(us, "", math.nan, math.nan, math.nan, ())
    best = min(rivals, key=us.__getitem__)
    rounds = len(turns[ours])
    drawn = np.random.default_rng(seed).integers(0, rounds, (RESAMPLES, rounds))
    resampled = {name: take(turns[name][drawn], axis=1) for name in (ours, *rivals)}
    ratios = np.min([resampled[name] for name in rivals], axis=0) / resampled[ours]
    low, high = np.percentile(ratios, (2.5, 97.5))
    return Ratio(us, best, us[best] / us[ours], float(low), float(high), tuple(ratios.tolist()))


def geometric_mean(ratios: Sequence[Ratio]) -> tuple[float, float, float]:
    """Of several models, with its interval."""
    mean = float(np.exp(np.mean([np.log(one.ratio) for one in ratios])))
    low, high = np.percentile(np.exp(np.mean([np.log(one.resamples) for one in ratios], axis=0)), (2.5, 97.5))
    return mean, float(low), float(high)
