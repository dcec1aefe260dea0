"""Two hosts that fight for one board, are killed, paused and cut off at random, and a referee who looks on.

Run as a program it is one host: rivals.py FACTS, a JSON object (see Host). Every change that a host makes goes to its diary with the times
before and after, so that one made by a host that no longer had the board is found afterwards.
"""

from __future__ import annotations

import getpass
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from edgec.base.errors import DeviceError
from edgec.boards.board.exam_program import examine
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.connect.trouble import BoardLost, BoardTimeout
from edgec.boards.deploy.delivery import deploy
from edgec.boards.deploy.lock import BoardBusy, LockLost, hold
from edgec.boards.deploy.parcel import Parcel, open_parcel
from edgec.boards.deploy.versions import NoPrevious, pointers, roll_back
from edgec.boards.device import Device, Limits

ROOT = Path(__file__).parents[2]
SILENCE = 1.5  # seconds that end a lock
_TENURE = re.compile(r"/lock/(\d+)\.[0-9a-f]{16}")
_PAUSES = (0.2, 2.5)  # seconds: some shorter and most longer than a lock lives


@dataclass(frozen=True)
class Host:
    """address, port, key, known_hosts, work: of the board. package: its folder. diary: a file that grows."""

    name: str
    address: str
    port: int
    key: str
    known_hosts: str
    work: str
    package: str
    diary: str
    seed: int

    def device(self, **limits: float) -> Device:
        known: dict[str, Any] = {"connect": 5, "command": 10, "transfer": 5, "run": 20, "lock": SILENCE, "wait": 30, **limits}
        return Device(
            self.name, "host", "ssh", address=self.address, user=getpass.getuser(), port=self.port, key=Path(self.key),
            known_hosts=Path(self.known_hosts), work=self.work, limits=Limits(**known),
        )  # fmt: skip

    def parcel(self, number: int) -> Parcel:
        """One of the versions that this host deploys."""
        parcel = open_parcel(Path(self.package))
        return replace(parcel, files={**parcel.files, f"include/{self.name}.h": b"%d" % number})


class Watched:
    """A connection whose changes are in a diary: [owner's number, before, after, what, whether it worked]."""

    def __init__(self, inner: Connection, diary: Path) -> None:
        self.inner, self.device, self._diary = inner, inner.device, diary

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name not in ("move", "write"):
            return method

        def call(*arguments: Any, **options: Any) -> Any:
            paths = [str(path) for path in arguments[: 1 + (name == "move")]]
            numbers = [int(found[1]) for path in paths if (found := _TENURE.search(path))]
            takes = name == "move" and len(numbers) == 2 and numbers[1] == numbers[0] + 1 and paths[1].count("/") == paths[0].count("/")
            begun, worked = time.monotonic(), False
            try:
                method(*arguments, **options)
                worked = True
            finally:
                row = [numbers[-1] if numbers else -1, begun, time.monotonic(), "takes" if takes else name, worked]
                with self._diary.open("a") as file:
                    file.write(json.dumps(row) + "\n")

        return call


def fight(host: Host) -> None:
    """Deploy and roll back for ever; after each, while the board is ours, what we did is what is in use."""
    chance, diary = random.Random(host.seed), Path(host.diary)
    while True:
        with diary.open("a") as file:
            what = _once(host, chance, diary)
            file.write(json.dumps(what) + "\n")


def _once(host: Host, chance: random.Random, diary: Path) -> str:
    try:
        with closing(connect(host.device())) as line, hold(Watched(line, diary), host.name) as lock:
            if chance.random() < 0.3:
                done, what = roll_back(lock, "digits")[0], "rolled back"
            else:
                parcel = host.parcel(chance.randrange(3))
                done, what = deploy(lock, parcel, judge=lambda program: _judge(line, program)).version, "deployed"
            found = pointers(line, "digits").current
            lock.renew()
            return what if found == done else f"TWO OWNERS: {done} was in use, and then {found}"
    except LockLost:
        return "lost the lock"
    except BoardBusy:
        return "was busy"
    except NoPrevious:
        return "nothing to roll back to"
    except DeviceError as error:
        return f"failed: {type(error).__name__}" if isinstance(error, BoardLost | BoardTimeout) else f"failed: {error.summary}"[:80]


def _judge(line: Connection, program: str) -> None:
    assert examine(line, program).passed


@dataclass
class Referee:
    """Starts hosts, spoils their work and looks on. `spoil` cuts every line of the board."""

    hosts: list[Host]
    chance: random.Random
    cut: Any
    counts: Counter[str]
    errors: list[str]

    def fight(self, seconds: float, owners: int = 10**9) -> None:
        """For so long, or until the board has had so many owners."""
        work, processes = Path(self.hosts[0].work), [_start(host) for host in self.hosts]
        paused: dict[int, float] = {}
        end, next_blow, most = time.monotonic() + seconds, time.monotonic() + 1, 0
        try:
            while (now := time.monotonic()) < end and most < owners and not self.errors:
                most = self.look(work, most)
                for number in [number for number, until in paused.items() if until <= now]:
                    processes[number].send_signal(signal.SIGCONT)
                    del paused[number]
                if now >= next_blow:
                    self._blow(processes, paused)
                    next_blow = now + self.chance.uniform(0.5, 4)
                self.errors += [f"{host.name} ended" for host, one in zip(self.hosts, processes, strict=True) if one.poll() is not None]
                time.sleep(0.02)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        self.counts["owners"] = most
        self._read_diaries()

    def look(self, work: Path, most: int) -> int:
        """What anybody on the board sees at any moment. The highest number so far."""
        self.counts["looks"] += 1
        folders = sorted(path.name for path in (work / "lock").glob("*.*"))
        if len(folders) > 1 and folders == sorted(path.name for path in (work / "lock").glob("*.*")):
            self.errors.append(f"two locks: {folders}")
        number = max((int(name.partition(".")[0]) for name in folders), default=most)
        if number < most:
            self.errors.append(f"the number fell from {most} to {number}")
        if torn := _torn(work / "digits"):
            self.errors.append(torn)
        return max(most, number)

    def _blow(self, processes: list[subprocess.Popen[bytes]], paused: dict[int, float]) -> None:
        number, what = self.chance.randrange(len(processes)), self.chance.choice(["kill", "pause", "pause", "cut"])
        if what == "cut":
            self.cut()
        elif what == "pause" and number not in paused:
            processes[number].send_signal(signal.SIGSTOP)
            paused[number] = time.monotonic() + self.chance.uniform(*_PAUSES) * SILENCE
        elif what == "kill":
            processes[number].kill()
            processes[number].wait()
            paused.pop(number, None)
            self.hosts[number] = replace(self.hosts[number], seed=self.chance.randrange(10**9))
            processes[number] = _start(self.hosts[number])
        self.counts[f"{what}s"] += 1

    def _read_diaries(self) -> None:
        rows: list[list[Any]] = []
        for diary in sorted({host.diary for host in self.hosts}):
            for line in Path(diary).read_text().splitlines() if Path(diary).exists() else []:
                row = json.loads(line)
                rows += [row] if isinstance(row, list) else []
                self.counts[row if isinstance(row, str) else "changes"] += 1
                self.errors += [row] if isinstance(row, str) and row.startswith("TWO") else []
        taken = {number: after for number, _, after, what, worked in rows if what == "takes" and worked}
        for number, before, _, what, worked in rows:
            if number + 1 in taken and before > taken[number + 1] and what != "takes":
                self.counts["fenced off"] += not worked
                self.errors += [f"owner {number} could {what} after owner {number + 1} had come"] if worked else []
        if len([row for row in rows if row[3] == "takes" and row[4]]) != len(taken):
            self.errors.append("one number had two owners")


def _torn(home: Path) -> str:
    """What is wrong with the version in use; "" for nothing, or when it changes while we look."""
    for _ in range(3):
        try:
            current = (home / "current").read_bytes()
        except FileNotFoundError:
            return ""
        if not re.fullmatch(rb"[0-9a-f]{64}\n", current):
            return f"current names nothing: {current!r}"
        folder = home / "versions" / current.decode().strip()
        try:
            files = json.loads((folder / "files.json").read_bytes())["files"]
            if all((folder / path).stat().st_size == facts["bytes"] for path, facts in files.items()):
                return ""
        except FileNotFoundError:
            pass
        if (home / "current").read_bytes() != current:
            continue
        return f"{folder} is torn"
    return ""


def _start(host: Host) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-m", "tests.boards.rivals", json.dumps(asdict(host))], cwd=ROOT, env=environment)


if __name__ == "__main__":
    fight(Host(**json.loads(sys.argv[1])))
