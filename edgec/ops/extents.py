"""Tensors of whole numbers that say extents, some of which a run counts: what is known of them before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from edgec.ir.dimensions import least, times, total
from edgec.ir.graph import Graph, Node
from edgec.ir.types import Dim, DType, Symbol

Known = np.ndarray  # of extents
WHOLE = (DType.INT64, DType.INT32)
MOST = 256  # numbers of such a tensor
DEEPEST = 32  # operators behind each other that compute one
LARGEST = (1 << 63) - 1  # that a tensor of whole numbers holds
OPERANDS = 64  # of a sum or product of symbols


def extents_of(graph: Graph, name: str) -> Known | None:
    """The elements, each a number or a symbol that a run counts; None where one is something else."""
    return _extents(graph, name, 0, {})


def _extents(graph: Graph, name: str, depth: int, known: dict[str, Known | None]) -> Known | None:
    """known: what was found so far; a value may be read twice by each of what reads one another."""
    if name not in known:
        known[name] = _computed(graph, name, depth, known)
    return known[name]


def _computed(graph: Graph, name: str, depth: int, known: dict[str, Known | None]) -> Known | None:
    array = graph.constant(name)
    if array is not None:
        return array.astype(object) if array.size <= MOST and array.dtype.kind in "iu" else None
    node = graph.producer(name)
    kind = graph.types.get(name)
    if node is None or kind is None or kind.dtype not in WHOLE or not kind.is_static or kind.elements > MOST or depth > DEEPEST:
        return None
    if node.op == "Shape":
        return _as_known(graph.shape(node.inputs[0])[slice(node.attributes.get("start", 0), node.attributes.get("end"))])
    rule = _RULES.get(node.op)
    if rule is None:
        return None
    operands = [_extents(graph, operand, depth + 1, known) for operand in node.inputs]
    found = None if any(operand is None for operand in operands) else rule(node, operands)
    return found if found is not None and all(map(_is_extent, found.reshape(-1))) else None


def _is_extent(dim: Dim) -> bool:
    """Whether it could be one: a product of itself, again and again, is soon none."""
    if isinstance(dim, Symbol):
        return dim.bound <= LARGEST and (dim.made is None or len(dim.made[1]) <= OPERANDS)
    return bool(dim <= LARGEST)


def counts(graph: Graph, name: str) -> list[Dim] | None:
    """The same as a list, of what a run counts; None where it is a constant."""
    found = extents_of(graph, name) if name and graph.constant(name) is None else None
    return None if found is None else list(found.reshape(-1))


def _as_known(dims: Sequence[Dim], shape: Sequence[int] = (-1,)) -> Known | None:
    """None where a symbol is an argument of the run."""
    if any(isinstance(dim, Symbol) and not dim.counted for dim in dims):
        return None
    found = np.empty(len(dims), object)
    found[:] = dims
    return found.reshape(shape)


def _ints(known: Any) -> list[int]:
    return [int(item) for item in known.reshape(-1)]


def _gather(node: Node, operands: Sequence[Any]) -> Known | None:
    data, places = operands
    if any(isinstance(place, Symbol) for place in places.reshape(-1)):
        return None
    return np.asarray(np.take(data, places.astype(np.int64), axis=node.attributes["axis"]), object)


def _slice(node: Node, operands: Sequence[Any]) -> Known | None:
    data, *numbers = operands
    if any(isinstance(item, Symbol) for column in numbers for item in column):
        return None
    cuts = [slice(None)] * data.ndim
    for start, end, axis, step in zip(*map(_ints, numbers), strict=True):
        cuts[axis] = slice(start, None if step < 0 and end < -data.shape[axis] else end, step)
    return np.asarray(data[tuple(cuts)], object)


def _by_elements(combine: Callable[[Sequence[Dim]], Dim]) -> Callable[[Node, Sequence[Any]], Known | None]:
    def combined(node: Node, operands: Sequence[Any]) -> Known | None:
        arrays = np.broadcast_arrays(*operands)
        rows = list(zip(*(array.reshape(-1) for array in arrays), strict=True))
        return None if _negative(rows) else _as_known([combine(row) for row in rows], arrays[0].shape)

    return combined


def _reduced(combine: Callable[[Sequence[Dim]], Dim]) -> Callable[[Node, Sequence[Any]], Known | None]:
    """Of all elements."""

    def combined(node: Node, operands: Sequence[Any]) -> Known | None:
        data = operands[0]
        every = len(operands) == 1 or len(operands[1]) == data.ndim
        if not data.size or not every or _negative([data.reshape(-1)]):
            return None
        return _as_known([combine(list(data.reshape(-1)))], [1] * data.ndim if node.attributes["keepdims"] else [])

    return combined


def _negative(rows: Sequence[Any]) -> bool:
    return any(not isinstance(item, Symbol) and item < 0 for row in rows for item in row)


def _reshape(node: Node, operands: Sequence[Any]) -> Known | None:
    wanted = _ints(operands[1])
    return np.asarray(operands[0].reshape(wanted), object) if 0 not in wanted else None


_RULES: dict[str, Callable[[Node, Sequence[Any]], Known | None]] = {
    "Identity": lambda node, operands: operands[0], "Cast": lambda node, operands: operands[0],
    "Gather": _gather, "Slice": _slice, "Reshape": _reshape,
    "Squeeze": lambda node, operands: np.squeeze(operands[0], tuple(_ints(operands[1]))),
    "Unsqueeze": lambda node, operands: np.expand_dims(operands[0], tuple(_ints(operands[1]))),
    "Concat": lambda node, operands: np.concatenate(operands, node.attributes["axis"]),
    "Add": _by_elements(total), "Mul": _by_elements(times), "Min": _by_elements(least),
    "ReduceMin": _reduced(least), "ReduceProd": _reduced(times), "ReduceSum": _reduced(total),
}  # fmt: skip
