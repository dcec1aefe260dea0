"""What an edgec.toml may not decide that came with a model: what runs, which key signs, and what lies outside of its folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edgec.base.errors import Problem
from edgec.settings.config import SETTINGS
from edgec.settings.forms_of_text import names_function


def distrusted(values: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    """One for each value in which such a file is not obeyed. values: of its [build], paths already as seen from its folder."""
    for key, value in values.items():
        setting = SETTINGS[key]
        what = setting.danger
        if not what and names_function(value):
            what = "names Python code to run"
        if not what and setting.path and value not in setting.words:
            what = _way_out(Path(str(value)), path.parent.resolve(), itself=setting.path == "read")
        if what:
            hint = f"give --{key.replace('_', '-')} yourself, or --trust-config where you know who wrote the file"
            yield Problem(f"{what}, and the file lies beside the model: it may have come with it", f"{path} [build] {key}", hint)


def _way_out(place: Path, home: Path, *, itself: bool) -> str:
    """How a path leads out of a folder, links followed, as those are that lie in a folder of data, or to a pipe or a device; nothing where
    it stays inside."""
    try:
        found = [place, *place.iterdir()] if place.is_dir() else [place]
        ends = [each.resolve() for each in found]
    except (OSError, RuntimeError, ValueError) as error:
        return f"cannot be followed ({error})"
    for each, end in zip(found, ends, strict=True):
        if not end.is_relative_to(home) or (end == home and not itself):
            return f"leads out of its folder, to {end}" + ("" if each == place else f" by {each.name}")
        if end.exists() and not (end.is_file() or end.is_dir()):
            return f"holds {each.name}, which is no file and no folder and would be waited for"
    return ""
