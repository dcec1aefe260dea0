"""Random quantized products of two computed matrices, as attention has them; the evaluator gives the bytes that are right."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgec.oracle import Evaluator
from tests.operators.case import Case
from tests.operators.int8_cases import Quantized, Shape
from tests.oracle.models import root_norm as in_operators

Made = tuple[str, float]


def pair(b: Quantized) -> Made:
    """A product whose operands lie in any order of axes, with batch axes that broadcast."""
    rows, columns = (int(n) for n in b.g.integers(1, b.pick(8, 70), 2))
    inner = int(b.g.integers(1, b.pick(9, 100)))
    lead = b.extents(0, 3, 1, 4)
    first, second = ((lead[int(b.g.integers(0, len(lead) + 1)) :] if b.chance(0.3) else lead) for _ in range(2))
    left, right = (tuple(1 if b.chance(0.2) else extent for extent in shape) for shape in (first, second))
    x, y = _operand(b, (*left, rows, inner)), _operand(b, (*right, inner, columns))
    z = b.op("MatMul", x, x if x == y else y)
    near = 0.05 * 0.05 * 70 * np.sqrt(inner)
    if b.chance(0.3):
        z = b.op("Transpose", b.through(z, near), perm=_order(b, len(np.broadcast_shapes(left, right)) + 2))
    return b.activation(z), near


def _operand(b: Quantized, shape: Shape) -> str:
    """Codes of this shape that were another shape before, and perhaps went through a function."""
    order = _order(b, len(shape)) if b.chance(0.6) else list(range(len(shape)))
    given = [0] * len(shape)
    for place, axis in enumerate(order):
        given[axis] = shape[place]
    scale, zero = b.scale(b.pick(0.05, 0.05, 0.001)), b.zero()
    codes = b.g.integers(0, 256, given).astype(b.dtype)
    name = f"x{len(b.inputs)}"
    b.inputs[name] = codes if b.chance(0.8) else b.g.choice(np.array([0, 127, 128, 255]).astype(b.dtype), given)
    value = b.dequantize(name, scale, zero)
    value = b.op("Transpose", value, perm=order) if order != sorted(order) else value
    return b.through(b.op("Relu", value), 0.05) if b.chance(0.2) else value


def _order(b: Quantized, rank: int) -> list[int]:
    last_stays = b.chance(0.5)
    return [*map(int, b.g.permutation(rank - 1)), rank - 1] if last_stays else [int(axis) for axis in b.g.permutation(rank)]


class Chained(Quantized):
    """With values that are quantized on the way."""

    def through(self, value: str, near: float) -> str:
        scale, zero = self.scale(near), self.zero()
        return self.dequantize(self.quantize(value, scale, zero), scale, zero)


def softmax(b: Quantized) -> Made:
    """Rows of any length, near to equal or far from it."""
    shape = (*b.extents(0, 3, 1, 5), int(b.g.integers(1, b.pick(5, 40, 300))))
    return b.op("Softmax", _operand(b, shape), axis=b.pick(-1, len(shape) - 1)), 1 / 255


def layer_norm(b: Quantized) -> Made:
    """Rows of any length, of a scale for which epsilon counts or does not."""
    shape = (*b.extents(0, 3, 1, 5), int(b.g.integers(2, b.pick(5, 40, 300))))
    scale, bias = (b.const((b.g.standard_normal(shape[-1]) + mean).astype(np.float32)) for mean in (1, 0))
    axis = {"axis": b.pick(-1, len(shape) - 1)} if b.chance(0.8) else {}
    named = {"epsilon": b.pick(1e-12, 1e-3, 0.5)} if b.chance(0.7) else {}
    return b.op("LayerNormalization", _operand(b, shape), scale, *([bias] if b.chance(0.7) else []), **axis, **named), 0.02


def root_norm(b: Quantized) -> Made:
    """RMSNormalization, as models with codes have it."""
    shape = (*b.extents(0, 3, 1, 5), int(b.g.integers(2, b.pick(5, 40, 300))))
    x, scale = _operand(b, shape), b.const((b.g.standard_normal(shape[-1]) + 1).astype(np.float32))
    return in_operators(b, x, scale, b.pick(1e-12, 1e-3, 0.5)), 0.02


KINDS = (pair, pair, softmax, layer_norm, root_norm)


def attention_case(seed: int) -> Case:
    """One graph, its inputs and the evaluator's bytes, which are exact; a third of the results are floats."""
    b = Chained(seed)
    make = KINDS[seed % len(KINDS)]
    y, near = make(b)
    dtype: Any = np.float32
    if make in (softmax, layer_norm, root_norm) or b.chance(0.7):
        y, dtype = b.quantize(y, b.scale(near), b.zero()), b.dtype
    model = b.model(b.inputs, {y: dtype})
    evaluator = Evaluator(model)
    assert y in evaluator.exact_outputs
    return Case(f"attention seed {seed}", make.__name__, model, b.inputs, [evaluator.run(b.inputs)[y]], 0.0, 0.0)
