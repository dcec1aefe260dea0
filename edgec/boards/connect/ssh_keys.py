"""Proving to a board who we are: key files and the user's agent, never a password."""

from __future__ import annotations

import base64
import binascii
import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import paramiko

from edgec.base.errors import DeviceError
from edgec.boards.connect.ssh_config import Route
from edgec.boards.connect.watchdog import within

DEFAULTS = ("id_ed25519", "id_ecdsa", "id_rsa")


@dataclass
class Tried:
    """What was tried, for the message when nothing worked."""

    offered: list[str] = field(default_factory=list)
    locked: list[Path] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def log_in(board: str, route: Route, transport: paramiko.Transport) -> None:
    """Authenticate with the first key that the board takes; DeviceError that names the keys when it takes none."""
    tried = Tried()
    for name, key in _keys(route, tried):
        tried.offered.append(name)
        try:
            if not transport.auth_publickey(route.user, key):
                return
            _refuse(board, route, f"wants more than a key ({name} was taken)", "edgec asks for no passwords: allow keys alone there")
        except paramiko.BadAuthenticationType as error:
            _refuse(board, route, f"takes no keys, only {', '.join(error.allowed_types)}", "allow public keys in its sshd_config")
        except paramiko.AuthenticationException as error:
            if not transport.is_active():
                _refuse(board, route, f"hung up after {len(tried.offered)} keys: {error}", "name the right one as `key` in the inventory")
        except paramiko.SSHException as error:
            if not transport.is_active():
                raise
            tried.broken.append(f"{name}: {error}")
    what = f"takes none of our keys (tried: {', '.join(tried.offered) or 'none'}{'; ' if tried.broken else ''}{'; '.join(tried.broken)})"
    if tried.locked:
        locked = ", ".join(map(str, tried.locked))
        _refuse(board, route, f"{what}; {locked} needs a passphrase, and no agent holds it", f"run `ssh-add {tried.locked[0]}` first")
    _refuse(board, route, what, f"add your public key on the board (`ssh-copy-id {route.user}@{route.host}`), or name another `key`")


def _refuse(board: str, route: Route, what: str, hint: str) -> None:
    raise DeviceError(f"{route} {what}", where=board, hint=hint)


def _keys(route: Route, tried: Tried) -> Iterator[tuple[str, paramiko.PKey]]:
    """Every key to offer, with a name for people: those the route names (from the agent where it has them), then the rest."""
    held = {key.asbytes(): key for key in _agent_keys(route, tried)}
    named = list(route.keys)
    usual = [path for path in (Path.home() / ".ssh" / name for name in DEFAULTS) if path.is_file()]
    for path in named or (usual if route.keys_only else []):
        yield from _key(path, held, tried)
    if route.keys_only:
        return
    for blob, key in list(held.items()):
        yield f"agent: {getattr(key, 'comment', '') or key.get_name()}", held.pop(blob)
    for path in () if named else usual:
        yield from _key(path, held, tried)


def _key(path: Path, held: dict[bytes, paramiko.PKey], tried: Tried) -> Iterator[tuple[str, paramiko.PKey]]:
    """The key of a file; its public half names one in the agent."""
    blob = _public(path if path.suffix == ".pub" else path.with_name(f"{path.name}.pub"))
    if blob in held:
        yield str(path), held.pop(blob)
        return
    try:
        mode = path.stat().st_mode
        if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO) and path.suffix != ".pub":
            tried.broken.append(f"{path}: others may read it (chmod 600)")
        else:
            yield str(path), paramiko.PKey.from_path(path)
    except OSError as error:
        tried.broken.append(f"{path}: {error.strerror}")
    except TypeError:  # how cryptography says that a passphrase is missing
        tried.locked.append(path)
    except (ValueError, paramiko.SSHException, paramiko.pkey.UnknownKeyType):
        tried.broken.append(f"{path}: not a private key")


def _public(path: Path) -> bytes:
    """The key of a .pub file; nothing when there is none."""
    try:
        return base64.b64decode(path.read_text(encoding="utf-8").split()[1])
    except (OSError, ValueError, IndexError, binascii.Error):
        return b""


def _agent_keys(route: Route, tried: Tried) -> tuple[paramiko.PKey, ...]:
    """What the agent holds. No agent, or one that does not answer, holds nothing."""
    if route.agent == "none":
        return ()
    try:
        return within(route.connect, lambda: _open_agent(route).get_keys())
    except (OSError, paramiko.SSHException, TimeoutError) as error:
        tried.broken.append(f"the agent: {error or 'no answer'}")
        return ()


def _open_agent(route: Route) -> paramiko.agent.AgentSSH:
    return _NamedAgent(os.path.expanduser(route.agent)) if route.agent else paramiko.Agent()


class _NamedAgent(paramiko.agent.AgentSSH):
    """The agent at a socket that the configuration names (IdentityAgent)."""

    def __init__(self, path: str) -> None:
        super().__init__()
        line = socket.socket(socket.AF_UNIX)
        line.connect(path)
        self._connect(line)  # type: ignore[attr-defined]  # the stubs leave it out
