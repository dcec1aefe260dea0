"""The four sources of settings, merged into one record that remembers where each came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgec.base.errors import Problem, UsageError
from edgec.settings.config import FLAGS, SETTINGS, BuildConfig, parse_settings
from edgec.settings.file import ConfigFile, read_file
from edgec.settings.trust import distrusted

IN_FILES = {key: setting for key, setting in FLAGS.items() if setting.file}


def resolve(flags: Mapping[str, object], environment: Mapping[str, str], file: ConfigFile | None = None) -> BuildConfig:
    """Merge the four sources. UsageError reports together the unknown keys and unreadable values of all of them, and what a file that is
    not trusted wants although nothing above it decides the same.

    flags: values given on the command line (None when not given). Paths in the file are relative to its folder.
    """
    problems: list[Problem] = []
    read = _from_file(file, problems) if file is not None else {}
    of_edgec = {key[6:].lower(): value for key, value in environment.items() if key.startswith("EDGEC_")}
    variables = parse_settings(of_edgec, FLAGS, _variable, problems)
    given = parse_settings({key: value for key, value in flags.items() if value is not None}, FLAGS, _flag, problems)
    if file is not None and not file.trusted:
        obeyed = read.keys() - variables.keys() - given.keys()
        problems += distrusted({key: value for key, value in read.items() if key in obeyed}, file.path)
    if problems:
        raise UsageError("the settings cannot be used", problems)
    origins = dict.fromkeys(read, str(file.path) if file is not None else "")
    origins |= {key: _variable(key) for key in variables} | {key: _flag(key) for key in given}
    return replace(BuildConfig(**read | variables | given), origins=origins)


def _variable(key: str) -> str:
    return f"EDGEC_{key.upper()}"


def _flag(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _from_file(file: ConfigFile, problems: list[Problem]) -> dict[str, Any]:
    """The values of edgec.toml, paths as seen from its folder."""
    tables = read_file(file.path, problems)
    words = {key: table for key, table in tables.items() if key != "build" and table}
    values = parse_settings(words, SETTINGS, lambda key: f"{file.path} [{key}]", problems)
    built = parse_settings(tables["build"], IN_FILES, lambda key: f"{file.path} [build] {key}", problems)
    folder = file.path.parent
    for key in [key for key, value in built.items() if not isinstance(value, (str, Path, tuple)) and SETTINGS[key].path]:
        problems.append(Problem(f"cannot use {built.pop(key)!r}", f"{file.path} [build] {key}", "write a path"))
    return values | {key: _seen_from(folder, value) if _is_path(key, value) else value for key, value in built.items()}


def _seen_from(folder: Path, value: Any) -> Any:
    """A path, as text or not, or several."""
    return tuple(folder / path for path in value) if isinstance(value, tuple) else type(value)(folder / value)


def _is_path(key: str, value: object) -> bool:
    return bool(SETTINGS[key].path) and value not in SETTINGS[key].words
