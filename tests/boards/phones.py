"""Phones for tests (see phone.py), and an adb server of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgec.boards.device import Device, Limits
from tests.boards.boards import free_port


@dataclass(frozen=True)
class Phone:
    """A phone on loopback. folder: what /data/local/tmp is on it."""

    folder: Path
    address: str
    process: subprocess.Popen[str]

    def device(self, name: str = "phone", target: str = "host", **changes: Any) -> Device:
        facts: dict[str, Any] = {"address": self.address, "limits": Limits(connect=15, command=10, transfer=10, run=60), **changes}
        return Device(name=name, target=target, connection="adb", **facts)


@contextmanager
def adb_server(home: Path) -> Iterator[Mapping[str, str]]:
    """A real adb server on a free port, with keys in `home`; gives the environment in which adb talks to it."""
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for _ in range(5):  # anybody on this machine may take the port before the server does
        environment = {"ANDROID_ADB_SERVER_PORT": str(free_port("127.0.0.1"))}
        quiet["env"] = {**os.environ, **environment, "HOME": str(home)}
        if subprocess.run(["adb", "start-server"], check=False, timeout=30, **quiet).returncode == 0:
            break
    else:
        raise RuntimeError("adb's server does not start")
    try:
        yield environment
    finally:
        subprocess.run(["adb", "kill-server"], check=False, timeout=30, **quiet)


@contextmanager
def phone(folder: Path, state: str = "device", port: int = 0) -> Iterator[Phone]:
    """A phone in one of the states of phone.py, until the end of the block. port 0: a free one."""
    folder.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, str(Path(__file__).with_name("phone.py")), str(port), str(folder), state]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield Phone(folder, f"127.0.0.1:{process.stdout.readline().strip()}", process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
