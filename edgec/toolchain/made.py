"""What was made of a package, beside its sources, for one family of systems, and what was not: build/SYSTEM/README.txt says it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Made:
    """Paths in the package of what was made, and sentences about what was not."""

    paths: tuple[str, ...]
    notes: tuple[str, ...]


def write_made(directory: Path, system: str, first: str, made: Made) -> None:
    """What Package.notes reads there. first: the line before, for people."""
    folder = directory / "build" / system
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.txt").write_text("\n".join([first, *made.paths, *made.notes]) + "\n", encoding="utf-8")
