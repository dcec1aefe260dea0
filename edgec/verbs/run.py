"""Run a package over arrays, as many samples as they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np

from edgec.base.output import check_outputs, write_file
from edgec.package import Package, Tensor, as_package, sets_of
from edgec.pipeline.evaluation import Arrays, read_arrays
from edgec.provenance.copy import verified_copy


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
    package = as_package(package)
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


def _parts(package: Package, arrays: Arrays) -> list[Arrays]:
    """The inputs of each run: one, unless every array holds the same number of samples along its first axis.

    Where several sets of shapes fit, the one that needs the fewest runs.
    """
    sets = [inputs for inputs, _ in sets_of(package.inputs, package.outputs).values()]
    found = [(count, inputs) for inputs in sets if (count := _runs(inputs, arrays))]
    if not found:
        return [arrays]
    count, inputs = min(found, key=lambda pair: pair[0])
    step = {tensor.name: tensor.shape[0] for tensor in inputs if count > 1}
    if count == 1:
        return [arrays]
    return [{name: array[i * step[name] : (i + 1) * step[name]] for name, array in arrays.items()} for i in range(count)]


def _runs(inputs: Sequence[Tensor], arrays: Arrays) -> int:
    """How many runs the arrays are for, with inputs of these shapes; 0 where they do not fit."""
    if set(arrays) != {tensor.name for tensor in inputs}:
        return 0
    pairs = [(tensor.shape, arrays[tensor.name].shape) for tensor in inputs]
    if all(own == given for own, given in pairs):
        return 1
    if not all(own and len(own) == len(given) and own[1:] == given[1:] for own, given in pairs):
        return 0
    counts = {given[0] / own[0] for own, given in pairs}
    count = counts.pop()
    return int(count) if not counts and count == int(count) else 0


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
