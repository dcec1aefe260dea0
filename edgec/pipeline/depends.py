"""What results of a build depend on: the keys that later builds find them by."""

from __future__ import annotations

import mmap
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from edgec.base.errors import UsageError
from edgec.cache.keys import key_of, of_file, of_files, own
from edgec.operators.finding import find
from edgec.pipeline.prepare import Plan
from edgec.quant.given.array_files import pictures_in
from edgec.settings.config import BuildConfig
from edgec.settings.forms_of_text import Calibration, names_function
from edgec.targets import load_target

# Settings that decide where a package goes, what becomes of it there and who signs it, and none of its files
ELSEWHERE = ("out", "cc", "compile", "sign", "key", "keep_failed", "force", "cache", "dump", "origins")
# further ones, which decide nothing of how a model is quantized; the target does so where a goal weighs what layers cost on it
LATER = (
    "card", "gpu", "gpu_precision", "io_layout", "labels", "name", "package_version", "precision", "seed", "single_file", "target", "task",
    "tuned", "weight_bits", "weights", "wheel",
)  # fmt: skip
BESIDE = b"location"  # stands in every model that keeps weights in files beside it


def draft_key(planned: Plan) -> str | None:
    """Of all files that are not compiled. None where they depend on more than can be told: on a function's samples, on files beside the
    model, on a compiler of shaders; and where every stage is to be written."""
    config = planned.config
    if config.dump is not None or planned.target.gpu == "vulkan":
        return None
    return _key("draft", planned.model, config, ELSEWHERE, planned.name, planned.target.name)


def quantization_key(model: Path, config: BuildConfig) -> str | None:
    """Of a model's calibration and its report. None as for all files."""
    if config.dump is not None:
        return None
    costs = load_target(config.target).vocabularies if config.goal is not None else ()
    return _key("quantization", model, config, (*ELSEWHERE, *LATER, "io"), config.io == "model", costs)


def _key(kind: str, model: Path, config: BuildConfig, without: Collection[str], *more: object) -> str | None:
    if _is_code(config.calib) or _has_more(model):
        return None
    apart = (*without, "calib", "operators")
    try:
        settings = {item.name: _told(getattr(config, item.name)) for item in fields(BuildConfig) if item.name not in apart}
        defined = [[str(item), item.sha256] for item in find(model, config.operators)]
        return key_of(kind, own(), of_file(model), settings, _data(config.calib), defined, *more)
    except (OSError, ValueError, UsageError):  # what cannot be read: the build says so, if it needs it
        return None


def _is_code(calib: Calibration | None) -> bool:
    return callable(calib) or names_function(calib)


def _has_more(model: Path) -> bool:
    try:
        with model.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(BESIDE) >= 0
    except (OSError, ValueError):  # ValueError: it is empty
        return True


def _data(calib: Calibration | None) -> Any:
    """What samples are made from, and not what else lies beside pictures. ValueError for arrays of Python objects."""
    if isinstance(calib, np.ndarray):
        return [str(calib.dtype), calib.shape, _bytes_of(calib)]
    if isinstance(calib, Mapping):
        return [[name, _data(array)] for name, array in calib.items()]
    if calib is None:
        return None
    path = Path(str(calib))
    return of_files(pictures_in(path)) if path.is_dir() else of_file(path)


def _bytes_of(array: np.ndarray) -> memoryview:
    """An array's own memory where it lies in one piece: buffers know fewer types than arrays have."""
    if array.dtype.hasobject:
        raise ValueError("it holds Python objects")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _told(value: Any) -> Any:
    """Tables in their order, which can decide: of two outputs one is the first."""
    if isinstance(value, Path):
        return of_file(value)
    if isinstance(value, Mapping):
        return [[name, _told(item)] for name, item in value.items()]
    return value
