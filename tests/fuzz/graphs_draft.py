"""A random model under construction. Every node is run in ONNX Runtime when it is added, so that shapes and numbers are always known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import defs, helper, numpy_helper

from edgec.frontend.domains.contributed import RUNTIMES
from edgec.frontend.file.structure import reads
from edgec.frontend.former import EXPERIMENTAL

MOST_ELEMENTS = 3000  # of a value: what is larger takes time and shows nothing new
MICROSOFT, LEARNED = "com.microsoft", "ai.onnx.ml"
FLOAT = np.dtype(np.float32)
WHOLE = tuple(np.dtype(kind) for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64))
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 1e4, -1e4, 1e-30)
OPSETS = (7, 9, 11, 13, 15, 17, 18, 20, 21, 22, 23, 24, 26)
COUNTING = ("NonZero", "Compress", "Unique", "NonMaxSuppression")
BESIDE = {*EXPERIMENTAL, *RUNTIMES}  # which ONNX Runtime knows among ONNX's own, and ONNX does not
QUIET = onnxruntime.SessionOptions()
QUIET.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
QUIET.intra_op_num_threads, QUIET.log_severity_level = 1, 4

Arrays = dict[str, np.ndarray]
Kind = tuple[np.dtype[Any], tuple[int, ...]]


class Misfit(Exception):
    """What was drawn is no model: ONNX Runtime refuses it, or it is too large."""


@dataclass(frozen=True)
class Step:
    """A node and how to run it by itself, on arrays by name."""

    node: onnx.NodeProto
    run: Callable[[Mapping[str, np.ndarray]], list[np.ndarray]]


@dataclass(frozen=True)
class Drawn:
    """A model, inputs for it (ordinary numbers, then hostile ones) and its nodes in order, with every value's array for each input."""

    model: onnx.ModelProto
    vectors: list[Arrays]
    steps: list[Step]
    values: list[Arrays]
    operators: frozenset[str]


@dataclass
class Draft:
    """`g` makes every choice. values: for each input vector the array of every name; constants do not depend on the vector."""

    g: np.random.Generator
    opset: int
    hostile: bool = True
    nodes: list[Step] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    constants: set[str] = field(default_factory=set)
    values: tuple[Arrays, Arrays] = field(default_factory=lambda: ({}, {}))
    results: list[str] = field(default_factory=list)
    counted: set[str] = field(default_factory=set)  # results of which only a run knows how many elements they have
    serial: int = 0

    # Choices

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.g.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        return bool(self.g.random() < probability)

    def number(self, low: int, high: int) -> int:
        return int(self.g.integers(low, high + 1))

    def extents(self, low: int, high: int, most: int = 7) -> tuple[int, ...]:
        """A shape of between `low` and `high` axes, now and then with a long one."""
        shape = [self.pick(1, 1, 2, 3, self.number(1, most)) for _ in range(self.number(low, high))]
        if shape and self.chance(0.15):
            shape[self.number(0, len(shape) - 1)] = self.pick(16, 17, 33)
        return tuple(shape)

    # Values

    def fresh(self) -> str:
        self.serial += 1
        return f"v{self.serial}"

    def shape(self, name: str) -> tuple[int, ...]:
        return self.values[0][name].shape

    def dtype(self, name: str) -> np.dtype[Any]:
        return self.values[0][name].dtype

    def kind(self, name: str) -> Kind:
        return self.dtype(name), self.shape(name)

    def rank(self, name: str) -> int:
        return len(self.shape(name))

    def array(self, dtype: Any, shape: Sequence[int], hostile: bool = False) -> np.ndarray:
        """Random numbers: of a float type some zeros and some large ones; of another type the whole range. hostile: NaN, infinities, -0."""
        dtype, shape = np.dtype(dtype), tuple(shape)
        if dtype.kind == "b":
            return np.asarray(self.g.integers(0, 2, shape), dtype)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            small = self.chance(0.5) and not hostile
            low, high = (max(info.min, -20), 20) if small else (info.min, info.max)
            found = np.asarray(self.g.integers(low, high, shape, dtype, endpoint=True), dtype)
            return (
                np.where(self.g.random(shape) < 0.2, self.g.choice(np.array([info.min, info.max, 0, 1], dtype), shape), found)
                if hostile
                else found
            )
        found = self.g.standard_normal(shape) * self.g.choice([0.0, 1.0, 1.0, 8.0], shape)
        if hostile:
            special = self.g.choice(SPECIAL, shape)
            found = np.where(self.g.random(shape) < 0.2, special, found)
        return np.asarray(found, dtype)

    def input(self, dtype: Any, shape: Sequence[int]) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs.append(name)
        for place, values in enumerate(self.values):
            values[name] = self.array(dtype, shape, bool(place) and self.hostile)
        return name

    def const(self, array: Any, dtype: Any = None) -> str:
        """A constant: an initializer or a Constant node."""
        array, name = np.asarray(array, dtype), self.fresh()
        for values in self.values:
            values[name] = array
        self.constants.add(name)
        if self.chance(0.3):
            node = helper.make_node("Constant", [], [name], name, value=numpy_helper.from_array(array))
            self.nodes.append(Step(node, lambda _: [array]))
        else:
            self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def numbers(self, shape: Sequence[int]) -> str:
        """A float constant between 1/2 and 2 of both signs, sometimes all the same neutral number or power of two."""
        if self.chance(0.2):
            return self.const(np.full(shape, self.pick(0.5, 1.0, 2.0, 3.0, 0.0)), FLOAT)
        return self.const(self.g.uniform(0.5, 2, shape) * self.g.choice([-1, 1], shape), FLOAT)

    def data(self, dtypes: Sequence[Any] = (FLOAT,), low: int = 0, high: int = 5, where: Callable[[tuple[int, ...]], bool] | None = None,
             make: Callable[[], Sequence[int]] | None = None, constant: float = 0.08) -> str:  # fmt: skip
        """A value of one of these types whose rank and shape fit: one that is there, recent ones first, else a new input or constant."""
        kinds = {np.dtype(kind) for kind in dtypes}
        there = [name for name in (*self.inputs, *self.results) if name not in self.counted]
        near = [name for name in there if self.dtype(name) in kinds and low <= self.rank(name) <= high]
        fits = [name for name in near if where is None or where(self.shape(name))]
        if fits and (self.chance(0.8) or len(self.inputs) >= 6):
            return fits[-min(int(self.g.geometric(0.5)), len(fits))]
        dtype = self.pick(*sorted(kinds, key=str))
        for _ in range(20):
            shape = tuple(make()) if make is not None else self.extents(low, high)
            if int(np.prod(shape)) <= MOST_ELEMENTS and (where is None or where(shape)):
                return self.const(self.array(dtype, shape)) if self.chance(constant) else self.input(dtype, shape)
        raise Misfit("no shape fits")

    def fitting(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that broadcasts with `shape`."""
        kept = tuple(shape)[self.number(0, len(shape)) :] if self.chance(0.6) else tuple(shape)
        other = [1 if self.chance(0.25) else extent for extent in kept]
        other = [self.number(2, 4) if extent == 1 and self.chance(0.1) else extent for extent in other]
        return (*(() if len(other) > 3 or not self.chance(0.1) else (self.number(1, 3),)), *other)

    def partner(self, name: str, dtype: Any = None, constant: float = 0.4) -> str:
        """A second operand for `name`: itself, a constant, a value that broadcasts with it, or a new input."""
        dtype = np.dtype(dtype or self.dtype(name))
        there = [n for n in (*self.inputs, *self.results) if n not in self.counted]
        near = [n for n in there if self.dtype(n) == dtype and broadcasts(self.shape(n), self.shape(name))]
        if near and self.chance(0.4):
            return self.pick(*near)
        shape = self.fitting(self.shape(name))
        if self.chance(constant) or len(self.inputs) >= 6:
            return self.numbers(shape) if dtype == FLOAT else self.const(self.array(dtype, shape))
        return self.input(dtype, shape)

    def axis(self, name: str, extra: int = 0) -> int:
        """Any axis of it, from either end."""
        rank = self.rank(name) + extra
        if rank == 0:
            raise Misfit("no axis")
        return self.number(-rank, rank - 1)

    # Nodes

    def op(self, kind: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        """Add a node; the name of its output, or their names when there are several. Misfit when ONNX Runtime refuses it."""
        names = [self.fresh() for _ in range(outputs)]
        operands = list(inputs)
        while operands and not operands[-1]:
            operands.pop()
        node = helper.make_node(kind, operands, names, f"{kind}_{self.serial}", domain=domain, **attributes)
        loose = self.counted.intersection(reads(node))
        step = Step(node, single(node, {name: self.values[0][name] for name in reads(node)}, self.opset, loose))
        found = [step.run(values) for values in self.values]
        for arrays in found:
            if any(array.size > MOST_ELEMENTS for array in arrays):
                raise Misfit("too large")
        for values, arrays in zip(self.values, found, strict=True):
            values.update(zip(names, arrays, strict=True))
        self.nodes.append(step)
        if all(name in self.constants for name in reads(node)):
            self.constants.update(names)
        counting = kind in COUNTING or bool(loose)
        self.results += [name for name in names if self.values[0][name].size or counting]
        self.counted.update(names if counting else ())
        return names[0] if outputs == 1 else names

    def mark(self) -> tuple[Any, ...]:
        """A state to come back to when a drawing fails half way."""
        return (
            list(self.nodes),
            list(self.initializers),
            list(self.inputs),
            set(self.constants),
            tuple(map(dict, self.values)),
            list(self.results),
        )

    def reset(self, mark: tuple[Any, ...]) -> None:
        self.nodes, self.initializers, self.inputs, self.constants, self.values, self.results = mark

    def since(self, version: int) -> None:
        """Misfit where the operator set is older."""
        if self.opset < version:
            raise Misfit(f"needs operator set {version}")

    def finish(self) -> Drawn:
        """The model, with the values that nobody reads as outputs, and some others."""
        read = {name for step in self.nodes for name in reads(step.node)}
        outputs = [name for name in self.results if name not in read or self.chance(0.15)]
        outputs += [name for name in self.inputs if self.chance(0.05)]
        outputs += [name for name in sorted(self.constants - set(self.results)) if self.values[0][name].size and self.chance(0.02)]
        outputs = list(dict.fromkeys(outputs))
        self.g.shuffle(outputs)
        graph = helper.make_graph([step.node for step in self.nodes], "drawn", [self._info(name) for name in self.inputs],
                                  [self._info(name) for name in outputs], self.initializers)  # fmt: skip
        older = self.opset <= 9 and self.chance(0.5)  # initializers that are inputs as well, as files had them once
        if older:
            graph.input.extend(self._info(tensor.name) for tensor in self.initializers)
        model = wrapped(graph, self.opset)
        model.ir_version = 3 if older else model.ir_version
        vectors = [{name: values[name] for name in self.inputs} for values in self.values]
        return Drawn(model, vectors, self.nodes, list(self.values), frozenset(step.node.op_type for step in self.nodes))

    def _info(self, name: str) -> onnx.ValueInfoProto:
        return info(name, self.values[0][name], loose=name in self.counted)


def replayed(model: onnx.ModelProto, vectors: list[Arrays]) -> Drawn:
    """A model that was not drawn, with inputs for it, as if it were."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    opset = next(item.version for item in model.opset_import if not item.domain)
    values, steps = [{**constants, **vector} for vector in vectors], []
    for node in model.graph.node:
        step = Step(node, single(node, {name: values[0][name] for name in reads(node)}, opset))
        for known in values:
            known.update(zip(node.output, step.run(known), strict=True))
        steps.append(step)
    return Drawn(model, vectors, steps, values, frozenset(node.op_type for node in model.graph.node))


def info(name: str, array: np.ndarray, loose: bool = False) -> onnx.ValueInfoProto:
    """loose: of its extents only a run knows how large they are."""
    shape = [f"{name}_{place}" for place in range(array.ndim)] if loose else array.shape
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape)


def wrapped(graph: onnx.GraphProto, opset: int) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1), helper.make_opsetid(LEARNED, 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def single(
    node: onnx.NodeProto, arrays: Mapping[str, np.ndarray], opset: int, loose: Collection[str] = ()
) -> Callable[[Mapping[str, np.ndarray]], list[np.ndarray]]:
    """A function that runs one node; its operands have the types and shapes of `arrays`, those that are loose any extents."""
    names = list(dict.fromkeys(reads(node)))
    made = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = helper.make_graph([node], "one", [info(name, arrays[name], name in loose) for name in names], made)
    if not (node.domain or defs.has(node.op_type, opset, "") or node.op_type in BESIDE):
        raise Misfit("no such operator")
    try:
        session = onnxruntime.InferenceSession(wrapped(graph, opset).SerializeToString(), QUIET)
    except Exception as error:
        raise Misfit(str(error)[:200]) from None

    def run(values: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        try:
            return [np.asarray(array) for array in session.run(None, {name: values[name] for name in names})]
        except Exception as error:
            raise Misfit(str(error)[:200]) from None

    return run


def broadcasts(a: Sequence[int], b: Sequence[int]) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(tuple(a)[::-1], tuple(b)[::-1], strict=False))
