"""The Graph under construction: canonical nodes go in, known values are folded, problems are collected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx

from edgec.base.budget import BudgetError, check_tensors, exceeded, spend_constant, spend_node, spend_operations
from edgec.base.errors import CUT, ModelError, Problem, cut_hint
from edgec.frontend.translation.source import Source
from edgec.ir.graph import Graph, Node
from edgec.ir.types import HELD_ONLY, MOST_AXES, DType, TensorType
from edgec.ops import OPERATORS
from edgec.ops.corrected import BEYOND
from edgec.ops.evaluate import evaluate, expected_bytes, has_types
from edgec.ops.infer import infer_node
from edgec.ops.legal import CHECKED, check_attributes
from edgec.ops.proto import canonical_attributes, schema
from edgec.ops.work import operations

RANDOM = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"})
# DequantizeLinear of a constant stays: its operand is a quantized weight, not arithmetic to be folded
NEVER_FOLDED = BEYOND | {"DequantizeLinear"}
# A Graph has no codes of less than 8 bits, and constants of no floats but float32 and float64: these hold every such number.
WIDENED = {"int4": "int8", "uint4": "uint8", "int2": "int8", "uint2": "uint8", "float16": "float32", "bfloat16": "float32"}
WIDENED |= dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"), "float32")
FLOATS = frozenset(kind.value for kind in HELD_ONLY)  # what the file may call a value that is float32 in a Graph
CONVERSIONS = ("Cast", "BitCast")  # what takes and gives such floats themselves
KEEPS_CODES = frozenset(("Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten"))
KEEPS_TEXTS = KEEPS_CODES | {"Gather"}
LONGEST = 100_000  # numbers of an operand that is a shape, a list of axes, of parts and the like


class Broken(Exception):
    """A node inside of another failed, which was told already."""


@dataclass
class Builder:
    """What the rules of this room write to. `taken` are the names that belong to the file, `broken` values that no node could compute,
    `kinds` the type that the file has of values that a Graph holds in another one, `misread` nodes of which ONNX Runtime makes
    something else, `lists` the tensors of a sequence, `nothing` optionals without a value, `ragged` values of which a run may make only the
    first rows.
    outermost: the node of the file that is being added. guard: a bool scalar; where it is false, nobody takes what is being added, so
    its indices must not end the run. `declared`: the shapes that the file gives values, `believed` values that have theirs from there,
    whatever operands say that a run computes. `channels`: of codes with a scale for each channel, how they were made. `texts`: what the
    numbers of a value stand for that is text in the file. `own`: the functions, by domain and name, that the user defines, and `calls`
    what there is to tell of nodes that are calls of them.
    """

    graph: Graph
    functions: Mapping[tuple[str, str, str], onnx.FunctionProto]
    taken: set[str]
    dispatch: Callable[[Builder, Source], None]
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    believed: list[str] = field(default_factory=list)
    misread: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    kinds: dict[str, str] = field(default_factory=dict)
    singles: dict[str, str] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    serials: dict[str, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    nothing: set[str] = field(default_factory=set)
    ragged: set[str] = field(default_factory=set)
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    channels: dict[str, Any] = field(default_factory=dict)
    guard: str = ""
    outermost: Source | None = None
    declared: dict[str, tuple[int, ...]] = field(default_factory=dict)
    depth: int = 0
    own: Collection[tuple[str, str]] = ()
    calls: list[Any] = field(default_factory=list)

    # Questions

    def value(self, name: str) -> np.ndarray | None:
        """The array of a value that is known already."""
        return self.graph.constant(name) if name else None

    def type(self, name: str) -> TensorType:
        return self.graph.types[name]

    def file_type(self, name: str) -> str:
        """The element type that a value has in the file."""
        return self.kinds.get(name) or self.type(name).dtype.value

    def shape(self, name: str) -> tuple[Any, ...]:
        return self.graph.shape(name)

    def rank(self, name: str) -> int:
        return len(self.graph.shape(name))

    def knows(self, name: str) -> bool:
        """Whether it is a tensor, a sequence or an optional by now."""
        return name in self.graph.types or name in self.lists or name in self.nothing

    def inputs_behind(self, name: str) -> list[str]:
        """The inputs of the model that a value depends on, in alphabetical order."""
        seen, stack = set[str](), [name]
        while stack:
            value = stack.pop()
            if value and value not in seen:
                seen.add(value)
                producer = self.graph.producer(value)
                stack += producer.inputs if producer is not None else []
        return sorted(seen.intersection(self.graph.inputs))

    def known(self, source: Source, index: int, what: str) -> list[int]:
        """A shape-like operand, which must be known by now."""
        array = self.value(source.input(index))
        if array is None:
            raise ModelError(f"{what} is computed while the model runs", hint="edgec needs static shapes: export a constant")
        if array.size > LONGEST:
            raise ModelError(f"{what} has {array.size:,} numbers, {LONGEST:,} are the most")
        return [int(item) for item in array.reshape(-1)]

    # Changes

    def fresh(self, hint: str) -> str:
        name, serial = hint, self.serials.get(hint, 0)
        while name in self.taken:
            serial += 1
            name = f"{hint}_{serial}"
        self.serials[hint] = serial
        self.taken.add(name)
        return name

    def label(self, name: str) -> str:
        """A node name that no other node has."""
        serial = self.labels.get(name, 0)
        self.labels[name] = serial + 1
        return self.label(f"{name}_{serial}") if serial else name

    def define(self, name: str, array: np.ndarray) -> str:
        """Let `name` be a constant."""
        if array.dtype == object:
            array = self._numbered(name, array)
        if array.dtype.name in WIDENED:
            self.kinds[name] = array.dtype.name
            array = array.astype(WIDENED[array.dtype.name])
        if array.ndim > MOST_AXES:
            raise ModelError(f"a tensor of {array.ndim} axes is not supported, of more than {MOST_AXES} dimensions")
        try:
            dtype = DType.of(array)
        except ValueError:
            raise ModelError(f"a tensor of {array.dtype.name} is not supported") from None
        self.graph.constants[name] = np.ascontiguousarray(array).reshape(array.shape)
        self.graph.types[name] = TensorType(dtype, tuple(array.shape))
        return name

    def _numbered(self, name: str, array: np.ndarray) -> np.ndarray:
        """Texts as their numbers, in the order in which they come."""
        flat = [item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item) for item in array.reshape(-1).tolist()]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(flat))}
        self.texts[name] = tuple(numbers)
        return np.array([numbers[text] for text in flat], np.int64).reshape(array.shape)

    def numbers_of(self, source: Source, name: str) -> str:
        """The numbers of a value that is text, as numbers to compute with."""
        (found,) = self.emit(source, "Identity", [name])
        self.texts.pop(found, None)
        return found

    def constant(self, hint: str, array: Any, dtype: str = "int64") -> str:
        """A new constant; lists take `dtype`."""
        known = isinstance(array, (np.ndarray, np.generic))  # arithmetic on arrays without axes gives the latter
        return self.define(self.fresh(hint), np.asarray(array) if known else np.array(array, dtype))

    def scalar(self, name: str) -> str:
        """The value, without the axes of extent 1 that some exporters leave on constants of one number."""
        array = self.value(name)
        return name if array is None or array.ndim == 0 or array.size != 1 else self.constant(f"{name}_scalar", array.reshape(()))

    def single(self, name: str) -> str:
        """The value as a float32, where it is a float of another type: a constant's numbers rounded, a computed value behind a Cast."""
        if not name or self.type(name).dtype not in HELD_ONLY:
            return name
        if name not in self.singles:
            array, self.singles[name] = self.value(name), self.fresh(f"{name}_float32")
            if array is not None:
                self.define(self.singles[name], rounded(array, name))
            else:
                node = Node("Cast", [name], [self.singles[name]], {"to": "float32"}, self.label(self.singles[name]))
                self.graph.insert(node, [replace(self.type(name), dtype=DType.FLOAT32)])
            self.kinds[self.singles[name]] = self.file_type(name)
        return self.singles[name]

    def _inherit(self, op: str, operands: Sequence[str], names: Sequence[str]) -> None:
        """What is computed of float16 is float16 in the file."""
        found = next((self.file_type(name) for name in operands if name and self.file_type(name) in FLOATS), None)
        if found is None or op in CONVERSIONS:
            return
        for name in names:
            if name and self.type(name).dtype is DType.FLOAT32:
                self.kinds[name] = found

    def _keep_texts(self, op: str, operands: Sequence[str], names: Sequence[str]) -> None:
        """What only moves text about has the same texts; ModelError for what would compute with it."""
        read = [place for place, name in enumerate(operands) if name in self.texts]
        if read and (op not in KEEPS_TEXTS or read != [0]):
            raise ModelError("computes with text", hint="do that before or behind the model")
        if read:
            self.texts[names[0]] = self.texts[operands[0]]

    def emit(
        self, source: Source, op: str, inputs: Sequence[str], outputs: Sequence[str] | int = 1, attributes: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Add a canonical node on behalf of `source`; `outputs` are names, or how many fresh ones. Folded when all inputs are known,
        or when the result holds nothing: no node of a Graph makes an empty tensor.
        """
        names = [self.fresh(f"{source.outputs[0]}_{op}") for _ in range(outputs)] if isinstance(outputs, int) else list(outputs)
        operands = self._guarded(source, op, inputs)
        self._keep_texts(op, operands, names)
        while operands and not operands[-1]:
            operands.pop()
        if op not in OPERATORS and schema(op) is None:
            raise ModelError("is not an operator of edgec")
        if op in RANDOM:  # known operands do not make it known
            raise unsupported(op)
        try:
            complete = canonical_attributes(op, dict(attributes or {}))
        except ValueError as error:
            raise ModelError(f"attribute {error} is not supported") from None
        check_attributes(op, complete)
        node = Node(op, operands, names, complete, self.label(source.name))
        if op not in NEVER_FOLDED and all(name in self.graph.constants for name in operands if name):
            folded = self._folded(node)
            if folded is not None:
                for name, array in zip(names, folded, strict=False):
                    self.define(name, array)
                self._inherit(op, operands, names[: len(folded)])
                if op in KEEPS_CODES and operands[0] in self.kinds:
                    self.kinds[names[0]] = self.kinds[operands[0]]
                return names
        if op not in OPERATORS:
            raise unsupported(op)
        if op not in CONVERSIONS:
            node.inputs = [self.single(name) for name in operands]
        types = infer_node(self.graph, node)
        if all(0 in kind.shape for kind in types):  # what holds nothing is known
            for name, kind in zip(names, types, strict=True):
                self.define(name, np.zeros(kind.static_shape, kind.dtype.numpy))
            self._inherit(op, operands, names)
            return names
        where = f"{node.name} ({op})"
        check_tensors(sum(kind.bytes for kind in types), where)
        self.graph.insert(node, types)
        self._inherit(op, operands, names)
        if not self.ragged.isdisjoint(operands):
            self.ragged.update(names)
        spend_operations(operations(node, self.graph.types), where)
        return names

    def _guarded(self, source: Source, op: str, inputs: Sequence[str]) -> list[str]:
        """The operands, with 0, which is a place on any axis, for indices where the guard is false."""
        operands = list(inputs)
        place = CHECKED.get(op) if self.guard else None
        if place is not None and operands[place] not in self.graph.constants:
            zero = self.constant(f"{source.outputs[0]}_zero", 0, self.type(operands[place]).dtype.value)
            (operands[place],) = self.emit(source, "Where", [self.guard, operands[place], zero])
        return operands

    def _folded(self, node: Node) -> list[np.ndarray] | None:
        """The outputs of a node whose inputs are known; their size is paid for before they are made, where a rule tells it.

        None when the reference computes something else than the rule says: one of both is wrong, so the package computes the node.
        What neither takes, the rule refuses in clearer words.
        """
        inputs = [self.graph.constants[name] if name else None for name in node.inputs]
        types, refusal = self._expected(node)
        expected = expected_bytes(node, inputs) if types is None else sum(kind.bytes for kind in types)
        spend_constant(expected, where := f"{node.name} ({node.op})")
        try:
            arrays = evaluate(node, inputs)
        except ModelError:
            if refusal is None:
                raise
            raise refusal from None
        spend_constant(max(0, sum(array.nbytes for array in arrays) - expected), where)
        return arrays if types is None or has_types(arrays, types) else None

    def _expected(self, node: Node) -> tuple[list[TensorType] | None, ModelError | None]:
        """What the rule says, or why it says nothing: the reference may compute more than the rules allow. Neither without a rule."""
        if node.op not in OPERATORS:
            return None, None
        try:
            return infer_node(self.graph, node), None
        except ModelError as error:
            return None, error

    def add(self, source: Source) -> None:
        """Translate one node; what goes wrong is noted, and the values that depend on it are skipped. BudgetError ends it all."""
        spend_node(source.where)
        outer, self.outermost = self.outermost, self.outermost or source
        try:
            self.dispatch(self, source)
        except BudgetError:
            raise
        except Broken:
            self.broken.update(source.outputs)
        except MemoryError:
            raise exceeded("memory", "there is no memory left for it", source.where) from None
        except ModelError as error:
            self.problem(source, error.summary, error.hint)
        except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
            # damaged files put nonsense into operands and attributes, in more ways than the rules test for
            self.problem(source, f"is malformed ({type(error).__name__}: {error})", "export the model again")
        finally:
            self.outermost = outer

    def problem(self, source: Source, what: str, hint: str = "") -> None:
        self.problems.append(Problem(what, source.where, hint.replace(CUT, self._cut(source), 1)))
        self.broken.update(source.outputs)

    def _cut(self, source: Source) -> str:
        """How to cut the graph before the node of the file that `source` is or comes from."""
        node = self.outermost or source
        computed = (name for name in node.inputs if name in self.broken or self.graph.producer(name) is not None)
        return cut_hint(computed, node.outputs)

    def is_broken(self, names: Iterable[str]) -> bool:
        return any(name in self.broken for name in names)


def rounded(array: np.ndarray, name: str) -> np.ndarray:
    """float64 as float32. The ends of its range, which stand for no bound, become those of float32; ModelError for what is beyond those."""
    limits, least = np.finfo(np.float64), np.finfo(np.float32).max
    array = np.where(array == limits.max, least, np.where(array == limits.min, -least, array))
    with np.errstate(over="ignore"):
        found = np.asarray(array, np.float32)
    beyond = array[np.isinf(found) & np.isfinite(array)]
    if beyond.size:
        raise ModelError(f"{name} holds {beyond.flat[0]:g}, which is beyond float32", hint="edgec computes float64 models in float32")
    return found


HINTS = {
    "ZipMap": f"convert the model with the option zipmap=False, or {CUT}",
    "StringNormalizer": "strings are not supported: tokenize outside of the model",
}


def unsupported(op: str) -> ModelError:
    """The error for an operator that edgec cannot compile."""
    return ModelError("has no implementation", hint=HINTS.get(op, f"replace it in the exporter, or {CUT}"))
