"""ONNX Runtime's attention (com.microsoft), as products and a Softmax of heads [batch, head, place, channel]."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import sqrt

import numpy as np

from edgec.base.errors import ModelError
from edgec.frontend.domains.contributed import optional, plus
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, operand
from edgec.frontend.translation.rules import MICROSOFT, rule
from edgec.frontend.translation.source import Source

LOWEST = float(np.finfo(np.float32).min)


def heads(x: Value, count: int) -> Value:
    """[batch, place, head * channel] as heads."""
    batch, places, width = x.shape
    return x.reshaped(batch, places, count, width // count).turned(0, 2, 1, 3)


def attend(s: Source, q: Value, k: Value, v: Value, bias: list[Value], before: int) -> Value:
    """softmax(q k^T * scale + bias) v, the heads side by side. unidirectional: the first row sees one key more than were `before`, each
    next row another one, and the last row all."""
    scale = s.get("scale", 0.0) or 1 / sqrt(q.shape[3])
    scores = q.of("MatMul", k.turned(0, 1, 3, 2)) * scale
    if s.get("unidirectional", 0):
        rows, columns = scores.shape[2:]
        later = np.triu(np.ones((rows, columns), bool), before + 1)
        later[-1] = False
        scores = scores + scores.numbers(np.where(later, LOWEST / 2, 0))
    found = plus(scores, *bias).of("Softmax", axis=3).of("MatMul", v)
    batch, count, places, width = found.shape
    return found.turned(0, 2, 1, 3).reshaped(batch, places, count * width)


def masked(s: Source, mask: Value, k: Value) -> Value:
    """What is added to the scores of keys [batch, head, place, channel] where a mask is 0: [batch, places], [batch, rows, places], or
    [batch] lengths."""
    (batch, _, places, _), shape = k.shape, mask.shape
    if shape == (batch,):
        mask, shape = mask.constant([list(range(places))], mask.dtype.value).of("Less", mask.spread(1)), (batch, places)
    if len(shape) not in (2, 3) or (shape[0], shape[-1]) != (batch, places):
        raise ModelError(f"a mask {list(mask.shape)} is not supported", hint="give one number for each key")
    kept = mask.cast("bool").chosen(mask.constant(0.0, "float32"), mask.constant(s.get("mask_filter_value", -10000.0), "float32"))
    return kept.spread(1, 2) if len(shape) == 2 else kept.spread(1)


@rule("Attention", domain=MICROSOFT)
def attention(b: Builder, s: Source) -> None:
    """inputs: x, weights of queries, keys and values side by side, their bias, mask, past, what is added to the scores"""
    if s.input(6) or s.get("do_rotary", 0):
        raise ModelError("with a shared buffer or rotary embedding is not supported", hint="export without these fusions")
    x, count = operand(b, s, 0), s.attributes["num_heads"]
    packed = plus(x.of("MatMul", operand(b, s, 1)), optional(b, s, 2))
    sizes = s.get("qkv_hidden_sizes") or [packed.shape[2] // 3] * 3
    ends = np.cumsum([0, *sizes]).tolist()
    q, k, v = (heads(packed.cut(2, start, end), count) for start, end in pairwise(ends))
    past, new = optional(b, s, 4), k.shape[2]
    if past is not None:
        k, v = (past.at(0, place).joined([now], 2) for place, now in enumerate((k, v)))
    mask, bias = optional(b, s, 3), optional(b, s, 5)
    added = ([masked(s, mask, k)] if mask is not None else []) + ([bias] if bias is not None else [])
    attend(s, q, k, v, added, k.shape[2] - new).end()
    if len(s.outputs) > 1 and s.outputs[1]:
        k.spread(0).joined([v.spread(0)], 0).end(1)


@rule("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(b: Builder, s: Source) -> None:
    """inputs: query, key, value, bias, mask of keys, what is added to the scores, past keys, past values; outputs: y, keys, values"""
    if s.input(8) or s.input(9):
        raise ModelError("with a shared buffer is not supported", hint="export without it")
    if not s.input(1) or not s.input(2):
        raise ModelError("with keys and values in one tensor is not supported", hint="split them before it")
    count, sides = s.attributes["num_heads"], [operand(b, s, place) for place in range(3)]
    bias = optional(b, s, 3)
    if bias is not None:
        ends = pairwise(np.cumsum([0, *(side.shape[2] if len(side.shape) == 3 else 0 for side in sides)]).tolist())
        sides = [side + bias.cut(0, *place) if len(side.shape) == 3 else side for side, place in zip(sides, ends, strict=True)]
    q, k, v = (heads(side, count) if len(side.shape) == 3 else side for side in sides)
    new = k.shape[2]
    for place, index in ((1, 6), (2, 7)):
        past = optional(b, s, index)
        if past is not None:
            k, v = (past.joined([k], 2), v) if place == 1 else (k, past.joined([v], 2))
    mask, extra = optional(b, s, 4), optional(b, s, 5)
    added = ([masked(s, mask, k)] if mask is not None else []) + ([extra] if extra is not None else [])
    attend(s, q, k, v, added, k.shape[2] - new).end()
    for place, value in ((1, k), (2, v)):
        if len(s.outputs) > place and s.outputs[place]:
            value.end(place)


@rule("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(b: Builder, s: Source) -> None:
    """inputs: x, positions (one: of the first), cosines, sines. ONNX's own operator has the positions last."""
    x, positions = operand(b, s, 0), operand(b, s, 1)
    if s.get("scale", 1.0) != 1.0 or s.get("is_packed_batching", 0):
        raise ModelError("with a scale or packed batches is not supported", hint="scale the tables of angles instead")
    batch, places = x.shape[0], x.shape[2 if len(x.shape) == 4 else 1]
    if positions.shape in ((), (1,)):
        positions = positions.reshaped(1, 1) + positions.constant([list(range(places))] * batch)
    count = s.get("num_heads", 0) or (0 if len(x.shape) == 4 else x.shape[2] // (2 * operand(b, s, 2).shape[1]))
    attributes = {"interleaved": s.get("interleaved", 0), "num_heads": count, "rotary_embedding_dim": s.get("rotary_embedding_dim", 0)}
    inputs = (x.name, s.inputs[2], s.inputs[3], positions.name)
    b.dispatch(b, replace(s, domain="", version=23, inputs=inputs, attributes=attributes))
