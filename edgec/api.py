"""The public Python interface: one function for each verb of the command line, which merely calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgec import pipeline
from edgec.comparison import Comparison, compare_answers
from edgec.config import BuildConfig
from edgec.errors import UsageError
from edgec.inspection import Inspection, inspect_model, inspect_package
from edgec.output import write_file
from edgec.package import Package
from edgec.pipeline import Progress
from edgec.quant import Quantized
from edgec.reference import FloatModel

Arrays = dict[str, np.ndarray]
Calibration = str | Path | Callable[[], Iterable[Arrays]]


def build(
    model: str | Path, *, target: str = "host", precision: str = "int8", calib: Calibration | None = None, out: str | Path | None = None,
    config: BuildConfig | None = None, progress: Progress | None = None, **settings: Any,
) -> Package:  # fmt: skip
    """Build a package from an ONNX file.

    calib: a data file or folder, or a function that gives an iterable of {input name: array} each time it is called.
    settings: any further field of BuildConfig. config: everything at once instead. Raises EdgecError.
    """
    if config is None:
        config = BuildConfig(target=target, precision=precision, calib=_calibration(calib), out=Path(out) if out else None, **settings)
    return pipeline.build(Path(model), config, progress)


def quantize(
    model: str | Path, *, calib: Calibration | None = None, out: str | Path | None = None, report: str | Path | None = None,
    config: BuildConfig | None = None, progress: Progress | None = None, **settings: Any,
) -> Quantized:  # fmt: skip
    """Calibrate and quantize; write the standard INT8 ONNX file to `out` and the report of every layer to `report` when given."""
    config = config or BuildConfig(calib=_calibration(calib), **settings)
    quantized = pipeline.quantize_model(pipeline.read_model(Path(model), config), config, progress)
    if out is not None:
        write_file(Path(out), pipeline.int8_model(quantized))
    if report is not None:
        write_file(Path(report), pipeline.json_bytes(quantized.report.layers))
    return quantized


def run(
    package: Package | str | Path,
    inputs: str | Path | Mapping[str, np.ndarray],
    *,
    out: str | Path | None = None,
    isa: str | None = None,
    threads: int = 1,
) -> Arrays:
    """Run a package once over a dict of arrays, an .npz or an .npy file; write the outputs to `out` (.npz) when given."""
    package = package if isinstance(package, Package) else Package(Path(package))
    arrays = inputs if isinstance(inputs, Mapping) else _read_arrays(Path(inputs), [tensor.name for tensor in package.inputs])
    with package.load(isa=isa, threads=threads) as runner:
        outputs = dict(zip([tensor.name for tensor in package.outputs], runner(dict(arrays)), strict=True))
    if out is not None:
        _write_arrays(Path(out), outputs)
    return outputs


def compare(
    model: str | Path, package: Package | str | Path, data: Calibration, *, labels: str | Sequence[int] | np.ndarray | None = None,
    isa: str | None = None, config: BuildConfig | None = None, progress: Progress | None = None,
) -> Comparison:  # fmt: skip
    """Compare a package with its float model (ONNX Runtime) over a data set; pre-processing as in the build's configuration."""
    package = package if isinstance(package, Package) else Package(Path(package))
    config = replace(config or BuildConfig(), calib=_calibration(data))
    loaded = pipeline.read_model(Path(model), config)
    samples = pipeline.samples_of(loaded.original, config)
    assert samples is not None
    reference = FloatModel(loaded.original)
    counted = _counted(samples(), progress)
    with package.load(isa=isa) as runner:
        return compare_answers(loaded.original.outputs, counted, reference, lambda sample: runner(sample), _labels(labels, config))


def inspect(model: str | Path, *, config: BuildConfig | None = None) -> Inspection:
    """What an ONNX file or a package directory holds."""
    path = Path(model)
    return inspect_package(Package(path)) if path.is_dir() else inspect_model(path, config or BuildConfig())


def _calibration(calib: Calibration | None) -> Any:
    return str(calib) if isinstance(calib, Path) else calib


def _counted(samples: Iterable[Arrays], progress: Progress | None) -> Iterable[Arrays]:
    for index, sample in enumerate(samples):
        yield sample
        if progress is not None:
            progress("comparing", index + 1, index + 1)


def _labels(labels: str | Sequence[int] | np.ndarray | None, config: BuildConfig) -> np.ndarray | None:
    """Labels given as an array, as an .npy file, or as the name of an array beside the data in its .npz."""
    if labels is None or not isinstance(labels, str):
        return None if labels is None else np.asarray(labels)
    if labels.endswith(".npy"):
        return np.asarray(_read_arrays(Path(labels), ["labels"])["labels"])
    arrays = _read_arrays(Path(str(config.calib)), [])
    if labels not in arrays:
        raise UsageError(f"no array {labels!r}", where=str(config.calib), hint=f"it holds {', '.join(arrays)}")
    return arrays[labels]


def _read_arrays(path: Path, names: Sequence[str]) -> Arrays:
    """Arrays of an .npz, or the single array of an .npy under the only name. Pickled data is refused."""
    try:
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            if len(names) != 1:
                raise UsageError(f"one array for {len(names)} inputs", where=str(path), hint="give an .npz with one array an input")
            return {names[0]: content}
        return {name: content[name] for name in content.files}
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"cannot read: {error}", where=str(path), hint="give an .npz or .npy file that numpy wrote") from error


def _write_arrays(path: Path, arrays: Arrays) -> None:
    from io import BytesIO

    stream = BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    write_file(path, stream.getvalue())
