"""Kernels that are wrong in a known way, to see whether the fuzzer would find them: what one spoiled node makes of a drawn model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fuzz.graphs_draft import Arrays, Drawn, Misfit, Step

VISIBLE = 1e-2  # of its largest number, by which an output differs that shows an error
ORDINARY = (1e-3, 1e6)  # sizes of largest numbers; outputs beyond them are what is left of roundings

Spoil = Callable[[Step, Arrays, np.random.Generator], list[np.ndarray] | None]


def _next(step: Step, values: Arrays, g: np.random.Generator) -> list[np.ndarray] | None:
    """Every element comes from one place further on."""
    return [np.roll(array.reshape(-1), 1).reshape(array.shape) for array in step.run(values)]


def _last(step: Step, values: Arrays, g: np.random.Generator) -> list[np.ndarray] | None:
    """The last element is never written."""
    found = [array.copy() for array in step.run(values)]
    for array in found:
        array.reshape(-1)[-1:] = 0
    return found


def _constant(step: Step, values: Arrays, g: np.random.Generator, change: Callable[[np.ndarray], np.ndarray]) -> list[np.ndarray] | None:
    names = [name for name in step.node.input[1:] if name and values[name].dtype.kind == "f" and values[name].size]
    if not names:
        return None
    name = names[-1]
    return step.run({**values, name: np.asarray(change(values[name]), values[name].dtype)})


def _lost(step: Step, values: Arrays, g: np.random.Generator) -> list[np.ndarray] | None:
    """The last operand, a bias mostly, is taken for zero."""
    return _constant(step, values, g, lambda array: array * 0)


def _wrong(step: Step, values: Arrays, g: np.random.Generator) -> list[np.ndarray] | None:
    """One number of the last operand is an eighth too large."""

    def change(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array.reshape(-1)[int(g.integers(array.size))] *= 1.125
        return array

    return _constant(step, values, g, change)


SPOILS: dict[str, Spoil] = {"off by one": _next, "an element missing": _last, "a lost operand": _lost, "a wrong constant": _wrong}


def spoiled(drawn: Drawn, spoil: Spoil, place: int, g: np.random.Generator) -> list[np.ndarray] | None:
    """The outputs on ordinary numbers when that node is spoiled; None where no output shows it."""
    values = dict(drawn.values[0])
    step = drawn.steps[place]
    names = [value.name for value in drawn.model.graph.output]
    try:
        found = spoil(step, values, g)
        if found is None:
            return None
        values.update(zip(step.node.output, found, strict=True))
        for later in drawn.steps[place + 1 :]:
            values.update(zip(later.node.output, later.run(values), strict=True))
    except Misfit:
        return None
    seen = any(values[name].shape == drawn.values[0][name].shape and shows(values[name], drawn.values[0][name]) for name in names)
    return [values[name] for name in names] if seen else None


def shows(found: np.ndarray, right: np.ndarray) -> bool:
    """Whether an output differs enough to be wrong to anyone who looks."""
    if right.dtype.kind != "f":
        return bool((found != right).any())
    finite = np.isfinite(found) & np.isfinite(right)
    size = float(np.abs(right[finite].astype(np.float64)).max(initial=0.0))
    return ORDINARY[0] < size < ORDINARY[1] and bool((np.abs(found[finite].astype(np.float64) - right[finite]) > VISIBLE * size).any())
