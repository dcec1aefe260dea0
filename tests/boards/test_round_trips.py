"""What a far board costs: each channel and each request of SFTP is a round trip, or two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import paramiko
import pytest

import edgec
from edgec.boards.board.inventory import Inventory
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.connect.peek import peek
from edgec.boards.deploy.lock import BoardBusy, hold
from tests.boards.boards import LIMITS, Board

ROOT = Path(__file__).parents[2]
MOST = 40  # of a deployment that has nothing to do: 37, of which the lock takes 18


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many channels were opened, and requests of SFTP made, since it was cleared."""
    found: Counter[str] = Counter()
    for kind, name in ((paramiko.Transport, "open_session"), (paramiko.SFTPClient, "_async_request")):
        real = getattr(kind, name)

        def call(*arguments: Any, real: Callable[..., Any] = real, name: str = name, **options: Any) -> Any:
            found[name] += 1
            return real(*arguments, **options)

        monkeypatch.setattr(kind, name, call)
    return found


def test_deploying_what_is_there_costs_few_round_trips(board: Board, package: Callable[..., Path], counted: Counter[str]) -> None:
    inventory = Inventory(None, (board.device(),))
    edgec.deploy(package(), everything=True, inventory=inventory)
    counted.clear()
    (again,) = edgec.deploy(package(), everything=True, inventory=inventory)
    assert again.sent_files == 0 and again.exam is not None and again.exam.passed
    trips = 2 * counted["open_session"] + counted["_async_request"]  # a channel is opened, and then given its command
    assert 20 < trips <= MOST, counted
    assert f"at most {MOST} round trips" in (ROOT / "docs/devices.md").read_text(encoding="utf-8")


def test_many_files_and_folders_are_seen_at_one_look(connection: Connection, board: Board, counted: Counter[str]) -> None:
    odd = board.work / "a b\n$(x)"
    (odd / "deep").mkdir(parents=True)
    (odd / "deep" / "-n").write_bytes(b"----\0\n")
    (odd / "empty").write_bytes(b"")
    (board.work / "none").mkdir()
    folders = [str(odd), str(board.work / "none"), str(board.work / "missing")]
    files = [str(odd / "deep" / "-n"), str(odd / "empty"), str(odd / "missing")]
    connection.execute(["true"])
    counted.clear()
    sight = peek(connection, folders, files)
    assert counted == {"open_session": 1}
    assert sight.sizes == {folders[0]: {"deep/-n": 6, "empty": 0}, folders[1]: {}, folders[2]: {}}
    assert list(sight.files.values()) == [b"----\0\n", b"", None]


def test_a_sign_of_life_that_a_list_lacks_counts(connection: Connection, board: Board) -> None:
    """As where it is replaced while its folder is listed."""
    board.program("find", 'shift 3; exec /usr/bin/find . -type f -regextype posix-extended ! -regex ".*/[0-9a-f]{16}" "$@"')
    with (
        hold(connection, "ada"),
        closing(connect(board.device())) as line,
        pytest.raises(BoardBusy, match="in use by ada"),
        hold(line, "bob"),
    ):
        pytest.fail("the board has two owners")


@pytest.mark.parametrize("lacks", ["find", "stat", "cat"])
def test_a_board_that_lacks_a_program_is_asked_one_by_one(connection: Connection, board: Board, lacks: str) -> None:
    (board.work / "file").write_bytes(b"content")
    (board.work / "link").symlink_to("file")
    connection.execute(["true"])
    board.program(lacks, "exit 1")
    sight = peek(connection, [str(board.work)], [str(board.work / "file"), str(board.work / "link"), str(board.work / "no")])
    assert sight.sizes == {str(board.work): {"file": 7}} and list(sight.files.values()) == [b"content", b"content", None]


def test_what_is_too_much_for_one_answer_is_asked_one_by_one(board: Board) -> None:
    files = [board.work / name for name in ("a", "b")]
    for file in files:
        file.write_bytes(b"a" * 15_000)
    with closing(connect(board.device(limits=replace(LIMITS, output=20_000)))) as line:
        assert peek(line, [], list(map(str, files))).files == {str(file): file.read_bytes() for file in files}


def test_what_is_no_file_is_told_as_ever(connection: Connection, board: Board) -> None:
    (board.work / "dangling").symlink_to("nowhere")
    assert peek(connection, [], [str(board.work / "dangling")]).files == {str(board.work / "dangling"): None}
    with pytest.raises(edgec.EdgecError, match="board: cannot read"):
        peek(connection, [], [str(board.work)])
