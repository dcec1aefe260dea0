"""A package on its way: files and what the manifest says so far. Emitters take one and give another; nothing is changed in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgec.package.manifest import Content, Manifest
from edgec.package.single_values import MANIFEST


@dataclass(frozen=True)
class Draft:
    """files: path -> content, without the manifest, which is written once, when all is there."""

    files: Mapping[str, Content]
    manifest: Manifest

    def plus(self, files: Mapping[str, Content], manifest: Manifest | None = None) -> Draft:
        """With more files, some of them perhaps in place of others; and what the manifest says then."""
        return Draft({**self.files, **files}, manifest or self.manifest)

    def complete(self) -> dict[str, Content]:
        """Every file of the package, manifest.json among them, which lists the others."""
        return {**self.files, MANIFEST: self.manifest.listing(self.files).text}
