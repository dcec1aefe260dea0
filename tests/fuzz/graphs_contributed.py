"""Drawers of ONNX Runtime's own operators that its optimizer writes."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from tests.fuzz.graphs_draft import FLOAT, MICROSOFT, Draft
from tests.fuzz.graphs_pointwise import Drawer


def bits(d: Draft, op: str) -> None:
    d.since(26)
    d.op("Abs", d.op(op, d.data((np.int32,)), to=TensorProto.UINT32) if d.chance(0.3) else d.op(op, d.data(), to=TensorProto.INT32))


def gelu(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 1, 4)
    d.op(op, x, *([d.numbers(d.shape(x)[-1:])] if op != "QuickGelu" else []), domain=MICROSOFT)


def product(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 2, 3)
    turned, inner = d.number(0, 1), d.shape(x)[-1]
    shape = (d.number(1, 6), inner) if turned else (inner, d.number(1, 6))
    d.op(op, x, d.numbers(shape), domain=MICROSOFT, transB=turned, alpha=d.pick(1.0, 0.25))


def norm(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 3, 3)
    inner = d.shape(x)[-1:]
    known = [d.numbers(inner) for _ in range(1 if "Simplified" in op else 2)]
    d.op(op, x, d.input(FLOAT, d.shape(x)), *known, domain=MICROSOFT, epsilon=d.pick(1e-5, 0.1))


def attention(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 3, 3)
    count, width = d.number(1, 3), d.number(1, 4)
    sizes = 3 * count * width
    d.op(op, x, d.numbers((d.shape(x)[-1], sizes)), d.numbers((sizes,)), domain=MICROSOFT, num_heads=count, unidirectional=d.number(0, 1))


def coded_product(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 2, 3)
    w = d.const(d.g.integers(-127, 128, (d.shape(x)[-1], d.number(1, 6))), np.int8)
    d.op(op, x, w, d.const(0.01, FLOAT), domain=MICROSOFT)


CONTRIBUTED: dict[str, Drawer] = {
    "BitCast": bits, **dict.fromkeys(("FastGelu", "BiasGelu", "QuickGelu"), gelu), "FusedMatMul": product,
    "SkipLayerNormalization": norm, "SkipSimplifiedLayerNormalization": norm, "Attention": attention,
    "DynamicQuantizeMatMul": coded_product,
}  # fmt: skip
