"""Deploying over real sshd and on this machine: what travels, what stays, what is in use."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from edgec.base.errors import DeviceError, GateError
from edgec.boards.board.exam_program import ProgramFailed, examine
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy import lock as locks
from edgec.boards.deploy.delivery import deployed, outlook
from edgec.boards.deploy.lock import BoardBusy, LockLost, hold
from edgec.boards.deploy.parcel import Parcel, open_parcel
from edgec.boards.deploy.proof import NotWhole
from edgec.boards.deploy.versions import Pointers, pointers
from edgec.boards.device import Device
from tests.boards.boards import Board
from tests.boards.deploying import deploy, roll_back, tenure

Packages = Callable[..., Path]


@pytest.fixture
def line(parcel: Parcel, empty_board: Device) -> Iterator[Connection]:
    """Open when all is built: none waits for a build."""
    connection = connect(empty_board)
    yield connection
    connection.close()


@pytest.fixture
def parcel(package: Packages) -> Parcel:
    return open_parcel(package("host"))


@pytest.fixture
def other(parcel: Parcel) -> Parcel:
    """The next version: one file is another."""
    return changed(parcel, "include/digits.h", b"/* new */\n" + parcel.files["include/digits.h"])


def changed(parcel: Parcel, path: str, content: bytes) -> Parcel:
    return replace(parcel, files={**parcel.files, path: content})


def in_use(line: Connection) -> Path:
    """The folder of the version in use, on this machine, where all these boards have their disks."""
    return Path(line.device.work) / "digits/versions" / deployed(line)["digits"]


def test_every_file_arrives_and_the_exam_passes_on_the_board(line: Connection, parcel: Parcel) -> None:
    done = deploy(line, parcel)
    assert (done.sent_files, done.kept_files) == (len(parcel.files) + 1, 0)
    assert done.sent_bytes == parcel.bytes + len(parcel.listing)
    assert deployed(line) == {"digits": done.version}
    assert {path: (in_use(line) / path).read_bytes() for path in parcel.files} == dict(parcel.files)
    assert examine(line, done.program).passed


def test_files_json_names_every_file_with_its_size_and_sha256(line: Connection, parcel: Parcel) -> None:
    deploy(line, parcel)
    listed = json.loads((in_use(line) / "files.json").read_bytes())["files"]
    assert {path: facts["bytes"] for path, facts in listed.items()} == {path: len(data) for path, data in parcel.files.items()}
    assert (in_use(line) / "files.json").read_bytes() == parcel.listing


def test_nothing_travels_when_the_version_is_there(line: Connection, parcel: Parcel) -> None:
    first = deploy(line, parcel)
    again = deploy(line, parcel)
    assert (again.sent_files, again.sent_bytes, again.kept_files) == (0, 0, len(parcel.files) + 1)
    assert (again.version, again.program) == (first.version, first.program)


def test_only_changed_files_travel(line: Connection, parcel: Parcel, other: Parcel) -> None:
    deploy(line, parcel)
    done = deploy(line, other)
    assert done.sent_files == 2  # the header and files.json
    assert done.sent_bytes == len(other.files["include/digits.h"]) + len(other.listing)
    assert examine(line, done.program).passed


def test_an_outlook_says_what_would_travel_and_changes_nothing(line: Connection, parcel: Parcel, other: Parcel) -> None:
    assert outlook(line, parcel).sent_files == len(parcel.files) + 1
    assert not Path(line.device.work).exists()
    deploy(line, parcel)
    before = sorted(Path(line.device.work).rglob("*"))
    planned = outlook(line, other)
    assert (planned.sent_files, planned.version) == (2, other.version)
    assert sorted(Path(line.device.work).rglob("*")) == before
    assert deploy(line, other) == planned


def test_roll_back_returns_to_the_version_before_and_twice_comes_back(line: Connection, parcel: Parcel, other: Parcel) -> None:
    deploy(line, parcel)
    deploy(line, other)
    for one, before in ((parcel, other), (other, parcel), (parcel, other)):
        assert roll_back(line, "digits") == one.version
        assert pointers(line, "digits") == Pointers(one.version, before.version)
    assert examine(line, f"{in_use(line)}/{parcel.program}").passed


def test_a_previous_version_that_is_not_whole_is_not_rolled_back_to(line: Connection, parcel: Parcel, other: Parcel) -> None:
    deploy(line, parcel)
    place = in_use(line) / "include/digits.h"
    deploy(line, other)
    place.write_bytes(place.read_bytes()[::-1])
    with pytest.raises(NotWhole, match=r"(?s)is not whole any more.*include/digits\.h") as caught:
        roll_back(line, "digits")
    assert (caught.value.where, bool(caught.value.hint)) == (line.device.name, True)
    assert pointers(line, "digits") == Pointers(other.version, parcel.version)


def test_a_previous_version_that_fails_its_exam_is_not_rolled_back_to(line: Connection, parcel: Parcel, other: Parcel) -> None:
    broken = changed(parcel, parcel.program, b"#!/bin/sh\nexit 3\n")
    deploy(line, broken)
    deploy(line, other)
    with pytest.raises(ProgramFailed):
        roll_back(line, "digits")
    assert pointers(line, "digits") == Pointers(other.version, broken.version)


@pytest.mark.parametrize("content", [b"", b"\0" * 65, None], ids=["empty", "zeros", "missing"])
def test_a_current_that_names_nothing_costs_no_version(line: Connection, parcel: Parcel, other: Parcel, content: bytes | None) -> None:
    """As a loss of power leaves it on a disk that promises little. The update that follows fails, and nothing is lost by it."""
    third = changed(parcel, "include/digits.h", b"third")
    deploy(line, parcel)
    deploy(line, other)
    current = Path(line.device.work) / "digits/current"
    current.unlink() if content is None else current.write_bytes(content)
    with pytest.raises(GateError):
        deploy(line, third, judge=refuse)
    assert pointers(line, "digits") == Pointers(other.version, parcel.version)
    assert {path.name for path in in_use(line).parent.iterdir()} == {parcel.version, other.version}
    assert roll_back(line, "digits") == parcel.version


def test_what_cannot_be_recovered_stays_until_another_version_is_in_use(line: Connection, parcel: Parcel, other: Parcel) -> None:
    """Both versions fail their exams now, for whatever reason: the files are whole."""
    one, two = (changed(version, parcel.program, b"#!/bin/sh\nexit 3\n") for version in (parcel, other))
    deploy(line, one)
    deploy(line, two)
    (Path(line.device.work) / "digits/current").write_bytes(b"")
    with pytest.raises(GateError):
        deploy(line, parcel, judge=refuse)
    assert {path.name for path in (Path(line.device.work) / "digits/versions").iterdir()} == {one.version, two.version}


def test_a_switch_that_was_interrupted_is_carried_out(line: Connection, parcel: Parcel, other: Parcel) -> None:
    deploy(line, parcel)
    deploy(line, other)
    (Path(line.device.work) / "digits/switching").write_text(f"{parcel.version} {other.version}\n")
    assert deployed(line) == {"digits": parcel.version}
    assert roll_back(line, "digits") == other.version
    assert pointers(line, "digits") == Pointers(other.version, parcel.version)
    assert not (Path(line.device.work) / "digits/switching").exists()


def test_there_is_nothing_to_roll_back_to_on_an_empty_board(line: Connection) -> None:
    with pytest.raises(DeviceError, match="no previous version of digits") as caught:
        roll_back(line, "digits")
    assert (caught.value.where, caught.value.hint) == (line.device.name, "deploy digits first")


def test_the_version_in_use_and_the_one_before_stay_and_older_ones_go(line: Connection, parcel: Parcel, other: Parcel) -> None:
    third = changed(parcel, "include/digits.h", b"third")
    for one in (parcel, other, third):
        deploy(line, one)
    assert {path.name for path in in_use(line).parent.iterdir()} == {other.version, third.version}


def test_versions_that_somebody_still_needs_stay(line: Connection, parcel: Parcel, other: Parcel) -> None:
    third = changed(parcel, "include/digits.h", b"third")
    for one in (parcel, other, third):
        deploy(line, one, keep=[parcel.version])
    assert {path.name for path in in_use(line).parent.iterdir()} == {parcel.version, other.version, third.version}


def test_an_upload_that_nobody_goes_on_with_is_removed(line: Connection, parcel: Parcel) -> None:
    with hold(line, "ada") as lock:
        left = f"incoming/digits/{'0' * 64}"
        lock.make_folder(left)
        line.write(f"{lock.folder}/{left}/files.json", b"half")
    deploy(line, parcel)
    assert not list(Path(line.device.work).rglob("0" * 64))


def test_a_file_that_was_corrupted_on_the_board_is_sent_anew(line: Connection, parcel: Parcel) -> None:
    deploy(line, parcel)
    place = in_use(line) / parcel.program
    data = bytearray(place.read_bytes())
    data[1000] ^= 1
    place.write_bytes(data)
    done = deploy(line, parcel)
    assert (done.sent_files, done.sent_bytes) == (1, len(data))
    assert place.read_bytes() == parcel.files[parcel.program]
    assert examine(line, done.program).passed


def test_a_corrupted_file_is_not_copied_into_the_next_version(line: Connection, parcel: Parcel, other: Parcel) -> None:
    deploy(line, parcel)
    place = in_use(line) / "build/libdigits.a"
    place.write_bytes(b"\0" + place.read_bytes()[1:])
    assert deploy(line, other).sent_files == 3
    assert (in_use(line) / "build/libdigits.a").read_bytes() == parcel.files["build/libdigits.a"]


def test_files_that_were_lost_on_the_board_are_sent_anew(line: Connection, parcel: Parcel) -> None:
    deploy(line, parcel)
    shutil.rmtree(in_use(line) / "include")
    assert deploy(line, parcel).sent_files == 2
    assert (in_use(line) / "include/digits.h").read_bytes() == parcel.files["include/digits.h"]


def test_a_program_that_may_not_be_executed_any_more_may_again(line: Connection, parcel: Parcel) -> None:
    done = deploy(line, parcel)
    Path(done.program).chmod(0o644)
    with pytest.raises(ProgramFailed, match="cannot start"):
        examine(line, done.program)
    assert examine(line, deploy(line, parcel).program).passed


def test_a_list_of_files_that_lies_is_not_believed(line: Connection, parcel: Parcel, other: Parcel) -> None:
    """A board that claims to have everything gets everything."""
    deploy(line, parcel)
    (in_use(line) / "files.json").write_bytes(other.listing)
    assert deploy(line, other).sent_files == len(other.files) + 1
    assert examine(line, f"{in_use(line)}/{other.program}").passed


@pytest.mark.parametrize("content", [b"", b"../../etc", b"x" * 64, b"\xff" * 70, b"0" * 64])
def test_a_strange_current_is_no_version_and_leads_nowhere(line: Connection, parcel: Parcel, content: bytes) -> None:
    deploy(line, parcel)
    (Path(line.device.work) / "digits/current").write_bytes(content)
    assert deploy(line, parcel).sent_files == 0
    assert deployed(line) == {"digits": parcel.version}


def refuse(program: str) -> None:
    raise GateError("wrong answers", where="board")


def test_a_version_that_fails_its_exam_never_becomes_the_one_in_use(line: Connection, parcel: Parcel, other: Parcel) -> None:
    deploy(line, parcel)
    with pytest.raises(GateError, match="this version was withdrawn; in use is " + parcel.version[:12]):
        deploy(line, other, judge=refuse)
    assert deployed(line) == {"digits": parcel.version}
    assert [path.name for path in in_use(line).parent.iterdir()] == [parcel.version]


def test_a_first_version_that_fails_its_exam_leaves_none_in_use(line: Connection, parcel: Parcel) -> None:
    with pytest.raises(GateError, match="no version of digits is in use"):
        deploy(line, parcel, judge=refuse)
    assert deployed(line) == {}


def test_a_version_in_use_that_fails_its_exam_now_is_rolled_back(line: Connection, parcel: Parcel, other: Parcel) -> None:
    deploy(line, parcel)
    deploy(line, other)
    with pytest.raises(GateError, match="withdrawn"):
        deploy(line, other, judge=refuse)
    assert deployed(line) == {"digits": parcel.version}


def test_the_judge_sees_the_new_program_before_the_switch(line: Connection, parcel: Parcel, other: Parcel) -> None:
    deploy(line, parcel)
    seen = []
    deploy(line, other, judge=lambda program: seen.append((examine(line, program).passed, deployed(line)["digits"])))
    assert seen == [(True, parcel.version)]


def test_a_file_without_content_travels_too(line: Connection, parcel: Parcel) -> None:
    deploy(line, changed(parcel, "include/empty.h", b""))
    assert (in_use(line) / "include/empty.h").read_bytes() == b""


def test_other_files_of_the_work_folder_are_left_alone(line: Connection, parcel: Parcel, other: Parcel) -> None:
    mine = Path(line.device.work) / "digits/versions/mine/notes.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("keep")
    deploy(line, parcel)
    deploy(line, other)
    assert mine.read_text() == "keep"
    assert deployed(line) == {"digits": other.version}


def test_the_board_stays_ours_while_exams_outlast_the_lock(
    line: Connection, parcel: Parcel, other: Parcel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exam ends when it has seen three signs of life; whoever wants the board meanwhile has to wait."""
    monkeypatch.setattr(locks, "_SOONEST", 0.01)
    short = connect(replace(line.device, limits=replace(line.device.limits, lock=1.0)))
    script = 'for i in 1 2 3; do old=$(cat "$1"); while [ "$(cat "$1")" = "$old" ]; do sleep 0.01; done; done'

    def judge(program: str) -> None:
        folder = tenure(Path(line.device.work))
        assert folder is not None
        sign = folder / folder.name.rpartition(".")[2]
        assert line.execute(["sh", "-c", script, "sh", str(sign)]).status == 0
        with pytest.raises(BoardBusy):
            deploy(line, other)

    version = deploy(short, parcel, judge=judge).version
    assert deployed(line) == {"digits": version}
    short.close()


def test_a_deployment_of_nothing_knows_that_the_board_is_anothers_by_now(line: Connection, parcel: Parcel) -> None:
    deploy(line, parcel)
    short = connect(replace(line.device, limits=replace(line.device.limits, lock=1e-6)))
    with closing(short), ExitStack() as stack, pytest.raises(LockLost, match="lock was lost"):
        deploy(short, parcel, judge=lambda program: stack.enter_context(hold(line, "bob")) and None)


@pytest.mark.parametrize("there", ["fsync", "busybox", "toybox", "none"])
def test_a_board_needs_one_of_the_programs_that_synchronize(boards: Callable[..., Board], there: str) -> None:
    board = boards()
    for name in ("sync", "fsync", "busybox", "toybox"):
        board.program(name, "exit 0" if name == there else "exit 127")
    with closing(connect(board.device())) as far:
        if there != "none":
            far.sync([str(board.work)])
            return
        with pytest.raises(DeviceError, match="cannot write its files to the disk for good") as caught:
            far.sync([str(board.work)])
        assert (caught.value.where, "BusyBox" in caught.value.hint) == ("board", True)
