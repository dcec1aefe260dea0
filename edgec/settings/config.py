"""The settings of a build: the table of all that can be set, and the frozen record of what was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgec.base.budget import Budget, parse_budget
from edgec.base.errors import Problem, UsageError, did_you_mean
from edgec.base.part import Constant, Part, States
from edgec.package.card import parse_card
from edgec.quant.given.goal import Goal
from edgec.quant.given.options import EFFORTS, OBSERVERS
from edgec.settings.forms_of_text import (
    GPU,
    Calibration,
    Operators,
    Shapes,
    bits_value,
    constants_value,
    count_value,
    cuts_value,
    decibels_value,
    flag_value,
    fraction_value,
    identifier_value,
    names_value,
    one_of_value,
    operators_value,
    path_value,
    placement_value,
    results_value,
    seed_value,
    shape_sets_value,
    shapes_value,
    share_value,
    source_value,
    states_value,
    table_value,
    tensors_value,
    version_value,
)

GPU_PRECISIONS = ("float32", "float16")
TASKS = ("classify", "detect", "segment", "keyword")


@dataclass(frozen=True)
class BuildConfig:
    """Everything that decides a build, resolved."""

    target: str = "host"
    precision: str = "int8"
    calib: Calibration | None = None
    out: Path | None = None
    name: str | None = None
    shape: Shapes = field(default_factory=dict)
    also_shape: tuple[Shapes, ...] = ()
    input: Mapping[str, Sequence[int] | None] = field(default_factory=dict)
    output: tuple[str, ...] = ()
    constant: Mapping[str, Constant] = field(default_factory=dict)
    state: States = field(default_factory=dict)
    operators: tuple[Operators, ...] = ()
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
    tuned: Path | None = None
    task: str | None = None
    labels: Path | None = None
    single_file: bool = False
    wheel: bool = False
    sign: Path | None = None
    package_version: int | None = None
    key: Path | None = None
    trust_model: bool = False
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
    group: str = ""  # under which `--help` has the flag
    default: str = ""  # what holds where nobody sets it, in words
    danger: str = ""  # why an edgec.toml that came with a model must not give it


SETTINGS: dict[str, Setting] = {
    "target": Setting(str, "processor family or board, see `edgec targets`", group="package", default="host"),
    "precision": Setting(
        one_of_value("int8", "fp32", "fp16"),
        "int8, fp32, or fp16 where the processor computes with halves",
        group="package",
        default="int8",
    ),
    "calib": Setting(
        source_value,
        "calibration data: .npz, .npy, a folder of images, or FILE.py:FUNCTION",
        path="read",
        group="quantization",
        default="none",
    ),
    "out": Setting(path_value, "package directory to write", path="write", group="package", default="NAME-TARGET-PRECISION"),
    "name": Setting(identifier_value, "C identifier of the package", group="package", default="from the model's file name"),
    "shape": Setting(
        shapes_value,
        "pin an input's shape, NAME=1,3,224,224; may be repeated",
        many=True,
        group="model",
        default="what the file says",
    ),
    "also_shape": Setting(
        shape_sets_value,
        "further shapes that the same package takes, 'NAME=1,3,448,448;NAME=...' beside those of --shape; may be repeated",
        many=True,
        group="model",
        default="one set of shapes",
    ),
    "input": Setting(
        cuts_value,
        "begin at this tensor, NAME=1,64,7,7 or NAME, in place of what computes it; may be repeated",
        many=True,
        group="model",
        default="the model's",
    ),
    "output": Setting(
        tensors_value,
        "end at this tensor; may be repeated, and then these are the outputs",
        many=True,
        group="model",
        default="the model's",
    ),
    "constant": Setting(
        constants_value,
        "fix an input, NAME=16000 or NAME=1,2,3, before anything is folded; may be repeated",
        many=True,
        group="model",
        default="none",
    ),
    "state": Setting(
        states_value,
        "keep an output as an input of the next run, INPUT:OUTPUT, or INPUT:OUTPUT=0.5 to start with; may be repeated",
        many=True,
        group="model",
        default="none",
    ),
    "operators": Setting(
        operators_value,
        "Python file that defines operators of the model's own domains; may be repeated",
        many=True,
        path="read",
        danger="names Python code to run",
        group="model",
        default="those of installed packages",
    ),
    "observer": Setting(one_of_value(*OBSERVERS), f"how ranges are chosen: {', '.join(OBSERVERS)}", group="quantization", default="mse"),
    "weight_bits": Setting(
        bits_value,
        "of an fp32 package's large dense layers: 8, or 4 with a scale for 32 inputs",
        group="quantization",
        default="floats",
    ),
    "effort": Setting(
        one_of_value(*EFFORTS),
        f"how much is tried for accurate int8: {', '.join(EFFORTS)}; high takes several times as long",
        group="quantization",
        default="normal",
    ),
    "exclude": Setting(
        names_value,
        "node that stays in float, * and ? are wildcards; may be repeated",
        many=True,
        group="quantization",
        default="none",
    ),
    "min_sqnr": Setting(
        decibels_value,
        "dB that the int8 answers must keep; layers that keep them from it stay in float32 or get int16",
        group="quantization",
        default="none",
    ),
    "max_drop": Setting(
        share_value,
        "share of samples whose best class int8 may change, such as 0.5%; reached in the same way",
        group="quantization",
        default="none",
    ),
    "profile": Setting(
        results_value,
        "results.jsonl of a bench --profile: its times say what is cheapest to keep for a goal (an estimate)",
        path="read",
        group="quantization",
        default="none",
    ),
    "prune": Setting(
        fraction_value,
        "share of the multiply-accumulates to remove, as whole channels, such as 0.5; needs calib",
        group="model",
        default="none",
    ),
    "io": Setting(
        one_of_value("model", "int8", "uint8"), "type of inputs and outputs: model, int8 or uint8", group="package", default="model"
    ),
    "io_layout": Setting(one_of_value("model", "nhwc"), "layout of inputs and outputs: model or nhwc", group="package", default="model"),
    "weights": Setting(
        one_of_value("incbin", "c", "bin"),
        "how weights travel: incbin, c (pure C99) or bin (a file to load)",
        group="making",
        default="incbin",
    ),
    "cc": Setting(
        str,
        "C compiler to use",
        danger="names a program to run",
        group="making",
        default="$CC, then the target's own, then ziglang",
    ),
    "compile": Setting(flag_value, "leave sources only", switch=True, group="making", default="compile"),
    "fuse_preprocess": Setting(
        flag_value, "compile [preprocess] in, so that the package takes raw uint8 pixels", switch=True, group="package", default="off"
    ),
    "samples": Setting(count_value, "use at most this many calibration samples", group="quantization", default="all"),
    "seed": Setting(seed_value, "seed of the exam's random inputs", group="making", default="0"),
    "gpu": Setting(
        placement_value,
        "what runs on the GPU: on, off, or as a bench's results.jsonl measured",
        path="read",
        words=GPU,
        group="making",
        default="what the target says",
    ),
    "gpu_precision": Setting(
        one_of_value(*GPU_PRECISIONS),
        "of an fp32 package's tensors on the GPU: float32 or float16",
        group="making",
        default="float32",
    ),
    "tuned": Setting(
        path_value,
        "record of edgec tune: which variants of kernels are the fastest on the board",
        path="read",
        group="making",
        default="a cost model chooses",
    ),
    "task": Setting(
        one_of_value(*TASKS),
        f"what the answer means, which adds functions that read it: {', '.join(TASKS)}",
        group="package",
        default="none",
    ),
    "labels": Setting(path_value, "the classes' names, one in a line", path="read", group="package", default="none"),
    "single_file": Setting(flag_value, "also write the package as one header and one source", switch=True, group="making", default="off"),
    "wheel": Setting(flag_value, "also make a Python wheel for the target", switch=True, group="making", default="off"),
    "sign": Setting(
        path_value,
        "private ed25519 key that signs the manifest",
        path="read",
        danger="names a key that signs in your name",
        group="trust",
        default="none",
    ),
    "package_version": Setting(
        version_value,
        "number of this package's version: boards refuse one that is below what they had",
        group="trust",
        default="none",
    ),
    "key": Setting(
        path_value,
        "public ed25519 key that must have signed the package",
        path="read",
        danger="decides whose packages are trusted",
        group="trust",
        default="none",
    ),
    "trust_model": Setting(
        flag_value,
        "let the library that a file is of load it and make an ONNX file of it, even where loading may run code that the file holds",
        switch=True,
        danger="lets a model's file run code",
        group="trust",
        default="off",
    ),
    "keep_failed": Setting(
        flag_value,
        "keep a package that fails its exam, as OUT.failed, for a report",
        switch=True,
        group="running",
        default="off",
    ),
    "budget": Setting(
        parse_budget,
        "the most that the model may cost: nodes=N,constants=N,tensors=N,memory=N,seconds=N, with K, M, G or T",
        danger="decides what the model may cost",
        group="running",
        default="see docs/usage.md",
    ),
    "force": Setting(
        flag_value,
        "replace inputs, and files that edgec did not write or that were changed since",
        switch=True,
        file=False,
        group="running",
        default="off",
    ),
    "cache": Setting(
        flag_value,
        "neither use nor keep what builds have in common, see `edgec cache`",
        switch=True,
        group="running",
        default="use it",
    ),
    "dump": Setting(path_value, "write every stage into this folder, numbered", path="write", group="running", default="none"),
    "preprocess": Setting(table_value, "from pictures to inputs, see [preprocess] of edgec.toml", flag=False),
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
