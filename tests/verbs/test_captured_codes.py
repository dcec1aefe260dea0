"""Bodies of loops that read codes of the graph around them: ONNX Runtime's optimizer ends the process that loads such a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import parser


@pytest.mark.parametrize("turns", [3, 20])
def test_a_body_that_reads_moved_codes_is_built(tmp_path: Path, turns: int) -> None:
    """In a process of its own, of which none is left where the optimizer is on."""
    text = f"""<ir_version: 10, opset_import: ["": 20]> g (uint8[4] q, float[4] first) => (float[4] last)
    <float s = {{0.1}}, uint8 z = {{3}}, int64 n = {{{turns}}}, bool c = {{1}}> {{
      d = DequantizeLinear(q, s, z)
      moved = Transpose<perm = [0]>(d)
      last = Loop(n, c, first) <body = b (int64 i, bool go, float[4] a) => (bool on, float[4] sum)
        {{ on = Identity(go) sum = Add(a, moved) }}>
    }}"""
    onnx.save(parser.parse_model(text), tmp_path / "m.onnx")
    command = [sys.executable, "-m", "edgec", "build", "--json", "-o", str(tmp_path / "out"), str(tmp_path / "m.onnx")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
