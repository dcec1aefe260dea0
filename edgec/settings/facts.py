"""What was set, and where it came from, for people and for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgec.base.budget import Budget
from edgec.settings.config import SETTINGS, BuildConfig


def origin_of(config: BuildConfig, key: str) -> str:
    """Where the value of a setting came from: a flag, an environment variable, the path of an edgec.toml, or the default."""
    return config.origins.get(key, "default")


def shown_value(key: str, config: BuildConfig) -> Any:
    """A setting's value for people and for JSON: data and functions by a word."""
    value = getattr(config, key)
    if key == "calib" and not isinstance(value, str | None):
        return str(getattr(value, "__name__", "a function")) if callable(value) else "arrays"
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Budget):
        return asdict(value)
    if key == "operators":
        return [str(item) for item in value]
    if key == "also_shape":
        return [";".join(f"{name}={','.join(map(str, extents))}" for name, extents in shapes.items()) for shapes in value]
    if key == "state":
        return {name: output if not start else f"{output}={start:g}" for name, (output, start) in value.items()}
    return dict(value) if isinstance(value, Mapping) else value


def settings_facts(config: BuildConfig) -> dict[str, dict[str, Any]]:
    """Every setting with its value and where that came from."""
    return {key: {"value": shown_value(key, config), "from": origin_of(config, key)} for key in SETTINGS}
