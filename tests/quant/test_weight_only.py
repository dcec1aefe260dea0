"""--weight-bits: which layers get codes, how well these stand for the weights, and what the package says of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgec
from edgec.base.errors import ModelError, UsageError
from edgec.export.onnx_file import save
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.passes import optimize
from edgec.pipeline.models import read_model
from edgec.quant.codes.matrix_codes import code_matrix, searched
from edgec.quant.codes.weight_only import code_weights
from edgec.quant.given.options import Samples
from edgec.settings.config import configure
from tests.contract.examiner import WHOLE
from tests.passes.compare import run

K, N = 150, 130


def dense(rows: int = 1, *, seed: int = 0) -> onnx.ModelProto:
    """relu(x * a + b) * c, whose last product has a small matrix."""
    rng = np.random.default_rng(seed)
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["p"], "first"),
        helper.make_node("Add", ["p", "b"], ["q"]),
        helper.make_node("Relu", ["q"], ["r"]),
        helper.make_node("MatMul", ["r", "c"], ["y"], "last"),
    ]
    ports = [helper.make_tensor_value_info(*item) for item in (("x", TensorProto.FLOAT, [rows, K]), ("y", TensorProto.FLOAT, [rows, 7]))]
    known = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in {"a": (K, N), "b": (N,), "c": (N, 7)}.items()}
    made = helper.make_graph(nodes, "net", ports[:1], ports[1:], [numpy_helper.from_array(array, name) for name, array in known.items()])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def graph_of(proto: onnx.ModelProto) -> Graph:
    graph = from_proto(proto).graph
    optimize(graph)
    return graph


@pytest.mark.parametrize("bits, least", [(8, 40.0), (4, 17.0)])
def test_the_answers_stay_near_the_models(bits: int, least: float) -> None:
    graph = graph_of(dense())
    coded = code_weights(graph, bits)
    x = {"x": np.random.default_rng(1).standard_normal((1, K)).astype(np.float32)}
    (before,), (after,) = run(graph, x), run(coded.graph, x)
    assert 10 * np.log10((before**2).sum() / ((before - after) ** 2).sum()) > least
    assert coded.layers == 1 and coded.float_bytes == K * N * 4
    assert coded.bytes == K * N * bits // 8 + N * (5 if bits == 4 else 1) * 4
    assert [node.op for node in graph.nodes] == [node.op for node in coded.graph.nodes if node.op != "DequantizeLinear"]


def test_one_matrix_of_several_layers_is_stored_once() -> None:
    proto = dense()
    square = numpy_helper.from_array(np.random.default_rng(2).standard_normal((K, K)).astype(np.float32), "a")
    proto.graph.initializer[0].CopyFrom(square)
    del proto.graph.node[1:], proto.graph.initializer[1:]
    proto.graph.node.extend([helper.make_node("Relu", ["p"], ["r"]), helper.make_node("MatMul", ["r", "a"], ["y"])])
    proto.graph.output[0].type.tensor_type.shape.dim[1].dim_value = K
    coded = code_weights(graph_of(proto), 4)
    assert coded.layers == 2 and sum(node.op == "DequantizeLinear" for node in coded.graph.nodes) == 1 and coded.float_bytes == K * K * 4


def test_many_rows_are_not_bound_by_memory() -> None:
    with pytest.raises(ModelError, match="no layer gains by weights of 4 bits"):
        code_weights(graph_of(dense(rows=65)), 4)


@pytest.mark.parametrize("bits, group, share", [(8, 100, 1.0), (4, 32, 0.95), (4, 7, 0.95)])
def test_the_search_is_no_worse_than_min_max(bits: int, group: int, share: float) -> None:
    matrix = np.random.default_rng(3).standard_t(4, (20, 100)).astype(np.float32)
    matrix[3], matrix[4, :40] = 0, 0
    found = searched(matrix, bits, group)
    codes, scales = found.codes, found.scales
    assert not found.zeros.any()
    largest = 2 ** (bits - 1) - 1
    assert codes.dtype == np.int8 and codes.min() >= -largest - 1 and codes.max() <= largest and (scales > 0).all()
    error = ((np.repeat(scales, group, 1)[:, :100] * codes - matrix) ** 2).sum()
    blocks = np.pad(matrix, ((0, 0), (0, -100 % group))).reshape(20, -1, group)
    step = np.maximum(abs(blocks).max(2, keepdims=True) / largest, 1e-30)
    plain = ((np.rint(blocks / step) * step - blocks) ** 2).sum()
    assert error < share * plain
    assert not codes[3].any() and not codes[4, : 40 // group * group].any()


def test_zero_points_where_they_gain() -> None:
    """Groups whose weights lie to one side have them, and those around 0 do without."""
    rng = np.random.default_rng(4)
    even = rng.standard_normal((40, 96)).astype(np.float32)
    beside = even + np.repeat(rng.choice([-3, 3], (40, 3)), 32, 1).astype(np.float32)
    assert not code_matrix(np.sign(even) * 3 + even / 9, 4, 32).zeros.any()
    found = code_matrix(beside, 4, 32)
    assert found.zeros.any() and found.codes.min() >= -8 and found.codes.max() <= 7
    assert ((found.decoded(32) - beside) ** 2).sum() < 0.5 * ((searched(beside, 4, 32).decoded(32) - beside) ** 2).sum()


def test_rounding_follows_what_the_layer_is_fed() -> None:
    """On rows that were not seen; and rows that say nothing of these change nothing for the worse."""
    rng = np.random.default_rng(5)
    matrix, mixing = rng.standard_normal((48, 96)).astype(np.float32), rng.standard_normal((12, 96)).astype(np.float32)

    def rows(count: int) -> np.ndarray:
        return (rng.standard_normal((count, 12)) @ mixing + 0.1 * rng.standard_normal((count, 96))).astype(np.float32)

    fresh = rows(500)
    plain, fitted = (((matrix - code_matrix(matrix, 4, 32, given).decoded(32)) @ fresh.T).std() for given in (None, rows(400)))
    assert fitted < 0.6 * plain
    few = ((matrix - code_matrix(matrix, 4, 32, rows(3)).decoded(32)) @ fresh.T).std()
    assert few <= plain * 1.001


def test_samples_reach_the_layers() -> None:
    graph = graph_of(dense())
    rng = np.random.default_rng(6)
    mixing = rng.standard_normal((9, K))
    rows = [(rng.standard_normal((1, 9)) @ mixing).astype(np.float32) for _ in range(300)]

    def lost(samples: Samples | None) -> float:
        coded = code_weights(graph, 4, samples).graph
        return sum(float(((run(graph, {"x": row})[0] - run(coded, {"x": row})[0]) ** 2).sum()) for row in rows[250:])

    assert lost(lambda: ({"x": row} for row in rows[:250])) < 0.5 * lost(None)


def test_a_package_with_coded_weights(tmp_path: Path) -> None:
    onnx.save(dense(), tmp_path / "net.onnx")
    package = edgec.build(tmp_path / "net.onnx", precision="fp32", weight_bits=4, cc="gcc" if WHOLE else "gcc -O0", out=tmp_path / "out")
    assert package.examined
    facts = json.loads((tmp_path / "out/manifest.json").read_text())
    assert facts["coded_weights"] == {"bits": 4, "layers": 1, "float_bytes": 78000, "bytes": 12350}
    assert facts["options"]["weight_bits"] == 4 and facts["compared"] == 10 and facts["sqnr_db"]["y"] > 15
    assert "rows_codes4" in [call["kernel"] for call in facts["calls"]]
    card = (tmp_path / "out/MODEL_CARD.md").read_text()
    assert "| Weights of 1 dense layers | 4 bits, 12,350 bytes with their scales where float32 had 78,000 |" in card


def test_what_a_package_cannot_have_is_said_before_the_work(tmp_path: Path) -> None:
    onnx.save(dense(), tmp_path / "net.onnx")
    for wrong, words in (
        ({"weight_bits": 4, "calib": np.zeros((8, 1, K), np.float32)}, "coded weights are for fp32 packages"),
        ({"weight_bits": 4, "precision": "fp32", "target": "linux-vulkan"}, "linux-vulkan has a GPU, whose shaders read floats"),
        ({"weight_bits": 3, "precision": "fp32"}, "write 4 or 8"),
    ):
        with pytest.raises(UsageError) as caught:
            edgec.plan(tmp_path / "net.onnx", **wrong)
        assert words in str(caught.value)


def test_a_model_that_comes_with_codes_keeps_them(tmp_path: Path) -> None:
    """In float packages; where activations are quantized as well, quantization sees floats."""
    path = tmp_path / "coded.onnx"
    save(code_weights(graph_of(dense()), 4).graph, path)
    package = edgec.build(path, precision="fp32", cc="gcc" if WHOLE else "gcc -O0", out=tmp_path / "out")
    assert package.examined and "rows_codes4" in [call.kernel for call in package.manifest.calls]
    x = {"x": np.random.default_rng(1).standard_normal((1, K)).astype(np.float32)}
    with package.load() as runner:
        (found,) = runner(x)
    (wanted,) = run(from_proto(onnx.load(path)).graph, x)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * abs(wanted).max())
    kept, decoded = (read_model(path, configure(precision=precision)).graph for precision in ("fp32", "int8"))
    assert [sum(node.op == "DequantizeLinear" for node in graph.nodes) for graph in (kept, decoded)] == [1, 0]
