"""What docs/usage.md says of operators: its lists are the code's own, and what it says is refused is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization import quantize_dynamic

import edgec
from edgec.base.errors import ModelError
from edgec.frontend import from_proto
from edgec.frontend.translation.builder import RANDOM
from edgec.frontend.translation.rules import RULES
from edgec.ops import OPERATORS
from tests.calling import ROOT

USAGE = (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")
Operands = dict[str, np.ndarray | None]  # None: computed while the model runs


def section(title: str) -> str:
    return USAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def words(text: str) -> list[str]:
    return re.findall(r"`([A-Z]\w+)`", text)


def test_lists_of_operators_are_complete() -> None:
    table = [line.split("|")[2] for line in section("Operators of ONNX Runtime").splitlines() if line.startswith("| ")]
    assert sorted(words(" ".join(table))) == sorted(op for domain, op in RULES if domain == "com.microsoft")
    learned = section("Models of scikit-learn").partition("these are built")[2].partition(".\n")[0]
    assert sorted(words(learned)) == sorted(op for domain, op in RULES if domain == "ai.onnx.ml")
    missing = section("Operators of ONNX Runtime").partition("no package computes")[2].partition(".\n")[0]
    schemas = {item.name: item for item in onnx.defs.get_all_schemas() if item.domain == ""}
    composed = {name for name, item in schemas.items() if item.has_function or item.has_context_dependent_function}
    of_constants = {"MelWeightMatrix"}
    assert set(words(missing)) == set(schemas) - composed - {op for _, op in RULES} - set(OPERATORS) - of_constants | RANDOM


PACKED = np.ones((8, 24), np.float32)
X, ROW = np.zeros((1, 4, 8), np.float32), np.ones(8, np.float32)
CODES, SCALES = np.zeros((3, 1, 16), np.uint8), np.ones((3, 1), np.float32)
BITS = {"K": 32, "N": 3, "bits": 4, "block_size": 32}
WIDE = np.zeros((1, 32), np.float32)
# What is refused, in the words of the error: operator, operands (the first is an input of the model), attributes, number of outputs
REFUSED: dict[str, tuple[str, Operands, dict[str, Any], int]] = {
    "mean and deviation as outputs": ("SkipLayerNormalization", {"x": X, "s": X, "g": ROW}, {}, 2),
    "with a shared buffer or": ("Attention", {"x": X, "w": PACKED, **dict.fromkeys("bmpan", ROW)}, {"num_heads": 2}, 1),
    "or rotary embedding": ("Attention", {"x": X, "w": PACKED}, {"num_heads": 2, "do_rotary": 1}, 1),
    "with keys and values in one tensor": ("MultiHeadAttention", {"x": X}, {"num_heads": 2}, 1),
    "with transposed batches": ("FusedMatMul", {"x": X, "y": X}, {"transBatchA": 1}, 1),
    "weights that are computed": ("MatMulNBits", {"x": WIDE, "w": None, "s": SCALES}, BITS, 1),
    "only weights of 4 or 8 bits": ("MatMulNBits", {"x": WIDE, "w": CODES, "s": SCALES}, {**BITS, "bits": 2}, 1),
    "with whole zero points": ("MatMulNBits", {"x": WIDE, "w": CODES, "s": SCALES, "z": SCALES}, BITS, 1),
    "in their own order": ("MatMulNBits", {"x": WIDE, "w": CODES, "s": SCALES, "": None, "g": np.zeros(32, np.int32)}, BITS, 1),
    "operators of the domain com.microsoft are not supported": ("GroupQueryAttention", {"x": X}, {"num_heads": 2, "kv_num_heads": 1}, 1),
}  # fmt: skip


@pytest.mark.parametrize("reason", REFUSED)
def test_what_the_page_says_is_refused_is(reason: str) -> None:
    op, operands, attributes, outputs = REFUSED[reason]
    made = [f"y{place}" for place in range(outputs)]
    nodes = [helper.make_node(op, list(operands), made, domain="com.microsoft", **attributes)]
    known = [numpy_helper.from_array(array, name) for name, array in list(operands.items())[1:] if array is not None]
    x = next(iter(operands.values()))
    assert x is not None
    inputs = [helper.make_tensor_value_info("x", 1, x.shape)]
    inputs += [helper.make_tensor_value_info(name, 2, CODES.shape) for name, array in operands.items() if name and array is None]
    graph = helper.make_graph(nodes, "refused", inputs, [onnx.ValueInfoProto(name=name) for name in made], known)
    versions = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    with pytest.raises(ModelError, match=reason):
        from_proto(helper.make_model(graph, opset_imports=versions, ir_version=10))


@pytest.mark.thorough
def test_a_file_of_quantize_dynamic_is_built_in_fp32_alone(tmp_path: Path) -> None:
    digits = ROOT / "examples" / "digits"
    quantize_dynamic(digits / "digits.onnx", tmp_path / "dynamic.onnx")
    built = edgec.build(tmp_path / "dynamic.onnx", target="portable", precision="fp32", out=tmp_path / "package", compile=False)
    assert built.manifest.precision == "fp32"
    with pytest.raises(ModelError, match="nothing in this model can be quantized"):
        edgec.build(tmp_path / "dynamic.onnx", target="portable", calib=digits / "calibration.npz", out=tmp_path / "int8", compile=False)


@pytest.mark.thorough
def test_of_a_recurrent_cell_the_product_of_all_inputs_is_in_integers(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    known = {name: rng.standard_normal((1, 64, 16)).astype(np.float32) / 4 for name in "WR"}
    shapes = {"x": (20, 1, 16), "y": (20, 1, 1, 16)}
    values = [helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()]
    node = helper.make_node("LSTM", ["x", "W", "R"], ["y"], "cell", hidden_size=16)
    graph = helper.make_graph(
        [node], "cell", values[:1], values[1:], [numpy_helper.from_array(array, name) for name, array in known.items()]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "cell.onnx")
    samples = {"x": rng.standard_normal((160, 1, 16)).astype(np.float32)}
    edgec.build(tmp_path / "cell.onnx", target="portable", calib=samples, out=tmp_path / "p", dump=tmp_path / "dump", compile=False)
    calls = (tmp_path / "dump" / "5-program.eir").read_text(encoding="utf-8")
    assert "= conv_int8_float " in calls and "buffer R_columns float32[1024]" in calls
