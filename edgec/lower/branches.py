"""Calls that count only where a condition holds: what a Where whose condition is one bool does not take need not be computed.

A node counts only where a condition holds if all its readers do, or take its result only there: the operands of that Where, and the second
operand of an And of two bools, the first of which is the condition. Whoever skips such a call leaves anything in its memory, which nobody
takes; so places, which other calls trust to be in range, are always computed, and so is all that goes into them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType
from edgec.lower.builder import Lowering
from edgec.program.expr import const
from edgec.program.program import AnyCall, Kind, LoopCall, Program, When

Guard = tuple[str, bool]  # the value of a condition, and what it must be


def guards_of(graph: Graph) -> dict[str, frozenset[Guard]]:
    """By the names of nodes, of which several may have one: what all of these count under, where that is not always."""
    found: dict[Node, frozenset[Guard]] = {}
    if not any(node.op == "Where" and _chooses(graph, node) for node in graph.nodes):
        return {}
    for node in reversed(graph.nodes):
        values = [name for name in node.outputs if name]
        if any(name in graph.outputs for name in values):
            found[node] = frozenset()
            continue
        reading = [found[reader] | _taken(graph, reader, name) for name in values for reader in graph.readers(name)]
        found[node] = frozenset.intersection(*reading) if reading else frozenset()
    named: dict[str, frozenset[Guard]] = {}
    for node, guards in found.items():
        named[node.name] = named.get(node.name, guards) & guards
    return {name: guards for name, guards in named.items() if guards and name}


def _taken(graph: Graph, reader: Node, name: str) -> frozenset[Guard]:
    """Where this node takes that operand, if not always."""
    if not _chooses(graph, reader) or reader.inputs.count(name) != 1:
        return frozenset()
    place, condition = reader.inputs.index(name), reader.inputs[0]
    if reader.op == "And":
        return frozenset({(condition, True)} if place == 1 and graph.types[name].elements == 1 else ())
    return frozenset({(condition, place == 1)} if place else ())


def _chooses(graph: Graph, node: Node) -> bool:
    """Whether one computed bool decides what it takes."""
    if node.op not in ("Where", "And") or node.inputs[0] in graph.constants:
        return False
    kind = graph.types[node.inputs[0]]
    return kind.is_static and kind.elements == 1


def keep_condition(lowering: Lowering, wanted: frozenset[str], name: str) -> None:
    """Store a condition that was just computed, where calls behind can look it up."""
    if name not in wanted or name not in lowering.values or lowering.graph.dtype(name) is not DType.BOOL:
        return
    value = lowering.values[name]
    buffer = lowering.program.buffers[value.view.buffer] if value.view is not None else None
    if buffer is None or buffer.kind is not Kind.ARENA or value.view is None or value.view.offset != const(0):
        value = lowering.values[name] = lowering.materialize(value, f"{name}_holds")
    assert value.view is not None
    lowering.conditions[name] = value.view.buffer, len(lowering.program.calls)


def guard_calls(lowering: Lowering, guards: Mapping[str, frozenset[Guard]], first: int) -> None:
    """Let calls say when they count: under what all their nodes do, and all readers of what they write, or take it there alone.

    first: of the calls of this graph, all to the last; those in the bodies of its loops have been told already.
    """
    program = lowering.program
    under = [_common(program, call, guards) if number >= first and not call.call.within else frozenset[Guard]()
             for number, call in enumerate(program.calls)]  # fmt: skip
    takers = {guard: _takers(lowering.graph, guard) for guard in frozenset[Guard]().union(*under)}
    behind = _readers(program)

    def holds(number: int) -> frozenset[Guard]:
        kept = under[number]
        for reader in behind[number]:
            nodes = program.calls[reader].call.nodes
            kept = frozenset(guard for guard in kept if guard in under[reader] or not takers[guard].isdisjoint(nodes))
        return kept

    changed = bool(takers)
    while changed:
        changed = False
        for number in reversed(range(len(under))):
            if under[number] and (found := holds(number)) != under[number]:
                under[number], changed = found, True
    for number, (call, found) in enumerate(zip(list(program.calls), under, strict=True)):
        known = [(place, guard) for guard in found for place in [lowering.conditions.get(guard[0], ("", number + 1))[1]] if place <= number]
        if known:
            _, (condition, expected) = max(known)  # the innermost
            program.calls[number] = replace(call, call=replace(call.call, when=When(lowering.conditions[condition][0], expected)))


def _common(program: Program, call: AnyCall, guards: Mapping[str, frozenset[Guard]]) -> frozenset[Guard]:
    """What all its nodes count under; nothing for a call that makes places, counts them or tells of bad ones."""
    checks = (isinstance(call, LoopCall) and call.outside is not None) or not set(program.counts.values()).isdisjoint(call.call.writes)
    if checks or not call.call.nodes or any(program.buffers[name].below is not None for name in call.call.writes):
        return frozenset()
    return frozenset.intersection(*(guards.get(name, frozenset()) for name in call.call.nodes))


def _readers(program: Program) -> list[list[int]]:
    """The calls that read what each call writes, wherever in the same memory."""
    found: dict[str, list[int]] = {}
    for number, call in enumerate(program.calls):
        for name in dict.fromkeys(program.root(name) for name in call.call.reads):
            found.setdefault(name, []).append(number)
    written = [dict.fromkeys(program.root(name) for name in call.call.writes) for call in program.calls]
    return [[reader for name in names for reader in found.get(name, ()) if reader != number] for number, names in enumerate(written)]


def _takers(graph: Graph, guard: Guard) -> frozenset[str]:
    """The nodes that choose by this condition."""
    return frozenset(node.name for node in graph.readers(guard[0]) if node.inputs[0] == guard[0] and node.op in ("Where", "And"))
