"""The exam of a package: inputs and the outputs expected of it. They never come from emitted code: int8 answers come from
the integer evaluator, float answers from ONNX Runtime on the model as it was imported."""

from __future__ import annotations

from itertools import islice

import numpy as np
import onnxruntime

from edgec.emit import ExamData
from edgec.export import to_onnx
from edgec.ir.graph import Graph
from edgec.ir.types import DType
from edgec.oracle import Evaluator
from edgec.program.program import Port, Program
from edgec.quant import Samples

FLOAT_TOLERANCE = 1e-4  # of the largest magnitude of an output
SAMPLE_VECTORS, RANDOM_VECTORS = 1, 2

Arrays = dict[str, np.ndarray]


def write_exam(original: Graph, graph: Graph, program: Program, samples: Samples | None, seed: int) -> ExamData:
    """Vectors for `program`, which was lowered from `graph`; `original` is the imported float model."""
    vectors = exam_inputs(original, samples, seed)
    if any(node.op == "QuantizeLinear" for node in graph.nodes):
        return _exact_exam(graph, program, vectors)
    session = onnxruntime.InferenceSession(to_onnx(original).SerializeToString(), providers=["CPUExecutionProvider"])
    answers = [dict(zip(original.outputs, session.run(original.outputs, vector), strict=True)) for vector in vectors]
    exact = {name: not original.dtype(name).is_float for name in original.outputs}
    return ExamData(vectors, answers, exact, FLOAT_TOLERANCE)


def exam_inputs(graph: Graph, samples: Samples | None, seed: int) -> list[Arrays]:
    """A few calibration samples, where there are some, and random tensors that fill the samples' range."""
    generator = np.random.Generator(np.random.PCG64(seed))
    known = list(islice(samples(), SAMPLE_VECTORS)) if samples is not None else []
    return known + [{name: _random(graph, name, known, generator) for name in graph.inputs} for _ in range(RANDOM_VECTORS)]


def _random(graph: Graph, name: str, known: list[Arrays], generator: np.random.Generator) -> np.ndarray:
    kind, shape = graph.dtype(name), graph.types[name].static_shape
    low, high = (float(known[0][name].min()), float(known[0][name].max())) if known else (0.0, 1.0)
    if kind is DType.BOOL:
        return generator.integers(0, 2, shape).astype(bool)
    if kind.is_float:
        return generator.uniform(low, high, shape).astype(kind.numpy)
    top = 255 if kind is DType.UINT8 else 127 if kind is DType.INT8 else max(int(high), 1)
    return generator.integers(min(int(low), 0), top + 1, shape).astype(kind.numpy)


def _exact_exam(graph: Graph, program: Program, vectors: list[Arrays]) -> ExamData:
    evaluator = Evaluator(to_onnx(graph))
    inputs, answers = [], []
    for vector in vectors:
        given = {port.name: _as_given(port, vector[port.name]) for port in program.inputs}
        inputs.append(given)
        expected = evaluator.run({port.name: _as_model(port, given[port.name], graph) for port in program.inputs})
        answers.append({port.name: _as_given(port, expected[port.name]) for port in program.outputs})
    exact = {name: name in evaluator.exact_outputs for name in graph.outputs}
    return ExamData(inputs, answers, exact, FLOAT_TOLERANCE)


def _as_given(port: Port, array: np.ndarray) -> np.ndarray:
    """An array in the model's type as the package's port takes it: quantized by clause 2 of docs/int8.md where the port is 8-bit."""
    if port.scale is None:
        return array
    limits = np.iinfo(port.dtype.numpy)
    inverse = np.float32(1) / np.float32(port.scale)
    steps = np.rint(np.nan_to_num(array, nan=0.0, posinf=np.inf, neginf=-np.inf) * inverse)
    clamped = np.clip(steps, limits.min - port.zero_point, limits.max - port.zero_point)
    return (clamped + port.zero_point).astype(port.dtype.numpy)


def _as_model(port: Port, array: np.ndarray, graph: Graph) -> np.ndarray:
    """The inverse of _as_given, by clause 3."""
    if port.scale is None:
        return array
    real = (array.astype(np.int32) - port.zero_point).astype(np.float32) * np.float32(port.scale)
    return real.astype(graph.dtype(port.name).numpy)
