"""Deploying over real sshd and on this machine: what travels, what stays, what is in use."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from edgec.devices.connect import connect
from edgec.devices.connection import Connection
from edgec.devices.deploy import deploy, deployed, outlook, roll_back
from edgec.devices.device import Device
from edgec.devices.exam import ProgramFailed, examine
from edgec.devices.parcel import Parcel, open_parcel
from edgec.errors import DeviceError, GateError

Packages = Callable[..., Path]


@pytest.fixture
def line(empty_board: Device) -> Iterator[Connection]:
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


def test_roll_back_returns_to_the_version_before_once(line: Connection, parcel: Parcel, other: Parcel) -> None:
    deploy(line, parcel)
    deploy(line, other)
    assert roll_back(line, "digits") == parcel.version
    assert deployed(line) == {"digits": parcel.version}
    with pytest.raises(DeviceError, match="no previous version of digits"):
        roll_back(line, "digits")


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
    left = Path(line.device.work) / "digits/incoming" / ("0" * 64)
    left.mkdir(parents=True)
    (left / "files.json").write_text("half")
    deploy(line, parcel)
    assert not left.exists()


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
