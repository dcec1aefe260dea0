"""Boards for tests: each is a real OpenSSH sshd with its own keys, home folder and processes, on loopback or in a network namespace."""

from __future__ import annotations

import getpass
import os
import platform
import pwd
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from edgec.boards.device import Device, Limits
from tests.boards.network import Namespace

SSHD = "/usr/sbin/sshd"
LIMITS = Limits(connect=5, command=10, transfer=10, run=60)
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# what separates a board from this machine: its own processes, mounts and home folder
_WALLS = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_CONFIG = """
Port {port}
ListenAddress {address}
{host_keys}
AuthorizedKeysFile {folder}/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
PrintMotd no
PidFile none
Subsystem sftp internal-sftp
SetEnv {environment}
{options}
"""


@cache
def has_walls() -> bool:
    """Whether this user may give a board its own processes and mounts."""
    return os.geteuid() == 0 and subprocess.run([*_WALLS, "true"], capture_output=True, check=False).returncode == 0


def _home() -> str:
    """Where sshd lets its users in, whatever HOME says here: what their shells read there at the start would be read by every command."""
    return pwd.getpwuid(os.geteuid()).pw_dir


@dataclass
class Board:
    """A running board. folder: its files on this machine; `bin` in it comes first in the board's PATH; `home` is the home folder there
    where the board has walls. `known_hosts` and `key` are what its user needs."""

    folder: Path
    address: str
    port: int
    namespace: Namespace | None
    environment: Mapping[str, str]
    host_keys: Sequence[str]
    options: str
    process: subprocess.Popen[bytes] | None = None
    listener: int = 0  # the sshd that takes connections

    @property
    def key(self) -> Path:
        return self.folder / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def host(self) -> str:
        """The board as known_hosts names it."""
        return self.address if self.port == 22 else f"[{self.address}]:{self.port}"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def device(self, name: str = "board", target: str = "host", **changes: Any) -> Device:
        """What an inventory would say of this board; `changes` are fields of Device."""
        device = Device(
            name=name, target=target, connection="ssh", address=self.address, user=getpass.getuser(), port=self.port, key=self.key,
            known_hosts=self.known_hosts, work=str(self.work), limits=LIMITS,
        )  # fmt: skip
        return replace(device, **changes)

    def program(self, name: str, script: str) -> None:
        """Put a shell script into the board's PATH, before every other program of that name."""
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def mount(self, folder: Path, options: str) -> None:
        """A small or read-only disk on a folder of the board, seen there only: tmpfs options such as `size=1m` or `ro`. It goes with
        the board."""
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        subprocess.run(["nsenter", "-t", str(self.listener), "-m", *words], check=True)

    def start(self) -> None:
        """Boot; returns when the board takes connections."""
        inside = shlex.join([SSHD, "-D", "-f", str(self.folder / "sshd_config"), "-E", str(self.folder / "sshd.log")])
        words = ["sh", "-c", f"exec {inside}"]
        if has_walls():
            home = shlex.join(["mount", "--bind", str(self.folder / "home"), _home()])
            words = [*_WALLS, "sh", "-c", f"{home} && exec {inside}"]
        if self.namespace:
            words = ["ip", "netns", "exec", self.namespace.name, *words]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._await()
        self.listener = self._find_listener()

    def stop(self) -> None:
        """Power off: everything that runs on the board dies. Safe to call twice."""
        if self.process is not None:
            inside = [pid for pid in self._below() if pid != self.process.pid]
            _kill(inside if has_walls() and inside else [*inside, self.process.pid])  # the walls fall when all inside are gone
            self.process.wait()
            self.process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill_sessions(self) -> None:
        """Kill the sshd processes that serve connections; what they had started lives on, and new connections are taken."""
        _kill(self._sessions())

    def new_host_key(self) -> None:
        """Reinstall the board: other host keys, that known_hosts does not have."""
        self._make_host_keys()
        self.restart()

    def processes(self) -> list[str]:
        """The command lines of everything that runs on the board (below its sshd, where it has no walls)."""
        if not has_walls():
            return [_command(pid) for pid in self._below()]
        inside = os.readlink(f"/proc/{self.listener}/ns/pid")
        return [_command(pid) for pid in _parents() if _link(f"/proc/{pid}/ns/pid") == inside]

    def trust(self) -> None:
        """Write known_hosts anew with the present host keys."""
        keys = [(self.folder / f"host_{kind}.pub").read_text().split()[:2] for kind in self.host_keys]
        self.known_hosts.write_text("".join(f"{self.host} {kind} {key}\n" for kind, key in keys))

    def _make_host_keys(self) -> None:
        for kind in self.host_keys:
            make_key(self.folder / f"host_{kind}", kind)

    def _prepare(self) -> None:
        for name in ("bin", "home", "work"):
            (self.folder / name).mkdir(parents=True)
        self._make_host_keys()
        make_key(self.key)
        (self.folder / "authorized_keys").write_text(self.key.with_suffix(".pub").read_text())
        path = self.environment.get("PATH", _SYSTEM_PATH)
        environment = {**self.environment, "PATH": f"{self.folder / 'bin'}:{path}"}
        words = " ".join(f'"{name}={value}"' for name, value in environment.items())
        host_keys = "\n".join(f"HostKey {self.folder}/host_{kind}" for kind in self.host_keys)
        facts = {"port": self.port, "address": self.address, "folder": self.folder, "options": self.options}
        (self.folder / "sshd_config").write_text(_CONFIG.format(host_keys=host_keys, environment=words, **facts))
        self.trust()

    def _await(self) -> None:
        assert self.process is not None
        for _ in range(500):
            try:
                socket.create_connection((self.address, self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        self.stop()
        raise RuntimeError(f"sshd did not start: {(self.folder / 'sshd.log').read_text()}")

    def _below(self) -> list[int]:
        """Every process that descends from the one which started the board."""
        parents, known = _parents(), {self.process.pid} if self.process else set()
        for pid in sorted(parents):  # a child may have a lower number than its parent, when numbers wrap: go again
            known |= {child for child in parents if parents[child] in known} | ({pid} if parents[pid] in known else set())
        return sorted(known)

    def _find_listener(self) -> int:
        """While there are no sessions yet, but for those that ask whether it listens: these come and go while we look."""
        for _ in range(500):
            servers = [pid for pid in self._below() if _name(pid) == "sshd"]
            parents = _parents()
            if len(found := [pid for pid in servers if pid in parents and parents[pid] not in servers]) == 1:
                return found[0]
            time.sleep(0.02)
        raise RuntimeError("the board's sshd is gone")

    def _sessions(self) -> list[int]:
        return [pid for pid in self._below() if _name(pid).startswith("sshd") and pid != self.listener]


def start_board(
    folder: Path, *, namespace: Namespace | None = None, environment: Mapping[str, str] | None = None, port: int | None = None,
    host_keys: Sequence[str] = ("ed25519",), options: str = "",
) -> Board:  # fmt: skip
    """A board that takes connections. host_keys: kinds, as ssh-keygen -t takes them. options: further lines of its sshd_config."""
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(parents=True, exist_ok=True)
    address = namespace.address if namespace else loopback()
    number = port or (22 if namespace else free_port(address))
    board = Board(folder, address, number, namespace, environment or {}, host_keys, options)
    board._prepare()
    board.start()
    return board


def loopback() -> str:
    """An address of this machine that no other test process takes ports on."""
    pid = os.getpid()
    return f"127.{1 + (pid >> 16) % 250}.{pid >> 8 & 255}.{pid & 255}" if platform.system() == "Linux" else "127.0.0.1"


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def make_key(path: Path, kind: str = "ed25519", passphrase: str = "") -> None:
    """A new pair of keys, in place of the one that may be there."""
    for old in (path, path.with_suffix(".pub")):
        old.unlink(missing_ok=True)
    size = ["-b", "2048"] if kind == "rsa" else []  # the usual 3072 take seconds
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *size, "-N", passphrase, "-C", "edgec-test", "-f", str(path)], check=True)


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _parents() -> dict[int, int]:
    """The parent of every process of this machine."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):  # a pattern would ask each that it still is there
        try:
            found[int(pid)] = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return found


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
