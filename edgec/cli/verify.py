"""check that a package is what edgec built: every file, and the signature"""

from __future__ import annotations

import argparse
from pathlib import Path

import edgec
from edgec.cli.console import Console, table


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("package", type=Path, help="a package directory that edgec build wrote")
    parser.add_argument("--key", type=Path, default=None, help="public ed25519 key that must have signed it (a .pub file, or PEM)")


def act(options: argparse.Namespace, console: Console) -> None:
    """Exit code 1, and everything that is wrong, when the package was changed or is not signed by the key."""
    found = edgec.verify(options.package, key=options.key)
    signed = "by the key given" if found.trusted else "by an unknown key: give --key to know whose" if found.signer else "no"
    facts = {
        "package": str(found.package),
        "name": found.name,
        "files": found.files,
        "compiled": found.compiled,
        "manifest_sha256": found.manifest_sha256,
        "signer": found.signer,
        "public_key": found.public_key,
        "trusted": found.trusted,
        "verified": True,
    }
    rows = [("package", found.name), ("files", f"{found.files} emitted, {found.compiled} compiled: all as they were built")]
    rows += [("manifest", found.manifest_sha256), ("signed", signed)]
    rows += [("signer", found.signer)] if found.signer else []
    console.result(facts, [table("", ["", ""], rows)])
