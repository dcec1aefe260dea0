"""Translations of ai.onnx.ml's names for numbers: a code for each key, and scores beside the names of their classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgec.base.errors import ModelError
from edgec.base.harmless import ending
from edgec.frontend.domains.classical import as_float, labels_of, learned
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.source import Source

KINDS = {"int64s": np.int64, "floats": np.float32, "strings": object}
DEFAULTS = {"int64s": "default_int64", "floats": "default_float", "strings": "default_string"}
FEW = 20  # names of classes that a note tells


@learned("ZipMap")
def zip_map(b: Builder, s: Source) -> None:
    """A list of maps from class to score, one for each row: here the scores alone, a row for each of those."""
    labels = labels_of(s, "classlabels_int64s", "classlabels_strings").tolist()
    x = as_float(b, s)
    shape = b.type(x).static_shape
    if not shape or shape[-1] != len(labels):
        raise ModelError(f"has {len(labels)} classes for an operand of shape {list(shape)}", hint="export the model again")
    if s.outputs[0] not in b.graph.outputs:
        raise ModelError("makes maps that a node reads", hint="convert the model with the option zipmap=False")
    count = b.constant(f"{s.outputs[0]}_rows", [-1, len(labels)])
    b.emit(s, "Reshape", [x, count], s.outputs)
    b.notes.append(f"output {s.outputs[0]}: in place of maps a row of scores, of the classes {told(labels)}")
    if labels != sorted(set(labels)):
        b.believed.append(f"output {s.outputs[0]}")  # a map has no order of its own


def told(labels: Sequence[int | str]) -> str:
    """The first few, in order."""
    more = f" and {len(labels) - FEW} more" if len(labels) > FEW else ""
    return ", ".join(repr(ending(label) if isinstance(label, str) else label) for label in labels[:FEW]) + more


@learned("LabelEncoder")
def label_encoder(b: Builder, s: Source) -> None:
    """The value that belongs to a key; the default where there is no such key."""
    keys, values = _column(s, "keys"), _column(s, "values")
    if len(keys) != len(values):
        raise ModelError(f"has {len(keys)} keys and {len(values)} values", hint="export the model again")
    kind = next(name for name in KINDS if s.get(f"values_{name}"))
    table = np.append(values, np.asarray([s.attributes[DEFAULTS[kind]]], KINDS[kind]))
    x = s.inputs[0]
    if keys.dtype == object or x in b.texts:
        place = _place_of_text(b, s, [str(key) for key in keys.tolist()])
    else:
        place = _place_of_number(b, s, keys)
    b.emit(s, "Gather", [b.constant(f"{s.outputs[0]}_values", table), place], s.outputs, {"axis": 0})


def _column(s: Source, what: str) -> np.ndarray:
    given = [name for name in KINDS if s.get(f"{what}_{name}")]
    if len(given) != 1:
        raise ModelError(f"has {len(given)} lists of {what}, needs one", hint="export the model again")
    return np.asarray(s.attributes[f"{what}_{given[0]}"], KINDS[given[0]])


def _place_of_text(b: Builder, s: Source, keys: list[str]) -> str:
    known = b.texts.get(s.inputs[0])
    if known is None:
        raise ModelError("its keys are text, its operand is none", hint="export the model again")
    places = {key: place for place, key in reversed(list(enumerate(keys)))}
    where_to = np.array([places.get(text, len(keys)) for text in known], np.int64)
    return b.emit(s, "Gather", [b.constant(f"{s.outputs[0]}_places", where_to), b.numbers_of(s, s.inputs[0])], attributes={"axis": 0})[0]


def _place_of_number(b: Builder, s: Source, keys: np.ndarray) -> str:
    """The first key that equals it, or the place behind all."""
    x, last = s.inputs[0], b.constant(f"{s.outputs[0]}_last", [b.rank(s.inputs[0])])
    if b.type(x).dtype.numpy != keys.dtype:
        (x,) = b.emit(s, "Cast", [x], attributes={"to": keys.dtype.name})
    (x,) = b.emit(s, "Unsqueeze", [x, last])
    strange = keys != keys
    known = b.constant(f"{s.outputs[0]}_keys", np.where(strange, np.zeros(1, keys.dtype), keys))
    (same,) = b.emit(s, "Equal", [x, known])
    if strange.any():  # that equal nothing, and from version 4 on each other
        (same,) = b.emit(s, "And", [same, b.constant(f"{s.outputs[0]}_numbers", ~strange)])
        (both,) = b.emit(s, "And", [*b.emit(s, "IsNaN", [x]), b.constant(f"{s.outputs[0]}_nan", strange & (s.version >= 4))])
        (same,) = b.emit(s, "Or", [same, both])
    (rest,) = b.emit(s, "Not", [same])
    (rest,) = b.emit(s, "Cast", [rest], attributes={"to": "int64"})
    (places,) = b.emit(s, "Mul", [rest, b.constant(f"{s.outputs[0]}_behind", len(keys))])
    (places,) = b.emit(s, "Add", [places, b.constant(f"{s.outputs[0]}_order", np.arange(len(keys)))])
    (first,) = b.emit(s, "ReduceMin", [places, last], attributes={"keepdims": 0})
    return b.emit(s, "Min", [first, b.constant(f"{s.outputs[0]}_none", len(keys))])[0]
