"""Settings of a build: command-line flags over EDGEC_* variables over edgec.toml over defaults, as one frozen record."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgec.errors import Problem, UsageError, did_you_mean

Shapes = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class BuildConfig:
    """Everything that decides a build, resolved."""

    target: str = "host"
    precision: str = "int8"
    calib: str | None = None
    out: Path | None = None
    name: str | None = None
    shape: Shapes = field(default_factory=dict)
    observer: str | None = None
    exclude: tuple[str, ...] = ()
    io: str = "model"
    io_layout: str = "model"
    weights: str = "incbin"
    cc: str | None = None
    compile: bool = True
    fuse_preprocess: bool = False
    samples: int | None = None
    seed: int = 0
    dump: Path | None = None
    preprocess: Mapping[str, Any] = field(default_factory=dict)


def _shapes(text: object) -> Shapes:
    """`input=1,3,224,224`, several separated by `;` or as a list; in edgec.toml a table of lists."""
    if isinstance(text, Mapping):
        return {str(name): tuple(int(extent) for extent in extents) for name, extents in text.items()}
    items = text if isinstance(text, (list, tuple)) else str(text).split(";")
    found: dict[str, tuple[int, ...]] = {}
    for item in items:
        name, _, extents = str(item).rpartition("=")
        if not name:
            raise ValueError("write it as NAME=1,3,224,224")
        found[name] = tuple(int(extent) for extent in extents.split(","))
    return found


def _names(text: object) -> tuple[str, ...]:
    return tuple(text) if isinstance(text, (list, tuple)) else tuple(str(text).split(","))


def _flag(text: object) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if str(text).lower() not in words:
        raise ValueError("write true or false")
    return words[str(text).lower()]


def _one_of(*choices: str) -> Callable[[object], str]:
    def parse(text: object) -> str:
        if text not in choices:
            raise ValueError(did_you_mean(str(text), choices))
        return str(text)

    return parse


def _count(text: object) -> int:
    if int(str(text)) < 1:
        raise ValueError("write a positive whole number")
    return int(str(text))


@dataclass(frozen=True)
class Setting:
    """One key: how its text becomes a value, what `--help` says, and how the flag takes it."""

    parse: Callable[[object], Any]
    help: str
    many: bool = False  # the flag may be repeated
    switch: bool = False  # the flag takes no value


SETTINGS: dict[str, Setting] = {
    "target": Setting(str, "processor family or board, see `edgec targets` (host)"),
    "precision": Setting(_one_of("int8", "fp32"), "int8 or fp32 (int8)"),
    "calib": Setting(str, "calibration data: .npz, .npy, a folder of images, or FILE.py:FUNCTION"),
    "out": Setting(Path, "package directory to write (NAME-TARGET-PRECISION)"),
    "name": Setting(str, "C identifier of the package (from the model's file name)"),
    "shape": Setting(_shapes, "pin an input's shape, NAME=1,3,224,224; may be repeated", many=True),
    "observer": Setting(str, "how ranges are chosen: minmax, percentile, mse, entropy"),
    "exclude": Setting(_names, "node that stays in float; may be repeated", many=True),
    "io": Setting(_one_of("model", "int8", "uint8"), "type of inputs and outputs: model, int8 or uint8 (model)"),
    "io_layout": Setting(_one_of("model", "nhwc"), "layout of inputs and outputs: model or nhwc (model)"),
    "weights": Setting(_one_of("incbin", "c", "bin"), "how weights travel: incbin, c (pure C99) or bin (a file to load) (incbin)"),
    "cc": Setting(str, "C compiler to use ($CC, then the target's own)"),
    "compile": Setting(_flag, "leave sources only", switch=True),
    "fuse_preprocess": Setting(_flag, "compile [preprocess] in, so that the package takes raw uint8 pixels", switch=True),
    "samples": Setting(_count, "use at most this many calibration samples (all)"),
    "seed": Setting(int, "seed of the exam's random inputs (0)"),
    "dump": Setting(Path, "write every stage into this folder, numbered"),
}


def resolve(flags: Mapping[str, object], environment: Mapping[str, str], folder: Path) -> BuildConfig:
    """Merge the four sources; unknown keys and unreadable values of any of them are reported together.

    flags: values given on the command line (None when not given). folder: where edgec.toml is looked for.
    """
    problems: list[Problem] = []
    table, preprocess = _read_toml(folder / "edgec.toml", problems)
    sources = [
        ("edgec.toml", table),
        ("environment", {key[6:].lower(): value for key, value in environment.items() if key.startswith("EDGEC_")}),
        ("flag", {key: value for key, value in flags.items() if value is not None}),
    ]
    values: dict[str, Any] = {}
    for source, entries in sources:
        for key, value in entries.items():
            setting = SETTINGS.get(key)
            if setting is None:
                problems.append(Problem(f"unknown setting {key!r}", source, did_you_mean(key, SETTINGS)))
                continue
            try:
                values[key] = setting.parse(value)
            except (ValueError, TypeError) as error:
                problems.append(Problem(f"cannot use {value!r} for {key}", source, str(error)))
    if problems:
        raise UsageError("the settings cannot be used", problems)
    return BuildConfig(preprocess=preprocess, **values)


def _read_toml(path: Path, problems: list[Problem]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The [build] table and the [preprocess] table of edgec.toml; both empty where there is no file."""
    if not path.is_file():
        return {}, {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(Problem(str(error), str(path), "see https://toml.io"))
        return {}, {}
    for key in content:
        if key not in ("build", "preprocess"):
            problems.append(Problem(f"unknown table [{key}]", str(path), did_you_mean(key, ("build", "preprocess"))))
    return content.get("build", {}), content.get("preprocess", {})
