"""Keys of signatures: ed25519, in the files that OpenSSH and OpenSSL write."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from edgec.base.environment import OURS as PASSPHRASE
from edgec.base.errors import UsageError

LARGEST = 65536  # bytes of a key file
MAKE_ONE = "make one with `ssh-keygen -t ed25519`"


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """The key that signs. UsageError: no key, one of another kind, one that others may read, a passphrase missing or wrong."""
    content = _read(path)
    if content.startswith(b"ssh-") or b" PUBLIC KEY-----" in content:
        raise UsageError("is a public key", where=str(path), hint="sign with the private one; the public one is for edgec verify --key")
    _check_mode(path)
    load = serialization.load_ssh_private_key if b"OPENSSH PRIVATE KEY" in content else serialization.load_pem_private_key
    key = _opened(path, content, load)
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError("is not an ed25519 key", where=str(path), hint=MAKE_ONE)
    return key


def _opened(path: Path, content: bytes, load: Callable[[bytes, bytes | None], Any]) -> object:
    """Without a passphrase where the key needs none, else with the one of the environment."""
    try:
        return load(content, None)
    except TypeError:  # how cryptography says that it is encrypted
        pass
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UsageError("is not a private key", where=str(path), hint=MAKE_ONE) from error
    passphrase = os.environ.get(PASSPHRASE)
    if not passphrase:
        raise UsageError("needs a passphrase", where=str(path), hint=f"put it into the environment variable {PASSPHRASE}")
    try:
        return load(content, passphrase.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageError(f"the passphrase of {PASSPHRASE} does not open it", where=str(path)) from error


def _check_mode(path: Path) -> None:
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError("others may read this private key", where=str(path), hint=f"chmod 600 {path}")


def read_public_key(path: Path) -> Ed25519PublicKey:
    """The key that a signature must be by: a line of OpenSSH (`ssh-ed25519 ...`) or PEM. UsageError otherwise."""
    content = _read(path)
    if b"PRIVATE KEY-----" in content:
        raise UsageError("is a private key", where=str(path), hint="give the public one; the private one is for edgec build --sign")
    load: Callable[[bytes], Any] = serialization.load_pem_public_key if b"-----BEGIN" in content else serialization.load_ssh_public_key
    try:
        key = load(content.strip())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UsageError("is not a public key", where=str(path), hint="give the .pub file of the key that signed") from error
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError("is not an ed25519 key", where=str(path), hint="packages are signed by ed25519 keys")
    return key


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise UsageError("no such file", where=str(path), hint="give a file with a key")
        with path.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"cannot read: {error.strerror}", where=str(path), hint="give a file with a key") from error
    if len(content) > LARGEST:
        raise UsageError("is too large for a key", where=str(path), hint="give a file with a key")
    return content


def public_line(key: Ed25519PublicKey) -> str:
    """`ssh-ed25519 AAAA...`, as in OpenSSH's .pub files."""
    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()


def fingerprint(key: Ed25519PublicKey) -> str:
    """`SHA256:...`, as `ssh-keygen -l` prints it."""
    digest = hashlib.sha256(base64.b64decode(public_line(key).split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
