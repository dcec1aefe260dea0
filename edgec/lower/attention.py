"""Attention of floats by one kernel: no tensor of scores is stored."""

from __future__ import annotations

import numpy as np

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.kernels import AttentionFloat
from edgec.kernels.attention_float import blocks
from edgec.lower import movement
from edgec.lower.attention_form import Attention, Mask, attention_form
from edgec.lower.batches import result_in_memory, view_of, walks
from edgec.lower.builder import Lowering
from edgec.lower.comment import tensor
from edgec.lower.convolution import labelled
from edgec.lower.product_float import has_kernel, packed, rows_in_memory
from edgec.lower.values import Index, Value, elements, extents
from edgec.program.expr import Expr, bound, const, real, select
from edgec.program.program import Pointer


def absorb_attention(lowering: Lowering) -> None:
    """Leave all of attention to its last node."""
    for node in lowering.graph:
        found = attention_of(lowering, node)
        for inner in found.inside if found else ():
            lowering.absorb(inner)


def attention_of(lowering: Lowering, second: Node) -> Attention | None:
    """What ends with `second`, when a kernel can compute it."""
    found = attention_form(lowering.graph, second)
    return found if found is not None and _computes(lowering, found) else None


def _computes(lowering: Lowering, found: Attention) -> bool:
    """Whether a kernel does: all are matrices of floats, whose batch axes are those of the scores, or fewer, and none is a constant."""
    graph, operands = lowering.graph, (*found.first.inputs, found.second.inputs[1])
    nodes = (*found.inside, found.second)
    shapes = [extents(graph.shape(name)) for name in operands]
    return (
        all(graph.dtype(node.outputs[0]) is DType.FLOAT32 for node in nodes)
        and not any(node in lowering.matched.at or node in lowering.matched.failed for node in nodes)
        and not any(graph.constant(name) is not None for name in operands)
        and all(len(shape) > 1 for shape in shapes)
        and graph.shape(found.second.outputs[0])[:-2] == graph.shape(found.first.outputs[0])[:-2]
        and has_kernel(lowering, *(shape[:-2] for shape in shapes))
    )


def attention(lowering: Lowering, found: Attention) -> None:
    """A block of rows at a time, over packed keys and values."""
    value, name = lowering.value, found.second.outputs[0]
    query = rows_in_memory(lowering, found.first.inputs[0], value(found.first.inputs[0]))
    keys = packed(lowering, found.first, found.first.inputs[1], value(found.first.inputs[1]))
    values = packed(lowering, found.second, found.second.inputs[1], value(found.second.inputs[1]))
    scores = lowering.shape(found.first.outputs[0])
    lead, rows = scores[:-2], scores[-2]
    y = result_in_memory(lowering, name, DType.FLOAT32, (*lead, rows, values.columns))
    x, result = view_of(movement.expand(query, (*lead, *query.shape[-2:]))), view_of(y)
    mask = view_of(movement.expand(_added(lowering, found.mask), scores)) if found.mask else None
    masked = mask.strides if mask else tuple(const(0) for _ in scores)
    strides = (x.strides[:-2], keys.strides(lead), values.strides(lead), masked[:-2], result.strides[:-2])
    batches = list(walks(lead, strides))
    macs = elements(scores) * (bound(keys.inner) + bound(values.columns)) // len(batches)
    for batch in batches:
        (x_steps, k_steps, v_steps, m_steps, y_steps), at = batch.strides, batch.offsets
        arguments = AttentionFloat(
            Pointer(x.buffer, x.offset + at[0]), Pointer(keys.buffer, at[1]), Pointer(values.buffer, at[2]),
            Pointer(mask.buffer, mask.offset + at[3]) if mask else None, Pointer(result.buffer, result.offset + at[4]), *batch.sizes,
            rows, keys.columns, keys.inner, values.columns, *x_steps, x.strides[-2], *k_steps, *v_steps, *m_steps, masked[-2],
            *y_steps, result.strides[-2], *blocks(rows, keys.columns, keys.inner, values.columns), found.scale,
        )  # fmt: skip
        operands = " * ".join(tensor(DType.FLOAT32, (*part.lead, part.inner, part.columns)) for part in (keys, values))
        lowering.template(
            arguments, name, labelled(y, [*found.inside, found.second]), macs, f"{tensor(query.dtype, query.shape)} * {operands}"
        )
    lowering.define(name, y)


def _added(lowering: Lowering, mask: Mask) -> Value:
    """In memory, row by row."""
    value, low = lowering.value(mask.name), mask.number
    if low is None:
        return rows_in_memory(lowering, mask.name, value)
    name = f"{mask.name}_mask"
    if value.constant is not None:
        hidden = value.constant == mask.holds
        return rows_in_memory(lowering, name, lowering.literal(np.where(hidden, np.float32(low), np.float32(0)), name))
    first, second = (real(low), real(0.0)) if mask.holds else (real(0.0), real(low))

    def at(index: Index) -> Expr:
        return select(value.at(index), first, second)

    return rows_in_memory(lowering, name, Value(DType.FLOAT32, value.shape, at, order=value.order).by(value))
