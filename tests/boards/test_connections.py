"""What a Connection promises, kept by every connector: this machine, a real sshd, and a phone behind the real adb program."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from edgec.base.errors import DeviceError
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.connect.trouble import BoardTimeout
from edgec.boards.device import Device, Limits
from tests.boards.phones import adb_server, phone
from tests.conftest import require

LIMITS = Limits(connect=15, command=20, transfer=20, run=20, output=1 << 23)
NASTY = ["two words", "it's", 'say "no"', "a\nb", "$(exit 1)", "`id`", "$HOME", "-n", "--", "-rf", "a;b", "a&b|c>d", "*", "~", "\\", "\\n"]
NASTY += ["", "é水", "%s", "!1", "#c", "a\tb", "a=b"]


def bytes_of(count: int, seed: int = 1) -> bytes:
    """Bytes of every value, in no order."""
    return (bytes((i * i * seed + i // 7) & 255 for i in range(1 << 16)) * (count // (1 << 16) + 1))[:count]


DATA = bytes_of(3_000_000)


@pytest.fixture(scope="module", params=["local", "ssh", "adb"])
def device(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    """A board behind each kind of line."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp(request.param)
        if request.param == "local":
            patch.setenv("HOME", str(folder))
            yield Device("here", "host", "local", limits=LIMITS)
        elif request.param == "ssh":
            yield replace(request.getfixturevalue("shared_board").device(), limits=LIMITS)
        else:
            require("adb")
            for name, value in stack.enter_context(adb_server(folder)).items():
                patch.setenv(name, value)
            yield stack.enter_context(phone(folder / "tmp")).device(limits=LIMITS)


@pytest.fixture(scope="module")
def line(device: Device) -> Iterator[Connection]:
    opened = connect(device)
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def folder(line: Connection, request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty folder on the board, relative to its home folder."""
    name = f'edgec-test-{os.getpid()}/a folder\'s "$name"'
    line.make_folder(name)
    yield name
    line.remove(name)


@pytest.fixture
def hasty(device: Device) -> Iterator[Connection]:
    """A line to the same board with little patience."""
    opened = connect(replace(device, limits=replace(LIMITS, command=1.5, run=1.5, output=1 << 16)))
    try:
        yield opened
    finally:
        opened.close()


def eventually(fact: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not fact() and time.monotonic() < end:
        time.sleep(0.05)
    return fact()


def alive(line: Connection, pid: bytes) -> bool:
    return line.execute(["kill", "-0", pid.decode().strip()]).status == 0


def test_words_arrive_as_they_are(line: Connection) -> None:
    answer = line.execute(["printf", "%s\\0", *NASTY])
    assert answer.output.decode().split("\0")[:-1] == NASTY


def test_a_program_with_a_strange_path_starts(line: Connection, folder: str) -> None:
    path = f"{folder}/it's a $(program)"
    line.write(path, b'#!/bin/sh\nprintf "%s" "$0:$1"\n', mode=0o755)
    assert line.execute([path, "x y"]).output.decode().endswith(f"{path}:x y")


def test_three_megabytes_go_both_ways(line: Connection) -> None:
    answer = line.execute(["cat"], data=DATA)
    assert (answer.status, answer.output == DATA, answer.errors) == (0, True, b"")


def test_input_that_nobody_reads_is_no_error(line: Connection) -> None:
    answer = line.execute(["sh", "-c", "echo done"], data=DATA)
    assert (answer.status, answer.output) == (0, b"done\n")


def test_without_input_a_command_reads_the_end_at_once(line: Connection) -> None:
    assert line.execute(["cat"]).output == b""


@pytest.mark.parametrize("status", [0, 1, 2, 42, 255])
def test_statuses_and_both_streams_come_back(line: Connection, status: int) -> None:
    answer = line.execute(["sh", "-c", f"printf out; printf err >&2; exit {status}"])
    assert (answer.status, answer.output, answer.errors) == (status, b"out", b"err")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_death_by_signal_is_128_and_its_number(line: Connection, number: int) -> None:
    assert line.execute(["sh", "-c", f"printf said; kill -{number:d} $$"]).status == 128 + number


def test_a_missing_program_is_status_127(line: Connection) -> None:
    answer = line.execute(["edgec-no-such-program"])
    assert answer.status == 127
    assert b"not found" in answer.errors or b"No such file" in answer.errors


def test_a_file_that_is_no_program_is_status_126(line: Connection, folder: str) -> None:
    line.write(f"{folder}/text", b"text")
    assert line.execute([f"{folder}/text"]).status == 126


def test_relative_paths_of_commands_and_files_are_the_same(line: Connection, folder: str) -> None:
    line.write(f"{folder}/file", b"content")
    assert line.execute(["cat", f"{folder}/file"]).output == b"content"


def test_a_command_out_of_time_is_killed_with_its_children(line: Connection, hasty: Connection, folder: str) -> None:
    line.write(f"{folder}/pid", b"")
    start = time.monotonic()
    with pytest.raises(BoardTimeout, match=hasty.device.name):
        hasty.execute(["sh", "-c", 'sleep 100 & echo $! > "$1"; wait', "sh", f"{folder}/pid"])
    assert time.monotonic() - start < 15
    pid = line.read(f"{folder}/pid")
    assert pid
    assert eventually(lambda: not alive(line, pid))


def test_seconds_can_be_given_for_one_command(hasty: Connection) -> None:
    assert hasty.execute(["sleep", "2"], seconds=15).status == 0


def test_a_flood_of_output_is_an_error(line: Connection, hasty: Connection) -> None:
    with pytest.raises(DeviceError, match=f"(?s){hasty.device.name}.*65536 bytes"):
        hasty.execute(["sh", "-c", "while :; do echo y; done"])
    assert hasty.execute(["echo", "still here"]).output == b"still here\n"


def test_a_conversation_answers_block_by_block(line: Connection) -> None:
    talk = line.converse(["cat"])
    for block in (b"\0", b"two", DATA, b"", bytes(range(256)) * 7):
        assert talk.exchange(block, len(block)) == block
    talk.close()
    talk.close()


def test_a_long_answer_to_a_short_question(line: Connection) -> None:
    talk = line.converse(["sh", "-c", "read count; head -c $count /dev/zero; read count; head -c $count /dev/zero"])
    assert talk.exchange(b"3000000\n", 3_000_000) == bytes(3_000_000)
    assert talk.exchange(b"3\n", 3) == bytes(3)
    talk.close()


def test_a_program_that_ends_in_a_conversation_has_the_last_word(line: Connection) -> None:
    talk = line.converse(["sh", "-c", "printf abc; echo bad weights >&2; exit 7"])
    with pytest.raises(DeviceError, match=r"(?s)status 7.*bad weights") as caught:
        talk.exchange(DATA, 1000)
    assert line.device.name in str(caught.value)
    talk.close()


def test_chatter_on_the_error_stream_does_not_stop_a_conversation(line: Connection) -> None:
    talk = line.converse(["sh", "-c", "head -c 300000 /dev/zero >&2; exec cat"])
    assert talk.exchange(b"hello", 5) == b"hello"
    talk.close()


def test_a_program_that_falls_silent_is_killed(line: Connection, hasty: Connection) -> None:
    talk = hasty.converse(["sh", "-c", "sleep 100 & printf '%07d' $!; wait"])
    pid = talk.exchange(b"", 7).lstrip(b"0")
    with pytest.raises(BoardTimeout, match=hasty.device.name):
        talk.exchange(b"question", 100_000)
    talk.close()
    assert eventually(lambda: not alive(line, pid))


def test_closing_a_conversation_ends_the_program(line: Connection) -> None:
    talk = line.converse(["sh", "-c", "printf '%07d' $$; sleep 50"])
    pid = talk.exchange(b"", 7)
    assert alive(line, pid.lstrip(b"0"))
    talk.close()
    assert eventually(lambda: not alive(line, pid.lstrip(b"0")))
    with pytest.raises(DeviceError):
        talk.exchange(b"", 1)


@pytest.mark.parametrize("data", [b"", b"\0", b"\r\n\r", DATA], ids=["empty", "nul", "lines", "3 MB"])
def test_a_file_comes_back_as_it_was_written(line: Connection, folder: str, data: bytes) -> None:
    told: list[int] = []
    line.write(f"{folder}/file", data, sent=told.append)
    assert line.read(f"{folder}/file") == data
    assert told == sorted(told) and (not told or told[-1] == len(data)) and (not data or told)
    assert line.sizes(folder) == {"file": len(data)}  # nothing else was left beside it


def test_writing_replaces_what_was_there(line: Connection, folder: str) -> None:
    line.write(f"{folder}/file", DATA, mode=0o755)
    line.write(f"{folder}/file", b"short")
    assert line.read(f"{folder}/file") == b"short"
    assert line.execute(["test", "-x", f"{folder}/file"]).status == 1


def test_a_running_program_can_be_replaced(line: Connection, folder: str) -> None:
    program = f"{folder}/program"
    line.write(program, Path("/bin/cat").read_bytes(), mode=0o755)
    talk = line.converse([program])
    assert talk.exchange(b"old", 3) == b"old"
    line.write(program, b"#!/bin/sh\necho new\n", mode=0o755)
    assert line.execute([program]).output == b"new\n"
    assert talk.exchange(b"still", 5) == b"still"
    talk.close()


@pytest.mark.parametrize("kept", [1, 1_000_000, 2_999_999, 3_000_000])
def test_resuming_keeps_what_is_right(line: Connection, folder: str, kept: int) -> None:
    path, told = f"{folder}/file", []
    line.write(path, DATA[:kept])
    before = line.execute(["ls", "-i", path]).output.split()[0]
    line.write(path, DATA, resume=True, mode=0o755, sent=told.append)
    assert line.read(path) == DATA
    assert line.execute(["test", "-x", path]).status == 0
    assert line.execute(["ls", "-i", path]).output.split()[0] == before
    assert kept == len(DATA) or min(told) >= kept


@pytest.mark.parametrize("there", [None, b"", b"wrong", DATA[:999] + b"!", DATA + b"more"], ids=["none", "empty", "begin", "end", "longer"])
def test_resuming_replaces_what_is_wrong(line: Connection, folder: str, there: bytes | None) -> None:
    if there is not None:
        line.write(f"{folder}/file", there)
    line.write(f"{folder}/file", DATA, resume=True)
    assert line.read(f"{folder}/file") == DATA


def test_files_have_any_name(line: Connection, folder: str) -> None:
    names = [name for name in NASTY if name not in ("",)]
    for name in names:
        line.write(f"{folder}/{name}", name.encode())
    assert line.sizes(folder) == {name: len(name.encode()) for name in names}
    assert [line.read(f"{folder}/{name}") for name in names] == [name.encode() for name in names]
    for name in names:
        line.remove(f"{folder}/{name}")
    assert line.sizes(folder) == {}


def test_a_path_may_begin_with_a_dash(line: Connection) -> None:
    name = f"-edgec-{os.getpid()}"
    line.make_folder(name)
    line.write(f"{name}/-file", b"1")
    line.move(name, f"{name}2")
    assert line.sizes(f"{name}2") == {"-file": 1}
    line.remove(f"{name}2")
    assert line.sizes(f"{name}2") == {}


def test_what_is_not_there_cannot_be_filled_or_moved(line: Connection, folder: str) -> None:
    for action in (
        lambda: line.write(f"{folder}/none/file", b"1"),
        lambda: line.move(f"{folder}/none", f"{folder}/new"),
    ):
        with pytest.raises(DeviceError, match=f"{line.device.name}.*(?i:no such file)") as caught:
            action()
        assert caught.value.hint


def test_a_missing_file_reads_as_none(line: Connection, folder: str) -> None:
    assert line.read(f"{folder}/none") is None
    assert line.read(f"{folder}/none/deeper") is None


def test_too_large_a_file_is_not_read(line: Connection, hasty: Connection, folder: str) -> None:
    line.write(f"{folder}/file", DATA)
    with pytest.raises(DeviceError, match=r"65536 bytes"):
        hasty.read(f"{folder}/file")


def test_folders_are_made_with_their_parents_and_kept(line: Connection, folder: str) -> None:
    line.make_folder(f"{folder}/a/b/c")
    line.write(f"{folder}/a/b/c/file", b"12")
    line.make_folder(f"{folder}/a/b/c")
    line.make_folder(f"{folder}/a")
    assert line.sizes(folder) == {"a/b/c/file": 2}


def test_sizes_are_of_regular_files_only(line: Connection, folder: str) -> None:
    for path, data in {"one": b"1", "a/two": b"22", "a/b/three": b"333", "a/b/empty": b""}.items():
        line.make_folder(f"{folder}/{Path(path).parent}")
        line.write(f"{folder}/{path}", data)
    line.execute(["ln", "-s", "one", f"{folder}/link"])
    line.execute(["ln", "-s", ".", f"{folder}/a/circle"])
    line.execute(["mkfifo", f"{folder}/pipe"])
    assert line.sizes(folder) == {"one": 1, "a/two": 2, "a/b/three": 3, "a/b/empty": 0}
    assert line.sizes(f"{folder}/none") == {}


def test_moving_replaces_a_file(line: Connection, folder: str) -> None:
    line.write(f"{folder}/new", b"new")
    line.write(f"{folder}/old", b"old")
    line.move(f"{folder}/new", f"{folder}/old")
    assert line.read(f"{folder}/old") == b"new"
    assert line.sizes(folder) == {"old": 3}


def test_moving_takes_a_whole_folder(line: Connection, folder: str) -> None:
    line.make_folder(f"{folder}/a/b")
    line.write(f"{folder}/a/b/file", b"1")
    line.move(f"{folder}/a", f"{folder}/c")
    assert line.sizes(folder) == {"c/b/file": 1}


def test_a_folder_is_not_moved_into_another(line: Connection, folder: str) -> None:
    line.make_folder(f"{folder}/a")
    line.make_folder(f"{folder}/c")
    line.write(f"{folder}/a/file", b"1")
    line.write(f"{folder}/c/file", b"22")
    with pytest.raises(DeviceError, match=line.device.name):
        line.move(f"{folder}/a", f"{folder}/c")
    assert line.sizes(folder) == {"a/file": 1, "c/file": 2}


def test_removing_takes_files_folders_and_nothing(line: Connection, folder: str) -> None:
    line.make_folder(f"{folder}/a/b")
    line.write(f"{folder}/a/b/file", b"1")
    line.write(f"{folder}/file", b"1")
    for name in ("a", "file", "none", "none/deeper"):
        line.remove(f"{folder}/{name}")
    assert line.sizes(folder) == {}
    assert line.execute(["test", "-e", f"{folder}/a"]).status == 1


def test_removing_does_not_follow_links(line: Connection, folder: str) -> None:
    line.make_folder(f"{folder}/kept")
    line.write(f"{folder}/kept/file", b"1")
    line.make_folder(f"{folder}/a")
    line.execute(["ln", "-s", "../kept", f"{folder}/a/link"])
    line.execute(["ln", "-s", "kept", f"{folder}/link"])
    line.remove(f"{folder}/a")
    line.remove(f"{folder}/link")
    assert line.sizes(folder) == {"kept/file": 1}


def test_of_four_that_rename_a_folder_at_once_one_wins(device: Device, line: Connection, folder: str) -> None:
    line.make_folder(f"{folder}/0")
    line.write(f"{folder}/0/file", b"1")

    def take(number: int) -> bool:
        with closing(connect(device)) as opened, suppress(DeviceError):
            opened.move(f"{folder}/0", f"{folder}/{number}")
            return True
        return False

    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(take, range(1, 5)))
    assert won.count(True) == 1
    assert line.sizes(folder) == {f"{1 + won.index(True)}/file": 1}


def test_a_folder_can_be_made_inside_of_one_that_must_be_there(line: Connection, folder: str) -> None:
    line.make_folder("a/b", inside=folder)
    line.write(f"{folder}/a/b/-file", b"1")
    line.make_folder("a", inside=folder)
    with pytest.raises(DeviceError):
        line.make_folder("a", inside=f"{folder}/none")
    assert line.sizes(folder) == {"a/b/-file": 1}
    line.sync([f"{folder}/a/b/-file", folder])


def test_a_line_can_be_closed_twice(device: Device) -> None:
    opened = connect(device)
    opened.close()
    opened.close()
