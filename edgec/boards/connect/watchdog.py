"""Ends to calls that know none: a time-out for a look-up, and a watchdog that hangs up when nothing moves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """What `call` returns or raises; TimeoutError when it takes longer, and then it is left to itself."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:  # handed to the caller
            errors.append(error)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return results[0]


class Watchdog:
    """Calls `bite` once when nobody called `calm` for `seconds`, while it is on guard (a with statement)."""

    def __init__(self, seconds: float, bite: Callable[[], None]) -> None:
        self.has_bitten = False
        self._seconds, self._bite = seconds, bite
        self._until = time.monotonic() + seconds
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def calm(self) -> None:
        """Something moved."""
        self._until = time.monotonic() + self._seconds

    def __enter__(self) -> Watchdog:
        self.calm()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end.set()

    def _watch(self) -> None:
        while (left := self._until - time.monotonic()) > 0:
            if self._end.wait(left):
                return
        self.has_bitten = True
        self._bite()
