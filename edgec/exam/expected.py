"""The exam of a package: inputs and the outputs expected of it. They never come from emitted code: int8 answers come from
the integer evaluator, float answers from ONNX Runtime on the model file."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, chain, cycle, islice

import numpy as np

from edgec.base.errors import UsageError
from edgec.emit import ExamData
from edgec.emit.exam import TINY, largest
from edgec.exam.cut import is_cut, moved_by_rounding
from edgec.exam.first_floats import takes_floats, with_moved_floats
from edgec.exam.questions import SHAKEN, STEPS, calm, exam_streams, shaken
from edgec.exam.reference import FloatModel, filled
from edgec.exam.saturated import least_numbers
from edgec.exam.streaming import as_far, streamed
from edgec.export import to_onnx
from edgec.ir.graph import Graph
from edgec.ir.types import DType
from edgec.oracle import Chance, Evaluator
from edgec.package.interface import Face
from edgec.program.program import Port, Program
from edgec.quant import Samples, is_quantized

FLOAT_TOLERANCE = 1e-4  # of the largest magnitude of an output
FLIP_FACTOR = 2  # an int8 answer behind float products: this many times what codes change that are near enough to a tie to flip
FLIPS = 4  # pairs of trials: a code that is nearly a tie goes up in one of a pair and down in the other
TRIED = 4  # vectors of each kind among which the calmest is asked
# A float answer may be off by this many times what ONNX Runtime differs by with and without its optimizations: sums without fused
# products, in the order of SSE4.1, were seen at four times what its own two ways, which fuse them, are apart.
NOISE_FACTOR = 8
ROUNDED, ROUNDED_FACTOR = 4, 4  # trials of numbers that become codes on the way, and how many times as far as they go an answer may be off
HALF_FACTOR = 6  # the same for what rounding to halves makes, of which the computed difference is one example,
HALF_LEAST = 2.0**-8  # and eight roundings to a half: the example can be one whose errors cancel, as behind a sure softmax
HALF_STEP = 2.0**-11  # of a number: what rounding it to a half moves it by at most
ANYTHING = 1e3  # the limit of an answer that says nothing
GPU_HALVES, HALVES = "--gpu-precision", "--precision"  # what asks for them
USELESS = 0.25  # answers with halves that may be this far off say nothing

PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Asked:
    """What a float model was asked in streams, and what it answered, by step and output. noise: by what two ways of computing it differ.

    reach: how far random numbers of the questions go from 0 on, where nothing else says it. beyond: the values of the optimized model
    that halves do not hold then, None where nobody looked. cut: see ExamData.
    """

    streams: Sequence[Sequence[Arrays]]
    answers: Sequence[Sequence[Sequence[np.ndarray]]]
    noise: float
    reach: float = 1.0
    beyond: frozenset[str] | None = None
    cut: frozenset[str] = frozenset()


def ask(original: Graph, samples: Samples | None, seed: int, reference: FloatModel | None = None, reach: float = 1.0) -> Asked:
    """Let ONNX Runtime answer; it takes twice the weights' memory, so that it is best done when little else is there.

    reference: gives the answers, by default `original` does. reach: to where random questions go where nothing else says it.
    """
    run = reference or FloatModel(original)

    def held(stream: Sequence[Arrays]) -> list[Arrays]:
        return [_held(original, vector) for vector in stream]

    def asked(samples: Samples | None, seed: int) -> list[list[Arrays]]:
        return [as_far(original, run, held(stream)) for stream in exam_streams(original, samples, seed, reach)]

    answers = partial(streamed, original, run)
    streams = calm(
        original, lambda stream: answers(held(stream)), asked(samples, seed), lambda number: asked(None, seed + number), seed
    )  # fmt: skip
    found = [answers(stream) for stream in streams]
    noise, cut = _noise(original, run, streams, found, seed), moved_by_rounding(original, run, streams, found, seed)
    if any(node.op == "QuantizeLinear" for node in original.nodes):  # of constants alone: what is fused rounds to other codes
        kinds, unfused = [original.dtype(name) for name in original.answered], FloatModel(original, optimize=False)
        others = [streamed(original, unfused, stream) for stream in streams]
        found = [
            [[a if kind.is_float else b for kind, a, b in zip(kinds, *pair, strict=True)] for pair in zip(*pairs, strict=True)]
            for pairs in zip(found, others, strict=True)
        ]
    return Asked(streams, found, noise, reach, cut=cut)


def _noise(
    original: Graph, run: FloatModel, streams: Sequence[Sequence[Arrays]], found: Sequence[Sequence[Sequence[np.ndarray]]], seed: int
) -> float:  # fmt: skip
    """How far right answers may lie apart, as a part of NOISE_FACTOR. found: the usual ones."""
    plain = run.unoptimized()  # of the very model: beside another one a fault of the import would pass for noise
    known = least_numbers(original)
    least = [known.get(name, TINY) for name in original.answered]
    others = [streamed(original, plain, stream) for stream in streams]
    noise = max(map(_distance, _flat(others), _flat(found), cycle(least)))
    if not any(node.op == "Round" for node in original.nodes):
        return noise
    generator = np.random.default_rng(seed)  # two ways of one library round what a run computes to one code
    if takes_floats(original):
        usual = [answer for answer in found for _ in range(ROUNDED)]
        trials = [[_shaken(vector, generator, SHAKEN) for vector in stream] for stream in streams for _ in range(ROUNDED)]
        moved = [streamed(original, run, stream) for stream in trials]
    else:
        usual, moved = [*found] * ROUNDED, []
        for _ in range(ROUNDED):  # one model at a time: each has all weights
            model = FloatModel(with_moved_floats(original, generator, SHAKEN))
            moved += [streamed(original, model, stream) for stream in streams]
    return max(noise, *(ROUNDED_FACTOR / NOISE_FACTOR * apart for apart in map(_distance, _flat(moved), _flat(usual), cycle(least))))


def _shaken(vector: Arrays, generator: np.random.Generator, most: float) -> Arrays:
    return {name: shaken(array, generator, most) for name, array in vector.items()}


def _flat(answers: Sequence[Sequence[Sequence[np.ndarray]]]) -> Iterator[np.ndarray]:
    return chain.from_iterable(chain.from_iterable(answers))


def is_coded(graph: Graph) -> bool:
    """Whether the exam's answers come from the integer evaluator: codes are computed from what the graph is given, or their products.

    A float bias of such a product is a whole number in a package, and is not in ONNX Runtime.
    """
    if any(node.op == "QuantizeLinear" for node in graph.nodes):
        return True
    coded = (node.op in PRODUCTS and graph.producer(node.inputs[1], "DequantizeLinear") for node in graph.nodes)
    return is_quantized(graph) and any(coded)


def write_exam(
    original: Graph, graph: Graph, program: Program, samples: Samples | None, seed: int, *,
    channels_last: bool = False, asked: Asked | None = None, halves: str = "", beyond: Collection[str] = (),
) -> ExamData:  # fmt: skip
    """Vectors for `program`, which was lowered from `graph`; `original` is the imported float model.

    channels_last: whether the package's interface is NHWC. asked: the answers of a float package, by default those of `original`.
    halves: the flag by which a float package's tensors are stored in 16 bits, --precision, or on the GPU alone, --gpu-precision;
    UsageError when no answer would be worth anything then. beyond: values of `graph` that stay float32 all the same.
    """
    faces = {port.name: face(port, channels_last) for port in (*program.inputs, *program.outputs)}
    if is_coded(graph):
        return _exact_exam(original, graph, program, samples, seed, faces)
    asked = asked or ask(original, samples, seed)
    vectors, found = list(chain(*asked.streams)), list(chain(*asked.answers))
    if halves:
        kept = _unmoved(graph, vectors, found, halves, beyond, other="give --calib with real samples to ask about, or ")
        vectors, found = [vectors[place] for place in kept], [found[place] for place in kept]
    named = [dict(zip(original.answered, answer, strict=True)) for answer in found]
    limits = _half_tolerances(graph, vectors, found, halves, beyond) if halves else ()
    tolerance = max(FLOAT_TOLERANCE, NOISE_FACTOR * asked.noise)
    settled = tolerance <= USELESS  # else rounding says what comes first, and integers that were sorted with it move too
    exact = {name: settled and not original.dtype(name).is_float for name in original.answered}
    limited, on_gpus = ((), limits) if halves == GPU_HALVES else (limits, ())
    shown, answers = ([_shown(arrays, faces) for arrays in group] for group in (vectors, named))
    begins, least = _begins(original, asked.streams), least_numbers(original)
    return ExamData(shown, answers, exact, tolerance, limited, on_gpus, begins, least, asked.cut)


def _begins(graph: Graph, streams: Sequence[Sequence[object]]) -> list[int]:
    """The questions before which states are forgotten: the first of each stream, since a package may have run before it is asked."""
    return list(accumulate(map(len, streams[:-1]), initial=0)) if graph.states else []


def _held(graph: Graph, vector: Arrays) -> Arrays:
    """The numbers that are left of these inputs where the caller holds them in another type."""
    kinds = {name: graph.held_dtype(name).numpy for name in vector}
    with np.errstate(over="ignore"):
        return {name: array.astype(kinds[name]).astype(array.dtype) if name in graph.held else array for name, array in vector.items()}


def _unmoved(
    graph: Graph, vectors: Sequence[Arrays], found: Sequence[Sequence[np.ndarray]], flag: str, exact: Collection[str] = (), other: str = ""
) -> list[int]:  # fmt: skip
    """The questions whose answers in integers, which must be equal, halves leave as they are, near the numbers asked about too.

    UsageError where that is none, whose hint is to do something `other`, or to build with float32.
    """
    whole = [place for place, name in enumerate(graph.outputs) if not graph.dtype(name).is_float]
    if not whole:
        return list(range(len(vectors)))
    model, generator = FloatModel(graph, halves=True, exact=exact), np.random.default_rng(0)

    def stays(vector: Arrays, answer: Sequence[np.ndarray]) -> bool:
        near = [vector, *(_shaken(vector, generator, HALF_STEP) for _ in range(TRIED))]
        return all(np.array_equal(moved[place], answer[place]) for moved in map(model, near) for place in whole)

    kept = [place for place, pair in enumerate(zip(vectors, found, strict=True)) if stays(*pair)]
    if not kept:
        names = ", ".join(graph.outputs[place] for place in whole)
        what = f"float16 moves integers that this network answers with ({names}), whatever it is asked"
        raise UsageError(what, where=flag, hint=f"{other}build with float32")
    return kept


def _half_tolerances(
    graph: Graph, vectors: Sequence[Arrays], found: Sequence[Sequence[np.ndarray]], flag: str, exact: Collection[str]
) -> tuple[float, ...]:  # fmt: skip
    """For each vector what its answer may be off by with halves."""
    tolerances = half_tolerances(graph, vectors, found, exact)
    if min(tolerances) > USELESS:
        what = f"float16 keeps too little of this network: its answers may be off by {min(tolerances):.0%} of the largest number"
        raise UsageError(what, where=flag, hint="give --calib with real samples to ask about, or build with float32")
    return tuple(min(tolerance, ANYTHING) for tolerance in tolerances)


def half_tolerances(
    graph: Graph, vectors: Sequence[Arrays], found: Sequence[Sequence[np.ndarray]], exact: Collection[str]
) -> tuple[float, ...]:  # fmt: skip
    """half_tolerance of each vector, which was answered so."""
    return tuple(half_tolerance(graph, vector, answer, exact) for vector, answer in zip(vectors, found, strict=True))


def doubts(exam: ExamData) -> list[str]:
    """What to know of an exam that tells little."""
    least = min(exam.on_cpu, default=0.0)
    words = f"rounding moves the answer to every question of the exam by up to {min(least, ANYTHING):.0%} of its largest number"
    return [f"{words}: the exam tells larger errors only"] if least > USELESS else []


def half_tolerance(
    graph: Graph, vector: Arrays, answer: Sequence[np.ndarray] | None = None, exact_values: Collection[str] = ()
) -> float:  # fmt: skip
    """HALF_FACTOR times what rounding all tensors and weights to halves changes, and HALF_LEAST at least.

    answer: the float32 one, by default the graph's. exact_values: those that are not rounded.
    """
    exact = FloatModel(graph)(vector) if answer is None else answer
    changed = FloatModel(graph, halves=True, exact=exact_values)(vector)
    if any(np.isfinite(other).all() and not np.isfinite(one).all() for one, other in zip(changed, exact, strict=True)):
        return math.inf
    return max(HALF_LEAST, *(HALF_FACTOR * _distance(one, other) for one, other in zip(changed, exact, strict=True)))


def invented_tolerance(graph: Graph) -> float:
    """half_tolerance of what a host invents when it compares the GPU with the processor (runtimes/gpu/verify.h).

    UsageError where halves move integers of the answer: the GPU would never be taken.
    """
    invented = {name: _invented(graph.types[name].static_shape, graph.dtype(name)) for name in graph.inputs}
    answer = FloatModel(graph)(invented)
    _unmoved(graph, [invented], [answer], GPU_HALVES)
    return min(half_tolerance(graph, invented, answer), ANYTHING)


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


def _distance(one: np.ndarray, other: np.ndarray, least: float = TINY) -> float:
    """max |a - b| of what is finite in both / max |b| of what is, which counts as `least` where it is smaller.

    Between two orders of the same float operations it shows how much rounding the model amplifies.
    """
    finite = np.isfinite(one) & np.isfinite(other) if one.dtype.kind == "f" else np.zeros(one.shape, bool)
    if not finite.any():
        return 0.0
    apart = np.abs(one[finite].astype(np.float64) - other[finite]).max()
    return float(apart / max(largest(other), least))


def face(port: Port, channels_last: bool) -> Face:
    return Face(port.name, np.dtype(port.dtype.numpy), port.scale, port.zero_point, channels_last)


def _shown(arrays: Arrays, faces: Mapping[str, Face]) -> Arrays:
    """Tensors of the model as the package shows them."""
    return {name: faces[name].of_model(array) for name, array in arrays.items()}


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

    Behind float products a code that is nearly a tie may flip. Streams where none is are preferred; what the others may move by is
    their tolerance.
    """
    evaluator, model = Evaluator(to_onnx(graph)), cache(lambda: FloatModel(original))  # which takes memory that most need not
    kept = all(state.output in evaluator.exact_outputs for state in graph.states.values())
    exact = {name: kept and name in evaluator.exact_outputs for name in graph.answered}

    def questions(stream: Sequence[Arrays], most: float) -> list[_Question]:
        shown = [_shown(vector, faces) for vector in as_far(original, lambda inputs: model()(inputs), stream)]
        steps = [{name: faces[name].to_model(array, graph.dtype(name).numpy) for name, array in inputs.items()} for inputs in shown]
        answers = streamed(graph, partial(_evaluated, graph, evaluator, None), steps)
        reach = [0.0] * len(steps) if all(exact.values()) else _reach(graph, evaluator, steps, answers, seed, most)
        named = [dict(zip(graph.answered, answer, strict=True)) for answer in answers]
        return [_Question(one, _shown(other, faces), far) for one, other, far in zip(shown, named, reach, strict=True)]

    known = list(islice(samples(), TRIED + (STEPS - 1 if graph.states else 0))) if samples is not None else []
    chosen = [questions(stream, math.inf) for stream in exam_streams(original, samples, seed)]
    for number in range(1, TRIED):
        restless = [place for place, stream in enumerate(chosen) if FLIP_FACTOR * _farthest(stream) > FLOAT_TOLERANCE]
        first = number % max(len(known), 1)
        others = partial(iter, [*known[first:], *known[:first]]) if known else None
        streams = exam_streams(original, others, seed + number) if restless else []
        for place in restless:
            chosen[place] = min(chosen[place], questions(streams[place], _farthest(chosen[place])), key=_preference)
    asked = list(chain(*chosen))
    tolerances = [FLIP_FACTOR * one.reach for one in asked]
    # NaNs are one value, whose bits are not part of the contract
    exact = {name: same and not any(_has_nan(one.outputs[name]) for one in asked) for name, same in exact.items()}
    cut = frozenset(name for name, same in exact.items() if not same and is_cut(graph, name))
    given, answers, begins = [one.inputs for one in asked], [one.outputs for one in asked], _begins(graph, chosen)
    return ExamData(given, answers, exact, FLOAT_TOLERANCE, tolerances, anew=begins, cut=cut)


def _has_nan(array: np.ndarray) -> bool:
    return bool(np.any(array != array))


def _farthest(stream: Sequence[_Question]) -> float:
    return max(one.reach for one in stream)


def _preference(stream: Sequence[_Question]) -> tuple[int, float]:
    """The longest stream comes first, since it shows most of what is kept, and of those of one length the calmest."""
    return -len(stream), _farthest(stream)


def _evaluated(graph: Graph, evaluator: Evaluator, chance: Chance | None, inputs: Arrays) -> list[np.ndarray]:
    found = evaluator.run(inputs, chance=chance)
    return [filled(found[name], graph.types[name]) for name in graph.outputs]


def _reach(
    graph: Graph, evaluator: Evaluator, steps: Sequence[Arrays], answers: Sequence[Sequence[np.ndarray]], seed: int, most: float
) -> list[float]:  # fmt: skip
    """How far each answer moves when float products are off by what another order of summing may make: codes flip, and what they feed.

    most: a stream with more is not looked at closer.
    """
    reach = [0.0] * len(steps)
    for number in range(2 * FLIPS):
        chance = _chance(seed, number // 2, up=number % 2 == 0)
        moved = streamed(graph, partial(_evaluated, graph, evaluator, chance), steps)
        apart = [max(map(_distance, *pair)) for pair in zip(moved, answers, strict=True)]
        reach = list(map(max, reach, apart))
        if max(reach) >= most:
            break
    return reach


def _chance(seed: int, number: int, *, up: bool) -> Chance:
    generator = np.random.default_rng([seed, number])
    return lambda shape: (generator.integers(0, 2, shape) == 1) == up
