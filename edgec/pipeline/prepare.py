"""The resolved plan of a build, and every reason to refuse it that can be known before the long work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from edgec.apps.labels import read_labels
from edgec.apps.wheel_archive import check_wheel
from edgec.base.errors import EdgecError, Problem, UsageError, did_you_mean
from edgec.base.output import check_destination, check_failed, check_outputs
from edgec.emit.c_text import identifier as c_identifier
from edgec.frontend.file.formats import refuse_foreign
from edgec.operators.paths import check_path
from edgec.program.names import PACKAGES
from edgec.quant.given.options import QuantizeOptions
from edgec.quant.given.preprocess import Preprocess
from edgec.records.tuning import read_tuning
from edgec.settings.config import SETTINGS, BuildConfig
from edgec.settings.facts import origin_of, settings_facts, shown_value
from edgec.settings.forms_of_text import names_function
from edgec.targets import Target, all_targets, load_target
from edgec.toolchain import Compiler, find_compiler

_STAGES = ("1-imported", "2-optimized", "2-pruned", "3-quantized")
DUMPED = (*(f"{stage}{form}" for stage in _STAGES for form in (".eir", ".onnx")), "4-matched.eir", "5-program.eir")
MOST_SETS = 64  # of shapes: each has its own code for every layer
MOST_NAMES = 1000  # of a folder, that are looked at for a hint
LONGEST_NAME = 64  # letters of a package's name, which names of files and symbols begin with


@dataclass(frozen=True)
class Plan:
    """What a build will do. compiler is None where only sources are wanted; `out` is the package directory."""

    model: Path
    config: BuildConfig
    name: str
    target: Target
    compiler: Compiler | None
    out: Path

    @property
    def origins(self) -> dict[str, str]:
        """Of each fact that a setting decides: which flag, variable or file gave it, or how else it came to be."""
        found = {key: origin_of(self.config, SETTING_OF.get(key, key)) for key in self.facts if SETTING_OF.get(key, key) in SETTINGS}
        if self.compiler is not None and self.config.cc is None:
            found["compiler"] = f"{found['compiler']}: {self.compiler.origin}"
        return found

    @property
    def facts(self) -> dict[str, Any]:
        """For people and for JSON, in the order of the work: what decides every build, then all that was set otherwise than it is."""
        config, target = self.config, self.target
        facts: dict[str, Any] = {
            "model": str(self.model),
            "precision": config.precision,
            "target": target.name,
            "processor": target.arch,
            "vocabularies": list(target.vocabularies),
            "compiler": " ".join(self.compiler.command) if self.compiler else None,
            "package": str(self.out),
        }
        if config.precision == "int8":
            facts["calibration"] = shown_value("calib", config)
            facts["observer"] = config.observer or QuantizeOptions.observer
        shown = {SETTING_OF.get(key, key) for key in facts}
        chosen = {key: item["value"] for key, item in settings_facts(config).items() if key not in shown}
        return facts | {key: value for key, value in chosen.items() if value != shown_value(key, BuildConfig())}


SETTING_OF = {"compiler": "cc", "package": "out", "calibration": "calib"}  # facts that are called otherwise than their setting


def prepare(model: Path, config: BuildConfig, *, start: bool = True) -> Plan:
    """Resolve a build. Raises everything that is wrong at once, as an error of the family with the lowest exit code.

    start: whether the compiler that the settings name may be started, to hear what it compiles for.
    """
    errors: list[EdgecError] = []
    name = config.name or identifier(model.stem)
    target, compiler, out = None, None, config.out
    with _collecting(errors):
        check_file(model)
    with _collecting(errors):
        target = _for_precision(load_target(config.target), config.precision)
        out = out or Path(f"{name}-{target.name}-{config.precision}{f'-w{config.weight_bits}' if config.weight_bits else ''}")
    with _collecting(errors):
        _check_states(config)
    with _collecting(errors):
        check_data(config)
    with _collecting(errors):
        check_operators(config)
    with _collecting(errors):
        _check_interface(config, name)
    with _collecting(errors):
        _check_goal(config)
    with _collecting(errors):
        _check_weight_bits(config, target)
    with _collecting(errors):
        _check_labels(config)
    with _collecting(errors):
        if config.tuned is not None:
            read_tuning(config.tuned)
    if config.sign is not None:
        from edgec.provenance.signing_keys import read_private_key  # loads cryptography

        with _collecting(errors):
            read_private_key(config.sign)
    if target is not None:
        with _collecting(errors):
            _check_gpu(config, target)
        with _collecting(errors):
            _check_shapes(config)
        with _collecting(errors):
            _check_wheel(config, target, start)
    if out is not None:
        with _collecting(errors):
            check_destination(out, inputs_of(model, config), force=config.force)
        with _collecting(errors):
            _check_dump(config, out)
            check_outputs(dumped(config), inputs_of(model, config), force=config.force)
        with _collecting(errors):
            if config.keep_failed:
                check_failed(out)
    if target is not None and config.compile:
        with _collecting(errors):
            compiler = find_compiler(target, config.cc, start=start)
    _raise_together(errors)
    assert target is not None and out is not None
    return Plan(model, config, name, target, compiler, out)


def inputs_of(model: Path, config: BuildConfig) -> list[Path]:
    """The files that a build reads, which none of its outputs may be."""
    calib = config.calib.partition(".py:") if isinstance(config.calib, str) else ("", "", "")
    named = [
        Path(calib[0] + calib[1].rstrip(":")),
        *(
            path
            for path in (config.labels, config.sign, config.gpu, config.profile, config.tuned, *config.operators)
            if isinstance(path, Path)
        ),
    ]
    files = [Path(origin) for origin in dict.fromkeys(config.origins.values()) if origin.endswith(".toml")]
    return [path for path in (model, *named, *files) if path.is_file()]


def _check_dump(config: BuildConfig, out: Path) -> None:
    """The stages are written before the package, whose folder must not be there before it is whole."""
    if config.dump is not None and config.dump.resolve().is_relative_to(out.resolve()):
        raise UsageError("is the package's own folder, or in it", where=f"--dump {config.dump}", hint="dump the stages elsewhere")


def dumped(config: BuildConfig) -> list[Path]:
    """The files of --dump."""
    return [] if config.dump is None else [config.dump / name for name in DUMPED]


def check_operators(config: BuildConfig) -> None:
    """What can be said of the files of operators without running them."""
    for path in config.operators:
        if isinstance(path, Path):
            check_path(path)


def check_file(model: Path) -> None:
    """What can be said of a model's file by its first bytes."""
    refuse_foreign(model)
    if not model.is_file():
        what = "is a folder, not a model" if model.is_dir() else "is no file" if model.exists() else "no such file"
        raise UsageError(what, where=str(model), hint=_models_near(model) or "give an ONNX file")


def _models_near(place: Path) -> str:
    """A hint that names the ONNX files of a folder, or those beside a file that is not there; "" without any."""
    with suppress(OSError):
        names = [str(path) for path in islice((place if place.is_dir() else place.parent).glob("*.onnx"), MOST_NAMES)]
        return did_you_mean(str(place), names) if names else ""
    return ""


def check_data(config: BuildConfig) -> None:
    """What can be said of the calibration data without reading it."""
    if isinstance(config.calib, str) and not names_function(config.calib) and not Path(config.calib).exists():
        raise UsageError("no such file or folder", where=config.calib, hint="give calibration data: .npz, .npy, a folder of images")
    if config.prune is not None and config.calib is None:
        hint = "give --calib DATA: samples say which channels matter"
        raise UsageError("needs calibration data", where="--prune", hint=hint)
    if config.preprocess:
        Preprocess.parse(config.preprocess)
    elif config.fuse_preprocess:
        raise UsageError("there is no preprocessing to compile in", hint="declare it in [preprocess] of an edgec.toml beside the model")


def _check_interface(config: BuildConfig, name: str) -> None:
    if not _free(name):
        raise UsageError(f"{name!r} means something in C, or to systems", where="--name", hint=f"try {identifier(name)!r}")
    if len(name) > LONGEST_NAME:
        raise UsageError(f"is longer than {LONGEST_NAME} letters", where="--name", hint="give a short one")
    if config.io != "model" and config.precision != "int8":
        raise UsageError(f"io {config.io} needs precision int8", hint="leave --io out, or build with --precision int8")


def _check_goal(config: BuildConfig) -> None:
    if config.goal is not None and config.precision != "int8":
        given = [f"--{key.replace('_', '-')}" for key in ("min_sqnr", "max_drop") if getattr(config, key) is not None]
        hint = "leave it out, or build with --precision int8"
        raise UsageError(f"{config.precision} packages answer as the model does", where=", ".join(given), hint=hint)
    check_profile(config)


def check_profile(config: BuildConfig) -> None:
    """What can be said of a measured profile without reading it."""
    if config.profile is not None and config.goal is None:
        hint = "give --min-sqnr or --max-drop with it, or leave it out"
        raise UsageError("only what a goal keeps is chosen by it", where="--profile", hint=hint)
    if config.profile is not None and not config.profile.is_file():
        raise UsageError("no such file", where=str(config.profile), hint="give the results.jsonl of a bench with --profile")


def _for_precision(target: Target, precision: str) -> Target:
    """The target with the vocabularies that packages of such numbers have."""
    if precision == "fp16":
        return _with_halves(target)
    return replace(target, vocabularies=target.float_vocabularies or target.vocabularies) if precision == "fp32" else target


def _with_halves(target: Target) -> Target:
    """The target of packages that compute with halves."""
    if target.half_vocabularies and not target.gpu:
        return replace(target, vocabularies=target.half_vocabularies)
    known = ", ".join(other.name for other in all_targets() if other.half_vocabularies and not other.gpu)
    what = "its shaders have --gpu-precision float16" if target.gpu else "its processors do not compute with halves"
    raise UsageError(f"{target.name} has no fp16: {what}", where="--precision", hint=f"build with --precision fp32, or for {known}")


def _check_weight_bits(config: BuildConfig, target: Target | None) -> None:
    if config.weight_bits is not None and config.precision != "fp32":
        hint = "give --precision fp32 with it: int8 packages have all their weights in 8 bits"
        raise UsageError("coded weights are for fp32 packages", where="--weight-bits", hint=hint)
    if config.weight_bits is not None and target is not None and target.gpu:
        hint = "leave it out, or choose a target without a GPU"
        raise UsageError(f"{target.name} has a GPU, whose shaders read floats", where="--weight-bits", hint=hint)


def _check_labels(config: BuildConfig) -> None:
    read_labels(config.labels)
    if config.labels is not None and config.task is None:
        raise UsageError("labels need a task that uses them", where="--labels", hint="give --task classify, detect, segment or keyword")


def _check_gpu(config: BuildConfig, target: Target) -> None:
    if config.gpu not in ("auto", "off") and not target.gpu:
        raise UsageError(f"{target.name} has no GPU", where="--gpu", hint="choose a target with one, see `edgec targets`")
    if config.gpu_precision != "float32" and not target.gpu:
        raise UsageError(f"{target.name} has no GPU", where="--gpu-precision", hint="choose a target with one, see `edgec targets`")
    if config.gpu_precision != "float32" and config.precision != "fp32":
        raise UsageError("float16 is for fp32 packages", where="--gpu-precision", hint="give --precision fp32 with it")
    if config.single_file and target.gpu:
        hint = "leave it out, or choose a target without a GPU"
        raise UsageError(f"{target.name} has a GPU, whose host is more than one file", where="--single-file", hint=hint)
    if isinstance(config.gpu, Path) and not config.gpu.is_file():
        raise UsageError("no such file", where=str(config.gpu), hint="give the results.jsonl of a bench with --profile")


def _check_shapes(config: BuildConfig) -> None:
    """What a package of several sets of shapes cannot have."""
    if not config.also_shape:
        return
    alone = {
        "--precision fp16": config.precision == "fp16",
        "--gpu-precision float16": config.gpu_precision == "float16",
        "--prune": config.prune is not None,
        "--fuse-preprocess": config.fuse_preprocess,
    }
    problems = [Problem("is for a package of one set of shapes", flag) for flag, given in alone.items() if given]
    if len(config.also_shape) >= MOST_SETS:
        problems.append(Problem(f"{len(config.also_shape) + 1} sets of shapes, {MOST_SETS} is the most", "--also-shape"))
    if problems:
        raise UsageError("--also-shape does not go with all that is asked for", problems)


def _check_states(config: BuildConfig) -> None:
    halves = {"--precision": config.precision, "--gpu-precision": config.gpu_precision}
    asked = [(where, what) for where, what in halves.items() if what in ("fp16", "float16")]
    if config.state and asked:
        ((where, what), *_) = asked
        hint = "leave it out: a state adds up what halves round away, run by run"
        raise UsageError(f"{what} is for models without states", where=where, hint=hint)


def _check_wheel(config: BuildConfig, target: Target, start: bool) -> None:
    if config.wheel:
        check_wheel(target, config.weights, config.compile, config.cc, start=start)


def identifier(stem: str) -> str:
    """A C identifier from a file name: `mobilenetv2-1.0` -> `mobilenetv2_1_0`."""
    word = re.sub(r"[^0-9A-Za-z]+", "_", stem).strip("_").lower()[:LONGEST_NAME].rstrip("_")
    return word if _free(word) else f"model_{word}"[:LONGEST_NAME].rstrip("_")


def _free(name: str) -> bool:
    """Whether symbols and files may begin with this identifier."""
    return name == c_identifier(name) and name.lower() not in PACKAGES


@contextmanager
def _collecting(errors: list[EdgecError]) -> Iterator[None]:
    try:
        yield
    except EdgecError as error:
        errors.append(error)


def _raise_together(errors: Sequence[EdgecError]) -> None:
    if len(errors) == 1:
        raise errors[0]
    if errors:
        problems = [item for error in errors for item in (Problem(error.summary, error.where, error.hint), *error.problems)]
        family = type(min(errors, key=lambda error: error.exit_code))
        raise family(f"{len(errors)} things stand in the way", problems)
