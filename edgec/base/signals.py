"""What asks a program to end, and what it does then: unwind as after any exception, so that temporary folders go."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_REPEATED = 1.0  # seconds; a terminal tells the whole group of processes, and who starts programs may tell each again
_UNDECIDED = signal.SIG_DFL, signal.default_int_handler


def heard() -> list[signal.Signals]:
    """Those that whoever started the program has not shut off, as nohup does."""
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]


def end_cleanly() -> None:
    """From now on each of them is an exception, and one that follows at once is none, which would cut the unwinding short."""
    if threading.current_thread() is threading.main_thread():
        end = _once()
        for number in heard():
            signal.signal(number, end)


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """The same for a while, of a program of others: of those signals for which it has no handler of its own. In its main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    end, former = _once(), {number: signal.getsignal(number) for number in ENDING}
    taken = [number for number, handler in former.items() if handler in _UNDECIDED]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, former[number])


def _once() -> Callable[[int, FrameType | None], None]:
    """A handler that raises what ends the program, but not again at once."""
    last = -_REPEATED

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before >= _REPEATED:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    return end
