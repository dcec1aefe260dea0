"""A model and a data set, opened to judge packages by: samples, the float model's answers, labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from edgec.base.errors import Problem, UsageError, did_you_mean
from edgec.exam.judging import Evaluation
from edgec.exam.streaming import Stream
from edgec.package import Package
from edgec.pipeline.models import Model, read_model, reference_of, samples_of
from edgec.pipeline.prepare import check_data, check_file, check_operators
from edgec.quant.given.array_files import read_array_file
from edgec.settings.config import BuildConfig, configure
from edgec.settings.forms_of_text import Calibration, OperatorSources

Arrays = dict[str, np.ndarray]
Data: TypeAlias = "Calibration | Path"
Labels = str | Path | Sequence[int] | np.ndarray


def open_evaluation(
    model: Path, package: Package, data: Data, labels: Labels | None = None, samples: int | None = None,
    operators: OperatorSources = (),
) -> Evaluation:  # fmt: skip
    """With the shapes and the pre-processing of the package's build. samples: at most that many. UsageError when they do not fit."""
    loaded, config = open_model(model, package, data, samples, operators)
    graph = loaded.original
    known = None if labels is None else read_labels(labels, data)
    source = samples_of(graph, config)
    assert source is not None
    types = {name: graph.dtype(name).numpy for name in graph.answered}
    return Evaluation(tuple(graph.given), types, source, Stream(graph, reference_of(loaded, config)), known)


def open_model(
    model: Path, package: Package, data: Data, samples: int | None = None, operators: OperatorSources = ()
) -> tuple[Model, BuildConfig]:  # fmt: skip
    """The model as the package's build read it, and the settings that give the samples of `data`. UsageError when they do not fit."""
    check_file(model)
    options = kept_options(package) | {"shape": _shapes_of(package, data)}
    config = configure(calib=str(data) if isinstance(data, Path) else data, samples=samples, operators=operators, **options)
    check_data(config)
    check_operators(config)
    loaded = read_model(model, config)
    _check_same(loaded.original.given, loaded.original.answered, package)
    _check_operators(loaded, package)
    return loaded, config


def kept_options(package: Package) -> dict[str, object]:
    """What of a package's build decides the meaning of a sample."""
    options = package.manifest.options
    part = {"input": dict(options.input or {}), "output": options.output or (), "constant": dict(options.constant or {})}
    part["state"] = {name: (state.output, state.start) for name, state in (options.state or {}).items()}
    return {"shape": options.shape, "preprocess": options.preprocess, "fuse_preprocess": options.fuse_preprocess, **part}


def _shapes_of(package: Package, data: Data) -> Mapping[str, Sequence[int]]:
    """Of the sets of shapes that a package takes the first that arrays by name fit, and else the first."""
    options = package.manifest.options
    if not options.also_shape:
        return options.shape
    sets = [options.shape, *({**options.shape, **more} for more in options.also_shape)]
    rows = {name: array.shape[1:] for name, array in _named_arrays(data).items()}
    return next((shapes for shapes in sets if all(rows.get(name) == tuple(shape[1:]) for name, shape in shapes.items())), options.shape)


def read_labels(labels: Labels, data: Data) -> np.ndarray:
    """Class indices in the order of the samples: themselves, an .npy file, or the name of an array in the .npz `data`."""
    if not isinstance(labels, (str, Path)):
        found = np.asarray(labels)
    elif str(labels).endswith(".npy"):
        found = read_arrays(Path(labels), ["labels"])["labels"]
    else:
        arrays = _named_arrays(data)
        if labels not in arrays:
            hint = did_you_mean(str(labels), arrays) if arrays else "give an .npy file, or the name of an array in the .npz"
            raise UsageError(f"no array {labels!r}", where="labels", hint=hint)
        found = arrays[str(labels)]
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise UsageError(f"labels are {found.dtype}{list(found.shape)}, must be one whole number a sample")
    return found


def read_arrays(path: Path, names: Sequence[str]) -> Arrays:
    """Arrays of an .npz, or the single array of an .npy under the only name. Pickled data is refused."""
    content = read_array_file(path)
    if isinstance(content, dict):
        return content
    if len(names) != 1:
        problems = [Problem("missing", f"input {name}") for name in names]
        raise UsageError(f"one array for {len(names)} inputs", problems, where=str(path), hint="give an .npz with one array an input")
    return {names[0]: content}


def _check_same(inputs: Sequence[str], outputs: Sequence[str], package: Package) -> None:
    """The names of the interface tell whether a package can come from a model."""
    ours = {tensor.name for tensor in (*package.inputs, *package.outputs)}
    if ours != {*inputs, *outputs}:
        hint = f"it has {', '.join(sorted(ours))}; the model has {', '.join((*inputs, *outputs))}"
        raise UsageError("the package was built from another model", where=str(package.directory), hint=hint)


def _check_operators(loaded: Model, package: Package) -> None:
    """Those that the package was built with are those that the model is read with."""
    built = package.manifest.options.operators or {}
    changed = [name for name, sha256 in loaded.operators.items() if built.get(name) != sha256]
    if changed:
        hint = "give the file of the build with --operators, or build the package again"
        raise UsageError(f"the package was built with another {' and '.join(changed)}", where=str(package.directory), hint=hint)


def _named_arrays(data: Data) -> Mapping[str, np.ndarray]:
    """The arrays among which labels can be found by name."""
    if isinstance(data, Mapping):
        return data
    return read_arrays(Path(data), []) if isinstance(data, (str, Path)) and str(data).endswith(".npz") else {}
