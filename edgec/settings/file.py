"""edgec.toml: which one counts, whether it is trusted, and its tables."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgec.base.errors import Problem, UsageError, did_you_mean

FILE = "edgec.toml"
TABLES = ("build", "preprocess", "card")
LARGEST = 1 << 16  # bytes


@dataclass(frozen=True)
class ConfigFile:
    """trusted: the user named it, or stands in its folder. One that merely lies beside a model may have come with the model."""

    path: Path
    trusted: bool


def find_file(model: Path, named: Path | None = None, *, trust: bool = False) -> ConfigFile | None:
    """The named one, else the one beside the model, else that of the current folder, else none. trust: the user says that it is theirs."""
    if named is not None:
        if not named.is_file():
            raise UsageError("no such file", where=str(named), hint=f"give an {FILE} with --config")
        return ConfigFile(named, True)
    beside, here = model.parent / FILE, Path(FILE)
    if beside.is_file():
        return ConfigFile(beside, trust or model.parent.resolve() == Path.cwd())
    return ConfigFile(here, True) if here.is_file() else None


def read_file(path: Path, problems: list[Problem]) -> dict[str, Mapping[str, Any]]:
    """Its tables, empty where they are missing; what cannot be read becomes a problem."""
    tables: dict[str, Mapping[str, Any]] = {key: {} for key in TABLES}
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ValueError(f"is larger than {LARGEST} bytes")
        content = tomllib.loads(data.decode("utf-8"))
        _check_numbers(content)
    except (OSError, ValueError, RecursionError) as error:
        problems.append(Problem(str(error), str(path), "see https://toml.io"))
        return tables
    for key, table in content.items():
        if key not in TABLES:
            problems.append(Problem(f"unknown table [{key}]", str(path), did_you_mean(key, TABLES)))
        elif not isinstance(table, dict):
            problems.append(Problem(f"{key} must be a table", str(path), f"write [{key}] on a line of its own"))
        else:
            tables[key] = table
    return tables


def _check_numbers(content: Mapping[str, Any]) -> None:
    """ValueError for a whole number of more than TOML's 64 bits, which Python takes and may be unable to print."""
    left: list[Any] = [content]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
        elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise ValueError("a whole number has more than 64 bits")
