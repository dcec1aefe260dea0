"""Calls of compilers side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Tell = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Tell nobody."""


def each(function: Callable[[Item], Result], items: Iterable[Item], most: int = 4, tell: Tell = silent) -> list[Result]:
    """The results, in order, of at most so many calls at a time. Once one call has failed, or an interruption came, none begins.

    tell: how many are done, of how many.
    """
    stopped = Event()

    def one(item: Item) -> Result:
        if stopped.is_set():
            raise CancelledError
        try:
            return function(item)
        except BaseException:
            stopped.set()
            raise

    with ThreadPoolExecutor(max_workers=min(most, os.cpu_count() or 1)) as workers:
        calls = [workers.submit(one, item) for item in items]
        try:
            for number, call in enumerate(calls, 1):
                call.exception()
                tell(number, len(calls))
        except BaseException:
            stopped.set()
            raise
    failures = (call.exception() for call in calls)
    failure = next((error for error in failures if error is not None and not isinstance(error, CancelledError)), None)
    if failure is not None:
        raise failure
    return [call.result() for call in calls]
