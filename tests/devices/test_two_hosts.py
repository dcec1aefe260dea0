"""Two hosts fight for one board (see rivals.py): never two owners, never a torn version. benchmarks/two_hosts.py does it for longer."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from edgec.devices.connect import connect
from edgec.devices.versions import pointers
from tests.devices.boards import Board
from tests.devices.deploying import deploy, roll_back
from tests.devices.rivals import Host, Referee

OWNERS = 100 if os.environ.get("EDGEC_TEST_ALL") else 9


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
