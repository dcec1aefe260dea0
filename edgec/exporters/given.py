"""What a caller gives as a model, as the path of a file that edgec reads."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from edgec.base.errors import UsageError
from edgec.exporters.files import exported_file
from edgec.exporters.networks import exported_network
from edgec.settings.config import BuildConfig


def onnx_path(
    model: object, *, example_inputs: Any = None, trusted: bool = False, cached: bool = True, seconds: int = 600
) -> Path:  # fmt: skip
    """The path that was given; of a model of another library that of the ONNX file which its exporter makes, and which lasts as long as
    this program.

    example_inputs: what a network in memory is called with. trusted: whether a file may be loaded by what may run code in it.
    UsageError for what is no model, ModelError where the exporter cannot do it. A file whose exporter is not installed or not to be used
    is given back, for the reader to refuse.
    """
    if not (isinstance(model, (str, PathLike)) and isinstance(path := fspath(model), str)):
        return exported_network(model, example_inputs, _folder)
    if example_inputs is not None:
        raise UsageError(
            "only networks in memory are called with them", where="example_inputs", hint="leave them out: the file says its shapes"
        )
    return exported_file(Path(path), trusted, cached, seconds, _folder)


def path_of(model: object, config: BuildConfig, example_inputs: Any = None) -> Path:
    """The same as the settings of a build say."""
    return onnx_path(
        model, example_inputs=example_inputs, trusted=config.trust_model, cached=config.cache, seconds=config.budget.seconds
    )  # fmt: skip


def _folder() -> Path:
    """An empty one, which goes when this program ends."""
    folder = Path(tempfile.mkdtemp(prefix="edgec-exported-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
