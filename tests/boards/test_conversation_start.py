"""What a shell says on standard error comes on another way than a program's output, and may come after it."""

from __future__ import annotations

from edgec.boards.connect.connectors import connect
from tests.boards.boards import Board
from tests.boards.test_connections import alive, eventually


def test_closing_a_conversation_ends_a_program_whose_start_is_told_late(board: Board) -> None:
    """Here a second after the output."""
    late = 'mkfifo "$0.$$"; (exec 3<"$0.$$"; rm "$0.$$"; sleep 1; cat <&3 >&2) & exec /bin/sh "$@" 2>"$0.$$"'
    board.program("sh", late)
    line = connect(board.device())
    try:
        talk = line.converse(["/bin/sh", "-c", "printf '%07d' $$; sleep 50"])
        pid = talk.exchange(b"", 7)
        talk.close()
        assert eventually(lambda: not alive(line, pid.lstrip(b"0")))
    finally:
        line.close()
