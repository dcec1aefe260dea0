"""From a drawn model to cases: the float Program with ONNX Runtime's answers, the int8 Program with the oracle's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime

from edgec.base.errors import EdgecError
from edgec.exam.expected import is_coded
from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.oracle import Evaluator
from edgec.passes import optimize
from edgec.program.program import Program
from edgec.quant import quantize
from edgec.schedule import schedule
from edgec.targets import Target
from tests.fuzz.frame import Wrong, key_of
from tests.fuzz.graphs_draft import QUIET, Arrays, Drawn
from tests.fuzz.graphs_errors import bounds
from tests.fuzz.graphs_refused import check_refusal
from tests.operators.case import Case, difference
from tests.operators.suite import Compiled

STEPS = 4  # of the codes between ONNX Runtime's answer of model.int8.onnx and the oracle's, for most elements of a model with few nodes


class Refused(Exception):
    """edgec says clearly that it does not compile the model, for a reason of graphs_refused.py."""


def refused(error: EdgecError, stage: str) -> Refused:
    """Wrong where a drawn model must not be refused so."""
    check_refusal(str(error), stage)
    return Refused(str(error))


def optimized(model: onnx.ModelProto) -> Graph:
    try:
        graph = from_proto(model).graph
        optimize(graph)
    except EdgecError as error:
        raise refused(error, "import") from None
    return graph


def program_of(graph: Graph, target: Target) -> Program:
    try:
        program = schedule(lower(graph, target, "case"), target)
    except EdgecError as error:
        raise refused(error, "lowering") from None
    plan(program)
    return program


def cases_of(name: str, drawn: Drawn, target: Target) -> list[Compiled]:
    """Float and int8, on every input. Refused where edgec takes neither; Wrong for a traceback."""
    try:
        graph = optimized(drawn.model)
        return [*float_cases(name, drawn, graph, target), *int8_cases(name, drawn, graph, target)]
    except (Refused, Wrong):
        raise
    except Exception as error:
        raise Wrong(f"compiling: {key_of(error)}", f"{type(error).__name__}: {error}") from error


def float_cases(name: str, drawn: Drawn, graph: Graph, target: Target) -> list[Compiled]:
    """ONNX Runtime's answers on the model as it is, each operator by itself. A model with Q/DQ computes in integers: see int8_cases.

    So do what constants of its file make, by the rules of docs/int8.md for codes of channels, before nothing is left of their Q/DQ.
    """
    if is_quantized(graph) or any(node.op_type == "QuantizeLinear" for node in drawn.model.graph.node):
        return []
    program, outputs, found = program_of(graph, target), [value.name for value in drawn.model.graph.output], []
    session = onnxruntime.InferenceSession(drawn.model.SerializeToString(), QUIET)
    for place, inputs in enumerate(drawn.vectors):
        expected = [np.asarray(array) for array in session.run(None, inputs)]
        errors = bounds(drawn, place)
        allowed = [errors.get(output, np.zeros(array.shape)) for output, array in zip(outputs, expected, strict=True)]
        case = Case(f"{name}, float, input {place}", "float", drawn.model, inputs, expected, bounds=allowed)
        found.append(Compiled(case, program))
    return found


def int8_cases(name: str, drawn: Drawn, graph: Graph, target: Target) -> list[Compiled]:
    """The quantized model, and the oracle's answers; outputs beyond the contract may be anything here.

    A model in which nothing came to be integers is beyond it as a whole, as it is in the exam: kernels of floats may compute it.
    """
    if not is_quantized(graph):
        try:
            graph = quantize(graph, lambda: samples(drawn)).graph
        except EdgecError as error:
            check_refusal(str(error), "quantization", calibrated=True)
            return []
    if not is_coded(graph):
        return []
    program, exported, found, signs = program_of(graph, target), to_onnx(graph), [], _read_bits(graph)
    evaluator = Evaluator(exported)
    holes = any(np.isnan(array).any() for array in drawn.values[0].values() if array.dtype.kind == "f")  # nobody says NaN's code
    session = None if holes else _opened(exported)
    for place, given in enumerate(drawn.vectors):
        inputs = {name: given[name] for name in graph.inputs}
        answers = evaluator.run(inputs)
        shown = [output for output in graph.outputs if output not in graph.told_shapes()]
        expected = [np.asarray(answers[output], graph.held_dtype(output).numpy) for output in shown]
        exact = [output in evaluator.exact_outputs and output not in signs for output in shown]
        allowed = [np.full(array.shape, 0.0 if sure else np.inf) for array, sure in zip(expected, exact, strict=True)]
        case = Case(f"{name}, int8, input {place}", "int8", exported, inputs, expected, bounds=allowed)
        found.append(Compiled(case, program))
        if place == 0 and session is not None:
            _compare(drawn, case, session.run(shown, inputs))
    return found


def _read_bits(graph: Graph) -> set[str]:
    """What comes of the bits of floats: NaNs are one value by the contract, whatever their signs and payloads."""
    found: set[str] = set()
    for node in graph.nodes:
        bits = node.op == "BitCast" and graph.dtype(node.inputs[0]).is_float
        if bits or not found.isdisjoint(node.inputs):
            found.update(node.outputs)
    return found


def _compare(drawn: Drawn, case: Case, found: Sequence[np.ndarray]) -> None:
    """Wrong where ONNX Runtime answers something else that the float model's roundings alone do not make: Cos of 1e9 may be anything."""
    expected = list(case.expected)
    if is_near(expected, found):
        return
    allowed = bounds(drawn, 0)
    unsure = [allowed.get(value.name, np.zeros(array.shape)) for value, array in zip(drawn.model.graph.output, expected, strict=True)]
    if not is_near(expected, found, unsure):
        raise Wrong("model.int8.onnx in ONNX Runtime", difference(replace(case, bounds=None), list(found)))


def _opened(exported: onnx.ModelProto) -> onnxruntime.InferenceSession | None:
    """In ONNX Runtime; None where it has no kernel for the type of some operator, which it has for ONNX's function body of the same."""
    try:
        return onnxruntime.InferenceSession(exported.SerializeToString(), QUIET)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return None


def is_quantized(graph: Graph) -> bool:
    return any(node.op in ("QuantizeLinear", "DequantizeLinear") for node in graph.nodes)


def samples(drawn: Drawn) -> list[Arrays]:
    """Three calibration samples: the ordinary input, and that with its elements in another order."""
    generator = np.random.default_rng(5)
    mixed = [
        {name: generator.permuted(array.reshape(-1)).reshape(array.shape) for name, array in drawn.vectors[0].items()} for _ in range(2)
    ]
    return [drawn.vectors[0], *mixed]


def is_near(expected: Sequence[np.ndarray], found: Sequence[np.ndarray], unsure: Sequence[np.ndarray | float] = ()) -> bool:
    """Whether most elements agree, up to a few steps of an 8-bit grid over the output's range and what is `unsure` of each.

    Integers that may have wrapped do not count: ONNX Runtime computes their sums and products through floats.
    """
    for one, other, least in zip(expected, found, unsure or [0.0] * len(expected), strict=True):
        if not (one.dtype.kind == "f" or one.dtype.itemsize == 1) or one.dtype.kind == "b" or not one.size:
            continue
        one, other = np.atleast_1d(one.astype(np.float64)), np.atleast_1d(other.astype(np.float64))
        finite = np.isfinite(one) & np.isfinite(other)
        step = np.ptp(one[finite]) / 255 if finite.any() else 0.0
        least = np.broadcast_to(np.asarray(least), one.shape)[finite]
        off = np.abs(one[finite] - other[finite]) > STEPS * step + 1e-4 * (1 + np.abs(one[finite])) + least
        if off.sum() > max(2, 0.3 * off.size):
            return False
    return True
