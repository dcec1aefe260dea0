"""Functions that a product computes of its sums before a QuantizeLinear takes them (clause 4): those of edgec/program/functions.py."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from edgec.integer.operators import Function, Tail
from edgec.integer.tails import activation_of, sole_reader, tail_of
from edgec.integer.unary import following_of, function_of, product_with_itself, rising_line
from edgec.ir.graph import Graph, Node
from edgec.program.functions import FUNCTIONS, KernelFunction


@dataclass(frozen=True, eq=False)
class Shaping:
    """A function of sums, what its result is multiplied by in each channel, if by anything, and where that ends."""

    function: Function
    multiplier: np.ndarray | None  # float32
    tail: Tail


def kernel_function(function: Function) -> KernelFunction | None:
    """What a kernel computes for it."""
    found = FUNCTIONS.get(function.name)
    return found if found is not None and found.takes(function.numbers) else None


def shaping_of(graph: Graph, name: str) -> Node | None:
    """The function that alone reads `name`, a product's sums, and may be computed with them."""
    reader = sole_reader(graph, name)
    found = function_of(graph, reader) if reader is not None else None
    return reader if found is not None and found[0] == name and kernel_function(found[1]) else None


def is_near(graph: Graph, node: Node) -> bool:
    """Whether a kernel only comes near this function, and takes time for it."""
    found = function_of(graph, node)
    about = kernel_function(found[1]) if found is not None else None
    return about is not None and about.within > 0


def finish_of(graph: Graph, node: Node, shaped: Collection[str]) -> Node | None:
    """What ends a product before its result is stored: a Relu, a Clip with constant bounds, a function, or what multiplies its channels.

    A function that begins a chain is none: a table computes the chain as a whole, and no fewer values would be stored. But a rising line
    behind it can share the codes of what it reads (edgec/quant/ranges/lines.py), and then nothing is stored but what the function leaves.
    shaped: the sums of which functions are computed that a kernel comes near to.
    """
    function = shaping_of(graph, node.outputs[0])
    if function is not None and is_near(graph, function) and node.outputs[0] not in shaped:
        return None
    behind = multiplier_of(graph, node, function.outputs[0]) if function is not None else None
    if behind is not None:
        return behind[0]
    following = following_of(graph, function) if function is not None else None
    alone = function if following is None or rising_line(graph, following[0]) is not None else None
    return activation_of(graph, node.outputs[0]) or alone


def multiplier_of(graph: Graph, product: Node, name: str) -> tuple[Node, np.ndarray] | None:
    """The Mul that alone reads `name`, a function of the sums of `product`, with one finite positive constant for each output channel of
    several; and these numbers."""
    reader = sole_reader(graph, name)
    if reader is None or reader.op != "Mul" or set(reader.inputs) == {name}:
        return None
    factor = graph.constant(reader.inputs[1 - reader.inputs.index(name)])
    shape = graph.shape(product.outputs[0])
    axis = 1 if product.op in ("Conv", "ConvTranspose") else len(shape) - 1
    if factor is None or factor.dtype != np.float32 or factor.ndim > len(shape) or factor.size < 2:
        return None
    wanted = tuple(shape[axis] if place == axis else 1 for place in range(len(shape)))
    if (1,) * (len(shape) - factor.ndim) + factor.shape != wanted or not (np.isfinite(factor) & (factor > 0)).all():
        return None
    return reader, factor.reshape(-1)


def shaped_tail_of(graph: Graph, product: Node) -> Shaping | None:
    """The function of the sums of `product` that goes to one QuantizeLinear alone, through a multiplier for each channel or not."""
    found = _function_of_sums(graph, product.outputs[0])
    if found is None or kernel_function(found[0]) is None:
        return None
    function, nodes = found
    behind = multiplier_of(graph, product, nodes[-1].outputs[0])
    nodes = (*nodes, behind[0]) if behind is not None else nodes
    tail = tail_of(graph, nodes[-1].outputs[0], activation=False)
    return Shaping(function, behind and behind[1], replace(tail, nodes=(*nodes, *tail.nodes))) if tail is not None else None


def _function_of_sums(graph: Graph, name: str) -> tuple[Function, tuple[Node, ...]] | None:
    """The function of `name` that all its readers are, and they: one, or a Mul and what it multiplies `name` with."""
    readers = graph.readers(name) if name not in graph.outputs else []
    if len(readers) == 1:
        found = function_of(graph, readers[0])
        return (found[1], (readers[0],)) if found is not None and found[0] == name else None
    if len(readers) != 2 or readers[1].op != "Mul":
        return None
    inner, product = readers
    whole = product_with_itself(graph, product, name, inner.outputs[0]) if set(product.inputs) == {name, inner.outputs[0]} else None
    return (whole[0], (inner, product)) if whole is not None and whole[1] == (inner,) else None
