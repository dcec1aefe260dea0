"""fsync on a board, by whichever program it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edgec.base.errors import DeviceError, Problem
from edgec.base.harmless import last_lines
from edgec.boards.connect.connection import Answer

Execute = Callable[[list[str]], Answer]
# Tried in this order. Those that take no paths synchronize everything, whatever they are given: old ones of coreutils, BusyBox and toybox.
_PROGRAMS: tuple[tuple[tuple[str, ...], bool], ...] = (
    (("sync",), True),
    (("sync",), False),
    (("fsync",), True),
    (("busybox", "sync"), False),
    (("toybox", "sync"), False),
)


def sync_by_command(execute: Execute, paths: Sequence[str], board: str) -> None:
    """What files hold, and the names in folders, survive a loss of power from now on. DeviceError where no program can promise that."""
    last = None
    for program, takes_paths in _PROGRAMS:
        answer = execute([*program, *(paths if takes_paths else ())])
        if answer.status == 0:
            return
        last = last or answer
    problems = [Problem(line) for line in last_lines(last.errors, 3)] if last else []
    hint = "edgec needs coreutils, BusyBox or toybox there, for the program sync"
    raise DeviceError("the board cannot write its files to the disk for good", problems, where=board, hint=hint)
