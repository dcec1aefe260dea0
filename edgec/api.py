"""The public Python interface: one function for each verb of the command line, which merely calls it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from edgec.base.output import check_outputs, write_file
from edgec.benching import Bench, bench
from edgec.deployment import Deployed, deploy
from edgec.diagnosing import diagnose_package
from edgec.exam.comparison import Comparison, compare_answers
from edgec.frontend.file.formats import refuse_foreign
from edgec.inspection import Inspection, inspect_model, inspect_package
from edgec.package import Package
from edgec.pipeline import compiler
from edgec.pipeline.evaluation import Arrays, Data, Labels, open_evaluation, read_arrays
from edgec.pipeline.models import Progress, int8_model, prune_model, quantize_model, read_model
from edgec.pipeline.prepare import Plan, check_data, check_file, check_profile, dumped, inputs_of, model_path, prepare
from edgec.provenance.copy import verified_copy
from edgec.provenance.verify import Verified, verify_package
from edgec.quant import Quantized
from edgec.records.diagnosis import Diagnosis
from edgec.report import check_diagnosis_form, render_quantization, write_diagnosis
from edgec.settings.config import BuildConfig, configure

__all__ = [
    "Bench",
    "Deployed",
    "Verified",
    "bench",
    "build",
    "compare",
    "deploy",
    "diagnose",
    "inspect",
    "plan",
    "quantize",
    "run",
    "verify",
]


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
    return compiler.build(model_path(model), config, progress)


def plan(model: str | Path, *, config: BuildConfig | None = None, **settings: Any) -> Plan:
    """What build() would do with these arguments, without starting a program that they name.

    Raises every reason to refuse them that needs no long work.
    """
    return prepare(model_path(model), config or configure(**settings), start=False)


def quantize(
    model: str | Path, *, calib: Data | None = None, out: str | Path | None = None, report: str | Path | None = None,
    config: BuildConfig | None = None, progress: Progress | None = None, **settings: Any,
) -> Quantized:  # fmt: skip
    """Calibrate and quantize; write the standard INT8 ONNX file to `out`, and the report of every layer to `report`, when given.

    The report is a page where its name ends in .html, else JSON. Where channels are removed, the float network that is left is written
    beside `out`, as NAME.pruned.onnx.
    """
    config, model = config or configure(calib=calib, **settings), model_path(model)
    check_file(model)
    check_data(config)
    check_profile(config)
    pruned = _pruned_beside(Path(out)) if out is not None and config.prune is not None else None
    outputs = [Path(path) for path in (out, report, pruned) if path is not None]
    check_outputs([*outputs, *dumped(config)], inputs_of(model, config), force=config.force)
    loaded = prune_model(read_model(model, config), config, progress)
    quantized = quantize_model(loaded, config, progress)
    if out is not None:
        write_file(Path(out), int8_model(quantized), ".onnx", force=config.force)
    if pruned is not None and loaded.pruning is not None:
        write_file(pruned, loaded.pruning.content, ".onnx", force=config.force)
    if report is not None:
        facts, form = quantized.report.to_json(), ".html" if Path(report).suffix.lower() == ".html" else ".json"
        content = render_quantization(facts, model.name).encode() if form == ".html" else compiler.json_bytes(facts)
        write_file(Path(report), content, form, force=config.force)
    return quantized


def run(
    package: Package | str | Path, inputs: str | Path | Mapping[str, np.ndarray], *, out: str | Path | None = None,
    isa: str | None = None, threads: int = 1, key: str | Path | None = None, force: bool = False,
) -> Arrays:  # fmt: skip
    """Run a package over a dict of arrays, an .npz or an .npy file; write the outputs to `out` (.npz) when given.

    key: a file with the public ed25519 key that must have signed the package; what runs are the very bytes that were verified.

    Arrays whose first extent is a multiple of the package's hold several samples: the outputs are joined along their first axis. One whose
    shape only a run knows gets an axis for the samples, zeros behind what each has found, and beside it its NAME_shape, [samples, axes].

    Arrays of a file that the package does not take are left alone. force: `out` may be the input, or a file that edgec did not write.
    """
    if out is not None:
        check_outputs([Path(out)], [Path(inputs)] if isinstance(inputs, (str, Path)) else [], force=force)
    package = _package(package)
    if key is not None:
        with verified_copy(package.directory, Path(key)) as copy:
            return run(Package(copy), inputs, out=out, isa=isa, threads=threads, force=force)
    names = [tensor.name for tensor in package.inputs]
    if isinstance(inputs, Mapping):
        arrays = {name: np.asarray(array) for name, array in inputs.items()}
    else:
        found = read_arrays(Path(inputs), names)
        arrays = {name: found[name] for name in found if name in names} or found
    with package.load(isa=isa, threads=threads) as runner:
        results, names = [runner(part) for part in _parts(package, arrays)], runner.names
    told = {tensor.shape_of: tensor.name for tensor in package.outputs}
    outputs: Arrays = {}
    for name, columns in zip(names, zip(*results, strict=True), strict=True):
        if len(columns) > 1 and name in told:
            outputs |= {name: _padded(columns), told[name]: np.array([column.shape for column in columns], np.int64)}
        else:
            outputs[name] = columns[0] if len(columns) == 1 else _joined(columns)
    if out is not None:
        _write_arrays(Path(out), outputs, force)
    return outputs


def compare(
    model: str | Path, package: Package | str | Path, data: Data, *, labels: Labels | None = None, samples: int | None = None,
    isa: str | None = None, progress: Progress | None = None,
) -> Comparison:  # fmt: skip
    """Compare a package with its float model (ONNX Runtime) over a data set, with the shapes and the pre-processing of its build.

    labels: class indices, an .npy file of them, or the name of their array in the .npz `data`. samples: at most that many.
    """
    package = _package(package)
    opened = open_evaluation(model_path(model), package, data, labels, samples)
    inputs, outputs = package.inputs, package.outputs  # asking a package reads its manifest
    with package.load(isa=isa, whole=True) as runner:

        def answer(sample: Arrays) -> list[np.ndarray]:
            found = runner({tensor.name: tensor.face.of_model(sample[tensor.name]) for tensor in inputs})
            return [tensor.face.to_model(array, opened.outputs[tensor.name]) for tensor, array in zip(outputs, found, strict=True)]

        counted = _counted(opened.samples(), progress)
        found = compare_answers(list(opened.outputs), counted, opened.reference, answer, opened.labels)
    return found.warned((layer.sqnr, layer.node) for layer in package.manifest.quantization)


def diagnose(
    model: str | Path, package: Package | str | Path, data: Data, *, samples: int | None = None, report: str | Path | None = None,
    force: bool = False, progress: Progress | None = None,
) -> Diagnosis:  # fmt: skip
    """What each layer of an INT8 package loses over a data set, by itself and with all before it, and what to try next.

    report: a file to write, .html (a page with plots) or .json. The package is not run. UsageError for one that edgec did not quantize.
    """
    package = _package(package)
    if report is not None:
        check_diagnosis_form(Path(report))
        named = [Path(data)] if isinstance(data, (str, Path)) else []
        check_outputs([Path(report)], [path for path in (model_path(model), *named) if path.is_file()], force=force)
    found = diagnose_package(model_path(model), package, data, samples, progress)
    if report is not None:
        write_diagnosis(found, f"{package.manifest.name}: layers", Path(report), force=force)
    return found


def inspect(model: str | Path, *, config: BuildConfig | None = None, **settings: Any) -> Inspection:
    """What an ONNX file or a package directory holds."""
    path = model_path(model)
    refuse_foreign(path)
    if path.is_dir():
        return inspect_package(Package(path))
    check_file(path)
    return inspect_model(path, config or configure(**settings))


def verify(package: Package | str | Path, *, key: str | Path | None = None) -> Verified:
    """Check that a package directory is what build() wrote; with `key`, a file with a public ed25519 key, that this key signed it.

    GateError with everything that is wrong otherwise. Nothing of the package is run.
    """
    return verify_package(package.directory if isinstance(package, Package) else Path(package), Path(key) if key is not None else None)


def _pruned_beside(out: Path) -> Path:
    """model.int8.onnx -> model.pruned.onnx."""
    return out.with_name(out.name.removesuffix(".onnx").removesuffix(".int8") + ".pruned.onnx")


def _package(package: Package | str | Path) -> Package:
    return package if isinstance(package, Package) else Package(Path(package))


def _counted(samples: Iterable[Arrays], progress: Progress | None) -> Iterable[Arrays]:
    for index, sample in enumerate(samples):
        yield sample
        if progress is not None:
            progress("comparing", index + 1, 0)


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


def _joined(columns: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(columns) if columns[0].ndim else np.stack(columns)


def _padded(columns: Sequence[np.ndarray]) -> np.ndarray:
    """[samples, the largest extent of each axis], with zeros behind what a sample has."""
    whole = np.zeros((len(columns), *np.max([column.shape for column in columns], axis=0)), columns[0].dtype)
    for row, column in zip(whole, columns, strict=True):
        row[tuple(map(slice, column.shape))] = column
    return whole


def _write_arrays(path: Path, arrays: Arrays, force: bool) -> None:
    stream = BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    write_file(path, stream.getvalue(), ".npz", force=force)
