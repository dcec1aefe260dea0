"""Where templates, runtimes and targets lie: beside the package in a checkout, inside it when installed from a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
KINDS = ("templates", "runtimes", "targets")


def resource(kind: str, name: str = "") -> Path:
    """The path of data file `name` of `kind` (templates, runtimes or targets); without a name, the folder."""
    if kind not in KINDS:
        raise ValueError(f"unknown kind of resource {kind!r}")
    folders = [_PACKAGE / "_data" / kind, _PACKAGE.parent / kind]
    folder = next((found for found in folders if found.is_dir()), folders[0])
    return folder / name if name else folder
