"""Keys for tests, as OpenSSH and OpenSSL write them."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

PASSPHRASE = "correct horse"


def keys_in(folder: Path) -> None:
    """key and pem (the same), other; locked and locked_pem (the same, with PASSPHRASE); rsa. The public halves end in .pub."""
    key, locked = Ed25519PrivateKey.from_private_bytes(bytes(range(32))), BestAvailableEncryption(PASSPHRASE.encode())
    write(folder / "key", key, Encoding.PEM, PrivateFormat.OpenSSH)
    write(folder / "pem", key, Encoding.PEM, PrivateFormat.PKCS8)
    write(folder / "locked", key, Encoding.PEM, PrivateFormat.OpenSSH, locked)
    write(folder / "locked_pem", key, Encoding.PEM, PrivateFormat.PKCS8, locked)
    write(folder / "other", Ed25519PrivateKey.generate(), Encoding.PEM, PrivateFormat.OpenSSH)
    write(folder / "rsa", rsa.generate_private_key(65537, 1024), Encoding.PEM, PrivateFormat.PKCS8)
    (folder / "pem.pub").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def write(
    path: Path, key: Ed25519PrivateKey | rsa.RSAPrivateKey, encoding: Encoding, form: PrivateFormat,
    encryption: KeySerializationEncryption | None = None,
) -> None:  # fmt: skip
    path.write_bytes(key.private_bytes(encoding, form, encryption or NoEncryption()))
    path.chmod(0o600)
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.with_name(f"{path.name}.pub").write_bytes(public + b" somebody@somewhere\n")
