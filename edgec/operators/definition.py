"""What a custom operator is, and custom(), which makes one of a function, of ONNX's text form, or of a FunctionProto."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import onnx
from onnx import defs, helper, parser

from edgec.base.errors import UsageError
from edgec.operators.tracing import call, traced

OPSET = 21  # of bodies that say nothing else
ShapeRule = Callable[..., Any]  # shapes of the inputs, attributes as keywords -> the output's shape, or a list of theirs
TAKEN = ("ai.onnx", "com.microsoft")  # domains that have their operators already, with those below them
VERSION = 1  # of the operator sets that custom operators are of: nothing asks for it


@dataclass(frozen=True)
class CustomOperator:
    """An operator of a domain of its own. body: a FunctionProto that stands in place of its nodes. shape: what its author says of its
    outputs, which every node is held to. Inside of a body, a call of it is a node."""

    domain: str
    name: str
    body: bytes
    shape: ShapeRule | None = None

    def __str__(self) -> str:
        return f"{self.domain}::{self.name}"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.body).hexdigest()

    @property
    def function(self) -> onnx.FunctionProto:
        return onnx.FunctionProto.FromString(self.body)

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        function = self.function
        known = {item.name for item in function.attribute_proto} | set(function.attribute)
        return call(self.name, operands, attributes, domain=self.domain, outputs=len(function.output), known=known)


@overload
def custom(
    domain: str, name: str, body: None = ..., *, shape: ShapeRule | None = ..., opset: int = ...
) -> Callable[[Callable[..., Any]], CustomOperator]: ...
@overload
def custom(
    domain: str, name: str, body: str | onnx.FunctionProto, *, shape: ShapeRule | None = ..., opset: int = ...
) -> CustomOperator: ...
def custom(
    domain: str, name: str, body: str | onnx.FunctionProto | None = None, *, shape: ShapeRule | None = None, opset: int = OPSET
) -> Any:
    """An operator `name` of `domain`; without a body a decorator of the function that writes one.

    body: a function in ONNX's text form, `NAME <attributes> (inputs) => (outputs) { nodes }`, or a FunctionProto. opset: the operator set
    that a function, or a text that names none, is written in. shape: see CustomOperator. Raises UsageError.
    """
    where = f"{domain}::{name}"
    _check_names(domain, name, where)
    if not 1 <= opset <= defs.onnx_opset_version():
        raise UsageError(f"there is no operator set {opset}", where=where, hint=f"1 to {defs.onnx_opset_version()} are known")

    def made(function: onnx.FunctionProto) -> CustomOperator:
        function.domain, function.name, function.overload = domain, name, ""
        if not function.output:
            raise UsageError("has no output", where=where, hint="its body returns what it computes")
        return CustomOperator(domain, name, bytes(function.SerializeToString(deterministic=True)), shape)

    if body is None:
        return lambda function: made(traced(function, opset, where))
    if isinstance(body, onnx.FunctionProto):
        copy = onnx.FunctionProto()
        copy.CopyFrom(body)
        return made(copy)
    return made(_parsed(body, domain, opset, where))


def bundle_of(operators: Sequence[CustomOperator]) -> bytes:
    """What makes a model know these operators: appended to its file's bytes, as a protobuf message is merged; nothing for none."""
    model = onnx.ModelProto(functions=[item.function for item in operators])
    model.opset_import.extend(helper.make_opsetid(domain, VERSION) for domain in sorted({item.domain for item in operators}))
    return bytes(model.SerializeToString(deterministic=True))


def _check_names(domain: str, name: str, where: str) -> None:
    if not domain or any(domain == taken or domain.startswith(f"{taken}.") for taken in TAKEN):
        hint = 'choose one of your own, such as "com.acme": what it has already cannot be changed'
        raise UsageError(f"{domain!r} is a domain of ONNX's and its runtime's own", where=where, hint=hint)
    if not re.fullmatch(r"[\w.-]{1,127}", domain) or not re.fullmatch(r"\w[\w.-]{0,126}", name):
        raise UsageError("is no name of a domain and an operator", where=where, hint="letters, digits, _, . and - are possible")


def _parsed(text: str, domain: str, opset: int, where: str) -> onnx.FunctionProto:
    head = "" if text.lstrip().startswith("<") else f'<opset_import: ["": {opset}, "{domain}": {VERSION}], domain: "{domain}">\n'
    try:
        return parser.parse_function(head + text)
    except parser.ParseError as error:
        said = " ".join(str(error).split())
        raise UsageError(f"its text cannot be read: {said}", where=where, hint="see onnx.parser.parse_function") from error
