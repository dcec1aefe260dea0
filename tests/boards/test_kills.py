"""edgec is killed at steps all over a deployment, a roll-back and a lock, over real sshd: one whole version is always in use."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.connect.trouble import BoardLost
from edgec.boards.deploy.delivery import deployed
from edgec.boards.deploy.lock import forfeit
from edgec.boards.deploy.parcel import Parcel, open_parcel
from edgec.boards.deploy.versions import Pointers, pointers
from edgec.boards.device import Device
from tests.boards.boards import Board
from tests.boards.deploying import deploy, roll_back, tenure
from tests.boards.interposed import Interposed
from tests.boards.victims import Victims, Work

ALL = bool(os.environ.get("EDGEC_TEST_ALL"))
_EVERY = {"deploy": 3, "roll back": 3, "lock": 1} if ALL else {"deploy": 19, "roll back": 13, "lock": 5}  # steps


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("what", ["deploy", "roll back", "lock"])
def test_killed_at_any_step_the_board_has_one_whole_version_and_goes_on(
    board: Board, package: Callable[..., Path], tmp_path: Path, what: str
) -> None:
    """With EDGEC_TEST_ALL at every third step, of a lock at every one. The board's disk is looked at from here, where it is."""
    facts = (board.address, board.port, str(board.key), str(board.known_hosts), str(board.work), str(package("host")))
    before, old, new = (Work(what, *facts, header=header) for header in ("before", "old", "new"))
    parcels = {work.parcel().version: work.parcel() for work in (before, old, new)}
    one, two, three = parcels
    may_be = {"deploy": {Pointers(two, one), Pointers(three, two)}, "roll back": {Pointers(two, one), Pointers(one, two)}}
    line = connect(Device("here", "host", "local", work=str(board.work)))
    for version in (one, two):
        deploy(line, parcels[version])
    shutil.copytree(board.work, tmp_path / "kept")
    kills = 0
    with closing(line), Victims(new) as victims:
        for number in range(0, 1000, _EVERY[what]):
            if not victims.kill_at(number):
                break
            kills += 1
            forfeit(line, lambda owner: True)  # whoever was killed is known to be gone
            assert pointers(line, "digits") in may_be.get(what, {Pointers(two, one)})
            check(line, board.work, parcels)
            goes_on(line, parcels[one])
            shutil.rmtree(board.work)
            shutil.copytree(tmp_path / "kept", board.work)
    print(f"\n{what}: killed at {kills} steps, 0 lost")
    assert kills > 1


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("what", ["deploy", "roll back"])
def test_cut_off_at_any_step_the_board_has_one_whole_version_and_goes_on(
    board: Board, package: Callable[..., Path], tmp_path: Path, what: str
) -> None:
    """The sessions of the board's sshd end, and what they had started goes on. With EDGEC_TEST_ALL at every third step."""
    parcel = open_parcel(package("host"))
    one, two, three = (replace(parcel, files={**parcel.files, "include/digits.h": text}) for text in (b"one", b"two", b"three"))
    line = connect(Device("here", "host", "local", work=str(board.work)))
    deploy(line, one)
    deploy(line, two)
    shutil.copytree(board.work, tmp_path / "kept")
    new = three if what == "deploy" else one
    may_be = [Pointers(two.version, one.version), Pointers(new.version, two.version)]
    cuts = 0
    for number in range(0, 1000, _EVERY[what]):
        try:
            with closing(connect(board.device())) as far:
                _work(Interposed(far, _cutter(board, number)), three, what)
            break
        except BoardLost:
            cuts += 1
        forfeit(line, lambda owner: True)
        assert pointers(line, "digits") in may_be
        check(line, board.work, {parcel.version: parcel for parcel in (one, two, three)})
        goes_on(line, one)
        shutil.rmtree(board.work)
        shutil.copytree(tmp_path / "kept", board.work)
    print(f"\n{what}: cut off at {cuts} steps, 0 lost")
    assert cuts > 1


def _work(line: Any, parcel: Parcel, what: str) -> None:
    if what == "deploy":
        deploy(line, parcel)
    else:
        roll_back(line, "digits")


def _cutter(board: Board, number: int) -> Callable[[str, tuple[Any, ...]], None]:
    calls = count()

    def cut(name: str, arguments: tuple[Any, ...]) -> None:
        if next(calls) == number:
            board.kill_sessions()

    return cut


def check(line: Connection, work: Path, parcels: dict[str, Parcel]) -> None:
    """`current` names a version that is there, and every version that is there is whole."""
    tenure(work)
    current = (work / "digits/current").read_text().strip()
    found = {path.name: path for path in (work / "digits/versions").iterdir()}
    assert current in found and {pointers(line, "digits").current, pointers(line, "digits").previous} <= found.keys()
    for version, folder in found.items():
        assert all((folder / path).read_bytes() == data for path, data in parcels[version].files.items())
    assert set(deployed(line)) == {"digits"}


def goes_on(line: Connection, parcel: Parcel) -> None:
    """The next deployment works, and so does the way back."""
    current = pointers(line, "digits").current
    other = replace(parcel, files={**parcel.files, "include/digits.h": b"next"})
    assert deploy(line, other).version == pointers(line, "digits").current
    assert roll_back(line, "digits") == current
