"""manifest.sig: five lines or six of text, the last of which signs the others.

    edgec signature 1
    algorithm: ed25519
    public key: ssh-ed25519 AAAA...
    manifest.json: sha256 <64 hexadecimal digits>
    build.json: sha256 <64 hexadecimal digits>      (where the package was compiled)
    signature: <base64 of the 64 bytes of Ed25519 over all bytes before this line>

Lines end with a line feed. The manifest has the hashes of every file that was emitted, build.json those of what was compiled, so the
signature covers the whole package.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from edgec.base.errors import Problem
from edgec.provenance.signing_keys import fingerprint, public_line

FILE = "manifest.sig"
LARGEST = 4096  # bytes
_FORM = re.compile(
    r"(edgec signature 1\nalgorithm: ed25519\npublic key: (?P<key>ssh-ed25519 [A-Za-z0-9+/]{20,200}={0,2})\n"
    r"(?P<signed>(?:[a-z]{1,20}\.json: sha256 [0-9a-f]{64}\n){1,2}))signature: (?P<signature>[A-Za-z0-9+/]{86}==)\n"
)


@dataclass(frozen=True)
class Signature:
    """A signature that is right: by whom, and the sha256 of each file that it is for."""

    key: Ed25519PublicKey
    signed: Mapping[str, str]

    @property
    def signer(self) -> str:
        return fingerprint(self.key)


def sign(contents: Mapping[str, bytes], key: Ed25519PrivateKey) -> bytes:
    """The text of manifest.sig for files (name -> content). The same key and contents give the same bytes."""
    lines = ["edgec signature 1", "algorithm: ed25519", f"public key: {public_line(key.public_key())}"]
    lines += [f"{name}: sha256 {hashlib.sha256(content).hexdigest()}" for name, content in contents.items()]
    text = "".join(f"{line}\n" for line in lines).encode()
    return text + b"signature: " + base64.b64encode(key.sign(text)) + b"\n"


def read_signature(content: bytes, problems: list[Problem]) -> Signature | None:
    """None, and a problem, for what is no signature or a wrong one."""
    found = _FORM.fullmatch(content.decode("ascii", errors="replace")) if len(content) <= LARGEST else None
    signed = dict(line.split(": sha256 ") for line in found["signed"].splitlines()) if found else {}
    if found is None or len(signed) != found["signed"].count("\n"):
        problems.append(Problem("is not a signature of edgec's", FILE))
        return None
    try:
        key = load_ssh_public_key(found["key"].encode())
        assert isinstance(key, Ed25519PublicKey)
        key.verify(base64.b64decode(found["signature"], validate=True), found[1].encode())
    except (ValueError, AssertionError, UnsupportedAlgorithm, binascii.Error):
        problems.append(Problem("names no key that can be used", FILE))
    except InvalidSignature:
        problems.append(Problem("the signature is wrong", FILE, "its text was changed after it was signed"))
    else:
        return Signature(key, signed)
    return None
