"""Graphs leave as valid ONNX, at every stage, with the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from edgec.export import save, to_onnx
from edgec.export.runtime import Effort, Session
from edgec.frontend import from_proto
from edgec.ir.text import dumps, loads
from edgec.ir.verify import verify

STAGES = {
    "swish": '%y: float32[1,4,6] = Swish(%x) {alpha=1.0} "s"',
    "scaled swish": '%y: float32[1,4,6] = Swish(%x) {alpha=1.5} "s"',
    "fused": '%a: float32[1,4,6] = Gelu(%x) {approximate="tanh"}\n%b: float32[1,4,6] = HardSwish(%a)\n%y: float32[1,4,6] = Mish(%b)',
    "quantized": "const %s: float32[] = 0.1\nconst %z: uint8[] = 128\n%q: uint8[1,4,6] = QuantizeLinear(%x, %s, %z) {axis=1}\n"
    "%y: float32[1,4,6] = DequantizeLinear(%q, %s, %z) {axis=1}",
    "quantized per axis": "const %s: float32[4] = [0.1, 0.2, 0.3, 0.4]\nconst %z: int8[4] = [1, 2, 3, 4]\n"
    "%q: int8[1,4,6] = QuantizeLinear(%x, %s, %z) {axis=1}\n%y: float32[1,4,6] = DequantizeLinear(%q, %s, %z) {axis=1}",
    "weights per axis": "const %w: int8[1,4,1] = [5, 6, 7, 8]\nconst %s: float32[4] = [0.1, 0.2, 0.3, 0.4]\n"
    "const %z: int8[4] = [1, 2, 3, 4]\n%d: float32[1,4,1] = DequantizeLinear(%w, %s, %z) {axis=1}\n%y: float32[1,4,6] = Mul(%x, %d)",
    "same names": '%a: float32[1,4,6] = Relu(%x) "n"\n%y: float32[1,4,6] = Neg(%a) "n"',
    "constant output": "const %y: float32[2] = [1.0, 2.0]\n%a: float32[1,4,6] = Relu(%x)",
    "input output": "%a: float32[1,4,6] = Relu(%x)\n%y: float32[1,4,6] = Identity(%x)",
}


def text(stage: str) -> str:
    return f"graph stage\ninput %x: float32[1,4,6]\n{STAGES[stage]}\noutput %y\n"


@pytest.mark.parametrize("stage", STAGES)
def test_exports_run_and_come_back(stage: str) -> None:
    graph = loads(text(stage))
    proto = to_onnx(graph)
    onnx.checker.check_model(proto, full_check=True)
    x = np.random.default_rng(0).standard_normal((1, 4, 6)).astype(np.float32)
    (first,) = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    again = to_onnx(from_proto(proto).graph)
    (second,) = onnxruntime.InferenceSession(again.SerializeToString()).run(None, {"x": x})
    np.testing.assert_array_equal(first, second)


def test_swish_is_expanded_by_its_definition() -> None:
    x = np.linspace(-5, 5, 24, dtype=np.float32).reshape(1, 4, 6)
    (found,) = onnxruntime.InferenceSession(to_onnx(loads(text("scaled swish"))).SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(found, x / (1 + np.exp(-1.5 * x)), rtol=1e-5, atol=1e-6)


def test_relu_of_integers_that_onnx_runtime_has_none_for() -> None:
    graph = loads("graph whole\ninput %x: int64[3]\n%y: int64[3] = Relu(%x)\noutput %y\n")
    (found,) = Session(to_onnx(graph).SerializeToString(), Effort.ALL)(["y"], {"x": np.array([-(2**60) - 1, 0, 2**60 + 1])})
    assert found.tolist() == [0, 0, 2**60 + 1]


def test_canonical_graphs_survive_the_round_trip() -> None:
    graph = loads(text("weights per axis"))
    again = from_proto(to_onnx(graph)).graph
    assert [n.op for n in again.nodes] == [n.op for n in graph.nodes]
    assert next(line for line in dumps(again).splitlines() if " = " in line and "Linear" in line).startswith("%d: float32[1,4,1]")


def test_the_same_graph_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(loads(text("fused")), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


CODED = """graph coded
input %q: uint8[24]
input %s: float32[2]
const %scale: float32[] = 0.5
const %zero: uint8[] = 3
const %shape: int64[2] = [12, 2]
%x: float32[24] = DequantizeLinear(%q, %scale, %zero) {axis=1} "decode"
%rows: float32[12,2] = Reshape(%x, %shape) {allowzero=0} "rows"
%y: float32[2] = Loop(_, %s, %rows) {states=1, turns=12} "loop"
  body step
  input %turn: int64[]
  input %state: float32[2]
  input %rows: float32[12,2]
  %row: float32[2] = Gather(%rows, %turn) {axis=0} "take"
  %next: float32[2] = Add(%state, %row) "add"
  output %next
  end
output %y
"""


def test_a_loop_over_what_comes_from_codes_can_be_optimized() -> None:
    """Read by its name there it would end the process: so it does not by itself, and the answers are the same."""
    graph = loads(CODED)
    verify(graph)
    model = to_onnx(graph)
    (loop,) = [node for node in model.graph.node if node.op_type == "Loop"]
    assert len(loop.input) == 4 and not {"rows", "x"} & {name for node in loop.attribute[0].g.node for name in node.input}
    feed = {"q": np.arange(24, dtype=np.uint8), "s": np.array([1, -1], np.float32)}
    (found,) = Session(model.SerializeToString(), Effort.ALL)(["y"], feed)
    expected = feed["s"] + ((feed["q"].astype(np.float32) - 3) / 2).reshape(12, 2).sum(axis=0)
    np.testing.assert_array_equal(found, expected)
