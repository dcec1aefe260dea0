"""The model as a graph of ONNX operators in their latest semantics, independent of hardware."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgec.ir.types import DType, Shape, TensorType


@dataclass(eq=False)
class Node:
    """One operator call. An absent optional input is the empty string; attributes hold int, float, str, list or ndarray."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    name: str = ""

    def input(self, index: int) -> str:
        """The name of input `index`, or "" when it is absent."""
        return self.inputs[index] if index < len(self.inputs) else ""


@dataclass(eq=False)
class Graph:
    """Nodes in topological order over named values.

    `types` knows every value (inputs, constants, node outputs); `constants` holds the arrays of those that are known.
    Every value has exactly one definition. Graph outputs count as readers.
    """

    name: str
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    types: dict[str, TensorType] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    _producers: dict[str, Node] | None = field(default=None, repr=False)
    _readers: dict[str, list[Node]] | None = field(default=None, repr=False)

    # Questions

    def shape(self, value: str) -> Shape:
        return self.types[value].shape

    def dtype(self, value: str) -> DType:
        return self.types[value].dtype

    def constant(self, value: str) -> np.ndarray | None:
        """The array of `value` when it is a constant, else None."""
        return self.constants.get(value)

    def producer(self, value: str, op: str | None = None) -> Node | None:
        """The node that computes `value`; None for inputs and constants, or when its operator is not `op`."""
        if self._producers is None:
            self._producers = {output: node for node in self.nodes for output in node.outputs if output}
        node = self._producers.get(value)
        return node if node is not None and (op is None or node.op == op) else None

    def readers(self, value: str) -> list[Node]:
        """The nodes that read `value`, each once, in order."""
        if self._readers is None:
            self._readers = {}
            for node in self.nodes:
                for name in dict.fromkeys(node.inputs):
                    self._readers.setdefault(name, []).append(node)
        return self._readers.get(value, [])

    def reader_count(self, value: str) -> int:
        """How many read `value`: nodes, and graph outputs, each of which counts as one."""
        return len(self.readers(value)) + self.outputs.count(value)

    def __iter__(self) -> Iterator[Node]:
        """A snapshot of the nodes, so that a pass may change the graph while it walks."""
        return iter(list(self.nodes))

    # Changes; each keeps the look-up tables honest

    def touched(self) -> None:
        """Call after changing a node's inputs or outputs, or the list of nodes, by hand."""
        self._producers = self._readers = None

    def fresh(self, hint: str) -> str:
        """A value name that is not yet taken, near to `hint`."""
        if hint and hint not in self.types:
            return hint
        serial = 1
        while f"{hint}_{serial}" in self.types:
            serial += 1
        return f"{hint}_{serial}"

    def add_constant(self, hint: str, array: np.ndarray) -> str:
        """Add a constant under a fresh name and return the name."""
        name = self.fresh(hint)
        self.constants[name] = np.ascontiguousarray(array) if array.ndim else array
        self.types[name] = TensorType(DType.of(array), tuple(int(extent) for extent in array.shape))
        return name

    def insert(self, node: Node, types: Sequence[TensorType], *, before: Node | None = None) -> Node:
        """Insert `node` before another (at the end by default); `types` are those of its outputs."""
        position = len(self.nodes) if before is None else self.nodes.index(before)
        self.nodes.insert(position, node)
        self.types.update(zip(node.outputs, types, strict=True))
        self.touched()
        return node

    def remove(self, nodes: Iterable[Node]) -> None:
        """Remove nodes; their outputs must have no reader left."""
        gone = {id(node) for node in nodes}
        for node in self.nodes:
            if id(node) in gone:
                for output in node.outputs:
                    self.types.pop(output, None)
        self.nodes = [node for node in self.nodes if id(node) not in gone]
        self.touched()

    def replace_uses(self, old: str, new: str) -> None:
        """Let every reader of `old`, node or graph input-of-node alike, read `new`. Graph outputs keep their names:

        when `old` is a graph output, the producer of `new` is renamed to write `old`; where that cannot be (new is a
        graph input, a constant or itself an output) an Identity node keeps the interface.
        """
        for node in self.readers(old):
            node.inputs = [new if name == old else name for name in node.inputs]
        self.touched()
        if old in self.outputs:
            self._rename_output(old, new)

    def _rename_output(self, old: str, new: str) -> None:
        previous, source = self.producer(old), self.producer(new)
        if source is None or new in self.outputs:
            if previous is not None:
                self.nodes[self.nodes.index(previous)] = Node("Identity", [new], [old], {}, previous.name)
            self.touched()
            return
        if previous is not None:
            previous.outputs = [self.fresh(f"{old}_unused") if name == old else name for name in previous.outputs]
            self.types.update({name: self.types[old] for name in previous.outputs if name not in self.types})
        source.outputs = [old if name == new else name for name in source.outputs]
        for node in self.nodes:
            node.inputs = [old if name == new else name for name in node.inputs]
        self.types[old] = self.types.pop(new)
        self.touched()

    def copy(self) -> Graph:
        """An independent graph that shares the (never modified) arrays."""
        nodes = [Node(n.op, list(n.inputs), list(n.outputs), dict(n.attributes), n.name) for n in self.nodes]
        return Graph(self.name, list(self.inputs), list(self.outputs), nodes, dict(self.constants), dict(self.types), dict(self.metadata))
