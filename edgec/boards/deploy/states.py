"""What an error says of a board and of a package on it: whoever reads the word knows whom to ask."""

from __future__ import annotations

from edgec.base.errors import DeviceError, EdgecError
from edgec.boards.board.exam_program import ProgramFailed
from edgec.boards.connect.trouble import BoardLost, BoardTimeout
from edgec.boards.deploy.lock import BoardBusy

# The first that fits counts: a program that hangs has failed, on a board that is there. A board that is there and lets nobody in, or has
# no room, refuses.
_STATES: tuple[tuple[type[EdgecError], str], ...] = (
    (ProgramFailed, "failed"),
    (BoardBusy, "busy"),
    (BoardLost, "unreachable"),
    (BoardTimeout, "unreachable"),
    (DeviceError, "refused"),
)


def state_of(error: EdgecError) -> str:
    """failed: the package, or its answers. busy, unreachable, refused: the board."""
    return next((state for kind, state in _STATES if isinstance(error, kind)), "failed")
