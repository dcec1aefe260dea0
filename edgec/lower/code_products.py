"""Products of whole numbers that come of codes of 8 bits with constant matrices, as products of these codes (clause 19 of docs/int8.md).

`sum (q - z) * w` is `sum q * w - z * sum w`, z being what a run makes of it: the first sum is a layer of clause 4 that ends in float, of
scales 1, whose kernels are fast and whose weights have 8 bits. Where all of these numbers are floats nothing rounds; longer sums are cut
into parts, which join as int32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from edgec.integer.grid import EIGHT_BIT
from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, TensorType
from edgec.lower.code_windows import Windows, windows_of
from edgec.lower.whole_product import FLOAT, INT, MOVES, codes_behind, pads_with_zeros, read_as_float

EXACT = 1 << 16  # what weights of one sign may add up to: times a code, or two codes' difference, that is a float
WIDEST = 255  # of a weight less its zero point


@dataclass(frozen=True)
class Source:
    """Where whole numbers come from: codes less a zero point, if there is one, then moved (the last move first) and padded with 0."""

    codes: str
    zero: str
    moves: tuple[Node, ...]

    @property
    def pads(self) -> bool:
        return any(move.op == "Pad" for move in self.moves)


def with_code_products(graph: Graph) -> Graph:
    """`graph`, or a copy in which each MatMul of int32 that may be is one of codes."""
    if not any(_is_product(graph, node) and source_of(graph, node) is not None for node in graph.nodes):
        return graph
    graph = graph.copy()
    made: dict[str, str] = {}
    for node in graph:
        found = source_of(graph, node) if _is_product(graph, node) else None
        if found is not None:
            _Rewrite(graph, node, found, made).apply()
    _drop_unread(graph)
    return graph


def _is_product(graph: Graph, node: Node) -> bool:
    """Whether it multiplies int32 by a constant matrix of differences of codes."""
    kind = graph.types[node.inputs[0]] if node.op == "MatMul" else None
    if kind is None or kind.dtype is not INT or not kind.shape or kind.is_counted:
        return False
    weights = graph.constant(node.inputs[1])
    return weights is not None and weights.ndim == 2 and weights.size > 0 and bool((np.abs(weights.astype(np.int64)) <= WIDEST).all())


def source_of(graph: Graph, product: Node) -> Source | None:
    """The codes behind the first operand; None where it is something else."""
    zero, moves = "", list[Node]()
    node = graph.producer(product.inputs[0])
    while node is not None:
        if node.op == "Cast":
            found = Source(node.inputs[0], zero, tuple(moves))
            fits = graph.dtype(node.inputs[0]) in EIGHT_BIT and not (found.pads and zero and zero_code(graph, found) is None)
            return found if fits else None
        if node.op == "Sub" and not zero and _is_zero(graph, product, node, bool(moves)):
            zero = node.inputs[1]
        elif (node.op in MOVES and node.inputs[0] not in graph.constants) or (not zero and pads_with_zeros(graph, node)):
            moves.append(node)
        else:
            return None
        node = graph.producer(node.inputs[0])
    return None


def _is_zero(graph: Graph, product: Node, difference: Node, moved: bool) -> bool:
    """Whether the second operand is a zero point of all codes, or of each row of the product that follows at once."""
    name = difference.inputs[1]
    shape, result = graph.shape(name), graph.shape(product.outputs[0])
    single = all(extent == 1 for extent in shape)
    rows = not moved and len(graph.shape(difference.inputs[0])) == len(result) and shape[-1:] == (1,)
    if len(shape) > len(result) or not (single or rows):
        return False
    known = graph.constant(name)
    return bool((np.abs(known.astype(np.int64)) <= WIDEST).all()) if known is not None else codes_behind(graph, name) in EIGHT_BIT


def zero_code(graph: Graph, source: Source) -> str | np.ndarray | None:
    """The zero point, one number, in the type of the codes: its name, or the constant; None where it is of another type."""
    known, kind = graph.constant(source.zero), graph.dtype(source.codes)
    if known is not None:
        code = known.astype(kind.numpy)
        return code if (code == known).all() else None
    node = graph.producer(source.zero)
    while node is not None and node.op in MOVES:
        node = graph.producer(node.inputs[0])
    return node.inputs[0] if node is not None and graph.dtype(node.inputs[0]) is kind else None


@dataclass(frozen=True)
class _Rewrite:
    graph: Graph
    node: Node
    source: Source
    made: dict[str, str]  # whole numbers that are operands -> the same as codes that stand for floats

    def apply(self) -> None:
        graph, node = self.graph, self.node
        weights = graph.constants[node.inputs[1]]
        steps, (name,) = weights.astype(np.int32), node.outputs
        cuts = cuts_of(steps)
        windows = windows_of(graph, self.source.moves) if len(cuts) == 2 else None
        if windows is not None:
            products = [self._convolution(windows, steps)]
        else:
            codes = self._decoded(node.inputs[0], self.source.moves)
            parts = [codes] if len(cuts) == 2 else [self._cut(codes, *ends) for ends in pairwise(cuts)]
            products = [self._product(part, steps[start:end]) for part, (start, end) in zip(parts, pairwise(cuts), strict=True)]
        kind = FLOAT if len(products) == 1 else INT
        total = products[0]
        if kind is INT:
            for place, product in enumerate(products):
                whole = self._add("Cast", [product], INT, {"to": INT.value})
                total = self._add("Add", [total, whole], INT) if place else whole
        result = self._without_zero(total, steps, kind)
        if kind is FLOAT:
            read_as_float(graph, name, result)
            result = self._add("Cast", [result], INT, {"to": INT.value})
        graph.rewire(node, [result])
        node.op, node.attributes = "Identity", {}

    def _decoded(self, name: str, moves: Sequence[Node]) -> str:
        """The codes behind the whole numbers `name`, which these moves make, as what they are: floats from 0 to 255, or -128 to 127."""
        if name not in self.made:
            codes, shape = self.source.codes, self.graph.shape(name)
            for move in reversed(moves):
                kind = TensorType(self.graph.dtype(codes), self.graph.shape(move.outputs[0]))
                inputs = self._padding(codes, move) if move.op == "Pad" else [codes, *move.inputs[1:]]
                codes = self._insert(Node(move.op, inputs, [""], dict(move.attributes), move.name), kind)
            one = self.graph.add_constant(f"{name}_one", np.array(1, np.float32))
            zero = self.graph.add_constant(f"{name}_none", np.array(0, self.graph.dtype(codes).numpy))
            node = Node("DequantizeLinear", [codes, one, zero], [""], {"axis": 1}, self.node.name)
            self.made[name] = self._insert(node, TensorType(FLOAT, shape))
        return self.made[name]

    def _padding(self, codes: str, move: Node) -> list[str]:
        """The operands of a Pad of codes: what stands for 0 is the zero point."""
        graph, source = self.graph, self.source
        fill = zero_code(graph, source) if source.zero else np.array(0, graph.dtype(codes).numpy)
        assert fill is not None
        name = fill if isinstance(fill, str) else graph.add_constant(f"{codes}_fill", fill.reshape(()))
        return [codes, move.inputs[1], name, *move.inputs[3:]]

    def _product(self, codes: str, steps: np.ndarray) -> str:
        return self._add("MatMul", [codes, self._weights(steps, 1)], FLOAT)

    def _convolution(self, windows: Windows, steps: np.ndarray) -> str:
        """The product of rows that are what windows see, without these rows."""
        image = self._decoded(windows.name, self.source.moves[windows.moves :])
        batch, count, outputs = windows.image[0], prod(windows.sizes), steps.shape[1]
        inputs = [image, self._weights(windows.weights(steps), 0)]
        sums = self._insert(
            Node("Conv", inputs, [""], windows.attributes, self.node.name), TensorType(FLOAT, (batch, outputs, *windows.sizes))
        )
        flat = self.graph.add_constant(f"{sums}_flat", np.array([batch, outputs, count]))
        inputs = [sums, flat]
        rows = self._insert(Node("Reshape", inputs, [""], {"allowzero": 0}, self.node.name), TensorType(FLOAT, (batch, outputs, count)))
        return self._add("Transpose", [rows], FLOAT, {"perm": [0, 2, 1]})

    def _weights(self, steps: np.ndarray, axis: int) -> str:
        """Codes behind a DequantizeLinear; by index of `axis`, the outputs, with zero points of their own where int8 holds less."""
        graph, name = self.graph, self.node.inputs[1]
        zeros = np.zeros((), np.int8)
        if steps.min() < -128 or steps.max() > 127:
            others = tuple(d for d in range(steps.ndim) if d != axis)
            zeros = np.clip(-steps.min(axis=others), 0, 255).astype(np.uint8)
        along = zeros.astype(np.int32).reshape([-1 if d == axis else 1 for d in range(steps.ndim)] if zeros.ndim else ())
        stored = graph.add_constant(f"{name}_codes", (steps + along).astype(zeros.dtype))
        scale = graph.add_constant(f"{name}_ones", np.ones(zeros.shape, np.float32))
        inputs = [stored, scale, graph.add_constant(f"{name}_zeros", zeros)]
        return self._insert(Node("DequantizeLinear", inputs, [""], {"axis": axis}, self.node.name), TensorType(FLOAT, steps.shape))

    def _without_zero(self, total: str, steps: np.ndarray, kind: DType) -> str:
        """total - z * sum w"""
        if not self.source.zero:
            return total
        graph, sums = self.graph, steps.sum(axis=0, dtype=np.int64)
        known = graph.constant(self.source.zero)
        if known is not None:
            less = graph.add_constant(f"{self.source.zero}_sums", (known.astype(np.int64) * sums).astype(kind.numpy))
            return self._add("Sub", [total, less], kind) if known.any() else total
        zero, shape = self.source.zero, graph.shape(self.source.zero)
        if kind is FLOAT:
            zero = self._insert(Node("Cast", [zero], [""], {"to": FLOAT.value}, self.node.name), TensorType(FLOAT, shape))
        columns = graph.add_constant(f"{self.node.inputs[1]}_sums", sums.astype(kind.numpy))
        made = TensorType(kind, (*shape[:-1], len(sums)) if shape else (len(sums),))
        return self._add("Sub", [total, self._insert(Node("Mul", [zero, columns], [""], {}, self.node.name), made)], kind)

    def _cut(self, codes: str, start: int, end: int) -> str:
        shape = self.graph.shape(codes)
        axis = len(shape) - 1
        ends = [self.graph.add_constant(f"{codes}_end", np.array([value])) for value in (start, end, axis, 1)]
        return self._insert(Node("Slice", [codes, *ends], [""], {}, self.node.name), TensorType(FLOAT, (*shape[:-1], end - start)))

    def _add(self, op: str, inputs: list[str], kind: DType, attributes: dict[str, Any] | None = None) -> str:
        """A node with the result's shape."""
        shape = self.graph.shape(self.node.outputs[0])
        return self._insert(Node(op, inputs, [""], dict(attributes or {}), self.node.name), TensorType(kind, shape))

    def _insert(self, node: Node, kind: TensorType) -> str:
        node.outputs = [self.graph.fresh(f"{self.node.outputs[0]}_{node.op}")]
        self.graph.insert(node, [kind], before=self.node)
        return node.outputs[0]


def cuts_of(steps: np.ndarray) -> list[int]:
    """Where to cut the sums so that those of each part are floats: places from 0 to the number of products."""
    above, below = (np.maximum(sign * steps, 0) for sign in (1, -1))
    cuts, totals = [0], np.zeros((2, steps.shape[1]), np.int64)
    for place, rows in enumerate(zip(above, below, strict=True)):
        totals += rows
        if totals.max() > EXACT:
            cuts.append(place)
            totals[:] = rows
    return [*cuts, len(steps)]


def _drop_unread(graph: Graph) -> None:
    """Nodes whose results nobody reads any more."""
    for node in reversed(list(graph.nodes)):
        if not any(graph.reader_count(name) for name in node.outputs if name):
            graph.remove([node])
