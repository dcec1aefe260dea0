"""A body as a Python function: what it computes with its operands is written down as nodes of ONNX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, defs, helper, numpy_helper

from edgec.base.errors import UsageError, did_you_mean

_KINDS: dict[type, tuple[int, str]] = {  # of attributes: their type, and the attribute of a Constant that has such a value
    float: (AttributeProto.FLOAT, "value_float"),
    int: (AttributeProto.INT, "value_int"),
    str: (AttributeProto.STRING, "value_string"),
}
_LISTS = {
    AttributeProto.FLOAT: AttributeProto.FLOATS,
    AttributeProto.INT: AttributeProto.INTS,
    AttributeProto.STRING: AttributeProto.STRINGS,
}


@dataclass
class Body:
    """A body that is being written."""

    opset: int
    where: str
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    domains: set[str] = field(default_factory=set)
    made: int = 0

    def node(self, name: str, inputs: Sequence[str], outputs: int, attributes: Iterable[onnx.AttributeProto], domain: str) -> list[str]:
        """The names of what a new node computes."""
        names = [f"v.{self.made + place}" for place in range(outputs)]  # as no parameter of Python can be called
        self.made += outputs
        node = onnx.NodeProto(op_type=name, input=inputs, output=names, domain=domain, name=f"{name}_{len(self.nodes)}")
        node.attribute.extend(attributes)
        self.nodes.append(node)
        self.domains.add(domain)
        return names

    def constant(self, array: np.ndarray) -> str:
        (name,) = self.node("Constant", [], 1, [helper.make_attribute("value", numpy_helper.from_array(array))], "")
        return name


_writing: ContextVar[Body | None] = ContextVar("writing", default=None)


class BodyTensor:
    """A tensor of a body. Python's operators are ONNX's on it; it has no numbers yet, so nothing can be decided by them."""

    __array_ufunc__ = None  # numpy leaves arithmetic with its arrays to the methods below
    __hash__ = object.__hash__

    def __init__(self, name: str) -> None:
        self._name = name

    def __bool__(self) -> bool:
        raise UsageError("a body cannot branch by a tensor, whose numbers only a run knows", hint="choose with op.Where")

    def __iter__(self) -> Any:
        raise UsageError("a tensor of a body cannot be taken apart", hint="use op.Split, op.Slice or op.Gather")

    def __neg__(self) -> Any:
        return op.Neg(self)

    def __abs__(self) -> Any:
        return op.Abs(self)


class Attribute(BodyTensor):
    """An attribute of the operator, which each node gives: as an attribute of a node of the body, or as a number to compute with."""

    def __init__(self, name: str, kind: int) -> None:
        super().__init__(name)
        self.kind = kind

    def reference(self, name: str) -> onnx.AttributeProto:
        return AttributeProto(name=name, ref_attr_name=self._name, type=self.kind)


def _arithmetic() -> None:
    """Python's binary operators, with the operand on either side."""
    words = {"add": "Add", "sub": "Sub", "mul": "Mul", "truediv": "Div", "pow": "Pow", "matmul": "MatMul"}
    compared = {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
    for word, name in (words | compared).items():
        setattr(BodyTensor, f"__{word}__", lambda self, other, name=name: call(name, (self, other), {}))
    for word, name in words.items():
        setattr(BodyTensor, f"__r{word}__", lambda self, other, name=name: call(name, (other, self), {}))


_arithmetic()


class Operators:
    """`op.NAME(operands, attribute=value)`: a node of ONNX. Numbers among the operands become constants; `outputs=2` takes two of them."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return partial(_of_onnx, name)


op = Operators()


def _of_onnx(name: str, *operands: Any, outputs: int = 1, **attributes: Any) -> Any:
    return call(name, operands, attributes, outputs=outputs)


def call(
    name: str, operands: Sequence[Any], attributes: dict[str, Any], *, domain: str = "", outputs: int = 1, known: Iterable[str] = ()
) -> Any:  # fmt: skip
    """A node of the body that is being written: its output, or a tuple of several. known: the attributes that there are."""
    body = _writing.get()
    if body is None:
        raise UsageError(f"{name} is computed outside of a body", hint="call it in a function below @custom")
    schema = _schema(name, body) if not domain else None
    words = set(schema.attributes) if schema is not None else set(known)
    for unknown in sorted(attributes.keys() - words):
        raise UsageError(f"{name} has no attribute {unknown!r}", hint=did_you_mean(unknown, words))
    inputs = _names(body, schema, operands)
    protos = [_attribute(word, value) for word, value in attributes.items() if value is not None]
    found = tuple(map(BodyTensor, body.node(name, inputs, outputs, protos, domain)))
    return found[0] if outputs == 1 else found


def _schema(name: str, body: Body) -> Any:
    try:
        return defs.get_schema(name, body.opset, "")
    except defs.SchemaError:
        names = {schema.name for schema in defs.get_all_schemas() if not schema.domain}
        hint = did_you_mean(name, names) if name not in names else "give custom() another opset"
        raise UsageError(f"operator set {body.opset} of ONNX has no {name}", hint=hint) from None


def _attribute(name: str, value: Any) -> onnx.AttributeProto:
    if isinstance(value, Attribute):
        return value.reference(name)
    if isinstance(value, BodyTensor):
        raise UsageError(f"{name} is an attribute, and takes no tensor", hint="an attribute of the operator, or a number, can stand there")
    return helper.make_attribute(name, numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value)


def _names(body: Body, schema: Any, operands: Sequence[Any]) -> list[str]:
    """Of the operands' values. A number takes the type of a tensor that must have the same one, and is float32, int64 or bool else."""
    formals = [_formal(schema, place) for place in range(len(operands))]
    names: list[str] = []
    for formal, operand in zip(formals, operands, strict=True):
        if type(operand) is BodyTensor:
            names.append(operand._name)
            continue
        like = [other for known, other in zip(formals, operands, strict=True) if type(other) is BodyTensor and known == formal]
        names.append("" if operand is None else _constant(body, operand, like[0]._name if like else ""))
    return names


def _formal(schema: Any, place: int) -> str:
    """The type variable of an operand; all are alike where no schema says more."""
    return str(schema.inputs[min(place, len(schema.inputs) - 1)].type_str) if schema is not None and schema.inputs else ""


def _constant(body: Body, value: Any, like: str) -> str:
    if isinstance(value, Attribute):
        kinds = dict(_KINDS.values()) | {_LISTS[kind]: f"{word}s" for kind, word in _KINDS.values()}
        (name,) = body.node("Constant", [], 1, [value.reference(kinds[value.kind])], "")
    else:
        array = np.asarray(value)
        if array.dtype.kind not in "bif":
            raise UsageError(f"{value!r} is no tensor and no number")
        narrow = {"f": np.float32, "i": np.int64, "b": np.bool_}[array.dtype.kind]
        name = body.constant(array if isinstance(value, (np.ndarray, np.generic)) else array.astype(narrow))
    return body.node("CastLike", [name, like], 1, [], "")[0] if like else name


def traced(function: Callable[..., Any], opset: int, where: str) -> onnx.FunctionProto:
    """The body that a function writes: positional parameters are its inputs, those behind `*` its attributes, with their defaults."""
    found = onnx.FunctionProto()
    body = Body(opset, where)
    inputs, attributes = _parameters(function, found, where)
    token = _writing.set(body)
    try:
        answer = function(*map(BodyTensor, inputs), **attributes)
    finally:
        _writing.reset(token)
    answers = list(answer) if isinstance(answer, (tuple, list)) else [answer]
    outputs: list[str] = []
    for item in answers:
        if not isinstance(item, BodyTensor):
            raise UsageError(f"its body returns {type(item).__name__}", where=where, hint="return a tensor, or a tuple of tensors")
        name = item._name if type(item) is BodyTensor else _constant(body, item, "")
        outputs.append(body.node("Identity", [name], 1, [], "")[0] if name in outputs or name in inputs else name)
    found.input.extend(inputs)
    found.output.extend(outputs)
    found.node.extend(body.nodes)
    found.opset_import.append(helper.make_opsetid("", opset))
    found.opset_import.extend(helper.make_opsetid(domain, 1) for domain in sorted(body.domains - {""}))
    return found


def _parameters(function: Callable[..., Any], found: onnx.FunctionProto, where: str) -> tuple[list[str], dict[str, Attribute]]:
    """The names of the inputs, and the attributes, which are declared in `found`."""
    inputs, attributes = [], {}
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UsageError(f"its body takes any number of arguments by {name}", where=where, hint="name each input and attribute")
        if parameter.kind is not parameter.KEYWORD_ONLY:
            if parameter.default is not parameter.empty:
                raise UsageError(f"its input {name} has a default", where=where, hint="an attribute stands behind a * among the parameters")
            inputs.append(name)
            continue
        attributes[name] = Attribute(name, _kind(parameter, where))
        if parameter.default is parameter.empty:
            found.attribute.append(name)
        else:
            proto = helper.make_attribute(name, parameter.default)
            found.attribute_proto.append(proto)
    return inputs, attributes


def _kind(parameter: inspect.Parameter, where: str) -> int:
    """Of an attribute by its default, else by its annotation."""
    if parameter.default is not parameter.empty:
        value = parameter.default
        several = isinstance(value, (list, tuple)) and len(value) > 0
        types = {type(item) for item in value} if several else {type(value)}
    else:
        several = getattr(parameter.annotation, "__origin__", None) in (list, tuple, Sequence)
        types = set(parameter.annotation.__args__) - {...} if several else {parameter.annotation}
    if len(types) != 1 or not types <= _KINDS.keys():
        hint = f"write {parameter.name}: float, or int, str, or list[float]; or give it such a default"
        raise UsageError(f"the type of its attribute {parameter.name} is not known", where=where, hint=hint)
    kind = _KINDS[types.pop()][0]
    return _LISTS[kind] if several else kind
