"""The first question of a quantized model's exam: what its exact answers still have of those of the model it was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from edgec.exam.comparison import Arrays, Comparison, compare_answers
from edgec.exam.questions import RANDOM_VECTORS, exam_inputs
from edgec.exam.reference import FloatModel, filled
from edgec.exam.streaming import Stream
from edgec.export import to_onnx
from edgec.ir.graph import Graph, Node
from edgec.ir.loop import loop_of
from edgec.ir.types import TensorType
from edgec.ops.recurrent import CELLS
from edgec.ops.work import operations
from edgec.oracle import Evaluator
from edgec.quant import Quantized, Samples

LEAST, MOST = 10, 100  # samples: a handful tells a wrong scale from a right one, and of many no figure is luck
WORK = 1_000_000_000  # operations of the evaluator for it, a second or so
OVERHEAD = 20_000  # operations that take as long as calling one on nothing
CELL = 10  # operators of one step of a recurrent cell
FOLLOWED = 50  # samples of a stream, from its start: what is wrong with a state grows
APART = 10.0  # dB between two measures of one output; those on other samples may well differ by half of it
BEST = 200.0  # dB, stands for no difference at all
Tell = Callable[[int, int], None]


def compare_with_model(
    original: Graph, quantized: Quantized, reference: FloatModel, samples: Samples | None, seed: int, tell: Tell
) -> Comparison:
    """The integer evaluator's answers, which are the package's, against the model's in ONNX Runtime.

    On samples evenly taken from those of the calibration; on random ones where there are none. Of a model with states, which each keeps
    for itself, on the first samples in their order.
    """
    evaluator, names = Evaluator(to_onnx(quantized.graph)), list(original.outputs)
    asked = _asked(original, samples, seed, quantized.report.samples)

    def answer(sample: Arrays) -> list[Any]:
        found = evaluator.run(sample)
        return [filled(found[name], original.types[name]) for name in names]

    found = compare_answers(original.answered, _told(asked, tell), Stream(original, reference), Stream(original, answer))
    found = found.warned((layer["sqnr"], layer["node"]) for layer in quantized.report.layers)
    return replace(found, warnings=[*found.warnings, *_before(found, quantized.report.outputs)])


def compare_coded(
    original: Graph, coded: FloatModel, reference: FloatModel, samples: Samples | None, seed: int, tell: Tell
) -> Comparison:  # fmt: skip
    """The answers of the model with coded weights, which are the package's, against the model's, both in ONNX Runtime."""
    asked = _asked(original, samples, seed, LEAST if samples is None else sum(1 for _ in samples()))
    return compare_answers(original.answered, _told(asked, tell), Stream(original, reference), Stream(original, coded)).warned(())


def _asked(original: Graph, samples: Samples | None, seed: int, count: int) -> Iterator[Arrays]:
    if samples is not None and original.states:
        return islice(samples(), FOLLOWED)
    return _random(original, seed) if samples is None else spread(samples, count, affordable(original))


def affordable(graph: Graph) -> int:
    """How many samples are compared: the more, the less of a network there is."""
    work = sum(operations(node, graph.types) + OVERHEAD * _runs(node, graph.types) for node in graph.nodes)
    return min(max(WORK // max(work, 1), LEAST), MOST)


def _runs(node: Node, types: Mapping[str, TensorType]) -> int:
    """How often it and what is in it is run."""
    loop = loop_of(node)
    if loop is not None:
        return loop.turns * sum(_runs(inner, loop.body.types) for inner in loop.body.nodes)
    return types[node.inputs[0]].static_shape[0] * CELL if node.op in CELLS else 1


def _before(found: Comparison, measured: Mapping[str, float]) -> Iterator[str]:
    """Outputs that are far off though quantization did little. measured: their SQNR against the graph whose values were rounded."""
    for score in found.outputs:
        known = measured.get(score.output)  # an output that comes as codes is not measured
        if score.low and known is not None and known > score.sqnr_db + APART:
            graph = f"{known:.1f} dB against the graph after equalization"
            yield f"rounding is not what does it: {score.output} has {graph}, which is no longer the model"


def manifest_facts(found: Comparison) -> Mapping[str, Any]:
    """What the manifest says of it."""
    return {
        "sqnr_db": {score.output: round(min(max(score.sqnr_db, -BEST), BEST), 2) for score in found.outputs},
        "agreement": {score.output: round(score.agreement, 4) for score in found.outputs if score.chooses},
        "compared": found.samples,
        "warnings": tuple(found.warnings),
    }


def spread(samples: Samples, count: int, most: int) -> Iterator[Arrays]:
    """`most` of `count` samples, which may be in order of their classes; where nobody counted them, the first ones."""
    places = {place * count // most for place in range(most)} if count > most else range(count or LEAST)
    return (sample for place, sample in enumerate(samples()) if place in places)


def _random(graph: Graph, seed: int) -> Iterator[Arrays]:
    for number in range(LEAST // RANDOM_VECTORS):
        yield from exam_inputs(graph, None, seed + number)


def _told(asked: Iterator[Arrays], tell: Tell) -> Iterator[Arrays]:
    number = 0
    for number, sample in enumerate(asked, 1):
        tell(number - 1, 0)
        yield sample
    tell(number, number)
