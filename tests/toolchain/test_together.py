"""Calls side by side end together."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from edgec.toolchain.together import each


def test_results_come_in_order() -> None:
    assert each(lambda number: (time.sleep(0.01 * (5 - number)), number)[1], range(5)) == [0, 1, 2, 3, 4]


def test_none_begins_after_a_failure() -> None:
    begun = []

    def fails(number: int) -> None:
        begun.append(number)
        if number == 3:
            raise ValueError(number)

    with pytest.raises(ValueError, match="3"):
        each(fails, range(50), most=1)
    assert begun == [0, 1, 2, 3]


def test_none_begins_after_an_interruption() -> None:
    """A call that was running ends; those behind it never begin."""
    begun, interrupted = [], threading.Event()

    def waits(number: int) -> None:
        begun.append(number)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        interrupted.wait(0.5)

    with pytest.raises(KeyboardInterrupt):
        each(waits, range(50), most=1)
    assert begun == [0]
