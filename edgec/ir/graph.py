"""The model as a graph of ONNX operators in their latest semantics, independent of hardware."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from edgec.ir.readers import Index
from edgec.ir.types import DType, Shape, TensorType

FEW = 8  # serial numbers of a name that are tried anew each time, since a rewrite may have set them free


@dataclass(frozen=True)
class State:
    """What an input is: an `output` of the run before, of the same type; in the first run all its elements are `start`."""

    output: str
    start: float = 0.0


@dataclass(eq=False)
class Node:
    """One operator call. An absent optional input is the empty string; attributes hold int, float, str, list, ndarray, a loop's Graph."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    name: str = ""

    def input(self, index: int) -> str:
        """The name of input `index`, or "" when it is absent."""
        return self.inputs[index] if index < len(self.inputs) else ""


class Graph:
    """Nodes in topological order over named values.

    `types` knows every value (inputs, constants, node outputs); `constants` holds the arrays of those that are known.
    Every value has exactly one definition. Graph outputs count as readers. `held`: inputs and outputs of float32 that whoever calls the
    model holds in another type of floats, and that type. `states`: inputs that are no caller's: each is an output of the run before.
    """

    def __init__(
        self, name: str, inputs: Iterable[str] = (), outputs: Iterable[str] = (), nodes: Iterable[Node] = (),
        constants: Mapping[str, np.ndarray] | None = None, types: Mapping[str, TensorType] | None = None,
        metadata: Mapping[str, str] | None = None, held: Mapping[str, DType] | None = None,
        states: Mapping[str, State] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.inputs, self.outputs = name, list(inputs), list(outputs)
        self.constants = dict(constants or {})
        self.types = dict(types or {})
        self.metadata = dict(metadata or {})
        self.held = dict(held or {})
        self.states = dict(states or {})
        self._nodes = list(nodes)
        self._index: Index | None = None
        self._moved = False  # whether the index knows more than the list
        self._serials: dict[str, int] = {}

    # Questions

    @property
    def nodes(self) -> list[Node]:
        """The nodes in order. Who changes this list, or a node of it, by hand calls `touched`."""
        if self._moved and self._index is not None:
            self._nodes, self._index, self._moved = self._index.in_order(), None, False
        return self._nodes

    @property
    def index(self) -> Index:
        if self._index is None:
            self._index = Index(self._nodes)
        return self._index

    def shape(self, value: str) -> Shape:
        return self.types[value].shape

    def dtype(self, value: str) -> DType:
        return self.types[value].dtype

    def held_dtype(self, value: str) -> DType:
        """The type in which the caller of the model holds an input or output."""
        return self.held.get(value, self.dtype(value))

    @property
    def given(self) -> list[str]:
        """The inputs that a caller gives: no states."""
        return [name for name in self.inputs if name not in self.states]

    @property
    def answered(self) -> list[str]:
        """The outputs that a caller gets: none that the next run begins with."""
        kept = {state.output for state in self.states.values()}
        return [name for name in self.outputs if name not in kept]

    def told_shapes(self) -> dict[str, str]:
        """The outputs that tell the shape of another one, which only a run knows: the import puts each right behind it."""
        pairs = pairwise(self.outputs)
        return {shape: name for name, shape in pairs if self.types[name].is_counted and self.shape(shape) == (len(self.shape(name)),)}

    def constant(self, value: str) -> np.ndarray | None:
        """The array of `value` when it is a constant, else None."""
        return self.constants.get(value)

    def producer(self, value: str, op: str | None = None) -> Node | None:
        """The node that computes `value`; None for inputs and constants, or when its operator is not `op`."""
        node = self.index.producers.get(value)
        return node if node is not None and (op is None or node.op == op) else None

    def readers(self, value: str) -> list[Node]:
        """The nodes that read `value`, each once, in order."""
        return self.index.readers(value)

    def some_readers(self, value: str, most: int) -> list[Node]:
        """All readers of `value` in order when they are that few, else some of them, in any order."""
        return self.index.some_readers(value, most)

    def reader_count(self, value: str) -> int:
        """How many read `value`: nodes, and graph outputs, each of which counts as one."""
        return self.index.reader_count(value) + self.outputs.count(value)

    def stands_before(self, one: Node, other: Node) -> bool:
        """The order of two nodes."""
        return self.index.places[one] < self.index.places[other]

    def __iter__(self) -> Iterator[Node]:
        """A snapshot of the nodes, so that a pass may change the graph while it walks."""
        return iter(list(self.nodes))

    # Changes; each costs what it touches

    def touched(self) -> None:
        """Call after changing a node's inputs or outputs, or the list of nodes, by hand."""
        self._nodes, self._index, self._moved = self.nodes, None, False

    def fresh(self, hint: str) -> str:
        """A value name that is not yet taken, near to `hint`."""
        if hint and hint not in self.types:
            return hint
        few = (serial for serial in range(1, FEW) if f"{hint}_{serial}" not in self.types)
        serial = next(few, 0) or self._serials.get(hint, FEW)
        while f"{hint}_{serial}" in self.types:
            serial += 1
        self._serials[hint] = max(serial, FEW)
        return f"{hint}_{serial}"

    def add_constant(self, hint: str, array: np.ndarray) -> str:
        """Add a constant under a fresh name and return the name."""
        name = self.fresh(hint)
        self.constants[name] = np.ascontiguousarray(array) if array.ndim else array
        self.types[name] = TensorType(DType.of(array), tuple(int(extent) for extent in array.shape))
        return name

    def insert(self, node: Node, types: Sequence[TensorType], *, before: Node | None = None, after: Node | None = None) -> Node:
        """Insert `node` right before or behind another (at the end by default); `types` are those of its outputs."""
        self.index.add(node, before, after)
        self._moved = True
        self.types.update(zip(node.outputs, types, strict=True))
        return node

    def rewire(self, node: Node, inputs: Iterable[str], outputs: Iterable[str] | None = None) -> None:
        """Let `node` read other values, and write others."""
        self.index.disconnect(node)
        node.inputs = list(inputs)
        node.outputs = node.outputs if outputs is None else list(outputs)
        self.index.connect(node)

    def remove(self, nodes: Iterable[Node]) -> None:
        """Remove nodes; their outputs must have no reader left."""
        for node in nodes:
            if node in self.index.places:
                self.index.drop(node)
                self._moved = True
                for output in node.outputs:
                    self.types.pop(output, None)

    def replace_uses(self, old: str, new: str) -> None:
        """Let every reader of `old`, node or graph input-of-node alike, read `new`. Graph outputs keep their names:

        when `old` is a graph output, the producer of `new` is renamed to write `old`; where that cannot be (new is a
        graph input, a constant or itself an output) an Identity node keeps the interface.
        """
        self._rename(old, new)
        if old in self.outputs:
            self._rename_output(old, new)

    def _rename(self, old: str, new: str) -> None:
        for node in list(self.readers(old)):
            self.rewire(node, [new if name == old else name for name in node.inputs])

    def _rename_output(self, old: str, new: str) -> None:
        previous, source = self.producer(old), self.producer(new)
        if source is None or new in self.outputs:
            if previous is not None:
                kind = self.types[old]
                self.insert(Node("Identity", [new], [old], {}, previous.name), [kind], before=previous)
                self.index.drop(previous)
            return
        if previous is not None:
            self.rewire(previous, previous.inputs, [self.fresh(f"{old}_unused") if name == old else name for name in previous.outputs])
            self.types.update({name: self.types[old] for name in previous.outputs if name not in self.types})
        self.rewire(source, source.inputs, [old if name == new else name for name in source.outputs])
        self._rename(new, old)
        self.types[old] = self.types.pop(new)

    def copy(self) -> Graph:
        """An independent graph that shares the (never modified) arrays."""
        nodes = [Node(n.op, list(n.inputs), list(n.outputs), _copied(n.attributes), n.name) for n in self.nodes]
        return Graph(self.name, self.inputs, self.outputs, nodes, self.constants, self.types, self.metadata, self.held, self.states)


def _copied(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value.copy() if isinstance(value, Graph) else value for key, value in attributes.items()}
