"""A connection with a hand on it: a test sees every call, and can end the line before or in the middle of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgec.boards.connect.connection import Connection
from edgec.boards.connect.trouble import BoardLost

CALLS = ("execute", "write", "read", "make_folder", "move", "remove", "sizes", "sync")


class Interposed:
    """Passes every call on, after `before(name, arguments)`; what that raises ends the call before it is made."""

    def __init__(self, inner: Connection, before: Callable[[str, tuple[Any, ...]], None]) -> None:
        self.inner, self.device, self._before = inner, inner.device, before

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name not in CALLS:
            return method

        def call(*arguments: Any, **options: Any) -> Any:
            self._before(name, arguments)
            return method(*arguments, **options)

        return call


def dying_at(inner: Connection, number: int) -> Any:
    """A line that dies for good at call `number`, counted from 0; a file that is being written then is left half."""
    calls = 0

    def before(name: str, arguments: tuple[Any, ...]) -> None:
        nonlocal calls
        calls += 1
        if calls <= number:
            return
        if name == "write" and calls == number + 1:
            path, data = arguments
            inner.write(path, data[: len(data) // 2], resume=True)
        raise BoardLost("the line is cut", where=inner.device.name)

    return Interposed(inner, before)
