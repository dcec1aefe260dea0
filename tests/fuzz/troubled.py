"""A fuzzer for the frame's own test: trials that fail in every way."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import numpy as np

from tests.fuzz.frame import Outcome, Trial, Wrong

CPU_SECONDS = 0.5


def make() -> Trial:
    return trial


def trial(g: np.random.Generator, folder: Path) -> Outcome:
    number = g.bit_generator.seed_seq.entropy[1]  # type: ignore[attr-defined]
    (folder / "evidence.txt").write_text("what a trial leaves is kept")
    if number in (1, 7):
        json.loads("not fine")
    if number == 3:
        raise Wrong("a law", f"broken by {g.random()}")
    if number == 4:
        while True:
            sum(range(1000))
    if number == 5:
        bytes(1 << 36)
    if number == 6:
        ctypes.string_at(0)
    return Outcome({"fine": 1}, frozenset({"Relu"}))
