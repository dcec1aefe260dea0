"""Where a board is and what opens it: the inventory's words over the user's ~/.ssh/config over OpenSSH's defaults."""

from __future__ import annotations

import fnmatch
import getpass
import re
import shlex
from dataclasses import dataclass
from glob import glob
from pathlib import Path

import paramiko

from edgec.base.errors import DeviceError
from edgec.boards.device import Device

SYSTEM = Path("/etc/ssh")
MOST_INCLUDES = 16
MOST_HOPS = 8
# A name of a user or a host: no space, quote, %, #, or control character, so that it cannot become another line or token of a
# configuration; no leading dash, so that it cannot become an option of a ProxyCommand.
_NAME = re.compile(r"(?!-)[^\s\"'\\%#,;|&$`<>(){}*?!\x00-\x1f\x7f]+")
_LINE = re.compile(r"\s*(\w+)(?:\s*=\s*|\s+)(.*?)\s*$")


@dataclass(frozen=True)
class Route:
    """One machine on the way to a board, resolved. jumps: the machines before it, the nearest first."""

    name: str  # as the inventory or a ProxyJump says it
    host: str
    port: int
    user: str
    keys: tuple[Path, ...]  # to try first
    keys_only: bool  # no other key than these, be it in a file or in an agent
    agent: str | None  # socket of an agent other than $SSH_AUTH_SOCK; "none" for no agent at all
    known_hosts: tuple[Path, ...]
    known_as: str  # the name under which known_hosts has it
    connect: float  # seconds to wait for a TCP connection
    command: str = ""  # ProxyCommand
    jumps: tuple[Route, ...] = ()

    def __str__(self) -> str:
        return f"{self.user}@{self.host}" + (f":{self.port}" if self.port != 22 else "")


def resolve(device: Device) -> Route:
    """The way to a board. DeviceError for a configuration that cannot be read or a way that runs in circles."""
    try:
        return _route(device, device.address, device.user, device.port, device.key, ())
    except (paramiko.SSHException, ValueError, LookupError, ImportError, AttributeError, RuntimeError) as error:  # of its parser, too
        hint = f"try `ssh -G {device.address}`"
        raise DeviceError(f"~/.ssh/config is not understood: {error}", where=device.name, hint=hint) from error


def _route(device: Device, name: str, user: str, port: int, key: Path | None, chain: tuple[str, ...]) -> Route:
    if name in chain or len(chain) > MOST_HOPS:
        way = " -> ".join((*chain, name))
        raise DeviceError(f"ProxyJump runs in circles: {way}", where=device.name, hint="see ~/.ssh/config")
    found = _lookup(device, name, user, port)
    jump = str(found.get("proxyjump") or "none")
    jumps = () if jump.lower() == "none" else tuple(_hop(device, spec.strip(), (*chain, name)) for spec in jump.split(","))
    files = found.get("userknownhostsfile") or "~/.ssh/known_hosts ~/.ssh/known_hosts2"
    shared = found.get("globalknownhostsfile") or f"{SYSTEM}/ssh_known_hosts {SYSTEM}/ssh_known_hosts2"
    hosts = tuple(Path(item).expanduser() for item in shlex.split(f"{files} {shared}") if item.lower() != "none")
    keys = tuple(Path(item).expanduser() for item in found.get("identityfile", ()) if item.lower() != "none")
    timeout = str(found.get("connecttimeout") or "")
    return Route(
        name=name,
        host=str(found["hostname"]),
        port=int(found.get("port") or 22),
        user=str(found.get("user") or getpass.getuser()),
        keys=(key.expanduser(),) if key else keys,
        keys_only=key is not None or str(found.get("identitiesonly", "no")).lower() == "yes",
        agent=found.get("identityagent") if found.get("identityagent") != "SSH_AUTH_SOCK" else None,
        known_hosts=(device.known_hosts.expanduser(),) if device.known_hosts else hosts,
        known_as=str(found.get("hostkeyalias") or ""),
        connect=min(device.limits.connect, float(timeout) if timeout.isdecimal() and int(timeout) else device.limits.connect),
        command="" if jumps else str(found.get("proxycommand") or ""),
        jumps=jumps,
    )


def _hop(device: Device, spec: str, chain: tuple[str, ...]) -> Route:
    """A hop of ProxyJump: [user@]host[:port] or ssh://[user@]host[:port]."""
    user, _, place = spec.removeprefix("ssh://").rstrip("/").rpartition("@")
    match = re.fullmatch(r"\[(.+)\](?::(\d+))?|([^:]+)(?::(\d+))?", place)
    if match is None:
        raise DeviceError(f"ProxyJump {spec!r} is not [user@]host[:port]", where=device.name, hint="see ~/.ssh/config")
    return _route(device, match[1] or match[3], user, int(match[2] or match[4] or 0), None, chain)


def _lookup(device: Device, name: str, user: str, port: int) -> paramiko.SSHConfigDict:
    """What the configuration says of a host. What the inventory says stands above it, since the first value wins."""
    for what, word in (("host", name), ("user", user)):
        if word and not _NAME.fullmatch(word):
            raise DeviceError(f"{word!r} is not the name of a {what}", where=device.name, hint="mend it in the inventory")
    text = ["Host *", *([f"User {user}"] if user else []), *([f"Port {port}"] if port else [])]
    for path in (Path.home() / ".ssh/config", SYSTEM / "ssh_config"):
        text += ["Host *", *_lines(device, path, name, "Host *", 0)]
    return paramiko.SSHConfig.from_text("\n".join(text)).lookup(name)


def _lines(device: Device, path: Path, name: str, block: str, depth: int) -> list[str]:
    """A configuration file with every Include expanded, which paramiko does not do. block: the Host or Match line that holds here."""
    if depth > MOST_INCLUDES:
        raise DeviceError("~/.ssh/config includes itself", where=device.name, hint=f"see {path}")
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise DeviceError(f"{path}: {error.strerror}", where=device.name, hint="edgec follows the user's SSH configuration") from error
    found = []
    for line in lines:
        match = _LINE.match(line)
        key = match[1].lower() if match else ""
        if match and key == "include":
            if _holds(block, name):
                found += [text for file in _included(path, match[2]) for text in [*_lines(device, file, name, block, depth + 1), block]]
            continue
        if key in ("host", "match"):
            block = line.strip()
        if match:  # comments and lines of one word are nothing to paramiko, or worse
            found.append(line)
    return found


def _included(path: Path, patterns: str) -> list[Path]:
    """The files that an Include names: relative to ~/.ssh, or to /etc/ssh in a file of the system."""
    base = SYSTEM if path.is_relative_to(SYSTEM) else Path.home() / ".ssh"
    return [Path(file) for pattern in shlex.split(patterns) for file in sorted(glob(str(base / Path(pattern).expanduser())))]


def _holds(block: str, name: str) -> bool:
    """Whether a Host or Match line chooses this host, so that an Include below it counts."""
    word, _, patterns = block.partition(" ")
    if word.lower() == "host":
        choices = patterns.replace("=", " ").split()
        refused = any(fnmatch.fnmatch(name, choice[1:]) for choice in choices if choice.startswith("!"))
        return not refused and any(fnmatch.fnmatch(name, choice) for choice in choices)
    return "marked" in paramiko.SSHConfig.from_text(f"{block}\nMarked yes").lookup(name)
