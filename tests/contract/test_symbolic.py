"""A batch that is chosen when the package runs: one package, emitted once, is right for every batch up to its bound."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from edgec.emit import ExamData
from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.ir.types import Symbol
from edgec.oracle import Evaluator
from edgec.passes import optimize
from edgec.quant import QuantizeOptions, quantize
from edgec.toolchain import run_exam
from tests.conftest import require
from tests.contract.examiner import WHOLE, answers_of_all_runs, available, build_variant, expected_hashes, quick
from tests.contract.subjects import Net
from tests.contract.variants import USUAL, Variant, in_turns, name_of
from tests.nets import OPSET
from tests.nets import Net as Builder

LARGEST = 4
BATCHES = (1, 3, LARGEST)


def model() -> onnx.ModelProto:
    """Convolutions (dense, depthwise, strided), a residual sum, other elementwise operators, both pools, Gemm; batch `N`."""
    net = Builder("symbolic", 1, (1, 3, 11, 9))
    x = net.conv("x", 8, 3, 2)
    y = net.add(x, net.conv(net.conv(x, 8, 3, groups=8, activation="Relu6"), 8, 1, activation=""))
    y = net.max_pool(net.concat(net.activate(y, "Silu"), net.activate(x, "Sigmoid")), 3, 2, 1)
    y = net.node("AveragePool", [net.conv(y, 12)], kernel_shape=[2, 2])
    y = net.dense(net.node("Flatten", [net.node("GlobalAveragePool", [y])], axis=1), 7)
    shape: list[Any] = ["N", 3, 11, 9]
    outputs = [helper.make_tensor_value_info(y, TensorProto.FLOAT, ["N", 7])]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    graph = helper.make_graph(net.nodes, "symbolic", given, outputs, net.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def inputs(batch: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(batch).standard_normal((batch, 3, 11, 9)).astype(np.float32)}


@cache
def subject(kind: str) -> tuple[Net, ExamData]:
    """The net and an exam with one vector for every batch: float from ONNX Runtime, int8 from the evaluator."""
    original = from_proto(model(), {"x": (Symbol("N", LARGEST), 3, 11, 9)}).graph
    graph = original.copy()
    optimize(graph)
    vectors = [inputs(batch) for batch in BATCHES]
    if kind == "float":
        session = onnxruntime.InferenceSession(model().SerializeToString(), providers=["CPUExecutionProvider"])
        answers = [dict(zip(original.outputs, session.run(None, vector), strict=True)) for vector in vectors]
        return Net("symbolic_float", original, graph), ExamData(vectors, answers, dict.fromkeys(original.outputs, False))
    options = QuantizeOptions(observer="minmax", round_weights=False)
    graph = quantize(graph, lambda: [inputs(LARGEST), inputs(LARGEST)], options).graph
    evaluator = Evaluator(to_onnx(graph))
    answers = [evaluator.run(vector) for vector in vectors]
    return Net("symbolic", original, graph), ExamData(vectors, answers, {name: name in evaluator.exact_outputs for name in graph.outputs})


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "variant"), in_turns(("float", "int8"), *((2, 2) if WHOLE else (1, 0))), ids=name_of)
def test_every_batch_passes_its_exam(kind: str, variant: Variant, shared: Path) -> None:
    net, data = subject(kind)
    found = answers_of_all_runs(net, data, quick(variant), shared)
    if kind == "int8":
        assert found == expected_hashes(data, net.graph.outputs)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["float", "int8"])
def test_sizes_on_the_command_line(kind: str, shared: Path) -> None:
    """--run --sizes N: the outputs of every batch, by every x86 vocabulary."""
    require("gcc")
    net, data = subject(kind)
    built, target = build_variant(net, data, quick(USUAL[0]), shared)
    (output,) = net.graph.outputs
    for isa in filter(available, target.vocabularies):
        for vector, answer in zip(data.inputs, data.outputs, strict=True):
            batch = len(vector["x"])
            done = run_exam(built, target, ["--run", "--isa", isa, "--threads", "2", "--sizes", str(batch)], vector["x"].tobytes())
            got = np.frombuffer(done.stdout, np.float32).reshape(batch, 7)
            if kind == "int8":
                assert np.array_equal(got, answer[output])
            else:
                assert np.abs(got - answer[output]).max() <= 1e-4 * np.abs(answer[output]).max()
        for wrong in ("0", str(LARGEST + 1)):
            assert run_exam(built, target, ["--run", "--sizes", wrong], inputs(LARGEST)["x"].tobytes()).returncode != 0


def test_a_batch_does_not_change_its_rows() -> None:
    """Row by row the evaluator gives what it gives for the whole batch."""
    net, data = subject("int8")
    evaluator = Evaluator(to_onnx(net.graph))
    (output,) = net.graph.outputs
    for vector, answer in zip(data.inputs, data.outputs, strict=True):
        rows = [evaluator.run({"x": row[None]})[output] for row in vector["x"]]
        assert np.array_equal(np.concatenate(rows), answer[output])
