"""Build a package from a model, and the plan of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgec.base.signals import ending_cleanly
from edgec.exporters import path_of
from edgec.package import Package
from edgec.pipeline import finish
from edgec.pipeline.prepare import Plan, prepare
from edgec.settings.config import BuildConfig, configure

if TYPE_CHECKING:  # they load most of edgec, which an identical build does without
    from edgec.pipeline.evaluation import Data
    from edgec.pipeline.models import Progress


@ending_cleanly()
def build(
    model: Any, *, target: str = "host", precision: str = "int8", calib: Data | None = None, out: str | Path | None = None,
    config: BuildConfig | None = None, progress: Progress | None = None, example_inputs: Any = None, **settings: Any,
) -> Package:  # fmt: skip
    """Build a package from an ONNX file, and examine it in every vocabulary that can run here: a package that fails is not left there.

    model: the path of a file, or a network in the memory of PyTorch, Keras or scikit-learn, which their own exporters write as an ONNX
    file. example_inputs: what such a network is called with: a tuple, or a dict by the names of its arguments.
    calib: a data file or folder; arrays by input name (for a model of one input, an array), the samples along their first axis; or a
    function that gives an iterable of {input name: array} each time it is called.
    settings: any further field of BuildConfig. config: everything at once instead. Raises EdgecError. Ctrl-C and other signals that ask
    the process to end, where the caller has no handler for them, are KeyboardInterrupt and SystemExit here: nothing unfinished stays.
    """
    config = config or configure(target=target, precision=precision, calib=calib, out=out, **settings)
    return finish.build(path_of(model, config, example_inputs), config, progress)


def plan(model: Any, *, config: BuildConfig | None = None, example_inputs: Any = None, **settings: Any) -> Plan:
    """What build() would do with these arguments, without starting a program that they name but for the exporter of a model.

    Raises every reason to refuse them that needs no long work.
    """
    config = config or configure(**settings)
    return prepare(path_of(model, config, example_inputs), config, start=False)
