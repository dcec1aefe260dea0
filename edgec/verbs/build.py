"""Build a package from a model, and the plan of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgec.package import Package
from edgec.pipeline import finish
from edgec.pipeline.prepare import Plan, model_path, prepare
from edgec.settings.config import BuildConfig, configure

if TYPE_CHECKING:  # they load most of edgec, which an identical build does without
    from edgec.pipeline.evaluation import Data
    from edgec.pipeline.models import Progress


def build(
    model: str | Path, *, target: str = "host", precision: str = "int8", calib: Data | None = None, out: str | Path | None = None,
    config: BuildConfig | None = None, progress: Progress | None = None, **settings: Any,
) -> Package:  # fmt: skip
    """Build a package from an ONNX file, and examine it in every vocabulary that can run here: a package that fails is not left there.

    calib: a data file or folder; arrays by input name (for a model of one input, an array), the samples along their first axis; or a
    function that gives an iterable of {input name: array} each time it is called.
    settings: any further field of BuildConfig. config: everything at once instead. Raises EdgecError.
    """
    config = config or configure(target=target, precision=precision, calib=calib, out=out, **settings)
    return finish.build(model_path(model), config, progress)


def plan(model: str | Path, *, config: BuildConfig | None = None, **settings: Any) -> Plan:
    """What build() would do with these arguments, without starting a program that they name.

    Raises every reason to refuse them that needs no long work.
    """
    return prepare(model_path(model), config or configure(**settings), start=False)
