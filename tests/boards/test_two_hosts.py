"""Two hosts fight for one board (see rivals.py): never two owners, never a torn version. benchmarks/two_hosts.py does it for longer."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.lock import BoardBusy, forfeit
from edgec.boards.deploy.parcel import open_parcel
from edgec.boards.deploy.versions import pointers
from edgec.boards.device import Device
from tests.boards.boards import Board
from tests.boards.deploying import deploy, roll_back, tenure
from tests.boards.interposed import Interposed
from tests.boards.rivals import Host, Referee

OWNERS = 40 if os.environ.get("EDGEC_TEST_ALL") else 9


@pytest.fixture
def here() -> Iterator[Connection]:
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        yield connect(Device("here", "host", "local", work=f"{folder}/work"))


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("what", ["deploy", "roll back"])
def test_a_host_that_lost_the_board_at_any_step_changes_nothing_any_more(here: Connection, package: Callable[..., Path], what: str) -> None:
    """As if it had been paused there until another had come, done its work and gone.

    At every third step with EDGEC_TEST_ALL, else at every seventh.
    """
    parcel = open_parcel(package("host"))
    one, two, late, theirs = (replace(parcel, files={**parcel.files, "include/digits.h": b"%d" % number}) for number in range(4))
    work, fenced = Path(here.device.work), 0
    for number in range(0, 1000, 3 if os.environ.get("EDGEC_TEST_ALL") else 7):
        here.remove(str(work))
        deploy(here, one)
        deploy(here, two)
        calls = count()

        def take_over(name: str, arguments: tuple[Any, ...], calls: Iterator[int] = calls, number: int = number) -> None:
            if next(calls) == number:
                forfeit(here, lambda owner: True)
                deploy(here, theirs)

        line: Any = Interposed(here, take_over)
        try:
            deploy(line, late) if what == "deploy" else roll_back(line, "digits")
        except BoardBusy:
            fenced += 1
            assert pointers(here, "digits").current == theirs.version
        for version in filter(None, vars(pointers(here, "digits")).values()):
            known = next(parcel for parcel in (one, two, late, theirs) if parcel.version == version)
            assert all((work / "digits/versions" / version / path).read_bytes() == data for path, data in known.files.items())
        tenure(work)
        if next(calls) <= number:
            break
    print(f"\n{what}: fenced off at {fenced} steps")
    assert fenced > 2


@pytest.mark.long
@pytest.mark.sampled
def test_two_hosts_never_own_a_board_at_once(board: Board, package: Callable[..., Path], tmp_path: Path) -> None:
    facts = (board.address, board.port, str(board.key), str(board.known_hosts), str(board.work), str(package("host")))
    hosts = [Host(name, *facts, diary=str(tmp_path / name), seed=number) for number, name in enumerate(("ada", "bob"))]
    referee = Referee(hosts, random.Random(1), board.kill_sessions, Counter(), [])
    referee.fight(600.0, OWNERS)
    print(dict(referee.counts))
    assert not referee.errors and referee.counts["owners"] >= OWNERS
    with closing(connect(hosts[0].device())) as line:
        last = deploy(line, hosts[0].parcel(9)).version
        assert pointers(line, "digits").current == last
        if pointers(line, "digits").previous:
            roll_back(line, "digits")
            assert roll_back(line, "digits") == last
