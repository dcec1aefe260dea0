"""What a package index shows of the README: links into the repository, which lead nowhere there, become the names of the pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_BLOCK = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^]\n]+)\]\((?!\w+:)([^)\s#]+)(?:#[\w-]+)?\)")
_END = "\nPages named here are in the source distribution.\n"


def without_relative_links(page: str) -> str:
    """`[packages](docs/package.md#c)` -> `packages (docs/package.md)`, but for what stands in blocks of code."""
    parts = _BLOCK.split(page)
    parts[::2] = [_LINK.sub(lambda link: link[1] if link[1] == link[2] else f"{link[1]} ({link[2]})", text) for text in parts[::2]]
    return "".join(parts)


class ReadmeHook(MetadataHookInterface):
    """Hatchling finds it by its base class, in the file of this name."""

    def update(self, metadata: dict[str, Any]) -> None:
        page = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": without_relative_links(page) + _END}
