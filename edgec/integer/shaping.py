"""Functions that a product computes of its sums before a QuantizeLinear takes them (clause 4): those of edgec/program/functions.py."""

from __future__ import annotations

from dataclasses import replace

from edgec.integer.operators import Function, Tail
from edgec.integer.tails import activation_of, sole_reader, tail_of
from edgec.integer.unary import following_of, function_of, rising_line
from edgec.ir.graph import Graph, Node
from edgec.program.functions import FUNCTIONS


def shaping_of(graph: Graph, name: str) -> Node | None:
    """The function that alone reads `name`, a product's sums, and may be computed with them."""
    reader = sole_reader(graph, name)
    return reader if reader is not None and reader.op in FUNCTIONS and reader.inputs[0] == name else None


def finish_of(graph: Graph, node: Node) -> Node | None:
    """What a product computes before its result is stored: a Relu, a Clip with constant bounds, or a function.

    A function that begins a chain is none: a table computes the chain as a whole, and no fewer values would be stored. But a rising line
    behind it can share the codes of what it reads (edgec/quant/lines.py), and then nothing is stored but what the function leaves.
    """
    function = shaping_of(graph, node.outputs[0])
    following = following_of(graph, function) if function is not None else None
    alone = function if following is None or rising_line(graph, following[0]) is not None else None
    return activation_of(graph, node.outputs[0]) or alone


def shaped_tail_of(graph: Graph, name: str) -> tuple[Function, Tail] | None:
    """The function of `name` that goes to one QuantizeLinear alone, and where that ends."""
    node = shaping_of(graph, name)
    tail = tail_of(graph, node.outputs[0], activation=False) if node is not None else None
    found = function_of(graph, node) if node is not None else None
    if node is None or tail is None or found is None:
        return None
    return found[1], replace(tail, nodes=(node, *tail.nodes))
