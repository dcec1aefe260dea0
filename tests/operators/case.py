"""What a case is: a small model, inputs, and the outputs that are right; and what became of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

# Two steps between neighbours: what was rounded between the nodes of the reference is a step off, or two.
STEPS = {"bfloat16": 2.0**-6}


@dataclass(frozen=True, eq=False)
class Case:
    """expected: the outputs in the model's order. rtol, atol: of float outputs; all others must be equal.

    bounds: instead of those, how far each element of each output may be off; infinity where nothing is promised.
    fixable: operands that exported models hold as constants are inputs here; they may become constants where the model is refused.
    """

    name: str
    operator: str
    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    expected: list[np.ndarray]
    rtol: float = 1e-3
    atol: float = 1e-5
    bounds: list[np.ndarray] | None = None
    fixable: bool = False


@dataclass(frozen=True)
class Outcome:
    """ok, refused (the message names what is missing) or wrong (a wrong result, a crash, or any other error).

    shipped: the model is as its file is, with no operand made a constant. computed: the package computes an output of an input.
    """

    case: str
    operator: str
    verdict: str
    message: str = ""
    shipped: bool = False
    computed: bool = False


def difference(case: Case, found: list[np.ndarray]) -> str:
    """How `found` differs from what the case expects; empty when it does not."""
    if len(found) != len(case.expected):
        return f"{len(found)} outputs instead of {len(case.expected)}"
    for index, (result, wanted) in enumerate(zip(found, case.expected, strict=True)):
        wanted = np.asarray(wanted)
        if case.bounds is not None and is_free(case.bounds[index]) and (result.dtype, result.ndim) == (wanted.dtype, wanted.ndim):
            continue
        if (result.shape, result.dtype) != (wanted.shape, wanted.dtype):
            return f"output {index} is {result.dtype}{list(result.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
        if case.bounds is not None:
            fits = is_within(result, wanted, case.bounds[index])
        elif wanted.dtype.kind == "f" or wanted.dtype.name == "bfloat16":
            rtol = max(case.rtol, STEPS.get(wanted.dtype.name, 0))
            fits = np.isclose(result.astype(np.float64), wanted.astype(np.float64), rtol, case.atol, equal_nan=True)
        else:
            fits = result == wanted
        if not fits.all():
            places = np.argwhere(~fits)[:3].tolist()
            return f"output {index} differs at {places}: {result[~fits][:3].tolist()} instead of {wanted[~fits][:3].tolist()}"
    return ""


def is_free(bound: np.ndarray) -> bool:
    """Whether nothing is promised of any element: how many there are, where that depends on numbers, is not either."""
    return bound.size > 0 and bool(np.isposinf(bound).all())


def is_within(found: np.ndarray, wanted: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Whether each element is equal (NaN, and infinities of one sign, included) or off by at most its bound.

    Without a bound it is equal in its own type: neighbours of 64 bits are the same in double precision."""
    with np.errstate(invalid="ignore"):
        near = (np.abs(found.astype(np.float64) - wanted.astype(np.float64)) <= bound) & (bound > 0)
    same = (found == wanted) | ((found != found) & (wanted != wanted))
    return np.asarray(same | near | np.isposinf(bound))
