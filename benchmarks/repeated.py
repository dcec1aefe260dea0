"""One layer timed by itself: over and over, where caches keep all that they can ("hot"), or each time with nothing of its own in the caches
but its inputs and outputs ("cold"). A call of a package's run is measured alike, and so is a function that does nothing else."""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import edgec

SOURCE = Path(__file__).with_suffix(".c")
EVICT = 8 << 20  # bytes to read so that the caches of one core hold nothing else
INSTANCE = 1024  # bytes, more than an instance has
TURNS, TURN, COLD_TURNS = 10, 2e-4, 3  # of a hot layer the turns and the seconds of each
MOST_KEPT = 4
ARENA = re.compile(r"_ARENA_BYTES_FOR\(threads\) \(\(size_t\)(\d+) \+ \(size_t\)\(threads\) \* (\d+)\)")


class Repeated(ctypes.Structure):
    """struct repeated."""

    _fields_ = (
        ("call", ctypes.c_int32),
        ("wanted", ctypes.c_int32),
        ("turns", ctypes.c_int32),
        ("times", ctypes.c_int32),
        ("least", ctypes.c_double),
        ("other", ctypes.c_void_p),
        ("other_bytes", ctypes.c_size_t),
        ("kept", ctypes.c_void_p * MOST_KEPT),
        ("kept_bytes", ctypes.c_size_t * MOST_KEPT),
    )


class Timed:
    """`measure` has a task done as the structure says, on `memory`; in that order its inputs and outputs are the `kept` ones."""

    def __init__(self, asked: Repeated, measure: Callable[[], None], memory: Sequence[np.ndarray], kept: Sequence[int]) -> None:
        self._asked, self._measure, self._memory, self._kept = asked, measure, memory, kept

    def hot(self) -> float:
        """Microseconds."""
        return self._least(TURNS, max(1, int(TURN * 1e6 / self._least(1, 1))))

    def cold(self) -> float:
        """Microseconds."""
        other = others()
        self._asked.other, self._asked.other_bytes = other.ctypes.data, other.size
        for place, array in enumerate(self._memory[number] for number in self._kept):
            self._asked.kept[place], self._asked.kept_bytes[place] = array.ctypes.data, array.nbytes
        least = self._least(COLD_TURNS, 1)
        self._asked.other_bytes, self._asked.kept_bytes[:] = 0, (0,) * MOST_KEPT
        return least

    def _least(self, turns: int, times: int) -> float:
        self._asked.turns, self._asked.times, self._asked.least = turns, times, np.inf
        self._measure()
        return float(self._asked.least / 1e3)


def layer(run: Any, arguments: Sequence[np.ndarray]) -> Timed:
    """A function of a library; its arguments are the input, weights, bias, scale and output."""
    pointers = (ctypes.c_void_p * 6)(ctypes.cast(run, ctypes.c_void_p), *(array.ctypes.data for array in arguments))
    asked = Repeated(wanted=-1)
    return Timed(asked, lambda: hooks().time_layer(ctypes.byref(asked), pointers), arguments, (4, 0))


class Calls:
    """The calls of a package for this machine, computed by one vocabulary on the calling thread."""

    def __init__(self, package: edgec.Package, isa: str) -> None:
        name, folder = package.manifest.name, package.directory
        self._manifest, self._name, self._asked = package.manifest, name, Repeated(wanted=-1)
        self._library = ctypes.CDLL(str(folder / "build" / f"lib{name}.so"))
        header = (folder / "include" / f"{name}.h").read_text(encoding="utf-8")
        tensors, thread = map(int, ARENA.findall(header)[0])
        self._arena, self._instance = aligned(tensors + 2 * thread), aligned(INSTANCE)
        self._buffers = [aligned(value.bytes) for value in (*package.inputs, *package.outputs)]
        user = ctypes.byref(self._asked)
        self._do("init", pointer(self._arena), ctypes.c_size_t(self._arena.size))
        self._do("force_isa", isa.encode())
        self._do("set_parallel", hooks().repeats, user, 2)
        self._do("set_shares", 1, 0)
        self._do("set_observer", hooks().begins, user)

    def __getitem__(self, number: int) -> Timed:
        """A call that threads could share; what others take is infinite."""
        call = self._manifest.calls[number]
        memory = {part.name: part for part in self._manifest.memory if part.kind == "arena"}
        kept = [memory[name] for name in (*call.writes, *call.reads) if name in memory]
        parts = [self._arena[part.address :][: part.bytes] for part in kept]
        return Timed(self._asked, lambda: self._run(number), parts, range(len(parts)))

    def _run(self, number: int) -> None:
        self._asked.wanted = number
        self._do("run", *map(pointer, self._buffers))

    def _do(self, what: str, *arguments: object) -> None:
        status = self._library[f"{self._name}_{what}"](pointer(self._instance), *arguments)
        if status != 0:
            raise RuntimeError(f"{self._name}_{what} gives {status}")


@cache
def hooks() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "repeated.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", str(SOURCE), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))


@cache
def others() -> np.ndarray:
    return np.ones(EVICT, np.uint8)


def aligned(size: int) -> np.ndarray:
    """Zeros from the beginning of a page on."""
    room = np.zeros(size + 4096, np.uint8)
    start = -room.ctypes.data % 4096
    return room[start : start + size]


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
