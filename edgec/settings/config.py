"""The settings of a build: the table of all that can be set, and the frozen record of what was."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from edgec.base.budget import Budget, parse_budget
from edgec.base.errors import Problem, UsageError, did_you_mean
from edgec.base.part import LONGEST, Constant, Part, States
from edgec.package.card import parse_card
from edgec.package.single_values import MOST
from edgec.quant.goal import Goal
from edgec.quant.options import EFFORTS, OBSERVERS

GPU = ("auto", "on", "off")
GPU_PRECISIONS = ("float32", "float16")
HIGHEST_SQNR = 100.0  # dB that can be asked for: float32 itself does not do better
TASKS = ("classify", "detect", "segment", "keyword")
Shapes = Mapping[str, Sequence[int]]
Calibration = str | Callable[[], Iterable[Any]] | Mapping[str, np.ndarray] | np.ndarray


@dataclass(frozen=True)
class BuildConfig:
    """Everything that decides a build, resolved."""

    target: str = "host"
    precision: str = "int8"
    calib: Calibration | None = None
    out: Path | None = None
    name: str | None = None
    shape: Shapes = field(default_factory=dict)
    input: Mapping[str, Sequence[int] | None] = field(default_factory=dict)
    output: tuple[str, ...] = ()
    constant: Mapping[str, Constant] = field(default_factory=dict)
    state: States = field(default_factory=dict)
    observer: str | None = None
    weight_bits: int | None = None
    effort: str | None = None
    exclude: tuple[str, ...] = ()
    min_sqnr: float | None = None
    max_drop: float | None = None
    profile: Path | None = None
    prune: float | None = None
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
    card: Mapping[str, str] = field(default_factory=dict)
    gpu: str | Path = "auto"
    gpu_precision: str = "float32"
    task: str | None = None
    labels: Path | None = None
    single_file: bool = False
    wheel: bool = False
    sign: Path | None = None
    package_version: int | None = None
    key: Path | None = None
    keep_failed: bool = False
    force: bool = False
    cache: bool = True
    budget: Budget = Budget()  # noqa: RUF009
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)  # of the settings that were given: where

    @property
    def part(self) -> Part:
        """What of the model is wanted."""
        return Part(self.input, self.output, self.constant, self.state)

    @property
    def goal(self) -> Goal | None:
        """What the answers of a quantized model must keep; None where nothing is asked."""
        return None if self.min_sqnr is None and self.max_drop is None else Goal(self.min_sqnr, self.max_drop)


def _shapes(text: object) -> Shapes:
    """`input=1,3,224,224`, several separated by `;` or as a list; in edgec.toml a table of lists."""
    if isinstance(text, Mapping):
        return {str(name): tuple(int(extent) for extent in extents) for name, extents in text.items()}
    items = text if isinstance(text, (list, tuple)) else str(text).split(";")
    found: dict[str, tuple[int, ...]] = {}
    for item in items:
        name, _, extents = str(item).rpartition("=")
        if not name or not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*", extents):
            raise ValueError("write it as NAME=1,3,224,224")
        found[name] = tuple(int(extent) for extent in extents.split(","))
    return found


def _cuts(text: object) -> Mapping[str, Sequence[int] | None]:
    """`features=1,64,7,7`, or `features` alone: the file says its shape."""
    if isinstance(text, Mapping):
        return {str(name): None if extents is None else tuple(int(extent) for extent in extents) for name, extents in text.items()}
    items = text if isinstance(text, (list, tuple)) else str(text).split(";")
    shaped = [item for item in items if re.search(r"=[\s\d,]+$", str(item))]
    return {**{str(item): None for item in items if item not in shaped}, **(_shapes(shaped) if shaped else {})}


def _tensors(text: object) -> tuple[str, ...]:
    """Names of tensors, which may hold anything: a list of them, or one."""
    items = text if isinstance(text, (list, tuple)) else str(text).split(";")
    if not all(isinstance(name, str) and name for name in items):
        raise ValueError("write the names of tensors")
    return tuple(items)


def _constants(value: object) -> Mapping[str, Constant]:
    """`sr=16000`, `axes=0,2`, `flag=true`; in edgec.toml and in Python a table of numbers and lists."""
    if not isinstance(value, Mapping):
        items = value if isinstance(value, (list, tuple)) else str(value).split(";")
        pairs = [str(item).rpartition("=") for item in items]
        if not all(name and numbers for name, _, numbers in pairs):
            raise ValueError("write it as NAME=16000, or NAME=1,2,3")
        value = {name: [_number(word) for word in numbers.split(",")] for name, _, numbers in pairs}
    return {str(name): _constant(np.asarray(numbers)) for name, numbers in value.items()}


def _states(value: object) -> States:
    """`h:h_next`, `h:h_next=0.5`; in edgec.toml and in Python a table of names, or of names with a number.

    Names may have colons, both as many.
    """
    if not isinstance(value, Mapping):
        items = value if isinstance(value, (list, tuple)) else str(value).split(";")
        pairs = [_state(str(item)) for item in items]
        value = dict(pairs)
        if len(value) < len(pairs):
            raise ValueError("name each input once")
    return {str(name): _kept((item, 0) if isinstance(item, str) else item) for name, item in value.items()}


def _state(text: str) -> tuple[str, tuple[str, float]]:
    found = re.fullmatch(r"(?s)(.+?)(?:=([+-]?[\d.]+(?:[eE][+-]?\d+)?))?", text)
    names, number = (found[1].split(":"), found[2]) if found else ([], None)
    half = len(names) // 2
    if not half or len(names) % 2 or not all(names):
        raise ValueError("write it as INPUT:OUTPUT, or INPUT:OUTPUT=0.5")
    return ":".join(names[:half]), (":".join(names[half:]), float(number or 0))


def _kept(pair: object) -> tuple[str, float]:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], str) or not pair[0]:
        raise ValueError('write the name of an output, or ["NAME", 0.5]')
    start = float(pair[1])
    if not np.isfinite(start):
        raise ValueError("a state starts with a finite number")
    return pair[0], start


def _number(word: str) -> bool | int | float:
    known = {"true": True, "false": False}
    word = word.strip().lower()
    return known[word] if word in known else int(word) if re.fullmatch(r"[+-]?\d{1,20}", word) else float(word)


def _constant(numbers: np.ndarray) -> Constant:
    if numbers.dtype.kind not in "biuf" or not 1 <= numbers.size <= LONGEST or not np.isfinite(numbers).all():
        raise ValueError(f"write a number, true or false, or a list of at most {LONGEST}")
    found = tuple(numbers.reshape(-1).tolist())
    return found[0] if len(found) == 1 else found


def _names(text: object) -> tuple[str, ...]:
    """Node names: a list, each possibly several separated by commas."""
    items = text if isinstance(text, (list, tuple)) else [text]
    return tuple(name for item in items for name in str(item).split(",") if name)


def _decibels(value: object) -> float:
    number = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?:dB)?\s*", str(value))
    if isinstance(value, bool) or not number or not 0 < float(number[1]) <= HIGHEST_SQNR:
        raise ValueError("write decibels, such as 25")
    return float(number[1])


def _share(value: object) -> float:
    """With its sign: 0.5 alone could be either."""
    number = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%\s*", str(value))
    if not number or float(number[1]) >= 100:
        raise ValueError("write a percentage below 100 with its sign, such as 0.5%")
    return float(number[1]) / 100


def _fraction(value: object) -> float:
    """0.5 or 50%."""
    number = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(%?)\s*", str(value))
    found = float(number[1]) / (100 if number[2] else 1) if number and not isinstance(value, bool) else 0.0
    if not 0 < found < 1:
        raise ValueError("write the share of multiply-accumulates to remove, between 0 and 1, such as 0.5")
    return found


def _path(value: object) -> Path:
    if "\0" in str(value) or not isinstance(value, (str, Path)):
        raise ValueError("write a path")
    return Path(value)


def _results(value: object) -> Path:
    if not str(value).endswith(".jsonl"):
        raise ValueError("write the results.jsonl of a bench")
    return _path(value)


def _placement(value: object) -> str | Path:
    """A word of GPU, or a results file."""
    if value in GPU or isinstance(value, bool):  # TOML's own words for on and off
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
    if not str(value).endswith(".jsonl"):
        raise ValueError(f"write {', '.join(GPU)}, or the results.jsonl of a bench")
    return _results(value)


def names_function(value: object) -> bool:
    """Whether calibration data is FILE.py:FUNCTION, which is run."""
    return isinstance(value, str) and ".py:" in value


def _source(value: object) -> Calibration:
    return value if callable(value) or isinstance(value, (Mapping, np.ndarray)) else str(_path(value))


def _identifier(text: object) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", str(text)):
        raise ValueError("write a C identifier: letters, digits and _, a letter first")
    return str(text)


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
    if not re.fullmatch(r"0*[1-9][0-9]*", str(text)):
        raise ValueError("write a positive whole number")
    return int(str(text))


def _bits(text: object) -> int:
    if str(text) not in ("4", "8"):
        raise ValueError("write 4 or 8")
    return int(str(text))


def _version(text: object) -> int:
    number = _count(text)
    if number > MOST:
        raise ValueError(f"write a number of at most {MOST}")
    return number


def _seed(text: object) -> int:
    if not re.fullmatch(r"[0-9]+", str(text)):
        raise ValueError("write a whole number, 0 or more")
    return int(str(text))


def _table(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("write it as a table of keys and values")
    return value


@dataclass(frozen=True)
class Setting:
    """One key: how its text becomes a value, what `--help` says, and how the flag takes it."""

    parse: Callable[[object], Any]
    help: str
    many: bool = False  # the flag may be repeated
    switch: bool = False  # the flag takes no value
    path: str = ""  # "read" or "write": what it names; in edgec.toml relative to that file
    flag: bool = True  # whether the command line and the environment can give it
    file: bool = True  # whether edgec.toml can
    words: tuple[str, ...] = ()  # values that are no path
    danger: str = ""  # why an edgec.toml that came with a model must not give it


SETTINGS: dict[str, Setting] = {
    "target": Setting(str, "processor family or board, see `edgec targets` (host)"),
    "precision": Setting(_one_of("int8", "fp32", "fp16"), "int8, fp32, or fp16 where the processor computes with halves (int8)"),
    "calib": Setting(_source, "calibration data: .npz, .npy, a folder of images, or FILE.py:FUNCTION", path="read"),
    "out": Setting(_path, "package directory to write (NAME-TARGET-PRECISION)", path="write"),
    "name": Setting(_identifier, "C identifier of the package (from the model's file name)"),
    "shape": Setting(_shapes, "pin an input's shape, NAME=1,3,224,224; may be repeated", many=True),
    "input": Setting(_cuts, "begin at this tensor, NAME=1,64,7,7 or NAME, in place of what computes it; may be repeated", many=True),
    "output": Setting(_tensors, "end at this tensor; may be repeated, and then these are the outputs", many=True),
    "constant": Setting(_constants, "fix an input, NAME=16000 or NAME=1,2,3, before anything is folded; may be repeated", many=True),
    "state": Setting(
        _states, "keep an output as an input of the next run, INPUT:OUTPUT, or INPUT:OUTPUT=0.5 to start with; may be repeated", many=True
    ),
    "observer": Setting(_one_of(*OBSERVERS), f"how ranges are chosen: {', '.join(OBSERVERS)} (mse)"),
    "weight_bits": Setting(_bits, "of an fp32 package's large dense layers: 8, or 4 with a scale for 32 inputs (floats)"),
    "effort": Setting(
        _one_of(*EFFORTS), f"how much is tried for accurate int8: {', '.join(EFFORTS)}; high takes several times as long (normal)"
    ),
    "exclude": Setting(_names, "node that stays in float, * and ? are wildcards; may be repeated", many=True),
    "min_sqnr": Setting(_decibels, "dB that the int8 answers must keep; layers that keep them from it stay in float32 or get int16 (none)"),
    "max_drop": Setting(_share, "share of samples whose best class int8 may change, such as 0.5%; reached in the same way (none)"),
    "profile": Setting(
        _results,
        "results.jsonl of a bench --profile: its times say what is cheapest to keep for a goal (an estimate)",
        path="read",
    ),
    "prune": Setting(_fraction, "share of the multiply-accumulates to remove, as whole channels, such as 0.5; needs calib (none)"),
    "io": Setting(_one_of("model", "int8", "uint8"), "type of inputs and outputs: model, int8 or uint8 (model)"),
    "io_layout": Setting(_one_of("model", "nhwc"), "layout of inputs and outputs: model or nhwc (model)"),
    "weights": Setting(_one_of("incbin", "c", "bin"), "how weights travel: incbin, c (pure C99) or bin (a file to load) (incbin)"),
    "cc": Setting(str, "C compiler to use ($CC, then the target's own, then ziglang)", danger="names a program to run"),
    "compile": Setting(_flag, "leave sources only", switch=True),
    "fuse_preprocess": Setting(_flag, "compile [preprocess] in, so that the package takes raw uint8 pixels", switch=True),
    "samples": Setting(_count, "use at most this many calibration samples (all)"),
    "seed": Setting(_seed, "seed of the exam's random inputs (0)"),
    "gpu": Setting(
        _placement, "what runs on the GPU: on, off, or as a bench's results.jsonl measured (what the target says)", path="read", words=GPU
    ),
    "gpu_precision": Setting(_one_of(*GPU_PRECISIONS), "of an fp32 package's tensors on the GPU: float32 or float16 (float32)"),
    "task": Setting(_one_of(*TASKS), f"what the answer means, which adds functions that read it: {', '.join(TASKS)}"),
    "labels": Setting(_path, "the classes' names, one in a line", path="read"),
    "single_file": Setting(_flag, "also write the package as one header and one source", switch=True),
    "wheel": Setting(_flag, "also make a Python wheel for the target", switch=True),
    "sign": Setting(_path, "private ed25519 key that signs the manifest", path="read", danger="names a key that signs in your name"),
    "package_version": Setting(_version, "number of this package's version: boards refuse one that is below what they had (none)"),
    "key": Setting(_path, "public ed25519 key that must have signed the package", path="read", danger="decides whose packages are trusted"),
    "keep_failed": Setting(_flag, "keep a package that fails its exam, as OUT.failed, for a report", switch=True),
    "budget": Setting(
        parse_budget,
        "the most that the model may cost: nodes=N,constants=N,tensors=N,memory=N,seconds=N, with K, M, G or T",
        danger="decides what the model may cost",
    ),
    "force": Setting(_flag, "replace inputs, and files that edgec did not write or that were changed since", switch=True, file=False),
    "cache": Setting(_flag, "neither use nor keep what builds have in common, see `edgec cache`", switch=True),
    "dump": Setting(_path, "write every stage into this folder, numbered", path="write"),
    "preprocess": Setting(_table, "from pictures to inputs, see [preprocess] of edgec.toml", flag=False),
    "card": Setting(parse_card, "who made the model and what one may do with it, see [card] of edgec.toml", flag=False),
}
FLAGS = {name: setting for name, setting in SETTINGS.items() if setting.flag}


def configure(**values: object) -> BuildConfig:
    """The settings of a build from Python values; a value of None is a setting not given. UsageError lists all that cannot be used."""
    problems: list[Problem] = []
    parsed = parse_settings({key: value for key, value in values.items() if value is not None}, SETTINGS, str, problems)
    if problems:
        raise UsageError("the settings cannot be used", problems)
    return BuildConfig(**parsed, origins=dict.fromkeys(parsed, "argument"))


def parse_settings(
    entries: Mapping[str, object], known: Mapping[str, Setting], place: Callable[[str], str], problems: list[Problem]
) -> dict[str, Any]:
    """The values of one source; what cannot be used becomes a problem. place: how an error calls a key of this source."""
    values: dict[str, Any] = {}
    for key, value in entries.items():
        if key not in known:
            problems.append(Problem("unknown setting", place(key), did_you_mean(key, known)))
            continue
        try:
            values[key] = known[key].parse(value)
        except UsageError as error:
            problems += error.problems or [Problem(error.summary, place(key), error.hint)]
        except (ValueError, TypeError, OverflowError) as error:
            problems.append(Problem(f"cannot use {value!r}", place(key), str(error)))
    return values
