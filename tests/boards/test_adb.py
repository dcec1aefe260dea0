"""Phones through the real adb program and server: states, what a cut line looks like, where files go. The rest is test_connections.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from edgec.base.errors import DeviceError
from edgec.boards.connect.adb import ANDROID_WORK
from edgec.boards.connect.adb_shell import ending, group_of, wrapped
from edgec.boards.connect.connectors import connect
from edgec.boards.connect.trouble import BoardLost
from edgec.boards.device import Device, Limits
from tests.boards.phones import adb_server, phone
from tests.conftest import require

LIMITS = Limits(connect=15, command=10, transfer=10, run=10)


@pytest.fixture(scope="module")
def adb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An adb server for this file alone."""
    require("adb")
    with pytest.MonkeyPatch.context() as patch, adb_server(tmp_path_factory.mktemp("adb")) as environment:
        patch.delenv("ANDROID_SERIAL", raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        yield


def device(address: str = "") -> Device:
    return Device("pixel", "host", "adb", address=address, limits=LIMITS)


def test_without_the_adb_program_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceError, match=r"pixel: there is no program adb.*apt-get install adb"):
        connect(device())


def test_without_a_phone_it_is_said_what_to_do(adb: None) -> None:
    with pytest.raises(BoardLost, match=r"pixel: adb knows no device.*USB debugging"):
        connect(device())


def test_an_unknown_serial_number_is_named(adb: None) -> None:
    with pytest.raises(BoardLost, match=r"pixel: adb knows no device 'ABC123'.*adb devices"):
        connect(device("ABC123"))


def test_the_known_phones_are_listed_for_an_unknown_one(adb: None, tmp_path: Path) -> None:
    with phone(tmp_path) as known:
        connect(device(known.address)).close()
        with pytest.raises(BoardLost, match=rf"'ABC123'; it knows .*{known.address}"):
            connect(device("ABC123"))


def test_an_address_where_nothing_listens_is_no_device(adb: None) -> None:
    with pytest.raises(BoardLost, match=r"adb knows no device '127.0.0.1:1'"):
        connect(device("127.0.0.1:1"))


def test_a_phone_that_does_not_trust_us_must_be_unlocked(adb: None, tmp_path: Path) -> None:
    with phone(tmp_path, "unauthorized") as stranger, pytest.raises(BoardLost, match=r"pixel: the phone does not trust.*accept"):
        connect(device(stranger.address))


def test_a_phone_that_never_answers_is_offline(adb: None, tmp_path: Path) -> None:
    hasty = replace(device(), limits=replace(LIMITS, connect=2))
    with phone(tmp_path, "offline") as silent, pytest.raises(BoardLost, match=r"pixel: the phone is offline.*plug it in again"):
        connect(replace(hasty, address=silent.address))


def test_a_phone_that_comes_back_where_adb_lost_one_is_not_offline(adb: None, tmp_path: Path) -> None:
    with phone(tmp_path / "1") as lost:
        connect(lost.device()).close()
    with phone(tmp_path / "2", port=int(lost.address.rpartition(":")[2])) as back:
        assert connect(back.device()).execute(["pwd"]).output.decode().strip() == str(back.folder)


def test_an_android_without_exit_codes_is_refused(adb: None, tmp_path: Path) -> None:
    with phone(tmp_path, "old") as old, pytest.raises(DeviceError, match=r"pixel: its adb gives no exit codes.*Android 7"):
        connect(device(old.address))


def test_the_only_phone_needs_no_address_and_of_two_one_must_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("adb")
    with adb_server(tmp_path) as environment, phone(tmp_path / "1") as one, phone(tmp_path / "2") as two:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", environment["ANDROID_ADB_SERVER_PORT"])
        connect(device(one.address)).close()
        line = connect(device())
        assert line.execute(["pwd"]).output.decode().strip() == str(one.folder)
        connect(device(two.address)).close()
        with pytest.raises(DeviceError, match=r"2 devices are connected.*give one as its address") as caught:
            connect(device())
        assert one.address in str(caught.value) and two.address in str(caught.value)


def test_work_goes_where_android_lets_programs_run(adb: None, tmp_path: Path) -> None:
    with phone(tmp_path) as known:
        assert connect(known.device()).device.work == ANDROID_WORK == "/data/local/tmp/edgec"
        assert connect(known.device(work="/data/mine")).device.work == "/data/mine"
        line = connect(known.device())
        line.make_folder(line.device.work)
        line.write(f"{line.device.work}/file", b"1")
    assert (tmp_path / "edgec/file").read_bytes() == b"1"


def test_a_phone_that_is_unplugged_is_lost(adb: None, tmp_path: Path) -> None:
    with phone(tmp_path) as known:
        line = connect(known.device())
        talk = line.converse(["cat"])
        assert talk.exchange(b"1", 1) == b"1"
    with pytest.raises(BoardLost, match=r"phone: the line to the board was cut"):
        talk.exchange(b"1", 1)
    with pytest.raises(BoardLost, match=r"phone: the line to the board was cut"):
        line.execute(["true"])
    with pytest.raises(BoardLost):
        line.write("file", b"1")
    line.close()


def test_a_phone_that_is_unplugged_in_a_command_is_lost(adb: None, tmp_path: Path) -> None:
    with phone(tmp_path) as known:
        line = connect(known.device())
        with pytest.raises(BoardLost, match=r"phone: the line to the board was cut"):
            line.execute(["sh", "-c", 'echo half; echo of it >&2; kill -9 "$0"; sleep 5', str(known.process.pid)])


def test_a_full_disk_is_said_and_nothing_is_left(adb: None, disk: Callable[[str], Path]) -> None:
    with phone(disk("size=1m")) as known:
        line = connect(known.device())
        line.write("file", b"old")
        with pytest.raises(DeviceError, match=r"phone: file: the disk is full.*free some space"):
            line.write("file", bytes(3 << 20))
        assert line.sizes(".") == {"file": 3}


def test_a_read_only_folder_is_said(adb: None, disk: Callable[[str], Path]) -> None:
    with phone(disk("ro")) as known:
        line = connect(known.device())
        for action in (
            lambda: line.write("file", b"1"),
            lambda: line.write("file", b"1", resume=True),
            lambda: line.make_folder("new"),
        ):
            with pytest.raises(DeviceError, match=r"phone: .*the folder is read-only.*can be written"):
                action()


@pytest.mark.parametrize("path", [".", "/", "..", "../../../data", "", "a/.."])
def test_the_home_folder_is_not_removed(adb: None, tmp_path: Path, path: str) -> None:
    with phone(tmp_path / "tmp") as known:
        (known.folder / "file").write_bytes(b"1")
        with pytest.raises(DeviceError, match=r"phone: (refuses to remove|.* is not a path)"):
            connect(known.device()).remove(path)
        assert (known.folder / "file").exists()


def test_a_command_that_names_the_marker_cannot_fake_its_end() -> None:
    marker = "0123456789abcdef"
    greeting = f"{marker} 0000000042\n".encode()
    assert group_of(greeting, marker) == 42
    assert group_of(b"error: device offline\n", marker) is None
    assert ending(b"words\n", marker) is None
    assert ending(greeting + b"words", marker) is None
    assert ending(b"ffffffffffffffff 0000000000\n", marker) is None
    assert ending(b"words" + f"{marker} 0000000007\n".encode(), marker) == (7, b"words")
    assert marker in wrapped(["true"], marker, 1.0)
