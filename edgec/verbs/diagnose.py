"""A package's layers over a data set: what its calibration made of the float model, seen from inside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgec.base.errors import EdgecError, UsageError
from edgec.base.output import check_outputs
from edgec.base.strict_json import load_json
from edgec.exporters import onnx_path
from edgec.package import Package, as_package
from edgec.package.manifest import read_listed
from edgec.pipeline.evaluation import Data, open_model
from edgec.pipeline.models import PRUNED, Progress, read_pruned, samples_of
from edgec.quant.decisions.calibration import fingerprint
from edgec.quant.findings.diagnose import diagnose as diagnose_layers
from edgec.records.diagnosis import Diagnosis
from edgec.reports import check_diagnosis_form, write_diagnosis
from edgec.settings.forms_of_text import OperatorSources

CALIBRATION = "calibration.json"


def diagnose(
    model: str | Path, package: Package | str | Path, data: Data, *, samples: int | None = None, report: str | Path | None = None,
    force: bool = False, operators: OperatorSources = (), progress: Progress | None = None,
) -> Diagnosis:  # fmt: skip
    """What each layer of an INT8 package loses over a data set, by itself and with all before it, and what to try next.

    report: a file to write, .html (a page with plots) or .json. The package is not run. UsageError for one that edgec did not quantize.
    """
    package = as_package(package)
    if report is not None:
        check_diagnosis_form(Path(report))
        named = [Path(data)] if isinstance(data, (str, Path)) else []
        check_outputs([Path(report)], [path for path in (onnx_path(model), *named) if path.is_file()], force=force)
    found = diagnose_package(onnx_path(model), package, data, samples, progress, operators)
    if report is not None:
        write_diagnosis(found, f"{package.manifest.name}: layers", Path(report), force=force)
    return found


def diagnose_package(
    model: Path, package: Package, data: Data, samples: int | None = None, progress: Progress | None = None,
    operators: OperatorSources = (),
) -> Diagnosis:  # fmt: skip
    """With the shapes and the pre-processing of the package's build. samples: at most that many.

    UsageError for a package that edgec did not quantize, or not from this model. The package is not run.
    """
    content = decisions_of(package)
    loaded, config = open_model(model, package, data, samples, operators)
    if package.manifest.pruning is not None:
        loaded = read_pruned(loaded, read_listed(package.directory, package.manifest, PRUNED), config)
    if package.manifest.options.also_shape:  # the same decisions hold for every set of shapes
        content = {**content, "model": fingerprint(loaded.graph)}
    source = samples_of(loaded.graph, config)
    assert source is not None
    try:
        return diagnose_layers(loaded.graph, content, source, progress)
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
