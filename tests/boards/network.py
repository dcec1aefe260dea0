"""Network namespaces: a board's own piece of network, at the other end of a cable that a test can cut and slow down. Needs root."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from itertools import count
from pathlib import Path

_NUMBERS = count()
_PREFIX = "edgec-test-"


@dataclass(frozen=True)
class Namespace:
    """One namespace and its cable: `link` is the end here, `eth0` the one there."""

    name: str
    link: str
    address: str  # of the board
    near: str  # of this machine

    def cut(self) -> None:
        """Unplug the far end: packets vanish, and nobody is told. (Without the near end they would take the way to the world.)"""
        _ip("-n", self.name, "link", "set", "eth0", "down")

    def mend(self) -> None:
        _ip("-n", self.name, "link", "set", "eth0", "up")
        self.introduce()

    def introduce(self) -> None:
        """Both ends know each other's hardware address: who asks for it over a cable just mended may hear of no route for seconds."""
        here, there = _hardware(self.link), _hardware("eth0", "-n", self.name)
        _ip("neigh", "replace", self.address, "lladdr", there, "dev", self.link, "nud", "permanent")
        _ip("-n", self.name, "neigh", "replace", self.near, "lladdr", here, "dev", "eth0", "nud", "permanent")

    def slow(self, rate: str) -> None:
        """Let no more than `rate` (as tc writes it, such as 20mbit) go to the board."""
        limit = ["tbf", "rate", rate, "burst", "32kb", "latency", "50ms"]
        subprocess.run(["tc", "qdisc", "replace", "dev", self.link, "root", *limit], check=True)

    def remove(self) -> None:
        """The namespace, and with it the cable."""
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.link], check=False, capture_output=True)


def make_namespace() -> Namespace:
    """A namespace with a cable of its own inside 10.77.0.0/16."""
    _sweep()
    number = next(_NUMBERS)
    used = subprocess.run(["ip", "-4", "-o", "addr"], check=True, capture_output=True, text=True).stdout
    block = (os.getpid() * 8 + number) % 2**14
    while f" {_address(block, 1)}/" in used:
        block = (block + 1) % 2**14
    pid = os.getpid()
    made = Namespace(f"{_PREFIX}{pid}-{number}", f"ev{pid}x{number}", _address(block, 2), _address(block, 1))
    _ip("netns", "add", made.name)
    try:
        _ip("link", "add", made.link, "type", "veth", "peer", "name", "eth0", "netns", made.name)
        _ip("addr", "add", f"{made.near}/30", "dev", made.link)
        _ip("link", "set", made.link, "up")
        for words in (["addr", "add", f"{made.address}/30", "dev", "eth0"], ["link", "set", "lo", "up"], ["link", "set", "eth0", "up"]):
            _ip("-n", made.name, *words)
        made.introduce()
    except subprocess.CalledProcessError:
        made.remove()
        raise
    return made


def _address(block: int, host: int) -> str:
    number = block * 4 + host
    return f"10.77.{number >> 8}.{number & 255}"


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def _hardware(link: str, *namespace: str) -> str:
    """The address of one end of a cable."""
    words = _ip(*namespace, "-o", "link", "show", link).split()
    return words[words.index("link/ether") + 1]


def _sweep() -> None:
    """Remove what a test process that was killed left behind."""
    folder = Path("/run/netns")
    for path in folder.glob(f"{_PREFIX}*") if folder.is_dir() else ():
        pid = path.name.removeprefix(_PREFIX).partition("-")[0]
        if not Path(f"/proc/{pid}").exists():
            subprocess.run(["ip", "netns", "del", path.name], check=False, capture_output=True)
