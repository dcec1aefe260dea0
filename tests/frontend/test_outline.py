"""What a file says of itself is told, whatever it says."""

from __future__ import annotations

from pathlib import Path

from onnx import parser

from edgec.frontend.file.outline import outline


def test_a_type_that_does_not_exist(tmp_path: Path) -> None:
    model = parser.parse_model('<ir_version: 9, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Relu(x) }')
    model.graph.output[0].type.tensor_type.elem_type = 54
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    assert [port[1] for port in outline(tmp_path / "model.onnx").outputs] == ["type 54"]
