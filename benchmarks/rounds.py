"""Programs that take turns, and how much faster one is than the others, with an interval: what slows the machine slows all of them."""

from __future__ import annotations

import json
import math
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

FIGURES: dict[str, Callable[..., Any]] = {"median": np.median, "minimum": np.min}
RESAMPLES = 2000
LIMIT = 600.0  # seconds for an answer, the conversion of a model among them
ENDS = 10.0  # seconds that a killed process may take to end
Times = dict[str, list[list[float]]]  # engine -> the microseconds of each of a round's runs, for every round


class Died(RuntimeError):
    """A program that takes turns is no more: it ended, or it was ended since no answer came within its limit."""


class Turns:
    """A process that times runs when it has its turn, and else stands still: threads that wait for work would disturb the others.

    limit: the seconds that each of its answers may take; a process that needs more is killed.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], limit: float = LIMIT) -> None:
        self._limit, self._lines = limit, queue.SimpleQueue[str]()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
            env={**os.environ, **environment},
            start_new_session=True,  # what it starts itself ends with it
        )
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.ready: dict[str, Any] = self._answer()
        except Died as error:
            self.ready = {"error": str(error)}
        self._stop()

    def times(self, runs: int) -> list[float]:
        """Microseconds of so many runs; Died when there is no answer."""
        assert self._process.stdin is not None
        self._process.send_signal(signal.SIGCONT)
        with suppress(BrokenPipeError):  # its end is in the lines
            print(runs, file=self._process.stdin, flush=True)
        found = list(self._answer())
        self._stop()
        return found

    def close(self) -> None:
        """Without waiting for what a kernel does not let go."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDS)

    def _read(self) -> None:
        """Lines as they come, then an empty one; never where threads outlive the first one of a process, whose pipe stays open then."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _answer(self) -> Any:
        try:
            line = self._lines.get(timeout=self._limit)
        except queue.Empty:
            self.close()
            raise Died(f"gave no answer within {self._limit:g} s") from None
        if not line:
            self.close()
            raise Died(f"died with status {self._process.poll()}")
        return json.loads(line)

    def _stop(self) -> None:
        self._process.send_signal(signal.SIGSTOP)


def interleaved(programs: Mapping[str, Callable[[int], list[float]]], rounds: int, seconds: float) -> tuple[Times, dict[str, str]]:
    """So many rounds; in each every program runs for about `seconds`, three times at least. Every other round goes backwards.

    Also why programs died: these have no times.
    """
    found: Times = {name: [] for name in programs}
    died: dict[str, str] = {}

    def turn(name: str, runs: int) -> list[float] | None:
        try:
            return programs[name](runs)
        except Died as error:
            died[name] = str(error)
            del found[name]
            return None

    runs: dict[str, int] = {}
    for name in programs:
        first = turn(name, 3)
        runs[name] = max(3, int(seconds * 1e6 / min(first))) if first else 0
    for index in range(rounds):
        for name in [name for name in (programs if index % 2 == 0 else reversed(list(programs))) if name in found]:
            times = turn(name, runs[name])
            if times is not None:
                found[name].append(times)
    return found, died


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
