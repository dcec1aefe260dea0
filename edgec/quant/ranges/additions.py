"""Scales with short mantissas around additions, so that an integer Add is exact in float32 and every engine gives the same bytes.

Clause 5 of docs/int8.md adds fl32(a * m_a) and fl32(b * m_b). Other engines fuse, reorder or fold the zero points in, and then a sum
near a tie rounds the other way once in some hundred thousand elements. Where both multipliers s_a / s_y and s_b / s_y are small integers
times a power of two, no product and no sum needs rounding, and all orders agree. A scale grows by some percent at most for it. Exact ties
are then common; an even zero point lets them round alike, whether an engine adds the zero point before rounding or after.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, frexp, ldexp

from edgec.ops.registry import Role
from edgec.quant.scope.coverage import Selection

OPERAND_BITS = 9  # of a multiplier: 9 bits of q - z, 9 of the multiplier and a ratio of 2^6 between operands fill 24
MANTISSA_BITS = 15  # of a result's scale, so that result times multiplier is a binary32 number
LONGEST_CHAIN = 4  # results that are operands of the next addition share MANTISSA_BITS; longer chains would lose too much


def exact_additions(selection: Selection, roots: Mapping[str, str], scales: Mapping[str, float]) -> tuple[dict[str, float], frozenset[str]]:
    """The scales by root, those around additions rounded up to short mantissas, and the roots that want an even zero point.

    `roots` gives the family of each value.
    """
    sums = [(roots[layer.outputs[0]], [roots[name] for name in layer.operands]) for layer in selection.layers if layer.role is Role.ADD]
    heights = chain_heights(sums)
    result, mantissas = dict(scales), dict[str, int]()
    for total, operands in reversed(sums):
        if max(heights[total], chain_above(total, sums)) > LONGEST_CHAIN or scales[total] == 1.0:
            continue
        step = MANTISSA_BITS // max(heights[total], chain_above(total, sums))
        if total not in mantissas:
            mantissas[total], result[total] = rounded_up(scales[total], 1, step)
        for operand in operands:
            if operand not in mantissas and scales[operand] != 1.0:
                bits = step if operand in heights else OPERAND_BITS
                mantissas[operand], result[operand] = rounded_up(scales[operand], mantissas[total], bits)
    return result, frozenset(total for total, _ in sums if total in mantissas)


def chain_heights(sums: list[tuple[str, list[str]]]) -> dict[str, int]:
    """For each sum, how many additions follow one another up to it, itself included."""
    heights: dict[str, int] = {}
    for total, operands in sums:
        heights[total] = 1 + max((heights.get(operand, 0) for operand in operands), default=0)
    return heights


def chain_above(total: str, sums: list[tuple[str, list[str]]]) -> int:
    """The height of the chain that `total` lies in, seen from the last sum that it leads to."""
    reached, heights = {total}, chain_heights(sums)
    for result, operands in sums:
        if reached.intersection(operands):
            reached.add(result)
    return max(heights[name] for name in reached if name in heights)


def rounded_up(scale: float, unit: int, bits: int) -> tuple[int, float]:
    """The smallest unit * p * 2^e >= scale with p < 2^bits, as (its odd mantissa, its value)."""
    ratio = scale / unit
    exponent = frexp(ratio)[1] - bits
    p = -floor(-ldexp(ratio, -exponent))
    mantissa = unit * p
    value = ldexp(float(mantissa), exponent)
    while mantissa % 2 == 0:
        mantissa //= 2
    return mantissa, value
