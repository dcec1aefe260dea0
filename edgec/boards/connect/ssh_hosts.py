"""known_hosts: which keys the user trusts for a host, and what is wrong when it shows another."""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgec.base.errors import DeviceError
from edgec.boards.connect.ssh_config import Route

# kind of key in known_hosts -> the algorithms that it can prove itself with
_ALGORITHMS = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256")}


@dataclass(frozen=True)
class Known:
    """A line of a known_hosts file that names the host."""

    file: Path
    line: int
    kind: str
    key: bytes
    revoked: bool


def known_keys(route: Route) -> list[Known]:
    """Every line that speaks of the host. Lines of certificate authorities are left out: their certificates are not asked for."""
    name = host_name(route)
    found = []
    for path in route.known_hosts:
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for number, line in enumerate(lines, 1):
            words = line.split()
            mark = words.pop(0) if words and words[0].startswith("@") else ""
            if len(words) < 3 or words[0].startswith("#") or mark not in ("", "@revoked") or not _names(words[0], name):
                continue
            try:
                found.append(Known(path, number, words[1], base64.b64decode(words[2], validate=True), bool(mark)))
            except binascii.Error:
                continue
    return found


def host_name(route: Route) -> str:
    """The host as known_hosts writes it."""
    if route.known_as:
        return route.known_as
    host = route.host.lower()
    return host if route.port == 22 else f"[{host}]:{route.port}"


def preferred(algorithms: Sequence[str], known: Sequence[Known]) -> list[str]:
    """The algorithms for host keys with those first that prove a known key: a host has several keys, and one suffices."""
    wanted = [name for line in known if not line.revoked for name in _ALGORITHMS.get(line.kind, (line.kind,))]
    return sorted(algorithms, key=lambda name: name not in wanted)


def check_host(board: str, route: Route, known: Sequence[Known], kind: str, key: bytes) -> None:
    """DeviceError unless the host showed a key that the user trusts; it says how to go on, and never goes on by itself."""
    shown = f"{kind} {fingerprint(key)}"
    if any(line.revoked and line.key == key for line in known):
        raise DeviceError(f"{route} shows a host key that is revoked ({shown})", where=board, hint="do not use this machine")
    trusted = [line for line in known if not line.revoked]
    if any(line.key == key for line in trusted):
        return
    name, file = host_name(route), route.known_hosts[0] if route.known_hosts else Path("~/.ssh/known_hosts")
    changed = [line for line in trusted if line.kind == kind]
    if changed:
        at = ", ".join(f"{line.file} line {line.line}" for line in changed)
        raise DeviceError(
            f"the host key of {route} has changed: it shows {shown}, but {at} has {fingerprint(changed[0].key)}",
            where=board,
            hint="somebody may be in between, so edgec does not connect. If the board was installed anew, compare the fingerprint on the "
            f"board (ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub), then `ssh-keygen -R '{name}' -f {changed[0].file}` and add the new key",
        )
    others = f"; it has keys of another kind for it ({', '.join(sorted({line.kind for line in trusted}))})" if trusted else ""
    port = f"-p {route.port} " if route.port != 22 else ""
    raise DeviceError(
        f"{route} is unknown: it shows {shown}, and known_hosts has no such key for it{others}",
        where=board,
        hint="compare the fingerprint on the board (ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub), then connect once with "
        f"`ssh {port}-o UserKnownHostsFile={file} {route.user}@{route.host}`, or "
        f"`ssh-keyscan {port}{route.host} >> {file}` where you trust the network",
    )


def fingerprint(key: bytes) -> str:
    """As OpenSSH prints it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def _names(patterns: str, name: str) -> bool:
    """Whether the first field of a line names the host: hashed, or a list of patterns of which none with `!` may match."""
    if patterns.startswith("|1|"):
        _, _, salt, digest = (patterns.split("|") + [""] * 4)[:4]
        try:
            return hmac.compare_digest(hmac.digest(base64.b64decode(salt), name.encode(), "sha1"), base64.b64decode(digest))
        except binascii.Error:
            return False
    items = patterns.lower().split(",")
    refused = any(_matches(item[1:], name) for item in items if item.startswith("!"))
    return not refused and any(_matches(item, name) for item in items)


def _matches(pattern: str, name: str) -> bool:
    return fnmatch.fnmatchcase(name.lower(), pattern.replace("[", "[[]"))  # a bracket is a letter here: [host]:port
