"""Calibration data: arrays in a file, a folder of pictures, or a function, as samples of the model's inputs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from edgec.base.errors import EdgecError, Problem, UsageError, did_you_mean
from edgec.ir.graph import Graph
from edgec.ir.types import DType
from edgec.quant.given.array_files import FORMATS, pictures_in, read_array_file, read_picture
from edgec.quant.given.options import Sample, Samples
from edgec.quant.given.preprocess import Preprocess

WIDENED = {"float16": "float32", "float64": "float32", "int32": "int64", "int8": "int64"}  # what becomes a model's type without a word
Source = str | Path | Callable[[], Iterable[Any]] | Mapping[str, np.ndarray] | np.ndarray


def open_samples(source: Source, graph: Graph, preprocess: Preprocess | None = None, *, limit: int | None = None) -> Samples:
    """The samples that `source` names, opened anew at each call of the result.

    source: an .npz (arrays by input name; for a model of one input any single fitting array), an .npy, a folder of pictures,
    `file.py:function`, a function, or the arrays themselves; a function yields dicts of arrays, or arrays for a model of one input.
    Arrays have the samples along their first axis; uint8 pictures [N, H, W, C] go through `preprocess` when it is given.
    Raises UsageError with everything that is wrong.
    """
    if isinstance(source, np.ndarray):
        source = {graph.given[0]: source}
    if isinstance(source, Mapping):
        opened = from_arrays(source, graph, preprocess, "arrays")
    else:
        opened = from_function(source, graph, preprocess) if callable(source) else from_path(str(source), graph, preprocess)

    def samples() -> Iterator[Sample]:
        return islice(iter(opened()), limit)

    return samples


def from_path(text: str, graph: Graph, preprocess: Preprocess | None) -> Samples:
    path = Path(text)
    if path.is_dir():
        return from_folder(path, graph, preprocess)
    if ".py:" in text:
        return from_function(load_function(text), graph, preprocess)
    if not path.exists():
        raise UsageError("no such file or folder", where=text)
    if not path.is_file():  # a pipe would be waited for
        raise UsageError("is no file", where=text, hint="give an .npz or .npy file")
    return from_arrays(read_arrays(path, graph), graph, preprocess, text)


def read_arrays(path: Path, graph: Graph) -> dict[str, np.ndarray]:
    """The arrays of an .npz, or the one of an .npy under the name of the only input; pickled data is refused."""
    content = read_array_file(path)
    return content if isinstance(content, dict) else {graph.given[0] if len(graph.given) == 1 else path.stem: content}


def from_arrays(arrays: Mapping[str, np.ndarray], graph: Graph, preprocess: Preprocess | None, where: str) -> Samples:
    """Samples along the first axis of every array: each an input as the model takes it, or one of a batch of them."""
    if not graph.given:
        raise UsageError("the model has no inputs that samples could be for", where=where, hint="use precision fp32")
    chosen = choose_arrays(arrays, graph, preprocess, where)
    lengths = {name: len(array) if array.ndim else 0 for name, array in chosen.items()}
    step = {name: step_of(array, graph.types[name].static_shape, preprocess) for name, array in chosen.items()}
    if len({Fraction(lengths[name], step[name]) for name in chosen}) > 1:
        raise UsageError(f"the arrays hold different numbers of samples: {lengths}", where=where)
    if not min(lengths.values()):
        raise UsageError("the calibration data is empty", where=where, hint="give at least one sample; about 100 are usual")
    count = min(lengths[name] // step[name] for name in chosen)
    if not count:
        raise UsageError(f"{min(lengths.values())} samples do not fill one batch of the model", where=where)

    def samples() -> Iterator[Sample]:
        for index in range(count):
            parts = {name: array[index * step[name] : (index + 1) * step[name]] for name, array in chosen.items()}
            yield fitted(parts, graph, preprocess, f"{where} sample {index}")

    next(samples())  # what is wrong with all samples shows at once
    return samples


def choose_arrays(arrays: Mapping[str, np.ndarray], graph: Graph, preprocess: Preprocess | None, where: str) -> dict[str, np.ndarray]:
    """The array of each input: by name, or the only one that can be it in a model of one input."""
    missing = [name for name in graph.given if name not in arrays]
    if not missing:
        return {name: arrays[name] for name in graph.given}
    if len(graph.given) == 1:
        wanted = graph.types[graph.given[0]]
        similar = [
            name
            for name, array in arrays.items()
            if array.ndim and array.ndim >= len(squeezed(wanted.static_shape[1:])) + 1 and array.dtype.kind in "fiu"
        ]
        similar = (
            similar
            if len(similar) < 2
            else [name for name in similar if is_picture(arrays[name], preprocess) or sample_fits(arrays[name], wanted.static_shape)]
        )
        if len(similar) == 1 or len(arrays) == 1:
            return {graph.given[0]: arrays[(similar or list(arrays))[0]]}
    raise UsageError(
        "the calibration data lacks inputs", [Problem(f"no array {name!r}", where, did_you_mean(name, arrays)) for name in missing]
    )


def squeezed(shape: Iterable[int]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent != 1)


def sample_fits(array: np.ndarray, shape: tuple[int, ...]) -> bool:
    return squeezed(array.shape[1:]) == squeezed(shape[1:])


def is_picture(array: np.ndarray, preprocess: Preprocess | None) -> bool:
    return preprocess is not None and array.dtype == np.uint8 and array.ndim in (3, 4)


def step_of(array: np.ndarray, shape: tuple[int, ...], preprocess: Preprocess | None) -> int:
    """How much of the first axis one run takes: 1 of whole inputs, whose own first axis may be no batch, such as the layers of a state."""
    whole = is_picture(array, preprocess) or array.shape[1:] == shape
    return 1 if whole or not shape else max(shape[0], 1)


def from_folder(folder: Path, graph: Graph, preprocess: Preprocess | None) -> Samples:
    """Every picture of the folder, by name."""
    files = pictures_in(folder)
    if not files:
        raise UsageError("no pictures in this folder", where=str(folder), hint=f"looked for {', '.join(sorted(FORMATS))}")
    if len(graph.given) != 1:
        raise UsageError("pictures feed a model of one input only", where=str(folder), hint="give an .npz with one array per input")
    name = graph.given[0]
    plain = graph.dtype(name) is DType.UINT8
    if preprocess is None and not plain:
        raise UsageError("pictures need preprocessing", where=str(folder), hint="add a [preprocess] table to edgec.toml")
    how = preprocess or Preprocess()

    def samples() -> Iterator[Sample]:
        for path in files:
            picture, shape = read_picture(path), graph.types[name].static_shape
            array = how.pixels(picture, shape)[None] if plain else how.apply(picture, shape)
            yield fitted({name: array}, graph, None, str(path))

    next(samples())
    return samples


def load_function(text: str) -> Callable[[], Iterable[Any]]:
    """`file.py:function`."""
    file, _, name = text.rpartition(":")
    if not Path(file).exists():
        raise UsageError("no such file", where=file)
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # one that leaves by itself would end the build as if all were well
        raise UsageError(f"cannot be imported: {type(error).__name__}: {error}", where=file) from error
    found = getattr(module, name, None)
    if not callable(found):
        raise UsageError(
            f"no function {name!r}", where=file, hint=did_you_mean(name, [key for key in vars(module) if not key.startswith("_")])
        )
    return found  # type: ignore[no-any-return]


def from_function(function: Callable[[], Iterable[Any]], graph: Graph, preprocess: Preprocess | None) -> Samples:
    def samples() -> Iterator[Sample]:
        try:
            for index, item in enumerate(function()):
                where = f"sample {index}"
                if not isinstance(item, Mapping):
                    if len(graph.given) != 1:
                        raise UsageError(
                            "one array for a model of several inputs", where=where, hint="yield a dict of arrays by input name"
                        )
                    item = {graph.given[0]: item}
                parts = {name: np.asarray(array) for name, array in item.items()}
                pictures = {name: array[None] if is_picture(array[None], preprocess) else array for name, array in parts.items()}
                yield fitted(pictures, graph, preprocess, where)
        except EdgecError:
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(f"the calibration function failed: {type(error).__name__}: {error}") from error

    return samples


def fitted(parts: Mapping[str, np.ndarray], graph: Graph, preprocess: Preprocess | None, where: str) -> Sample:
    """One sample in the types and shapes of the graph's inputs; raises UsageError with everything that is wrong."""
    problems = [
        Problem(f"the model has no input {name!r}", where, did_you_mean(name, graph.given)) for name in parts if name not in graph.given
    ]
    problems += [Problem(f"no array for the input {name!r}", where) for name in graph.given if name not in parts]
    sample: Sample = {}
    for name in graph.given:
        if name not in parts:
            continue
        wanted, array = graph.types[name], parts[name]
        if is_picture(array, preprocess) and wanted.dtype is DType.FLOAT32:
            assert preprocess is not None
            array = np.concatenate([preprocess.apply(picture, wanted.static_shape) for picture in array])
        elif is_picture(array, preprocess) and wanted.dtype is DType.UINT8:
            assert preprocess is not None
            array = np.stack([preprocess.pixels(picture, wanted.static_shape) for picture in array])
        if array.dtype != wanted.dtype.numpy and WIDENED.get(array.dtype.name) != wanted.dtype.value:
            hint = (
                "declare [preprocess] for pictures"
                if array.dtype == np.uint8 and wanted.dtype.is_float
                else f"convert it to {wanted.dtype.value}"
            )
            problems.append(Problem(f"{name} is {array.dtype.name}, the model takes {wanted.dtype.value}", where, hint))
        elif squeezed(array.shape) != squeezed(wanted.static_shape):
            problems.append(Problem(f"{name} has shape {list(array.shape)}, the model takes {list(wanted.static_shape)}", where))
        elif array.dtype.kind == "f" and not np.isfinite(array).all():
            problems.append(Problem(f"{name} holds NaN or infinite numbers", where))
        else:
            sample[name] = np.ascontiguousarray(array, wanted.dtype.numpy).reshape(wanted.static_shape)
    if problems:
        raise UsageError("the calibration data does not fit the model", problems)
    return sample
