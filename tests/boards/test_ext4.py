"""The power goes on a real ext4, as it is on most boards: what the kernel had not written by then is gone.

The disk is an image in memory that the kernel mounts. Its copy, at any moment, is the disk of a board whose power went; a second copy, made
after another file was synchronized, has names that were committed before the data they lead to.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.parcel import Parcel, open_parcel
from tests.boards.boards import Board
from tests.boards.deploying import deploy, roll_back
from tests.boards.interposed import Interposed
from tests.conftest import require

EVERY = 1 if os.environ.get("EDGEC_TEST_ALL") else 8  # steps
_OPTIONS = "loop,noauto_da_alloc,commit=300"  # nothing is written for the sake of programs that do not synchronize


@pytest.fixture
def memory() -> Iterator[Path]:
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        yield Path(folder)


@contextmanager
def mounted(image: Path, folder: Path) -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "ext4", "-o", _OPTIONS, str(image), str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs the right to mount an image: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.sampled
@pytest.mark.parametrize("what", ["deploy", "roll back"])
def test_a_board_with_ext4_has_one_whole_version_whenever_its_power_goes(
    memory: Path, boards: Callable[..., Board], package: Callable[..., Path], what: str
) -> None:
    require("mkfs.ext4")
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a disk")
    parcel = open_parcel(package("host"))
    parcels = [replace(parcel, files={**parcel.files, "include/digits.h": text}) for text in (b"before", b"old", b"new")]
    one, two, three = (parcel.version for parcel in parcels)
    image, copies = memory / "image", list[Path]()
    subprocess.run(["mkfs.ext4", "-q", "-b", "1024", "-J", "size=4", str(image), "16m"], check=True, capture_output=True)
    with mounted(image, memory / "disk") as disk:
        board = boards()
        with closing(connect(board.device(work=str(disk / "work")))) as line:
            for version in parcels[:2]:
                deploy(line, version)
            copier = Interposed(line, _copier(image, disk, memory, copies))
            work(copier, parcels[2], what)
        board.stop()
    may_be = {two, three} if what == "deploy" else {one, two}
    for copy in copies:
        with mounted(copy, memory / "copy") as disk:
            check(disk / "work/digits", {parcel.version: parcel for parcel in parcels}, may_be)
    print(f"\n{what}: {len(copies)} disks, 0 lost")
    assert len(copies) > 4


def work(line: Any, parcel: Parcel, what: str) -> None:
    if what == "deploy":
        deploy(line, parcel)
    else:
        roll_back(line, "digits")


def _copier(image: Path, disk: Path, memory: Path, copies: list[Path]) -> Callable[[str, tuple[Any, ...]], None]:
    calls = 0

    def copy(name: str, arguments: tuple[Any, ...]) -> None:
        nonlocal calls
        calls += 1
        if calls % EVERY:
            return
        copies.append(Path(shutil.copy(image, memory / f"cut{calls}")))
        other = disk / "other"
        other.write_bytes(b"%d" % calls)
        subprocess.run(["sync", str(other), str(disk)], check=True)
        copies.append(Path(shutil.copy(image, memory / f"cut{calls}-committed")))

    return copy


def check(home: Path, parcels: dict[str, Parcel], may_be: set[str]) -> None:
    current = (home / "current").read_text().strip()
    assert current in may_be
    for version in {current, (home / "previous").read_text().strip()}:
        assert all((home / "versions" / version / path).read_bytes() == data for path, data in parcels[version].files.items())
