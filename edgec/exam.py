"""The exam of a package: inputs and the outputs expected of it. They never come from emitted code: int8 answers come from
the integer evaluator, float answers from ONNX Runtime on the model file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

import numpy as np

from edgec.emit import ExamData
from edgec.errors import ModelError, UsageError
from edgec.export import to_onnx
from edgec.interface import Face
from edgec.ir.graph import Graph
from edgec.ir.types import DType
from edgec.oracle import Chance, Evaluator
from edgec.program.program import Port, Program
from edgec.quant import Samples
from edgec.reference import FloatModel

FLOAT_TOLERANCE = 1e-4  # of the largest magnitude of an output
FLIP_FACTOR = 2  # an int8 answer behind float products: this many times what codes change that are near enough to a tie to flip
FLIPS = 4  # pairs of trials: a code that is nearly a tie goes up in one of a pair and down in the other
TRIED = 4  # vectors of each kind among which the calmest is asked
NOISE_FACTOR = 4  # a float answer may be off by this many times what ONNX Runtime differs by with and without its optimizations
HALF_FACTOR = 6  # the same for what rounding to halves makes, of which the computed difference is one example,
HALF_LEAST = 2.0**-8  # and eight roundings to a half: the example can be one whose errors cancel, as behind a sure softmax
ANYTHING = 1e3  # the limit of an answer that says nothing
USELESS = 0.25  # a GPU's answers with halves that may be this far off say nothing
SAMPLE_VECTORS, RANDOM_VECTORS = 1, 2
MOST_BYTES = 64 << 20  # of inputs and expected outputs that a package carries; the first vector is always there,
LARGEST = 256 << 20  # so one that is larger than this is refused
_SAME_NUMBERS = ("Cast", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Expand", "Tile")
_SUMS = ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
_INEXACT = ("Pow", *_SUMS)  # which ONNX Runtime computes of integers through floats

Arrays = dict[str, np.ndarray]


def write_exam(
    original: Graph, graph: Graph, program: Program, samples: Samples | None, seed: int, *,
    channels_last: bool = False, reference: FloatModel | None = None, gpu_halves: bool = False,
) -> ExamData:  # fmt: skip
    """Vectors for `program`, which was lowered from `graph`; `original` is the imported float model.

    channels_last: whether the package's interface is NHWC. reference: gives the answers of a float package, by default `original` does.
    gpu_halves: a GPU stores the tensors of a float package in 16 bits; UsageError when no answer would be worth anything then.
    """
    faces = {port.name: face(port, channels_last) for port in (*program.inputs, *program.outputs)}
    if any(node.op == "QuantizeLinear" for node in graph.nodes):
        return _exact_exam(original, graph, program, samples, seed, faces)
    vectors = exam_inputs(original, samples, seed)
    run, plain = reference or FloatModel(original), FloatModel(original, optimize=False)
    found = [run(vector) for vector in vectors]
    noise = max(_distance(a, b) for vector, answer in zip(vectors, found, strict=True) for a, b in zip(plain(vector), answer, strict=True))
    answers = [_shown(dict(zip(original.outputs, answer, strict=True)), faces) for answer in found]
    exact = {name: not original.dtype(name).is_float for name in original.outputs}
    halves = _half_tolerances(graph, vectors, found) if gpu_halves else ()
    tolerance = max(FLOAT_TOLERANCE, NOISE_FACTOR * noise)
    return ExamData([_shown(vector, faces) for vector in vectors], answers, exact, tolerance, gpu_tolerances=halves)


def _half_tolerances(graph: Graph, vectors: Sequence[Arrays], found: Sequence[Sequence[np.ndarray]]) -> tuple[float, ...]:
    """For each vector what its answer may be off by with halves."""
    tolerances = tuple(half_tolerance(graph, vector, answer) for vector, answer in zip(vectors, found, strict=True))
    if min(tolerances) > USELESS:
        what = f"float16 keeps too little of this network: its answers may be off by {min(tolerances):.0%} of the largest number"
        raise UsageError(what, where="--gpu-precision", hint="give --calib with real samples to ask about, or build with float32")
    return tuple(min(tolerance, ANYTHING) for tolerance in tolerances)


def doubts(exam: ExamData) -> list[str]:
    """What to know of an exam that tells little."""
    least = min(exam.on_cpu, default=0.0)
    words = f"rounding moves the answer to every question of the exam by up to {min(least, ANYTHING):.0%} of its largest number"
    return [f"{words}: the exam tells larger errors only"] if least > USELESS else []


def half_tolerance(graph: Graph, vector: Arrays, answer: Sequence[np.ndarray] | None = None) -> float:
    """HALF_FACTOR times what rounding all tensors and weights to halves changes, and HALF_LEAST at least.

    answer: the float32 one, by default the graph's.
    """
    exact = FloatModel(graph)(vector) if answer is None else answer
    changed = FloatModel(graph, halves=True)(vector)
    if any(np.isfinite(other).all() and not np.isfinite(one).all() for one, other in zip(changed, exact, strict=True)):
        return math.inf
    return max(HALF_LEAST, *(HALF_FACTOR * _distance(one, other) for one, other in zip(changed, exact, strict=True)))


def invented_tolerance(graph: Graph) -> float:
    """half_tolerance of what a host invents when it compares the GPU with the processor (runtimes/gpu/verify.h)."""
    invented = {name: _invented(graph.types[name].static_shape, graph.dtype(name)) for name in graph.inputs}
    return min(half_tolerance(graph, invented), ANYTHING)


def _invented(shape: tuple[int, ...], kind: DType) -> np.ndarray:
    count = math.prod(shape)
    powers = np.cumprod(np.full(count, 1664525, np.uint32), dtype=np.uint32)
    sums = np.cumsum(np.concatenate([np.ones(1, np.uint32), powers[:-1]])[:count], dtype=np.uint32)
    state = powers * np.uint32(12345) + sums * np.uint32(1013904223)
    if kind.is_float:
        values: np.ndarray = state.view(np.int32) / 2.0**31
    elif kind is DType.BOOL:
        values = state >> 31
    else:
        values = state >> 24 if kind.bytes == 1 else np.zeros(count)
    return values.astype(np.uint8 if kind.bytes == 1 else kind.numpy).view(kind.numpy).reshape(shape)


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    """max |a - b| / max |b|: between two orders of the same float operations it shows how much rounding the model amplifies."""
    if not one.size or one.dtype.kind != "f" or not np.isfinite(one).all() or not np.isfinite(other).all():
        return 0.0
    return float(np.abs(one - other).max() / max(float(np.abs(other).max()), 1e-30))


def face(port: Port, channels_last: bool) -> Face:
    return Face(port.name, np.dtype(port.dtype.numpy), port.scale, port.zero_point, channels_last)


def _shown(arrays: Arrays, faces: Mapping[str, Face]) -> Arrays:
    """Tensors of the model as the package shows them."""
    return {name: faces[name].of_model(array) for name, array in arrays.items()}


def exam_inputs(graph: Graph, samples: Samples | None, seed: int) -> list[Arrays]:
    """A few calibration samples, where there are some, and random tensors that fill the samples' range; of the last the integers fill
    their types', unless they become indices or floats. Fewer where tensors are large; ModelError where even one vector is too large."""
    size = sum(graph.types[name].bytes for name in (*graph.inputs, *graph.outputs))
    if size > LARGEST:
        what = f"the inputs and outputs have {size / 2**20:,.0f} MB; an exam can carry {LARGEST >> 20}"
        raise ModelError(what, where="interface", hint="build the model for smaller tensors, with --shape")
    generator = np.random.Generator(np.random.PCG64(seed))
    known = list(islice(samples(), SAMPLE_VECTORS)) if samples is not None else []
    return list(islice(chain(known, _random_vectors(graph, known, generator)), max(1, MOST_BYTES // size)))


def _random_vectors(graph: Graph, known: list[Arrays], generator: np.random.Generator) -> Iterator[Arrays]:
    for left in reversed(range(RANDOM_VECTORS)):
        vector = {name: _random(graph, name, known, generator) for name in graph.inputs}
        whole = () if left else [name for name in graph.inputs if _may_be_anything(graph, name)]
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
            if (node.op == "Gather" and node.input(1) == value) or node.op in _INEXACT or any(dtype.is_float for dtype in made):
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


def _random(graph: Graph, name: str, known: list[Arrays], generator: np.random.Generator) -> np.ndarray:
    kind, shape = graph.dtype(name), graph.types[name].static_shape
    places = _places(graph, name)
    if places is not None and not known:
        return _index(kind, places, shape, generator)
    if kind is DType.BOOL:
        return generator.integers(0, 2, shape).astype(bool)
    low, high = (known[0][name].min().item(), known[0][name].max().item()) if known else _quantized_range(graph, name)
    if kind.is_float:
        largest = float(np.finfo(kind.value).max) / 2  # so that their difference is a number too
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
    found = []
    for node in graph.readers(name):
        if node.op == "Gather" and node.input(1) == name:
            found.append(graph.types[node.inputs[0]].static_shape[node.attributes["axis"]])
        elif node.op in _SAME_NUMBERS and node.inputs[0] == name:
            found.append(_places(graph, node.outputs[0]))
    return min((extent for extent in found if extent is not None), default=None)


def _quantized_range(graph: Graph, name: str) -> tuple[float, float]:
    """What an input's QuantizeLinear can tell apart; 0..1 where it has none."""
    for node in graph.readers(name):
        scale, zero = (graph.constant(node.input(index)) for index in (1, 2))
        if node.op == "QuantizeLinear" and scale is not None and scale.size == 1 and zero is not None:
            limits = np.iinfo(zero.dtype)
            return (limits.min - float(zero)) * float(scale), (limits.max - float(zero)) * float(scale)
    return 0.0, 1.0


@dataclass(frozen=True)
class _Question:
    """What is asked and answered, as the package shows it. reach: how far rounding may move the answer, as far as it was tried."""

    inputs: Arrays
    outputs: Arrays
    reach: float


def _exact_exam(
    original: Graph, graph: Graph, program: Program, samples: Samples | None, seed: int, faces: Mapping[str, Face]
) -> ExamData:  # fmt: skip
    """Answers of the integer evaluator. It is asked with what the package can be given, codes for instance.

    Behind float products a code that is nearly a tie may flip. Questions where none is are preferred; what the others may move by is
    their tolerance.
    """
    evaluator = Evaluator(to_onnx(graph))
    exact = {name: name in evaluator.exact_outputs for name in graph.outputs}

    def question(vector: Arrays, most: float) -> _Question:
        inputs = _shown(vector, faces)
        asked = {name: faces[name].to_model(array, graph.dtype(name).numpy) for name, array in inputs.items()}
        answer = evaluator.run(asked)
        reach = 0.0 if all(exact.values()) else _reach(evaluator, asked, answer, seed, most)
        return _Question(inputs, _shown({port.name: answer[port.name] for port in program.outputs}, faces), reach)

    known = list(islice(samples(), TRIED)) if samples is not None else []
    chosen = [question(vector, math.inf) for vector in exam_inputs(original, samples, seed)]
    for number in range(1, TRIED):
        restless = [place for place, one in enumerate(chosen) if FLIP_FACTOR * one.reach > FLOAT_TOLERANCE]
        others = partial(iter, known[number % len(known) :]) if known else None
        vectors = exam_inputs(original, others, seed + number) if restless else []
        for place in restless:
            other = question(vectors[place], chosen[place].reach)
            chosen[place] = min(chosen[place], other, key=lambda one: one.reach)
    tolerances = [FLIP_FACTOR * one.reach for one in chosen]
    return ExamData([one.inputs for one in chosen], [one.outputs for one in chosen], exact, FLOAT_TOLERANCE, tolerances)


def _reach(evaluator: Evaluator, vector: Arrays, answer: Arrays, seed: int, most: float) -> float:
    """How far the answer moves when float products are off by what another order of summing may make: codes flip, and what they feed.

    most: what is found to be more is not looked at closer.
    """
    reach = 0.0
    for number in range(2 * FLIPS):
        moved = evaluator.run(vector, chance=_chance(seed, number // 2, up=number % 2 == 0))
        reach = max(reach, *(_distance(moved[name], answer[name]) for name in answer))
        if reach >= most:
            break
    return reach


def _chance(seed: int, number: int, *, up: bool) -> Chance:
    generator = np.random.default_rng([seed, number])
    return lambda shape: (generator.integers(0, 2, shape) == 1) == up
