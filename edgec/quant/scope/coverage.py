"""Which operators compute in integers, and which values get parameters for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from edgec.base.errors import Problem, UsageError, did_you_mean
from edgec.ir.graph import Graph, Node
from edgec.ir.types import static
from edgec.ops.registry import Role
from edgec.quant.scope.candidates import Candidate, Candidates, candidates_of


@dataclass(frozen=True, eq=False)
class Layer:
    """One operator that computes in integers, the activation fused behind it, and the values it reads as 8-bit numbers.

    Of a chain of unary functions `node` is the first and `activation` the last; of a product whose sums a function is computed of, and its
    channels multiplied, that is the multiplication.

    ends_in_float: its result is a float, and nothing is fused.
    """

    node: Node
    role: Role
    activation: Node | None
    operands: tuple[str, ...]
    ends_in_float: bool = False

    @property
    def outputs(self) -> list[str]:
        """What it gives as 8-bit numbers."""
        return [] if self.ends_in_float else self.results

    @property
    def results(self) -> list[str]:
        """What it gives, as 8-bit numbers or as floats."""
        return [name for name in self.last.outputs if name]

    @property
    def last(self) -> Node:
        """The operator that gives the results."""
        return self.activation or self.node


@dataclass(frozen=True)
class Selection:
    """The layers in graph order; `values` are all that get parameters, `refused` says why an operator stays in float."""

    layers: tuple[Layer, ...]
    values: tuple[str, ...]
    refused: dict[str, str]

    @property
    def matrices(self) -> list[Layer]:
        return [layer for layer in self.layers if layer.role is Role.MATRIX]

    @property
    def produced(self) -> frozenset[str]:
        """The values that a layer stores in 8 bits; the others come from float: graph inputs, float results and constants."""
        return frozenset(name for layer in self.layers for name in layer.outputs)


def select(graph: Graph, exclude: Iterable[str] = (), *, codes_out: bool = False, shaped: Collection[str] = ()) -> Selection:
    """The layers of `graph`, without the nodes that the patterns name. codes_out, shaped: see candidates_of."""
    return choose(candidates_of(graph, codes_out=codes_out, shaped=shaped), excluded_nodes(graph, tuple(exclude)))


def choose(candidates: Candidates, exclude: frozenset[str]) -> Selection:
    """The operators of clause 11 that a matrix operator needs: all products, and what leads from data to one of them.

    A mean right behind a matrix operator ends in integers too: summed in float, each engine would give it another last bit.
    A product that no other layer takes ends in float where it may: outputs and float operators get what 8 bits would cut and round.
    Residual streams stay in float.
    exclude: names of nodes that stay in float.
    """
    excluded = with_activations(candidates, exclude)
    refused: dict[str, str] = {}
    chosen: dict[Node | None, Layer] = {}
    for node, found in reversed(candidates.of.items()):
        if node.name in excluded or found.role is Role.FLOAT:
            why = "excluded by the options" if node.name in excluded else found.why
            refused |= {node.name or node.outputs[0]: why} if why else {}
            continue
        activation = None if found.activation is None or found.activation.name in excluded else found.activation
        if found.following in chosen:
            activation = chosen[found.following].last
        takers = [taker in chosen for end in (activation or node).outputs if end for taker in candidates.takers[end]]
        if found.in_stream[activation is not None] and not (found.role is Role.MOVE and all(takers)):
            if any(takers):
                refused[node.name or node.outputs[0]] = "a residual stream, which a normalization reads"
            continue
        if any(takers) or starts(found, excluded):
            floats = found.ends_in_float and not any(takers)
            chosen[node] = Layer(node, found.role, None if floats else activation, found.operands, floats)
    of = candidates.of
    fused = {part for layer in chosen.values() for part in (layer.activation, of[layer.node].inner, of[layer.node].following)}
    layers = tuple(layer for layer in reversed(chosen.values()) if layer.node not in fused)
    return Selection(layers, values_of(layers), dict(reversed(refused.items())))


def starts(found: Candidate, excluded: frozenset[str]) -> bool:
    """Whether it computes in integers even where nobody reads these."""
    return found.role in (Role.MATRIX, Role.PAIR) or (found.source is not None and found.source.name not in excluded)


def values_of(layers: Iterable[Layer]) -> tuple[str, ...]:
    """Every operand and result of the layers, in the order of definition."""
    names: dict[str, None] = {}
    for layer in layers:
        names.update(dict.fromkeys([*layer.operands, *layer.outputs]))
    return tuple(names)


def excluded_nodes(graph: Graph, patterns: tuple[str, ...]) -> frozenset[str]:
    """The node names that match; a pattern that matches nothing is a mistake."""
    names = [node.name for node in graph.nodes]
    matches = {pattern: [name for name in names if fnmatchcase(name, pattern)] for pattern in patterns}
    problems = [
        Problem(f"no node is named {pattern!r}", "exclude", did_you_mean(pattern, names)) for pattern in patterns if not matches[pattern]
    ]
    if problems:
        raise UsageError("layers to exclude were not found", problems)
    return frozenset(name for found in matches.values() for name in found)


def with_activations(candidates: Candidates, excluded: frozenset[str]) -> frozenset[str]:
    """An activation stays in float with its layer, and a function with those before it: else what it reads would be stored."""
    for node, found in candidates.of.items():
        if node.name in excluded:
            excluded |= {end.name for end in (found.activation, found.inner, found.following) if end is not None and end.name}
        if found.inner is not None and found.activation is not None and found.inner.name in excluded:
            excluded |= {found.activation.name}
        if found.line is not None and found.activation is not None and found.activation.name in excluded:
            excluded |= {found.line.name} - {""}
    return excluded


def elements(graph: Graph, value: str) -> int:
    """How many numbers `value` holds."""
    return int(np.prod(static(graph.shape(value)), dtype=np.int64))


def is_quantized(graph: Graph) -> bool:
    """Whether any activation has parameters already."""
    return any(
        node.op == "QuantizeLinear" or (node.op == "DequantizeLinear" and node.inputs[0] not in graph.constants) for node in graph.nodes
    )
