"""Nodes of operators that users define (edgec/operators): held to what the definition takes, and told of behind the import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
from onnx import helper

from edgec.base.errors import ModelError, did_you_mean
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.source import Source
from edgec.ir.types import TensorType
from edgec.ops.proto import attribute_proto, plain

_KIND = onnx.AttributeProto.AttributeType.Name


@dataclass(frozen=True)
class OwnCall:
    """A node of such an operator (`DOMAIN::NAME`): its shapes where all of them are known, and its attributes that are plain values."""

    where: str
    operator: str
    is_known: bool
    inputs: Sequence[Sequence[int]] = ()
    outputs: Sequence[Sequence[int]] = ()
    attributes: dict[str, Any] = field(default_factory=dict)


def check_call(source: Source, function: onnx.FunctionProto) -> None:
    """ModelError where a node does not fit its operator."""
    name, inputs = f"{function.domain}::{function.name}", list(function.input)
    if len(source.inputs) != len(inputs):
        raise ModelError(f"has {len(source.inputs)} inputs, {name} takes {len(inputs)}: {', '.join(inputs)}")
    absent = [formal for formal, actual in zip(inputs, source.inputs, strict=True) if not actual]
    if absent:
        raise ModelError(f"lacks its input {', '.join(absent)}")
    if len(source.outputs) > len(function.output):
        raise ModelError(f"has {len(source.outputs)} outputs, {name} has {len(function.output)}")
    _check_attributes(source, {item.name: item for item in function.attribute_proto}, set(function.attribute))


def _check_attributes(source: Source, defaults: dict[str, onnx.AttributeProto], required: set[str]) -> None:
    unknown = sorted(source.attributes.keys() - defaults.keys() - required)
    if unknown:
        hint = did_you_mean(unknown[0], [*defaults, *required]) if defaults or required else "its definition has none"
        raise ModelError(f"has unknown attributes: {', '.join(unknown)}", hint=hint)
    missing = sorted(required - source.attributes.keys())
    if missing:
        raise ModelError(f"lacks attributes: {', '.join(missing)}")
    given = {name: value for name, value in source.attributes.items() if name in defaults and value != []}  # an empty list is of any type
    kinds = {name: attribute_proto(name, value).type for name, value in given.items()}
    wrong = [
        f"{name} is {_KIND(kind)} instead of {_KIND(defaults[name].type)}" for name, kind in kinds.items() if kind != defaults[name].type
    ]
    if wrong:
        raise ModelError(f"has attributes of wrong types: {', '.join(wrong)}", hint="export the model again")


def told_call(b: Builder, source: Source, function: onnx.FunctionProto) -> OwnCall:
    """Of a node whose body is in the graph by now."""
    name, types = f"{function.domain}::{function.name}", b.graph.types
    known = [types[value] for value in (*source.inputs, *source.outputs) if value in types]
    if len(known) < len(source.inputs) + len(source.outputs) or not all(kind.is_static and not kind.is_counted for kind in known):
        return OwnCall(source.where, name, False)
    given = {item.name: plain(helper.get_attribute_value(item)) for item in function.attribute_proto} | source.attributes
    attributes = {key: value for key, value in given.items() if isinstance(value, (int, float, str, list))}
    inputs, outputs = known[: len(source.inputs)], known[len(source.inputs) :]
    return OwnCall(source.where, name, True, _shapes(inputs), _shapes(outputs), attributes)


def _shapes(kinds: Sequence[TensorType]) -> list[list[int]]:
    return [list(kind.static_shape) for kind in kinds]
