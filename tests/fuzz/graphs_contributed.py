"""Drawers of ONNX Runtime's own operators that its optimizer writes."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from tests.fuzz.graphs_draft import FLOAT, MICROSOFT, Draft
from tests.fuzz.graphs_matrix import conv, gemm, spatial
from tests.fuzz.graphs_pointwise import Drawer
from tests.fuzz.graphs_quantized import CODES, parameters


def bits(d: Draft, op: str) -> None:
    d.since(26)
    d.op("Abs", d.op(op, d.data((np.int32,)), to=TensorProto.UINT32) if d.chance(0.3) else d.op(op, d.data(), to=TensorProto.INT32))


def gelu(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 1, 4)
    d.op(op, x, *([d.numbers(d.shape(x)[-1:])] if op != "QuickGelu" else []), domain=MICROSOFT)


def product(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 2, 3)
    first, turned = d.number(0, 1), d.number(0, 1)
    inner = d.shape(x)[-2 if first else -1]
    shape = (d.number(1, 6), inner) if turned else (inner, d.number(1, 6))
    d.op(op, x, d.numbers(shape), domain=MICROSOFT, transA=first, transB=turned, alpha=d.pick(1.0, 0.25))


def fused_conv(d: Draft, op: str) -> None:
    """Ended by a function, perhaps behind the sum with what has its result's shape."""
    function, numbers = d.pick(("Relu", ()), ("Tanh", ()), ("Sigmoid", ()), ("LeakyRelu", (0.1,)), ("Clip", (-1.0, 2.0)),
                               ("HardSigmoid", (0.2, 0.5)))  # fmt: skip
    named: dict[str, Any] = {"domain": MICROSOFT, "activation": function, **({"activation_params": numbers} if numbers else {})}
    if d.chance(0.6):
        conv(d, op, **named)
        return
    x, outputs = spatial(d), d.number(1, 5)
    batch, channels, *image = d.shape(x)
    w, bias = d.numbers((outputs, channels, *[1] * len(image))), d.numbers((outputs,)) if d.chance(0.5) else ""
    d.op(op, x, w, bias, d.input(FLOAT, (batch, outputs, *image)), **named)


def fused_gemm(d: Draft, op: str) -> None:
    gemm(d, op, domain=MICROSOFT, **d.pick(
        {"activation": "Relu"}, {"activation": "Tanh"}, {"activation": "Sigmoid"}, {"activation": "LeakyRelu", "activation_alpha": 0.1},
    ))  # fmt: skip


def codes_to_float(d: Draft, op: str) -> None:
    """Scales and zero points of all codes, or of columns; the last operands left out now and then."""
    x, kind, count = d.data(CODES, 2, 3), d.pick(*CODES), d.number(1, 6)
    info = np.iinfo(kind)
    w = d.const(d.g.integers(info.min, info.max, (d.shape(x)[-1], count), endpoint=True), kind)
    (scale, zero), (steps, zeros) = parameters(d, d.dtype(x)), parameters(d, kind, 0.01, d.pick((), (count,)))
    d.op(op, x, w, scale, steps, *(zero, zeros, d.numbers((count,)))[: d.number(0, 3)], domain=MICROSOFT)


def contributed_codes(d: Draft, op: str) -> None:
    x, (scale, zero) = d.data(), parameters(d, d.pick(*CODES))
    codes = d.op("QuantizeLinear", x, scale, zero, domain=MICROSOFT)
    d.op("DequantizeLinear", codes, scale, zero, domain=MICROSOFT)


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


def flags(d: Draft, *shape: int) -> str:
    """Of int32."""
    return str(d.op("Cast", d.input(np.bool_, shape), to=TensorProto.INT32))


def multi_head(d: Draft, op: str) -> None:
    """Keys of another length than queries; with a bias, a mask, numbers that are added to the scores, and what was before."""
    count, size, other = d.number(1, 3), d.number(1, 4), d.number(1, 4)
    x = d.data((FLOAT,), 3, 3, where=lambda s: s[-1] == count * size, make=lambda: (d.number(1, 2), d.number(1, 4), count * size))
    (batch, rows, width), length = d.shape(x), d.number(1, 5)
    k, v = d.input(FLOAT, (batch, length, width)), d.input(FLOAT, (batch, length, count * other))
    bias = d.numbers((2 * width + count * other,)) if d.chance(0.4) else ""
    before = d.number(1, 3) if d.chance(0.6) and other == size else 0  # of which ONNX Runtime wants the same size
    total = length + before
    mask = flags(d, batch, total) if d.chance(0.3) else ""
    added = d.input(FLOAT, (d.pick(1, batch), d.pick(1, count), rows, total)) if d.chance(0.3) else ""
    past = [d.input(FLOAT, (batch, count, before, size)) for _ in range(2)] if before else []
    named = {"num_heads": count, "unidirectional": int(d.chance(0.3))} | ({"scale": 0.5} if d.chance(0.3) else {})
    d.op(op, x, k, v, bias, mask, added, *past, outputs=3 if before else 1, domain=MICROSOFT, **named)


def embeddings(d: Draft, op: str) -> None:
    batch, length, width, words = d.number(1, 3), d.number(1, 5), d.number(1, 9), d.number(2, 6)
    ids = flags(d, batch, length) if d.chance(0.5) else d.const(d.g.integers(0, words, (batch, length)), np.int32)
    segments = flags(d, batch, length) if d.chance(0.5) else ""
    tables = [d.numbers((words, width)), d.numbers((length + d.number(0, 2), width)), d.numbers((2, width)) if segments else ""]
    mask = flags(d, batch, length) if d.chance(0.5) else ""
    known = [d.numbers((width,)) for _ in range(2)]
    d.op(op, ids, segments, *tables, *known, mask, outputs=d.pick(2, 3), domain=MICROSOFT, epsilon=d.pick(1e-12, 1e-5))


def simplified_norm(d: Draft, op: str) -> None:
    """Among ONNX's own, in ONNX Runtime alone."""
    x = d.data((FLOAT,), 1, 4)
    axis = d.axis(x)
    d.op(op, x, d.numbers(d.shape(x)[axis:]), axis=axis, epsilon=d.pick(1e-5, 0.1))


def rotary(d: Draft, op: str) -> None:
    """Of heads side by side or apart; at places that are told, or one after the other."""
    batch, count, length, half = d.number(1, 2), d.number(1, 3), d.number(1, 4), d.number(1, 3)
    shape = d.pick((batch, length, count * 2 * half), (batch, count, length, 2 * half))
    x = d.data((FLOAT,), len(shape), len(shape), where=lambda s: s == shape, make=lambda: shape)
    most = length + d.number(0, 3)
    first = d.number(0, most - length)
    places = d.const([first] if d.chance(0.5) else d.g.integers(0, most, (batch, length)), np.int64)
    tables = [d.const(d.g.uniform(-1, 1, (most, half)), FLOAT) for _ in range(2)]
    d.op("RotaryEmbedding", x, places, *tables, domain=MICROSOFT, interleaved=d.number(0, 1))


def coded_product(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 2, 3)
    w = d.const(d.g.integers(-127, 128, (d.shape(x)[-1], d.number(1, 6))), np.int8)
    d.op(op, x, w, d.const(0.01, FLOAT), domain=MICROSOFT)


CONTRIBUTED: dict[str, Drawer] = {
    "BitCast": bits, **dict.fromkeys(("FastGelu", "BiasGelu", "QuickGelu"), gelu),
    **dict.fromkeys(("FusedMatMul", "TransposeMatMul"), product), "FusedConv": fused_conv, "FusedGemm": fused_gemm,
    "SkipLayerNormalization": norm, "SkipSimplifiedLayerNormalization": norm, "SimplifiedLayerNormalization": simplified_norm,
    "EmbedLayerNormalization": embeddings, "MultiHeadAttention": multi_head, "DynamicQuantizeMatMul": coded_product,
    "MatMulIntegerToFloat": codes_to_float,
    # named as ONNX's own, which have drawers as well
    "Contributed Attention": lambda d, _: attention(d, "Attention"), "Contributed RotaryEmbedding": rotary,
    "Contributed QuantizeLinear": contributed_codes,
}  # fmt: skip
