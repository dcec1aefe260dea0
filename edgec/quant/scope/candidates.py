"""What the choice of layers depends on, prepared once for a graph: which operators can compute in integers, and who reads whom."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from edgec.integer.roles import FOLLOWED, may_end_in_float, role_of
from edgec.integer.shaping import finish_of, shaping_of
from edgec.integer.tails import activation_of
from edgec.integer.unary import following_of
from edgec.ir.graph import Graph, Node
from edgec.ops.registry import Role
from edgec.quant.scope import normalized, packed
from edgec.quant.scope.normalized import behind_normalizations
from edgec.quant.scope.packed import unpacking
from edgec.quant.scope.residual import carries, residual_values
from edgec.quant.scope.squares import WHY, written_out


@dataclass(frozen=True, eq=False)
class Candidate:
    """A node and what it can be. why: for FLOAT, if that is worth telling.

    activation: the Relu, Clip or function that may be computed with it; or what multiplies the channels of `inner`, a function.
    following: of a unary function, the one that alone reads it and is computed with it, so that nothing between them is stored.
    line: what alone reads the activation where that is a function.
    operands: what arrives as 8-bit numbers. source: of a mean, the matrix operator whose result it reads, perhaps through an activation.
    in_stream: it hands a residual stream on, as itself or with its activation. ends_in_float: where no other layer takes what it gives.
    """

    node: Node
    role: Role
    why: str
    activation: Node | None
    inner: Node | None
    following: Node | None
    line: Node | None
    operands: tuple[str, ...]
    source: Node | None
    in_stream: tuple[bool, bool]
    ends_in_float: bool


@dataclass(frozen=True, eq=False)
class Candidates:
    """By node, in the order of the graph."""

    graph: Graph
    of: dict[Node, Candidate]

    @cached_property
    def takers(self) -> dict[str, tuple[Node | None, ...]]:
        """The readers of each value, None for one that does not read it as 8-bit numbers."""
        ends = [end for node in self.of for end in node.outputs if end]
        return {end: tuple(self._taker(end, reader) for reader in self.graph.readers(end)) for end in ends}

    def _taker(self, end: str, reader: Node) -> Node | None:
        found = self.of[reader]
        return reader if found.role is not Role.FLOAT and end in found.operands else None


def candidates_of(graph: Graph, *, codes_out: bool = False, shaped: Collection[str] = ()) -> Candidates:
    """codes_out: products that no other layer takes end in codes, but for networks with residual streams, which stay in float.

    shaped: see finish_of.
    """
    streams = residual_values(graph)
    apart = dict.fromkeys(written_out(graph), WHY) | dict.fromkeys(() if codes_out else unpacking(graph), packed.WHY)
    apart = dict.fromkeys(behind_normalizations(graph, apart), normalized.WHY) | apart
    roles = {node: (Role.FLOAT, apart[node]) if node in apart else role_of(graph, node) for node in graph.nodes}
    activations = {node: _finish(graph, node, role, shaped) for node, (role, _) in roles.items() if role in FOLLOWED}
    functions = {node for node, (role, _) in roles.items() if role is Role.TABLE}
    products = {end: node for node, end in activations.items() if end is not None}
    chained = functions.difference(activations.values())  # what an activation gives is stored as its layer's result

    def candidate(node: Node) -> Candidate:
        role, why = roles[node]
        activation = activations.get(node)
        following, _ = (following_of(graph, node) if node in chained else None) or (None, None)
        function = shaping_of(graph, node.outputs[0]) if activation is not None and role is Role.MATRIX else None
        line, _ = (following_of(graph, activation) if activation is not None and activation is function else None) or (None, None)
        source = graph.producer(node.inputs[0]) if role is Role.AVERAGE else None
        source = products.get(source, source) if source is not None else None
        return Candidate(
            node, role, why, activation, function if function is not activation else None, following if following in functions else None,
            line, operands_of(graph, node, role),
            source if source is not None and roles[source][0] is Role.MATRIX else None,
            (_carries(node, node, streams), _carries(node, activation or node, streams)),
            (bool(streams) or not codes_out) and role in (Role.MATRIX, Role.PAIR) and may_end_in_float(graph, node),
        )  # fmt: skip

    return Candidates(graph, {node: candidate(node) for node in graph.nodes})


def _carries(node: Node, end: Node, streams: frozenset[str]) -> bool:
    return carries(node) and not streams.isdisjoint(name for name in end.outputs if name)


def _finish(graph: Graph, node: Node, role: Role, shaped: Collection[str]) -> Node | None:
    """What is computed with a node before its result is stored."""
    return finish_of(graph, node, shaped) if role is Role.MATRIX else activation_of(graph, node.outputs[0])


def operands_of(graph: Graph, node: Node, role: Role) -> tuple[str, ...]:
    """The inputs that arrive as 8-bit numbers; a constant counts where it is data and not a scalar of a table."""
    if role in (Role.ADD, Role.MUL, Role.CONCAT, Role.PAIR):
        return tuple(dict.fromkeys(node.inputs))
    if role is Role.TABLE:
        return tuple(name for name in node.inputs if name and name not in graph.constants)
    return tuple(node.inputs[:1])
