"""The questions of an exam: calibration samples where there are some, and random tensors like them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, cycle, islice

import numpy as np

from edgec.base.errors import ModelError
from edgec.ir.graph import Graph
from edgec.ir.types import DType
from edgec.quant import Samples

SAMPLE_VECTORS, RANDOM_VECTORS = 1, 2
STEPS, LEAST_STEPS = 4, 2  # of a stream: samples in their order, or random tensors; one step alone would not show what is kept
MOST_BYTES = 64 << 20  # of inputs and expected outputs that a package carries; what must be there is there with more, too,
LARGEST = 256 << 20  # so a vector that is larger than this is refused
_SAME_NUMBERS = ("Cast", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Expand", "Tile")
_SUMS = ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
_INDEXED = ("Gather", "ScatterND")  # rows of the first operand by the second
_INEXACT = ("Pow", *_SUMS)  # which ONNX Runtime computes of integers through floats

SELECTING = frozenset({"TopK", "NonMaxSuppression", "NonZero", "Compress", "Unique"})
SHAKEN = 4e-6  # of each number of an input: as much as sums in another order move what is compared
CALM = 1e-3  # of the largest number of an output: what is more was another selection
TRIALS, TRIED = 2, 6

Arrays = dict[str, np.ndarray]
Run = Callable[[list[Arrays]], Sequence[Sequence[np.ndarray]]]  # a stream's answers to each of its steps


def exam_streams(graph: Graph, samples: Samples | None, seed: int, reach: float = 1.0) -> list[list[Arrays]]:
    """What is asked one behind the other, each list from the start: the questions one by one, and with states two streams.

    One of samples, or of random tensors where there are none, shows what is kept, and begins again with the first where they are few; one
    of random tensors behind it shows that it was forgotten. reach: to where random floats go from 0 on, where nothing else says it.
    """
    asked = exam_inputs(graph, samples, seed, reach)
    if not graph.states:
        return [[vector] for vector in asked]
    known = list(islice(samples(), STEPS)) if samples is not None else []
    others = asked[-RANDOM_VECTORS:]
    most = MOST_BYTES // _bytes(graph) // 2
    return [list(islice(cycle(known or others), max(LEAST_STEPS, min(STEPS, most)))), others[: max(1, most)]]


def exam_inputs(graph: Graph, samples: Samples | None, seed: int, reach: float = 1.0) -> list[Arrays]:
    """A few calibration samples, where there are some, and random tensors that fill the samples' range; of the last the integers fill
    their types', unless they become indices or floats. Fewer where tensors are large; ModelError where even one vector is too large."""
    size = _bytes(graph)
    if size > LARGEST:
        what = f"the inputs and outputs have {size / 2**20:,.0f} MB; an exam can carry {LARGEST >> 20}"
        raise ModelError(what, where="interface", hint="build the model for smaller tensors, with --shape")
    generator = np.random.Generator(np.random.PCG64(seed))
    known = list(islice(samples(), SAMPLE_VECTORS)) if samples is not None else []
    return list(islice(chain(known, _random_vectors(graph, known, generator, reach)), max(1, MOST_BYTES // size)))


def _bytes(graph: Graph) -> int:
    """Of one question and its answer."""
    return sum(graph.types[name].bytes for name in (*graph.given, *graph.answered))


def _random_vectors(graph: Graph, known: list[Arrays], generator: np.random.Generator, reach: float) -> Iterator[Arrays]:
    for left in reversed(range(RANDOM_VECTORS)):
        vector = {name: _random(graph, name, known, generator, reach) for name in graph.given}
        whole = () if left else [name for name in graph.given if _may_be_anything(graph, name)]
        yield {**vector, **{name: _whole(graph, name, generator) for name in whole}}


def _may_be_anything(graph: Graph, name: str) -> bool:
    """Whether an input is integers of which only integers are made, none of them an index, by what ONNX Runtime computes exactly.

    Floats of such size would leave nothing but rounding errors to compare.
    """
    if graph.dtype(name).is_float or graph.dtype(name) is DType.BOOL:
        return False
    reached, left = {name}, [name]
    while left:
        value = left.pop()
        for node in graph.readers(value):
            made = [graph.dtype(output) for output in node.outputs if output]
            if (node.op in _INDEXED and node.input(1) == value) or node.op in _INEXACT or any(dtype.is_float for dtype in made):
                return False
            left += [output for output in node.outputs if output and output not in reached]
            reached.update(node.outputs)
    return True


def _whole(graph: Graph, name: str, generator: np.random.Generator) -> np.ndarray:
    """Integers from the whole range of their type, with its ends."""
    kind, shape = graph.dtype(name).numpy, graph.types[name].static_shape
    limits = np.iinfo(graph.dtype(name).value)
    values = generator.integers(limits.min, limits.max, shape, kind, endpoint=True)
    ends = np.array([limits.min, limits.max, 0, 1], kind)
    values.reshape(-1)[: ends.size] = ends[: values.size]
    return values


def _random(graph: Graph, name: str, known: list[Arrays], generator: np.random.Generator, reach: float) -> np.ndarray:
    kind, shape = graph.dtype(name), graph.types[name].static_shape
    places = _places(graph, name)
    if places is not None and not known:
        return _index(kind, places, shape, generator)
    if kind is DType.BOOL:
        return generator.integers(0, 2, shape).astype(bool)
    low, high = (known[0][name].min().item(), known[0][name].max().item()) if known else _quantized_range(graph, name, reach)
    if kind.is_float:
        largest = float(np.finfo("float32" if kind is DType.BFLOAT16 else kind.value).max) / 2  # so that their difference is a number too
        return generator.uniform(max(low, -largest), min(high, largest), shape).astype(kind.numpy)
    limits = np.iinfo(kind.value)
    top = limits.max if kind.bytes == 1 else min(max(int(high), 1), limits.max)
    drawn = np.uint64 if kind is DType.UINT64 else np.int64
    return generator.integers(max(min(int(low), 0), limits.min), top, shape, drawn, endpoint=True).astype(kind.numpy)


def _index(kind: DType, places: int, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Places on an axis of this extent, integers also from its end, as far as the type reaches."""
    if kind.is_float:
        return generator.uniform(0, places, shape).astype(kind.numpy)
    limits = (0, 1) if kind is DType.BOOL else (np.iinfo(kind.value).min, np.iinfo(kind.value).max)
    found = generator.integers(max(-places, int(limits[0])), min(places - 1, int(limits[1])), shape, np.int64, endpoint=True)
    return found.astype(kind.numpy)


def _places(graph: Graph, name: str) -> int | None:
    """The shortest axis whose places an input's numbers say, perhaps in another type or shape; None when they are no indices."""
    found, names = list[int](), [name]
    for same in names:
        for node in graph.readers(same):
            if node.op in _INDEXED and node.input(1) == same:
                found.append(graph.types[node.inputs[0]].static_shape[node.attributes.get("axis", 0)])
            elif node.op in _SAME_NUMBERS and node.inputs[0] == same:
                names.append(node.outputs[0])
    return min(found, default=None)


def _quantized_range(graph: Graph, name: str, reach: float) -> tuple[float, float]:
    """What an input's QuantizeLinear can tell apart; 0..reach where it has none."""
    for node in graph.readers(name):
        scale, zero = (graph.constant(node.input(index)) for index in (1, 2))
        if node.op == "QuantizeLinear" and scale is not None and scale.size == 1 and zero is not None:
            limits = np.iinfo(zero.dtype)
            return (limits.min - float(zero)) * float(scale), (limits.max - float(zero)) * float(scale)
    return 0.0, reach


def calm(
    graph: Graph, run: Run, streams: list[list[Arrays]], again: Callable[[int], Sequence[list[Arrays]]], seed: int
) -> list[list[Arrays]]:  # fmt: skip
    """The streams, with another one in place of each whose answers hang on a rounding, where one is found. again: others, by a number."""
    if not any(node.op in SELECTING for node in graph.nodes):
        return streams
    generator, found = np.random.default_rng(seed), list(streams)
    for number in range(1, TRIED):
        restless = [place for place, stream in enumerate(found) if not _is_calm(run, stream, generator)]
        others = again(number) if restless else []
        for place in restless:
            found[place] = others[place % len(others)]
    return found


def _is_calm(run: Run, stream: list[Arrays], generator: np.random.Generator) -> bool:
    usual = run(stream)
    for _ in range(TRIALS):
        moved = [{name: shaken(array, generator, SHAKEN) for name, array in vector.items()} for vector in stream]
        pairs = zip(chain(*usual), chain(*run(moved)), strict=True)
        if not all(_alike(one, other) for one, other in pairs):
            return False
    return True


def shaken(array: np.ndarray, generator: np.random.Generator, most: float) -> np.ndarray:
    """Each float moved by up to this share of itself."""
    if array.dtype.kind != "f":
        return array
    return np.asarray(array * (1 + most * generator.uniform(-1, 1, array.shape)), array.dtype)


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype.kind != "f" or one.shape != other.shape:
        return np.array_equal(one, other)
    size = float(np.abs(one[np.isfinite(one)]).max(initial=0.0))
    return bool(np.isclose(one, other, 0, CALM * size, equal_nan=True).all())
