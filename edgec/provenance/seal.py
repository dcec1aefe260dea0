"""The last step of a build: the list of what was compiled, and the signature over it and the manifest."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from edgec.package.single_values import BUILD, MANIFEST
from edgec.provenance.listing import list_build


def seal(folder: Path, emitted: Iterable[str], *, compiled: bool, key: Path | None) -> None:
    """Write build.json into a package that was compiled, and manifest.sig where a private key is given."""
    contents = {MANIFEST: (folder / MANIFEST).read_bytes()}
    if compiled:
        contents[BUILD] = list_build(folder, emitted)
        (folder / BUILD).write_bytes(contents[BUILD])
    if key is not None:
        from edgec.provenance.signature import FILE, sign
        from edgec.provenance.signing_keys import read_private_key  # these load cryptography

        (folder / FILE).write_bytes(sign(contents, read_private_key(key)))
