"""One node of an ONNX file, with the version of its operator set and all of its attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import onnx
from onnx import defs, helper

from edgec.base.errors import ModelError
from edgec.ops.proto import plain

Names = MutableMapping[str, str]  # values of the graph by their names in one place of the file
Scope = tuple[Names, Mapping[str, int]]  # with the versions of the operator sets by their domains


@dataclass(frozen=True)
class Source:
    """A node as the file has it; `attributes` holds the defaults of its own version too. `inputs` may end early, absent ones are ""."""

    op: str
    domain: str
    version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str
    attributes: dict[str, Any] = field(default_factory=dict)
    overload: str = ""
    scope: Scope | None = None  # of a node with graphs inside: what names mean there

    @property
    def where(self) -> str:
        domain = f"{self.domain}." if self.domain else ""
        return f"{self.name} ({domain}{self.op}, opset {self.version})"

    def input(self, index: int) -> str:
        return self.inputs[index] if index < len(self.inputs) else ""

    def get(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)


def read_node(fresh: Callable[[str], str], proto: onnx.NodeProto, versions: Mapping[str, int], names: Names, prefix: str) -> Source:
    """A node over the values of the graph; `names` maps its scope and grows by its outputs. prefix: of a function or body that it is in."""
    domain = "" if proto.domain == "ai.onnx" else proto.domain
    inputs = tuple(names.get(name, name) for name in proto.input)
    for name in proto.output:
        if name and name not in names:
            names[name] = fresh(f"{prefix}{name}" if prefix else name)
    outputs = tuple(names[name] if name else "" for name in proto.output)
    attributes = read_attributes(proto)
    scope = (names, dict(versions)) if any(isinstance(value, onnx.GraphProto) for value in attributes.values()) else None
    label = f"{prefix}{proto.name or proto.op_type}"
    return Source(proto.op_type, domain, versions.get(domain, 1), inputs, outputs, label, attributes, proto.overload, scope)


def read_attributes(proto: onnx.NodeProto) -> dict[str, Any]:
    """Attributes as Python values; references to a function's own attributes must have been replaced before."""
    if any(item.ref_attr_name for item in proto.attribute):
        raise ModelError("refers to an attribute of a function, and is in none", where=proto.name, hint="export the model again")
    names = [item.name for item in proto.attribute]
    if len(set(names)) < len(names):
        raise ModelError("has an attribute twice", where=proto.name, hint="export the model again")
    try:
        return {item.name: plain(helper.get_attribute_value(item)) for item in proto.attribute}
    except (TypeError, ValueError) as error:
        raise ModelError(f"has a damaged attribute ({error})", where=proto.name, hint="export the model again") from None


def find_schema(op: str, domain: str, version: int) -> Any:
    """The schema of an operator in that version of its set, or None."""
    try:
        return defs.get_schema(op, version, domain)
    except defs.SchemaError:
        return None
