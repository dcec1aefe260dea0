"""The public Python interface: one function for each verb of the command line, which merely calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from edgec import pipeline
from edgec.comparison import Comparison, compare_answers
from edgec.config import BuildConfig, configure
from edgec.errors import Problem, UsageError, did_you_mean
from edgec.inspection import Inspection, inspect_model, inspect_package
from edgec.output import write_file
from edgec.package import Package
from edgec.pipeline import Progress
from edgec.preparation import Plan, check_data, check_file, prepare
from edgec.quant import Quantized

Arrays = dict[str, np.ndarray]
Calibration = str | Path | Callable[[], Iterable[Any]] | Mapping[str, np.ndarray] | np.ndarray
Labels = str | Path | Sequence[int] | np.ndarray


def build(
    model: str | Path, *, target: str = "host", precision: str = "int8", calib: Calibration | None = None, out: str | Path | None = None,
    config: BuildConfig | None = None, progress: Progress | None = None, **settings: Any,
) -> Package:  # fmt: skip
    """Build a package from an ONNX file.

    calib: a data file or folder; arrays by input name (for a model of one input, an array), the samples along their first axis; or a
    function that gives an iterable of {input name: array} each time it is called.
    settings: any further field of BuildConfig. config: everything at once instead. Raises EdgecError.
    """
    config = config or configure(target=target, precision=precision, calib=calib, out=out, **settings)
    return pipeline.build(Path(model), config, progress)


def plan(model: str | Path, *, config: BuildConfig | None = None, **settings: Any) -> Plan:
    """What build() would do with these arguments. Raises every reason to refuse them that needs no long work."""
    return prepare(Path(model), config or configure(**settings))


def quantize(
    model: str | Path, *, calib: Calibration | None = None, out: str | Path | None = None, report: str | Path | None = None,
    config: BuildConfig | None = None, progress: Progress | None = None, **settings: Any,
) -> Quantized:  # fmt: skip
    """Calibrate and quantize; write the standard INT8 ONNX file to `out` and the report of every layer to `report` when given."""
    config = config or configure(calib=calib, **settings)
    check_file(Path(model))
    check_data(config)
    quantized = pipeline.quantize_model(pipeline.read_model(Path(model), config), config, progress)
    if out is not None:
        write_file(Path(out), pipeline.int8_model(quantized))
    if report is not None:
        write_file(Path(report), pipeline.json_bytes(quantized.report.to_json()))
    return quantized


def run(
    package: Package | str | Path, inputs: str | Path | Mapping[str, np.ndarray], *, out: str | Path | None = None,
    isa: str | None = None, threads: int = 1,
) -> Arrays:  # fmt: skip
    """Run a package over a dict of arrays, an .npz or an .npy file; write the outputs to `out` (.npz) when given.

    Arrays whose first extent is a multiple of the package's hold several samples: the outputs are joined along their first axis.
    Arrays of a file that the package does not take are left alone.
    """
    package = _package(package)
    names = [tensor.name for tensor in package.inputs]
    if isinstance(inputs, Mapping):
        arrays = {name: np.asarray(array) for name, array in inputs.items()}
    else:
        found = _read_arrays(Path(inputs), names)
        arrays = {name: found[name] for name in found if name in names} or found
    with package.load(isa=isa, threads=threads) as runner:
        results = [runner(part) for part in _parts(package, arrays)]
    columns = [results[0][index] if len(results) == 1 else _joined(results, index) for index in range(len(package.outputs))]
    outputs = dict(zip([tensor.name for tensor in package.outputs], columns, strict=True))
    if out is not None:
        _write_arrays(Path(out), outputs)
    return outputs


def compare(
    model: str | Path, package: Package | str | Path, data: Calibration, *, labels: Labels | None = None, samples: int | None = None,
    isa: str | None = None, progress: Progress | None = None,
) -> Comparison:  # fmt: skip
    """Compare a package with its float model (ONNX Runtime) over a data set, with the shapes and the pre-processing of its build.

    labels: class indices, an .npy file of them, or the name of their array in the .npz `data`. samples: at most that many.
    """
    package = _package(package)
    check_file(Path(model))
    options = package.manifest.get("options", {})
    kept = {key: options.get(key) for key in ("shape", "preprocess", "fuse_preprocess")}
    config = configure(calib=data, samples=samples, **kept)
    check_data(config)
    loaded = pipeline.read_model(Path(model), config)
    _check_same(loaded.original.inputs, loaded.original.outputs, package)
    known = None if labels is None else _labels(labels, data)
    source = pipeline.samples_of(loaded.original, config)
    assert source is not None
    with package.load(isa=isa) as runner:

        def answer(sample: Arrays) -> list[np.ndarray]:
            found = runner({tensor.name: tensor.face.of_model(sample[tensor.name]) for tensor in package.inputs})
            pairs = zip(package.outputs, found, strict=True)
            return [tensor.face.to_model(array, loaded.original.dtype(tensor.name).numpy) for tensor, array in pairs]

        reference = pipeline.reference_of(loaded, config)
        return compare_answers(loaded.original.outputs, _counted(source(), progress), reference, answer, known)


def inspect(model: str | Path, *, config: BuildConfig | None = None, **settings: Any) -> Inspection:
    """What an ONNX file or a package directory holds."""
    path = Path(model)
    if path.is_dir():
        return inspect_package(Package(path))
    check_file(path)
    return inspect_model(path, config or configure(**settings))


def _package(package: Package | str | Path) -> Package:
    return package if isinstance(package, Package) else Package(Path(package))


def _check_same(inputs: Sequence[str], outputs: Sequence[str], package: Package) -> None:
    """The names of the interface tell whether a package can come from a model."""
    ours = {tensor.name for tensor in (*package.inputs, *package.outputs)}
    if ours != {*inputs, *outputs}:
        hint = f"it has {', '.join(sorted(ours))}; the model has {', '.join((*inputs, *outputs))}"
        raise UsageError("the package was built from another model", where=str(package.directory), hint=hint)


def _counted(samples: Iterable[Arrays], progress: Progress | None) -> Iterable[Arrays]:
    for index, sample in enumerate(samples):
        yield sample
        if progress is not None:
            progress("comparing", index + 1, 0)


def _labels(labels: Labels, data: Calibration) -> np.ndarray:
    """Class indices in the order of the samples."""
    if not isinstance(labels, (str, Path)):
        found = np.asarray(labels)
    elif str(labels).endswith(".npy"):
        found = _read_arrays(Path(labels), ["labels"])["labels"]
    else:
        arrays = _named_arrays(data)
        if labels not in arrays:
            hint = did_you_mean(str(labels), arrays) if arrays else "give an .npy file, or the name of an array in the .npz"
            raise UsageError(f"no array {labels!r}", where="labels", hint=hint)
        found = arrays[str(labels)]
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise UsageError(f"labels are {found.dtype}{list(found.shape)}, must be one whole number a sample")
    return found


def _named_arrays(data: Calibration) -> Mapping[str, np.ndarray]:
    """The arrays among which labels can be found by name."""
    if isinstance(data, Mapping):
        return data
    return _read_arrays(Path(data), []) if isinstance(data, (str, Path)) and str(data).endswith(".npz") else {}


def _parts(package: Package, arrays: Arrays) -> list[Arrays]:
    """The inputs of each run: one, unless every array holds the same number of samples along its first axis."""
    counts = set()
    if set(arrays) != {tensor.name for tensor in package.inputs}:
        return [arrays]
    for tensor in package.inputs:
        array = arrays[tensor.name]
        if not tensor.shape or array.ndim != len(tensor.shape) or array.shape[1:] != tensor.shape[1:]:
            return [arrays]
        counts.add(array.shape[0] / tensor.shape[0])
    if len(counts) != 1 or (count := counts.pop()) != int(count) or count < 2:
        return [arrays]
    step = {tensor.name: tensor.shape[0] for tensor in package.inputs}
    return [{name: array[i * step[name] : (i + 1) * step[name]] for name, array in arrays.items()} for i in range(int(count))]


def _joined(results: Sequence[Sequence[np.ndarray]], index: int) -> np.ndarray:
    columns = [result[index] for result in results]
    return np.concatenate(columns) if columns[0].ndim else np.stack(columns)


def _read_arrays(path: Path, names: Sequence[str]) -> Arrays:
    """Arrays of an .npz, or the single array of an .npy under the only name. Pickled data is refused."""
    try:
        content = np.load(path, allow_pickle=False)
        if not isinstance(content, np.ndarray):
            with content:
                return {name: content[name] for name in content.files}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        what = "it holds no plain arrays" if "pickle" in str(error) else str(error)
        raise UsageError(f"cannot read: {what}", where=str(path), hint="give an .npz or .npy file that numpy wrote") from error
    if len(names) != 1:
        problems = [Problem("missing", f"input {name}") for name in names]
        raise UsageError(f"one array for {len(names)} inputs", problems, where=str(path), hint="give an .npz with one array an input")
    return {names[0]: content}


def _write_arrays(path: Path, arrays: Arrays) -> None:
    stream = BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    write_file(path, stream.getvalue())
