"""A package's layers over a data set: what its calibration made of the float model, seen from inside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgec.base.errors import EdgecError, UsageError
from edgec.package import Package
from edgec.package.manifest import load_json, read_listed
from edgec.quant import Progress
from edgec.quant.diagnose import diagnose
from edgec.pipeline.evaluation import Data, open_model
from edgec.pipeline.models import PRUNED, read_pruned, samples_of
from edgec.records.diagnosis import Diagnosis

CALIBRATION = "calibration.json"


def diagnose_package(
    model: Path, package: Package, data: Data, samples: int | None = None, progress: Progress | None = None
) -> Diagnosis:  # fmt: skip
    """With the shapes and the pre-processing of the package's build. samples: at most that many.

    UsageError for a package that edgec did not quantize, or not from this model. The package is not run.
    """
    content = decisions_of(package)
    loaded, config = open_model(model, package, data, samples)
    if package.manifest.pruning is not None:
        loaded = read_pruned(loaded, read_listed(package.directory, package.manifest, PRUNED), config)
    source = samples_of(loaded.graph, config)
    assert source is not None
    try:
        return diagnose(loaded.graph, content, source, progress)
    except EdgecError as error:
        raise type(error)(error.summary, error.problems, where=error.where or str(package.directory), hint=error.hint) from error


def decisions_of(package: Package) -> Mapping[str, Any]:
    """The calibration that a package carries, as JSON has it. UsageError where there is none."""
    manifest, where = package.manifest, str(package.directory)
    if manifest.precision != "int8":
        raise UsageError(f"nothing of this {manifest.precision} package is quantized", where=where, hint="build it with --precision int8")
    problems: list[Any] = []
    content = load_json(read_listed(package.directory, manifest, CALIBRATION), problems)
    if content is None:
        raise UsageError("the calibration is broken", problems, where=f"{where}/{CALIBRATION}", hint="build the package again")
    if not content:
        hint = "build from the float model with --calib, or ask the tool that quantized it"
        raise UsageError("the model came quantized: edgec decided nothing in it", where=where, hint=hint)
    return content
