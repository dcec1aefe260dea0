"""What asks the program to end, and what the program does then: unwind as after any exception, so that temporary folders go."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_REPEATED = 1.0  # seconds; a terminal tells the whole group of processes, and who starts programs may tell each again


def heard() -> list[signal.Signals]:
    """Those that whoever started the program has not shut off, as nohup does."""
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]


def end_cleanly() -> None:
    """From now on each of them is an exception, and one that follows at once is none, which would cut the unwinding short."""
    if threading.current_thread() is not threading.main_thread():
        return
    last = -_REPEATED

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before >= _REPEATED:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    for number in heard():
        signal.signal(number, end)
