"""What another order of summing may make of a value that is not exact by contract (docs/int8.md, clause 10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod, sqrt

import numpy as np

from edgec.oracle.context import Step
from edgec.oracle.grid import Array

EPSILON = 2.0**-24  # half a unit in the last place of binary32
APART = 2  # two engines, each with an error of its own
OTHERS = 4 * EPSILON  # of an operator that is no product

# how many products one number sums up, by the operands' shapes
TERMS: dict[str, Callable[[Sequence[int], Sequence[int]], int]] = {
    "Conv": lambda x, w: prod(w[1:]),
    "ConvTranspose": lambda x, w: w[0] * prod(w[2:]),
    "Gemm": lambda a, b: max(a),
    "MatMul": lambda a, b: a[-1],
}


# whether each number of this shape goes up or down
Chance = Callable[[tuple[int, ...]], Array]


def disturbed(step: Step, inputs: Sequence[Array | None], outputs: Sequence[Array], chance: Chance) -> list[Array]:
    """`outputs` with every float moved up or down as far as two engines' answers to the same inputs may lie apart."""
    reach = _of_product(step, inputs, outputs) if step.node.op in TERMS else [OTHERS * np.abs(output) for output in outputs]
    return [_moved(output, far, chance) for output, far in zip(outputs, reach, strict=True)]


def _of_product(step: Step, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> list[Array]:
    """The error of a sum of n terms t in any order: each partial sum adds half a place of its own size, with a random sign.

    Partial sums are about as large as the whole sum where the terms have one sign, and as sqrt(sum t^2) where they cancel.
    """
    squares = [array if array is None else np.square(array) for array in inputs]
    count = TERMS[step.node.op](*(array.shape for array in squares[:2] if array is not None))
    sizes = [np.abs(output) + np.sqrt(np.abs(square)) for output, square in zip(outputs, step.run(*squares), strict=True)]
    return [APART * EPSILON * sqrt(count) * size for size in sizes]


def _moved(output: Array, far: Array, chance: Chance) -> Array:
    if output.dtype.kind != "f":
        return output
    return np.asarray(output + np.where(chance(output.shape), far, -far), output.dtype)
