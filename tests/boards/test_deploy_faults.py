"""What goes wrong while a package travels, over real sshd and on this machine: the board has the old version or the new one, whole."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from edgec.base.errors import DeviceError
from edgec.boards.board.exam_program import examine
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.connect.trouble import BoardLost
from edgec.boards.deploy.checksum import checksums
from edgec.boards.deploy.delivery import deployed
from edgec.boards.deploy.lock import hold
from edgec.boards.deploy.parcel import Parcel, open_parcel
from edgec.boards.device import Device
from tests.boards.boards import Board
from tests.boards.deploying import deploy
from tests.boards.interposed import Interposed, dying_at

NOISE = bytes(range(256)) * 8192  # 2 MiB


@pytest.fixture
def parcel(package: Callable[..., Path]) -> Parcel:
    return open_parcel(package("host"))


@pytest.fixture
def large(parcel: Parcel) -> Parcel:
    """A version with a file that takes a while to travel."""
    return replace(parcel, files={**parcel.files, "src/digits_weights.bin": NOISE})


@pytest.fixture
def here() -> Iterator[Connection]:
    """A board whose disk is memory, where that can be: these tests write much, and wait for the disk each time."""
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        connection = connect(Device("here", "host", "local", work=f"{folder}/work"))
        yield connection
        connection.close()


def steps() -> Iterable[int]:
    """Without EDGEC_TEST_ALL every ninth step."""
    return range(0, 1000, 1 if os.environ.get("EDGEC_TEST_ALL") else 9)


def open_line(board: Board, **limits: float) -> Connection:
    device = board.device()
    return connect(replace(device, limits=replace(device.limits, **limits)))


def whole(folder: Path, parcel: Parcel) -> bool:
    """Whether a version's folder holds every file of a parcel as it should be."""
    return all((folder / path).is_file() and (folder / path).read_bytes() == data for path, data in parcel.files.items())


def test_an_upload_that_a_cut_cable_ended_is_continued(namespace_board: Board, parcel: Parcel, large: Parcel) -> None:
    namespace = namespace_board.namespace
    assert namespace is not None
    line = open_line(namespace_board, transfer=4, command=6, connect=5)
    deploy(line, parcel)

    def unplug(at: int) -> None:
        if at > len(NOISE) // 2:
            namespace.cut()

    class Cut(Interposed):
        def write(self, path: str, data: bytes, **options: Any) -> None:
            self.inner.write(path, data, **{**options, "sent": unplug if data == NOISE else None})

    with pytest.raises(BoardLost) as caught:
        deploy(Cut(line, lambda *call: None), large)
    assert caught.value.where == "board"
    assert caught.value.hint
    line.close()
    namespace.mend()
    again = open_line(namespace_board)
    assert deployed(again) == {"digits": parcel.version}
    done = deploy(again, large)
    assert len(NOISE) // 4 < done.sent_bytes < len(NOISE)
    assert whole(namespace_board.work / "digits/versions" / done.version, large)
    assert examine(again, done.program).passed
    again.close()


def test_a_full_disk_is_foreseen_with_its_figures(walls: None, board: Board, large: Parcel) -> None:
    board.mount(board.work, "size=1m")
    line = open_line(board)
    with pytest.raises(DeviceError, match=r"has [\d,]+ bytes free, ([\d,]+) are needed") as caught:
        deploy(line, large)
    figures = re.search(r"([\d,]+) are needed", str(caught.value))
    assert figures
    assert len(NOISE) < int(figures[1].replace(",", "")) < 2 * len(NOISE)
    assert caught.value.where == "board"
    assert "free some space" in caught.value.hint
    assert deployed(line) == {}
    assert not any(path.startswith("digits/") for path in line.sizes(board.device().work))
    line.close()


def test_a_disk_that_fills_up_while_files_arrive_leaves_the_old_version_in_use(
    walls: None, board: Board, parcel: Parcel, large: Parcel
) -> None:
    board.mount(board.work, "size=2m")
    board.program("df", "exit 1")
    line = open_line(board)
    deploy(line, parcel)
    with pytest.raises(DeviceError, match=r"(?i)disk is full|no space left") as caught:
        deploy(line, large)
    assert caught.value.where == "board"
    assert deployed(line) == {"digits": parcel.version}
    assert examine(line, deploy(line, parcel).program).passed
    line.close()


def test_a_read_only_work_folder_is_said(walls: None, board: Board, parcel: Parcel) -> None:
    board.mount(board.work, "ro")
    line = open_line(board)
    with pytest.raises(DeviceError, match=r"(?i)read-only") as caught:
        deploy(line, parcel)
    assert caught.value.where == "board"
    assert caught.value.hint
    line.close()


@pytest.mark.sampled
@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_wherever_the_line_dies_the_board_has_one_whole_version_or_the_other(here: Connection, parcel: Parcel, first: bool) -> None:
    """For every N: the line dies at the Nth call, in the middle of it if it writes. Then the same deployment succeeds."""
    old = replace(parcel, files={**parcel.files, "include/digits.h": b"old"})
    home = Path(here.device.work) / "digits"
    for number in steps():
        here.remove(here.device.work)
        if not first:
            deploy(here, old)
        try:
            deploy(dying_at(here, number), parcel)
        except BoardLost:
            now = deployed(here).get("digits")
            expected = {None, parcel.version} if first else {old.version, parcel.version}
            assert now in expected
            assert now is None or whole(home / "versions" / now, parcel if now == parcel.version else old)
            assert all(whole(path, parcel if path.name == parcel.version else old) for path in home.glob("versions/*")), (
                f"half a version after call {number}"
            )
            deploy(here, parcel)
            assert deployed(here) == {"digits": parcel.version}
            assert whole(home / "versions" / parcel.version, parcel)
        else:
            break
    assert number > 20


@pytest.mark.sampled
def test_wherever_the_line_dies_while_a_version_is_mended_it_can_be_mended_again(here: Connection, parcel: Parcel) -> None:
    version = Path(here.device.work) / "digits/versions" / parcel.version
    for number in steps():
        deploy(here, parcel)
        (version / parcel.program).write_bytes(b"rotten")
        (version / "include/digits.h").unlink()
        try:
            deploy(dying_at(here, number), parcel)
        except BoardLost:
            assert deployed(here) == {"digits": parcel.version}
            deploy(here, parcel)
            assert whole(version, parcel)
        else:
            break
    assert number > 10
    assert whole(version, parcel)


def test_what_arrived_wrong_before_a_cut_is_sent_anew(here: Connection, parcel: Parcel) -> None:
    """One file is too short and begins wrongly, one has the right size and wrong content, one is nobody's."""
    with hold(here, "one who was cut off") as lock:
        incoming = Path(lock.folder) / "incoming/digits" / parcel.version
        (incoming / "build").mkdir(parents=True)
        (incoming / parcel.program).write_bytes(b"wrong")
        (incoming / "manifest.json").write_bytes(b"?" * len(parcel.files["manifest.json"]))
        (incoming / "build/stranger").write_bytes(b"?")
    done = deploy(here, parcel)
    assert whole(Path(done.folder), parcel)
    assert not (Path(done.folder) / "build/stranger").exists()
    assert examine(here, done.program).passed


def test_a_board_that_spoils_every_file_never_gets_a_new_version(here: Connection, parcel: Parcel) -> None:
    class Rotten(Interposed):
        def write(self, path: str, data: bytes, **options: Any) -> None:
            self.inner.write(path, data[:-1] + b"!" if "/include/" in path else data, **options)

    with pytest.raises(DeviceError, match="files arrive changed") as caught:
        deploy(Rotten(here, lambda *call: None), parcel)
    assert [problem.where for problem in caught.value.problems] == ["include/digits.h", "include/digits_pool.h"]
    assert deployed(here) == {}


SUM_PROGRAMS = ["sha256sum", "shasum", "busybox", "toybox", "openssl"]


@pytest.mark.parametrize("there", [*SUM_PROGRAMS, "none"])
def test_any_program_that_computes_sha256_will_do_and_even_none(shared_board: Board, there: str) -> None:
    """Each board but the last has one of them, here played by sha256sum itself."""
    arguments = {"shasum": "shift 2", "busybox": "shift", "toybox": "shift", "openssl": "shift 3"}
    for name in SUM_PROGRAMS:
        shared_board.program(name, f'{arguments.get(name, ":")}\nexec /usr/bin/sha256sum "$@"' if name == there else "exit 127")
    line = connect(shared_board.device())
    path = f"{line.device.work}/a file"
    line.write(path, b"abc")
    assert checksums(line, {path: 3}) == {path: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
    line.close()
    for name in SUM_PROGRAMS:
        (shared_board.folder / "bin" / name).unlink()
