"""What a case is: a small model, inputs, and the outputs that are right; and what became of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx


@dataclass(frozen=True, eq=False)
class Case:
    """expected: the outputs in the model's order. rtol, atol: of float outputs; all others must be equal."""

    name: str
    operator: str
    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    expected: list[np.ndarray]
    rtol: float = 1e-3
    atol: float = 1e-5


@dataclass(frozen=True)
class Outcome:
    """ok, refused (the message names what is missing) or wrong (a wrong result, a crash, or any other error)."""

    case: str
    operator: str
    verdict: str
    message: str = ""


def difference(case: Case, found: list[np.ndarray]) -> str:
    """How `found` differs from what the case expects; empty when it does not."""
    if len(found) != len(case.expected):
        return f"{len(found)} outputs instead of {len(case.expected)}"
    for index, (result, wanted) in enumerate(zip(found, case.expected, strict=True)):
        wanted = np.asarray(wanted)
        if (result.shape, result.dtype) != (wanted.shape, wanted.dtype):
            return f"output {index} is {result.dtype}{list(result.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
        if wanted.dtype.kind == "f":
            fits = np.isclose(result.astype(np.float64), wanted.astype(np.float64), case.rtol, case.atol, equal_nan=True)
        else:
            fits = result == wanted
        if not fits.all():
            places = np.argwhere(~fits)[:3].tolist()
            return f"output {index} differs at {places}: {result[~fits][:3].tolist()} instead of {wanted[~fits][:3].tolist()}"
    return ""
