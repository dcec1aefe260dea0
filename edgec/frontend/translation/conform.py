"""Does a node fit its operator's schema: its attributes and their types, how many operands there are, and the types of those.

Everything behind the import relies on it: no rule asks whether a number is a string.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper

from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.source import Source
from edgec.ops.legal import check_flags
from edgec.ops.proto import plain

_KINDS: dict[str, type] = {"INT": int, "FLOAT": float, "STRING": str, "TENSOR": np.ndarray, "GRAPH": onnx.GraphProto}
_LISTS = {"INTS": int, "FLOATS": float, "STRINGS": str}
# what ONNX calls a type, where that is not numpy's name
_NAMES = {"float32": "float", "float64": "double", "float8_e4m3fn": "float8e4m3fn", "float8_e4m3fnuz": "float8e4m3fnuz",
          "float8_e5m2": "float8e5m2", "float8_e5m2fnuz": "float8e5m2fnuz"}  # fmt: skip
# words of which the rules know but these, and which no canonical node has that would be checked
WORDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("Pad", "mode"): ("constant", "reflect", "edge", "wrap"), ("SpaceToDepth", "mode"): ("DCR", "CRD"),
    ("Resize", "keep_aspect_ratio_policy"): ("stretch", "not_larger", "not_smaller"),
    ("RoiAlign", "coordinate_transformation_mode"): ("half_pixel", "output_half_pixel"),
    **{(op, "reduction"): ("none", "mean", "sum") for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")},
}  # fmt: skip
ALSO = {"consumed_inputs"}  # what every node may have: a word of the first operator sets
_FORM = defs.OpSchema.FormalParameterOption


def conforming(b: Builder, source: Source, schema: Any) -> Source:
    """`source` with its schema's defaults; ModelError when it does not fit. Without a schema only its operands are looked at."""
    unknown = [name for name in source.inputs if name and not b.knows(name)]
    if unknown:
        raise ModelError(f"reads {', '.join(map(repr, unknown))}, which nothing defines")
    if schema is None:
        return source
    if schema.deprecated:
        raise ModelError("was removed from this operator set", hint="convert the model with onnx.version_converter")
    _check_attributes(source, schema)
    check_flags(source.attributes)
    _check_words(source)
    _check_counts(source, schema)
    _check_types(b, source, schema)
    defaults = {
        name: plain(helper.get_attribute_value(item.default_value)) for name, item in schema.attributes.items() if item.default_value.type
    }
    return replace(source, attributes={**defaults, **source.attributes})


def _check_attributes(source: Source, schema: Any) -> None:
    unknown = sorted(set(source.attributes) - set(schema.attributes) - ALSO)
    if unknown:
        raise ModelError(f"has unknown attributes: {', '.join(unknown)}")
    missing = sorted(name for name, item in schema.attributes.items() if item.required and name not in source.attributes)
    if missing:
        raise ModelError(f"lacks attributes: {', '.join(missing)}")
    wrong = [
        f"{name} is {_kind_of(value)} instead of {schema.attributes[name].type.name}"
        for name, value in source.attributes.items()
        if name in schema.attributes and not _fits(value, schema.attributes[name].type.name)
    ]
    if wrong:
        raise ModelError(f"has attributes of wrong types: {', '.join(wrong)}", hint="export the model again")


def _check_words(source: Source) -> None:
    for name, value in source.attributes.items() if not source.domain else ():
        choices = WORDS.get((source.op, name), (value,))
        if value not in choices:
            raise ModelError(f"{name} is {value[:60]!r}", hint=f"it may be {', '.join(choices)}")


def _fits(value: Any, kind: str) -> bool:
    if kind in _KINDS:
        return isinstance(value, _KINDS[kind])
    return kind not in _LISTS or (isinstance(value, list) and all(isinstance(item, _LISTS[kind]) for item in value))


def _kind_of(value: Any) -> str:
    if isinstance(value, list):
        return f"a list of {_kind_of(value[0])}" if value else "an empty list"
    return next((kind for kind, type_ in _KINDS.items() if isinstance(value, type_)), type(value).__name__)


def _check_counts(source: Source, schema: Any) -> None:
    present = len(source.inputs)
    if not schema.min_input <= present <= schema.max_input:
        raise ModelError(f"has {present} inputs, needs {schema.min_input} to {schema.max_input}")
    if not 1 <= len(source.outputs) <= schema.max_output:  # outputs that nobody reads were dropped
        raise ModelError(f"has {len(source.outputs)} outputs, {schema.max_output} exist")
    absent = [formal.name for formal, name in zip(schema.inputs, source.inputs, strict=False) if not name and formal.option == _FORM.Single]
    absent += [schema.inputs[-1].name for name in source.inputs[len(schema.inputs) - 1 :] if not name and _is_variadic(schema)]
    if absent:
        raise ModelError(f"lacks its input {', '.join(absent)}")


def _is_variadic(schema: Any) -> bool:
    return bool(schema.inputs) and schema.inputs[-1].option == _FORM.Variadic


def _check_types(b: Builder, source: Source, schema: Any) -> None:
    """The types that the schema allows; operands of one type variable have one type."""
    bound: dict[str, tuple[str, str]] = {}
    for place, name in enumerate(source.inputs):
        formal = schema.inputs[min(place, len(schema.inputs) - 1)]
        if not name or _is_composed(b, name, formal):
            continue
        kind = b.file_type(name)
        word = f"tensor({_NAMES.get(kind, kind)})"
        if word not in formal.types and f"optional({word})" not in formal.types:
            raise ModelError(f"cannot take {kind} as its input {formal.name}")
        first, expected = bound.setdefault(formal.type_str, (formal.name, kind)) if formal.is_homogeneous else ("", kind)
        if kind != expected:
            raise ModelError(f"has inputs of different types: {first} is {expected}, {formal.name} is {kind}")


def _is_composed(b: Builder, name: str, formal: Any) -> bool:
    """Whether it is a sequence, or an optional that holds nothing, which must be allowed here."""
    kind = "seq(" if name in b.lists else "optional(" if name in b.nothing else ""
    if kind and not any(kind in allowed for allowed in formal.types):
        raise ModelError(f"cannot take {'a sequence' if kind == 'seq(' else 'an optional'} as its input {formal.name}")
    return bool(kind)
