"""This machine as a board, and what can go wrong on its disk. The rest is test_connections.py."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from edgec.base.errors import DeviceError
from edgec.boards.connect.connectors import connect, program_words
from edgec.boards.connect.local import LocalConnection
from edgec.boards.connect.trouble import BoardTimeout
from edgec.boards.device import Device, Limits
from edgec.package.running import Session, run

LIMITS = Limits(command=10, run=10)
HELLO = '#include <stdio.h>\nint main(void){char w[9];while(fread(w,1,3,stdin)==3){printf("<%.3s>",w);fflush(stdout);}return 0;}\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalConnection:
    """This machine, with a home folder of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return LocalConnection(Device("desk", "host", "local", limits=LIMITS))


def test_a_home_folder_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nowhere/at/all")
    with pytest.raises(DeviceError, match=r"desk: there is no home folder /nowhere/at/all.*HOME"):
        connect(Device("desk", "host", "local"))


def test_an_emulator_that_is_not_installed_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    target = "rpi5" if platform.machine() == "x86_64" else "x86-64"
    with pytest.raises(DeviceError, match=r"pi: there is no program qemu-.*qemu-user"):
        connect(Device("pi", target, "emulated"))


def test_an_emulated_board_runs_a_foreign_program(here: LocalConnection, needs: Callable[..., None], tmp_path: Path) -> None:
    needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
    (tmp_path / "hello.c").write_text(HELLO)
    subprocess.run(["aarch64-linux-gnu-gcc", "-o", tmp_path / "hello", tmp_path / "hello.c"], check=True)
    board = connect(Device("pi", "rpi4", "emulated", limits=LIMITS))
    words = program_words(board.device, "./hello")
    assert board.execute(words, data=b"onetwo").output == b"<one><two>"
    talk = board.converse(words)
    assert talk.exchange(b"abc", 5) == b"<abc>"
    board.close()
    with pytest.raises(DeviceError):
        talk.exchange(b"abc", 5)


def test_a_prefix_goes_before_a_program(here: LocalConnection) -> None:
    device = Device("desk", "host", "local", prefix=("env", "A=b c"))
    assert here.execute(program_words(device, "sh", "-c", 'printf "$A"')).output == b"b c"


def test_a_full_disk_leaves_the_old_file_and_nothing_else(here: LocalConnection, disk: Callable[[str], Path]) -> None:
    folder = disk("size=1m")
    here.write(f"{folder}/file", b"old")
    with pytest.raises(DeviceError, match=r"desk: .*file: the disk is full.*free some space"):
        here.write(f"{folder}/file", bytes(2 << 20))
    assert here.read(f"{folder}/file") == b"old"
    assert here.sizes(str(folder)) == {"file": 3}


def test_a_full_disk_keeps_what_a_resumed_file_has(here: LocalConnection, disk: Callable[[str], Path]) -> None:
    folder, data = disk("size=1m"), os.urandom(2 << 20)
    with pytest.raises(DeviceError, match="the disk is full"):
        here.write(f"{folder}/file", data, resume=True)
    kept = here.sizes(str(folder))["file"]
    subprocess.run(["mount", "-o", "remount,size=4m", str(folder)], check=True)
    told: list[int] = []
    here.write(f"{folder}/file", data, resume=True, sent=told.append)
    assert kept > 0 and told[0] == kept
    assert here.read(f"{folder}/file") == data


def test_a_read_only_folder_is_said(here: LocalConnection, disk: Callable[[str], Path]) -> None:
    folder = disk("ro")
    for action in (
        lambda: here.write(f"{folder}/file", b"1"),
        lambda: here.write(f"{folder}/file", b"1", resume=True),
        lambda: here.make_folder(f"{folder}/new"),
    ):
        with pytest.raises(DeviceError, match=r"desk: .*the folder is read-only.*can be written"):
            action()


def test_resuming_does_not_write_through_a_link(here: LocalConnection, tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"kept")
    (tmp_path / "file").symlink_to("precious")
    here.write("file", b"kept and more", resume=True)
    assert (tmp_path / "precious").read_bytes() == b"kept"
    assert here.read("file") == b"kept and more" and not (tmp_path / "file").is_symlink()


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_what_is_no_path_is_refused(here: LocalConnection, path: str) -> None:
    with pytest.raises(DeviceError, match=r"desk: .* is not a path"):
        here.write(path, b"1")


@pytest.mark.parametrize("path", [".", "..", "a/..", "../home/.", ""])
def test_the_home_folder_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "file").write_bytes(b"1")
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(DeviceError, match=r"desk: "):
        LocalConnection(Device("desk", "host", "local")).remove(path)
    assert (home / "file").exists()


def test_a_program_that_was_just_written_starts_while_others_start(here: LocalConnection) -> None:
    """Between fork and exec another thread's child holds the new program open for writing."""
    stop = threading.Event()

    def start_others() -> None:
        while not stop.is_set():
            here.execute(["true"])

    others = [threading.Thread(target=start_others) for _ in range(2)]
    for other in others:
        other.start()
    try:
        found = set()
        for number in range(20):
            here.write(f"program{number}", b"#!/bin/sh\nexit 3\n", mode=0o755)
            found.add(here.execute([f"./program{number}"]).status)
    finally:
        stop.set()
        for other in others:
            other.join()
    assert found == {3}


def test_what_a_command_leaves_running_ends_with_it(here: LocalConnection) -> None:
    pid = int(here.execute(["sh", "-c", "sleep 600 & echo $!"]).output)
    end = time.monotonic() + 10
    while running(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not running(pid)


def running(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_run_gives_status_output_and_errors() -> None:
    done = run([sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read()); sys.stderr.write('no'); sys.exit(4)"], b"yes")
    assert (done.status, done.output, done.errors) == (4, b"yes", "no")


def test_run_ends_with_its_time() -> None:
    with pytest.raises(BoardTimeout, match=r"sleep: no answer within 0.2 s"):
        run(["sleep", "60"], seconds=0.2)


def test_a_program_that_cannot_start_is_named() -> None:
    for start in (run, Session):
        with pytest.raises(DeviceError, match=r"edgec-no-such-program.*qemu-user"):
            start(["edgec-no-such-program"])
