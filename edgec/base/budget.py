"""What a model may cost: nodes, bytes, operations and seconds from its file to its Program, set and counted in one place.

A file of a few hundred bytes can ask for more than any machine has, so whoever makes nodes, constants or tensors tells it here first.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields

from edgec.base.errors import ModelError, did_you_mean

GIB = 1 << 30
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": GIB, "T": 1 << 40}


@dataclass(frozen=True)
class Budget:
    """The most that one model may take; `--budget nodes=1000000,tensors=8G` raises any of it.

    nodes: those of the file with all functions expanded. constants: bytes read from beside the model and made by folding. tensors: bytes
    of all the values that are alive at one moment of a run, and so of each. operations: of a run, as ops/work.py counts them; the exam
    and each calibration sample take one. memory: bytes of the process that imports and optimizes. seconds: by the clock, of that, of
    lowering and scheduling, and of each sample and each layer while quantizing: how many samples there are is the user's choice. The exam
    and the sources take what they take.
    """

    nodes: int = 250_000
    constants: int = 4 * GIB
    tensors: int = 4 * GIB
    operations: int = 16 << 40
    memory: int = 16 * GIB
    seconds: int = 600


class BudgetError(ModelError):
    """The model costs more than its budget: nothing else is tried."""


def parse_budget(value: object) -> Budget:
    """`nodes=500000,tensors=8G`, or a table of them; ValueError says what cannot be read."""
    if isinstance(value, Budget):
        return value
    items = value if isinstance(value, Mapping) else dict(_pair(item) for item in str(value).split(","))
    known = [item.name for item in fields(Budget)]
    for key in items:
        if key not in known:
            raise ValueError(f"{key!r}: {did_you_mean(str(key), known)}")
    return Budget(**{str(key): _amount(str(amount)) for key, amount in items.items()})


def _pair(text: str) -> tuple[str, str]:
    key, sign, amount = text.partition("=")
    if not sign:
        raise ValueError("write it as nodes=500000,tensors=8G")
    return key.strip(), amount.strip()


def _amount(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,15})([KMGT]?)", text)
    if found is None or int(found[1]) == 0:
        raise ValueError(f"{text!r}: write a positive whole number, K, M, G or T behind it")
    return int(found[1]) * _UNITS[found[2]]


# What was spent


@dataclass
class Ledger:
    """What one model has cost so far."""

    budget: Budget
    nodes: int = 0
    constants: int = 0
    operations: int = 0
    started: float = field(default_factory=time.monotonic)


_open: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


@contextmanager
def spending(budget: Budget | None = None) -> Iterator[Ledger]:
    """Count against `budget` until the block ends; without one against whatever counts already, else against the defaults."""
    outer = _open.get()
    ledger = outer if budget is None and outer is not None else Ledger(budget or Budget())
    token = _open.set(ledger)
    try:
        yield ledger
    finally:
        _open.reset(token)


def spend_node(where: str) -> None:
    """One node more, of the file or of a function's body."""
    ledger = _open.get()
    if ledger is not None:
        ledger.nodes += 1
        if ledger.nodes > ledger.budget.nodes:
            raise exceeded("nodes", f"the model has more than {ledger.budget.nodes:,} nodes, functions expanded", where)
        check_time(where)


def check_turns(turns: float, nodes: int, where: str) -> None:
    """A loop that is about to be written out, of so many nodes a turn."""
    ledger = _open.get()
    if ledger is not None and ledger.nodes + turns * max(nodes, 1) > ledger.budget.nodes:
        often = f"{turns:,}" if turns < math.inf else "any number of"
        raise exceeded("nodes", f"{often} iterations of {nodes:,} nodes: the model may have {ledger.budget.nodes:,} nodes", where)


def spend_constant(count: int, where: str) -> None:
    """Bytes of a constant that is about to be read or folded."""
    ledger = _open.get()
    if ledger is not None:
        ledger.constants += count
        limit = ledger.budget.constants
        if ledger.constants > limit:
            raise exceeded("constants", f"a constant of {count:,} bytes is one too many: all together may have {limit:,}", where)


def spend_operations(count: int, where: str) -> None:
    """What a run of one node takes, of all that a run of the model may."""
    ledger = _open.get()
    if ledger is not None:
        ledger.operations += count
        limit = ledger.budget.operations
        if ledger.operations > limit:
            raise exceeded("operations", f"a run of {count:,} operations is one too many: all together may take {limit:,}", where)


def check_tensors(count: int, where: str) -> None:
    """Bytes that are alive at one moment."""
    ledger = _open.get()
    if ledger is not None and count > ledger.budget.tensors:
        raise exceeded("tensors", f"needs {count:,} bytes of tensors, {ledger.budget.tensors:,} may be alive at a time", where)


def check_time(where: str, since: float | None = None) -> None:
    """Seconds since the count began, or since a moment of time.monotonic() where each step has as many."""
    ledger = _open.get()
    if ledger is not None and time.monotonic() - (ledger.started if since is None else since) > ledger.budget.seconds:
        raise exceeded("seconds", f"it took longer than {ledger.budget.seconds} s to get here", where)


def exceeded(key: str, what: str, where: str = "") -> BudgetError:
    """The error for what `--budget KEY=...` would allow."""
    return BudgetError(what, where=where, hint=f"if the model is what you expect, --budget {key}=... raises the limit")
