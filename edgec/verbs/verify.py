"""Check that a package is what edgec built."""

from __future__ import annotations

from pathlib import Path

from edgec.package import Package
from edgec.provenance.verify import Verified, verify_package


def verify(package: Package | str | Path, *, key: str | Path | None = None) -> Verified:
    """Check that a package directory is what build() wrote; with `key`, a file with a public ed25519 key, that this key signed it.

    GateError with everything that is wrong otherwise. Nothing of the package is run.
    """
    return verify_package(package.directory if isinstance(package, Package) else Path(package), Path(key) if key is not None else None)
