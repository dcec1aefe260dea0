"""edgec that is killed: a program that forks a process for each step, which works on a board until SIGKILL comes at that step.

Run as a program: victims.py FACTS, a JSON object with the fields of Work. Answers each line of input, a number N, with a line: `killed`
when the process died before its Nth call over the line (in the middle of it, when that writes a file), `done` when it had ended before.
"""

from __future__ import annotations

import getpass
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from edgec.boards.board.exam_program import examine
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.lock import hold
from edgec.boards.deploy.parcel import Parcel, open_parcel
from edgec.boards.device import Device, Limits
from tests.boards import deploying
from tests.boards.interposed import Interposed

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Work:
    """what: deploy, roll back or lock. header: of the version that is deployed."""

    what: str
    address: str
    port: int
    key: str
    known_hosts: str
    work: str
    package: str
    header: str

    def device(self) -> Device:
        known = Limits(connect=15, command=30, transfer=30)
        return Device(
            "board", "host", "ssh", address=self.address, user=getpass.getuser(), port=self.port, key=Path(self.key),
            known_hosts=Path(self.known_hosts), work=self.work, limits=known,
        )  # fmt: skip

    def parcel(self) -> Parcel:
        parcel = open_parcel(Path(self.package))
        return replace(parcel, files={**parcel.files, "include/digits.h": self.header.encode()})


class Victims:
    """The program, started and asked (a with statement)."""

    def __init__(self, work: Work) -> None:
        words = [sys.executable, "-m", "tests.boards.victims", json.dumps(asdict(work))]
        environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
        self._process = subprocess.Popen(words, cwd=_ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def kill_at(self, number: int) -> bool:
        """Whether there was such a step."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(number, file=self._process.stdin, flush=True)
        return self._process.stdout.readline() == "killed\n"

    def __enter__(self) -> Victims:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate()


def die_at(work: Work, parcel: Parcel, number: int) -> None:
    """Work on the board; SIGKILL at call `number`, counted from 0."""
    calls, inner = 0, connect(work.device())

    def before(name: str, arguments: tuple[Any, ...]) -> None:
        nonlocal calls
        calls += 1
        if calls <= number:
            return
        if name == "write":
            path, data = arguments
            inner.write(path, data[: len(data) // 2], resume=True)
        os.kill(os.getpid(), signal.SIGKILL)

    line: Any = Interposed(inner, before)
    if work.what == "lock":
        with hold(line, "one who is killed") as lock:
            lock.renew()
    elif work.what == "deploy":
        deploying.deploy(line, parcel, judge=lambda program: _judge(line, program))
    else:
        deploying.roll_back(line, "digits")


def _judge(line: Any, program: str) -> None:
    assert examine(line, program).passed


def main(work: Work) -> None:
    parcel = work.parcel()
    connect(work.device()).close()  # what is imported at the first connection is there for all
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                die_at(work, parcel, int(line))
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else "done", flush=True)


if __name__ == "__main__":
    main(Work(**json.loads(sys.argv[1])))
