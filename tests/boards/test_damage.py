"""Somebody changed a version on a board by hand: the next deployment makes it what it was, and touches nothing else."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from edgec.base.errors import DeviceError
from edgec.boards.board.exam_program import examine
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.delivery import deployed
from edgec.boards.deploy.parcel import Parcel, open_parcel
from edgec.boards.device import Device
from tests.boards.deploying import deploy
from tests.boards.phones import adb_server, phone
from tests.conftest import require

HEADER = "include/digits.h"


@pytest.fixture
def line(empty_board: Device) -> Iterator[Connection]:
    connection = connect(empty_board)
    yield connection
    connection.close()


@pytest.fixture
def parcel(package: Callable[..., Path]) -> Parcel:
    return open_parcel(package("host"))


@pytest.fixture
def version(line: Connection, parcel: Parcel) -> Path:
    """The folder of the version in use, on this machine, where all these boards have their disks."""
    return Path(deploy(line, parcel).folder)


@pytest.mark.parametrize("mode", [0o4777, 0o000])
def test_files_have_their_modes_again_and_no_copy_has_others(line: Connection, parcel: Parcel, version: Path, mode: int) -> None:
    files = [version / path for path in (*parcel.files, "files.json")]
    for file in files:
        file.chmod(mode)
    other = replace(parcel, files={**parcel.files, HEADER: b"other"})
    for wanted, sent in ((other, 2), (parcel, 0)):
        done = deploy(line, wanted)
        found = {path: stat.S_IMODE((Path(done.folder) / path).stat().st_mode) for path in parcel.files}
        assert found == {path: 0o755 if path == parcel.program else 0o644 for path in parcel.files}
        assert done.sent_files == sent and examine(line, done.program).passed


def test_what_is_in_the_way_of_a_file_or_folder_goes(line: Connection, parcel: Parcel, version: Path) -> None:
    (version / HEADER).unlink()
    (version / HEADER / "deep").mkdir(parents=True)
    (version / HEADER / "deep/file").write_bytes(b"1")
    (version / "build").rename(version.parent / "was build")
    (version / "build").write_bytes(b"no folder")
    assert examine(line, deploy(line, parcel).program).passed
    assert {path: (version / path).read_bytes() for path in parcel.files} == dict(parcel.files)
    assert deploy(line, parcel).sent_files == 0


@pytest.mark.parametrize("place", ["", "include"])
def test_a_link_that_leads_out_of_a_version_goes_and_what_is_behind_it_stays(
    line: Connection, parcel: Parcel, version: Path, tmp_path: Path, place: str
) -> None:
    behind = tmp_path / "behind"
    (version / place).rename(behind)
    (version / place).symlink_to(behind)
    header = behind / Path(HEADER).relative_to(place)
    header.write_bytes(b"somebody's")
    deploy(line, parcel)
    assert not (version / place).is_symlink() and header.read_bytes() == b"somebody's"
    assert {path: (version / path).read_bytes() for path in parcel.files} == dict(parcel.files)
    assert deploy(line, parcel).sent_files == 0 and deployed(line) == {"digits": parcel.version}


def test_a_work_folder_may_be_a_link_and_sticky(line: Connection, parcel: Parcel, tmp_path: Path) -> None:
    work, real = Path(line.device.work), tmp_path / "real"
    real.mkdir(mode=0o1777)
    work.parent.mkdir(exist_ok=True)
    work.symlink_to(real)
    assert deploy(line, parcel).sent_files and deploy(line, parcel).sent_files == 0
    assert work.is_symlink() and (real / "digits/current").read_text().strip() == parcel.version


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["local", "ssh", "adb"])
def test_a_work_folder_on_two_disks_is_said(
    request: pytest.FixtureRequest, tmp_path: Path, disk: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    place = disk("size=1m") / "file"
    with ExitStack() as stack:
        device = Device("board", "host", "local")
        if kind == "ssh":
            device = request.getfixturevalue("board").device()  # which starts now, and sees the disk
        elif kind == "adb":
            require("adb")
            for name, value in stack.enter_context(adb_server(tmp_path)).items():
                monkeypatch.setenv(name, value)
            device = stack.enter_context(phone(tmp_path / "tmp")).device()
        line = stack.enter_context(closing(connect(device)))
        line.write(str(tmp_path / "file"), b"1")
        with pytest.raises(DeviceError, match="on one disk"):
            line.move(str(tmp_path / "file"), str(place))
    assert (tmp_path / "file").exists() and not place.exists()
