"""One user of a board at a time, over real sshd and on this machine."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from edgec.base.errors import DeviceError
from edgec.boards.connect.connection import Answer, Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.connect.trouble import BoardLost
from edgec.boards.deploy import lock as locks
from edgec.boards.deploy.lock import BoardBusy, LockLost, hold
from edgec.boards.deploy.sign_of_life import Moment, moment
from edgec.boards.device import Device
from tests.boards.boards import Board
from tests.boards.deploying import mark, tenure
from tests.boards.interposed import Interposed, dying_at

Open = Callable[..., Connection]


@pytest.fixture
def opened(empty_board: Device) -> Iterator[Open]:
    """Opens further lines to one and the same empty board; takes fields of Limits."""
    with ExitStack() as stack:

        def make(**limits: float) -> Connection:
            line = connect(replace(empty_board, limits=replace(empty_board.limits, **limits)))
            stack.callback(line.close)
            return line

        yield make


@pytest.fixture
def line(opened: Open) -> Connection:
    return opened()


def work(line: Connection) -> Path:
    return Path(line.device.work)


def lock_file(line: Connection) -> Path:
    """The sign of life."""
    folder = tenure(work(line))
    assert folder is not None
    return folder / folder.name.rpartition(".")[2]


def leave(line: Connection, **changes: Any) -> None:
    """A lock that somebody left behind a second ago."""
    now = moment(line)
    facts = {"owner": "ada@lab", "boot": now.boot, "uptime_s": now.uptime_s - 1, "limit_s": 600.0, "since_s": 0.0, **changes}
    with hold(line, "somebody"):
        pass
    lock_file(line).write_text(json.dumps(facts))


def owner(line: Connection) -> str:
    found = mark(work(line))
    return found.owner if found else ""


def tick(line: Connection) -> None:
    """Wait until the board's clock, which counts hundredths of a second, has moved on."""
    start = moment(line).uptime_s
    while moment(line).uptime_s == start:
        time.sleep(0.005)


def test_a_free_board_is_taken_and_given_back(line: Connection) -> None:
    with hold(line, "ada"):
        found = mark(work(line))
        assert found is not None and (found.owner, found.limit_s) == ("ada", 600.0)
    assert mark(work(line)) is None


def test_a_busy_board_names_its_user_for_how_long_and_the_next_step(opened: Open) -> None:
    line, other = opened(), opened()
    with hold(line, "ada@lab"), pytest.raises(BoardBusy) as caught, hold(other, "bob"):
        raise AssertionError("two users")
    assert str(caught.value).startswith("board: the board is in use by ada@lab")
    assert "taken 0 s ago" in str(caught.value) or "taken 1 s ago" in str(caught.value)
    assert str(work(line) / "lock") in caught.value.hint
    with hold(other, "bob"):
        pass


def test_what_a_lock_says_is_shown_harmless(line: Connection) -> None:
    leave(line, owner="\x1b[31mada\x1b]0;evil\x07\nerror: no <b>")
    with pytest.raises(BoardBusy) as caught, hold(line, "bob"):
        raise AssertionError("two users")
    assert "in use by ada error: no <b>" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_busy_board_can_be_waited_for(opened: Open) -> None:
    line, other = opened(), opened(wait=60)
    told: list[str] = []
    with ThreadPoolExecutor(1) as worker:
        with hold(line, "ada"):
            waiting = worker.submit(lambda: _take_once(other, told))
            while not told and not waiting.done():
                time.sleep(0.01)
        assert waiting.result() == "bob"
    assert told == ["waiting for ada"]


def _take_once(line: Connection, told: list[str]) -> str:
    with hold(line, "bob", told.append):
        return owner(line)


def test_waiting_ends_when_its_time_is_over(opened: Open) -> None:
    line, other = opened(), opened(wait=0.5)
    with hold(line, "ada"), pytest.raises(BoardBusy, match="ada"), hold(other, "bob"):
        raise AssertionError("two users")


@pytest.mark.parametrize("change", [{"boot": "another boot"}, {"limit_s": 0.5}, {"uptime_s": 1e9}], ids=["other boot", "silent", "future"])
def test_a_stale_lock_is_taken_over(line: Connection, change: dict[str, Any]) -> None:
    leave(line, **change)
    with hold(line, "bob"):
        assert owner(line) == "bob"
    assert mark(work(line)) is None


@pytest.mark.parametrize("content", [b"", b"{", b"null", b"[]", b"\xff\xfe", b'{"owner": 3}', b"[" * 100_000])
def test_a_sign_of_life_that_cannot_be_read_is_none(opened: Open, content: bytes) -> None:
    """As a loss of power leaves it; whoever had the board can do no harm any more."""
    line = opened()
    with hold(line, "ada") as lost:
        lock_file(line).write_bytes(content)
        with hold(opened(), "bob"):
            assert owner(line) == "bob"
            with pytest.raises(LockLost):
                lost.renew()


@pytest.mark.parametrize("change", [{"uptime_s": "1"}, {"limit_s": float("inf")}, {"limit_s": -1}, {"limit_s": 1e300}, {"boot": None}])
def test_a_sign_of_life_with_impossible_facts_is_none(line: Connection, change: dict[str, Any]) -> None:
    leave(line, **change)
    with hold(line, "bob"):
        assert owner(line) == "bob"


def test_a_lock_of_an_older_edgec_is_respected(line: Connection) -> None:
    line.make_folder(line.device.work)
    (work(line) / "lock").write_text("{}")
    with pytest.raises(BoardBusy, match="older versions of edgec") as caught, hold(line, "bob"):
        raise AssertionError("two users")
    assert "remove it" in caught.value.hint


def test_the_board_counts_its_owners_and_never_counts_back(line: Connection) -> None:
    numbers = []
    for _ in range(3):
        with hold(line, "ada") as lock:
            numbers.append(lock.number)
    assert numbers == [1, 2, 3]


@pytest.mark.parametrize("before", [None, "stale", "garbage"], ids=["new", "stale", "garbage"])
def test_of_many_that_want_a_board_at_once_exactly_one_gets_it(opened: Open, before: str | None) -> None:
    lines = [opened() for _ in range(4)]
    for number in range(3):
        if before == "stale":
            leave(lines[0], limit_s=0.5)
        if before == "garbage":
            leave(lines[0])
            lock_file(lines[0]).write_bytes(b"?%d" % number)
        ready, decided = Barrier(len(lines)), Barrier(len(lines))
        with ThreadPoolExecutor(len(lines)) as workers:
            won = list(workers.map(lambda line, ready=ready, decided=decided: _race(line, ready, decided), lines))
        assert won.count(True) == 1
        assert mark(work(lines[0])) is None
        if before is None:
            lines[0].remove(lines[0].device.work)


def _race(line: Connection, ready: Barrier, decided: Barrier) -> bool:
    """Whether we had the board while everybody else had decided."""
    ready.wait(30)
    try:
        with hold(line, "racer"):
            decided.wait(30)
            return True
    except BoardBusy:
        decided.wait(30)
        return False


def test_of_two_on_a_new_board_one_hears_that_it_is_in_use(opened: Open) -> None:
    """At whichever step of ada's bob comes, and removes what she prepared."""
    line, other = opened(), opened()
    for number in range(100):
        line.remove(str(work(line)))
        calls, owners = count(), list[str]()
        with ExitStack() as stack:

            def before(*call: object, calls: Iterator[int] = calls, owners: list[str] = owners, number: int = number) -> None:
                if next(calls) == number:
                    with suppress(BoardBusy):
                        stack.enter_context(hold(other, "bob"))
                        owners.append("bob")

            with suppress(BoardBusy), hold(Interposed(line, before), "ada"):
                owners.append("ada")
        assert len(owners) == 1
        if next(calls) <= number:
            break
    assert number > 8


def test_a_sign_of_life_keeps_the_board(line: Connection) -> None:
    with hold(line, "ada") as lock:
        first = mark(work(line))
        lock.renew()
        second = mark(work(line))
    assert first is not None and second is not None and second.uptime_s >= first.uptime_s
    assert replace(second, uptime_s=first.uptime_s) == first


def test_a_late_sign_of_life_keeps_the_board_when_nobody_wanted_it(opened: Open) -> None:
    with hold(opened(lock=1e-6), "ada") as lock:
        lock.renew()
        lock.renew()


def test_signs_of_life_go_on_while_something_takes_long(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ends when it has seen three of them."""
    monkeypatch.setattr(locks, "_SOONEST", 0.01)
    line = opened(lock=0.2)
    script = 'for i in 1 2 3; do old=$(cat "$1"); while [ "$(cat "$1")" = "$old" ]; do sleep 0.01; done; done'
    with hold(line, "ada") as lock, lock.kept():
        answer = line.execute(["sh", "-c", script, "sh", str(lock_file(line))])
    assert answer.status == 0


def test_a_lock_that_was_taken_over_while_something_took_long_is_lost_at_its_end(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_SOONEST", 0.01)
    line = opened(lock=1e-6)
    with ExitStack() as stack, pytest.raises(LockLost), hold(line, "ada") as lock, lock.kept():
        while owner(line) != "bob":
            tick(line)
            with suppress(BoardBusy):
                stack.enter_context(hold(opened(), "bob"))
        while any(thread.name == "signs of life" for thread in threading.enumerate()):
            time.sleep(0.01)
    assert owner(line) == ""


def test_a_lock_that_was_taken_over_can_do_nothing_any_more(opened: Open) -> None:
    line, other = opened(lock=1e-6), opened()
    home = str(work(line))
    with hold(line, "ada") as lock:
        tick(line)
        line.write(f"{lock.folder}/upload", b"late")
        line.write(f"{home}/kept", b"kept")
        with hold(other, "bob") as theirs:
            for act in (
                lock.renew,
                lambda: lock.move(f"{lock.folder}/upload", f"{home}/upload"),
                lambda: lock.drop(f"{home}/kept"),
                lambda: lock.make_folder("incoming/net"),
            ):
                with pytest.raises(LockLost, match="lock was lost") as caught:
                    act()
                assert (caught.value.where, bool(caught.value.hint)) == ("board", True)
            lock.release()
            theirs.renew()
            assert owner(line) == "bob" and tenure(work(line)) == Path(theirs.folder)
    assert (work(line) / "kept").read_bytes() == b"kept" and not (work(line) / "upload").exists()


def test_uploads_of_the_owner_before_are_set_aside_and_not_used(opened: Open) -> None:
    line = opened()
    with hold(line, "ada") as lock:
        lock.make_folder("incoming/net")
        line.write(f"{lock.folder}/incoming/net/file", b"half")
    with hold(line, "bob") as lock:
        assert line.read(f"{lock.folder}/left/net/file") == b"half"
        assert line.read(f"{lock.folder}/incoming/net/file") is None


def test_folders_without_files_that_were_left_stand_in_nobodys_way(opened: Open) -> None:
    """A removal that was cut off leaves them."""
    line = opened()
    for name in ("ada", "bob", "eve"):
        with hold(line, name) as lock:
            assert (line.read(f"{lock.folder}/left/net/file") == b"half") is (name != "ada")
            lock.make_folder("incoming/net")
            line.write(f"{lock.folder}/incoming/net/file", b"half")
            line.remove(f"{lock.folder}/left/net/file")
            lock.make_folder("left/net/folder")


def test_an_error_of_the_work_is_not_hidden_by_a_release_that_fails(line: Connection) -> None:
    told: list[str] = []
    cut = False

    def before(name: str, arguments: tuple[Any, ...]) -> None:
        if cut:
            raise BoardLost("the line is cut")

    with pytest.raises(ValueError, match="the work"), hold(Interposed(line, before), "ada", told.append):
        cut = True
        raise ValueError("the work")
    assert "the lock stays on the board for up to 600 s" in told[0]


def test_a_process_takes_its_own_lock_back_after_a_cut_line(line: Connection) -> None:
    """Wherever the line dies while the board is taken or given back, the next try of the same process need not wait."""
    for number in range(100):
        try:
            with hold(dying_at(line, number), "ada"):
                pass
            if mark(work(line)) is None:
                break
        except BoardLost:
            pass
        with hold(line, "ada"):
            pass
    assert number > 4


def test_a_board_without_proc_tells_its_time_by_date_and_boot_time(shared_board: Board) -> None:
    shared_board.program("cat", "exit 1")
    shared_board.program("sysctl", "echo '{ sec = 1700000000, usec = 1 } Tue Nov 14 22:13:20 2023'")
    shared_board.program("date", "echo 1700000100")
    line = connect(shared_board.device())
    assert moment(line) == Moment("", 100.0)
    with hold(line, "ada"), pytest.raises(BoardBusy), hold(line, "bob"):
        raise AssertionError("two users")
    line.close()
    for name in ("cat", "sysctl", "date"):
        (shared_board.folder / "bin" / name).unlink()


class Timeless(Interposed):
    """A board that knows no command."""

    def execute(self, *arguments: Any, **options: Any) -> Answer:
        return Answer(127, b"", b"not found", 0.0)


def test_a_board_that_tells_no_time_is_refused_and_this_machine_uses_its_own(opened: Open) -> None:
    line = Timeless(opened(), lambda *call: None)
    if line.device.connection == "local":
        with hold(line, "ada"):
            assert owner(line) == "ada"
    else:
        with pytest.raises(DeviceError, match="does not tell how long it has been running"), hold(line, "ada"):
            raise AssertionError("no time")
