"""Translations of ai.onnx.ml, as scikit-learn, LightGBM and XGBoost export models: scaling, linear models, columns, one-hot vectors.

Labels that are text come as their numbers: text is nothing that a package computes with.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source

ML = "ai.onnx.ml"
IMPUTED = {True: ("imputed_value_floats", "replaced_value_float"), False: ("imputed_value_int64s", "replaced_value_int64")}
learned = partial(rule, domain=ML)


def reals(b: Builder, s: Source, values: Any, hint: str) -> str:
    return b.constant(f"{s.outputs[0]}_{hint}", np.asarray(values, np.float32))


def as_float(b: Builder, s: Source) -> str:
    """The operand as float32."""
    x = s.inputs[0]
    return x if b.type(x).dtype.value == "float32" else b.emit(s, "Cast", [x], attributes={"to": "float32"})[0]


def rows(b: Builder, s: Source) -> str:
    """The operand as float32 in rows; what has one axis is one row."""
    x = as_float(b, s)
    if b.rank(x) not in (1, 2):
        raise ModelError(f"has an operand of {b.rank(x)} axes, takes 1 or 2")
    count = b.type(x).static_shape[-1]
    return x if b.rank(x) == 2 else b.emit(s, "Reshape", [x, b.constant(f"{s.outputs[0]}_rows", [1, count])])[0]


def labels_of(s: Source, ints: str, strings: str) -> np.ndarray:
    """The classes' numbers or texts. ModelError where there are none."""
    if s.get(strings):
        return np.asarray(s.get(strings), object)
    if not s.get(ints):
        raise ModelError("has no labels", hint="export the model again")
    return np.asarray(s.get(ints), np.int64)


@learned("Scaler")
def scaler(b: Builder, s: Source) -> None:
    """(x - offset) * scale"""
    (centred,) = b.emit(s, "Sub", [as_float(b, s), reals(b, s, s.get("offset", [0.0]), "offset")])
    b.emit(s, "Mul", [centred, reals(b, s, s.get("scale", [1.0]), "scale")], s.outputs)


@learned("Normalizer")
def normalizer(b: Builder, s: Source) -> None:
    """x / max x, x / sum |x| or x / root of sum x^2; what would be divided by 0 stays."""
    x = as_float(b, s)
    axes = b.constant(f"{s.outputs[0]}_axes", [b.rank(x) - 1])
    norm = s.attributes["norm"]
    if norm == "L2":
        (squares,) = b.emit(s, "Mul", [x, x])
        (total,) = b.emit(s, "Sqrt", b.emit(s, "ReduceSum", [squares, axes], attributes={"keepdims": 1}))
    elif norm == "L1":
        (total,) = b.emit(s, "ReduceSum", [*b.emit(s, "Abs", [x]), axes], attributes={"keepdims": 1})
    elif norm == "MAX":
        (total,) = b.emit(s, "ReduceMax", [x, axes], attributes={"keepdims": 1})
    else:
        raise ModelError(f"has the unknown norm {norm!r}")
    (is_zero,) = b.emit(s, "Equal", [total, reals(b, s, 0, "zero")])
    b.emit(s, "Where", [is_zero, x, *b.emit(s, "Div", [x, total])], s.outputs)


@learned("Binarizer")
def binarizer(b: Builder, s: Source) -> None:
    """1 above the threshold, else 0."""
    kind = b.type(s.inputs[0]).dtype.value
    threshold = b.constant(f"{s.outputs[0]}_threshold", np.asarray(s.attributes["threshold"], np.float32).astype(kind))
    b.emit(s, "Cast", b.emit(s, "Greater", [s.inputs[0], threshold]), s.outputs, {"to": kind})


@learned("Imputer")
def imputer(b: Builder, s: Source) -> None:
    """Numbers for those that are missing: one for all, or one for each column."""
    x, kind = s.inputs[0], b.type(s.inputs[0]).dtype
    values, missing = IMPUTED[kind.is_float]
    if not s.get(values):
        raise ModelError(f"has no {values} for an operand of {kind.value}", hint="export the model again")
    if len(s.attributes[values]) not in (1, b.type(x).static_shape[-1]):
        raise ModelError(f"has {len(s.attributes[values])} numbers for {b.type(x).static_shape[-1]} columns", hint="export the model again")
    instead, replaced = (np.asarray(s.attributes[name], kind.numpy) for name in (values, missing))
    if replaced != replaced:
        (absent,) = b.emit(s, "IsNaN", [x])
    else:
        (absent,) = b.emit(s, "Equal", [x, b.constant(f"{s.outputs[0]}_replaced", replaced)])
    b.emit(s, "Where", [absent, b.constant(f"{s.outputs[0]}_imputed", instead), x], s.outputs)


@learned("FeatureVectorizer")
def feature_vectorizer(b: Builder, s: Source) -> None:
    """The columns of all operands, as float32."""
    taken = [rows(b, replace(s, inputs=(name,))) for name in s.inputs]
    found = [b.type(name).static_shape[1] for name in taken]
    if list(s.get("inputdimensions") or found) != found:
        raise ModelError(f"counts {s.attributes['inputdimensions']} columns, its operands have {found}", hint="export the model again")
    b.emit(s, "Concat", taken, s.outputs, {"axis": 1})


@learned("ArrayFeatureExtractor")
def array_feature_extractor(b: Builder, s: Source) -> None:
    """Columns, by their numbers; of one axis a row is made."""
    x, places = s.inputs
    shape, count = b.type(x).static_shape, b.type(places).elements
    (flat,) = b.emit(s, "Reshape", [places, b.constant(f"{s.outputs[0]}_flat", [count])])
    (found,) = b.emit(s, "Gather", [x, flat], attributes={"axis": len(shape) - 1})
    b.emit(s, "Reshape", [found, b.constant(f"{s.outputs[0]}_shape", [*(shape[:-1] or (1,)), count])], s.outputs)


@learned("OneHotEncoder")
def one_hot_encoder(b: Builder, s: Source) -> None:
    """1 where a number is the category; the categories are the last axis."""
    categories = labels_of(s, "cats_int64s", "cats_strings")
    if s.get("cats_strings"):
        raise ModelError("its categories are text", hint="encode them before the model, by their numbers")
    if not s.attributes["zeros"]:
        raise ModelError("with zeros = 0 ends where a category is unknown", hint="export it with zeros = 1")
    (x,) = b.emit(s, "Cast", s.inputs[:1], attributes={"to": "int64"})
    (x,) = b.emit(s, "Unsqueeze", [x, b.constant(f"{s.outputs[0]}_axis", [-1])])
    found = b.emit(s, "Equal", [x, b.constant(f"{s.outputs[0]}_categories", categories)])
    b.emit(s, "Cast", found, s.outputs, {"to": "float32"})


@learned("LinearRegressor")
def linear_regressor(b: Builder, s: Source) -> None:
    scores = linear(b, s, s.attributes["targets"])
    finished(b, s, scores, s.outputs)


@learned("LinearClassifier")
def linear_classifier(b: Builder, s: Source) -> None:
    """The label of the largest score; one score for two labels is the second's where it is above 0, and the first's is what 1 lacks."""
    labels = labels_of(s, "classlabels_ints", "classlabels_strings")
    scores = linear(b, s, len(s.get("intercepts", ())) or len(labels))
    if b.type(scores).static_shape[1] > 1 or len(labels) != 2:
        labelled(b, s, scores, labels)
        finished(b, s, scores, s.outputs[1:])
        return
    labelled(b, s, two(b, s, scores), labels)
    if s.attributes["post_transform"] == "LOGISTIC":
        finished(b, s, two(b, s, scores), s.outputs[1:])
    else:
        b.emit(s, "Identity", [shares(b, s, scores)], s.outputs[1:2] or 1)


def linear(b: Builder, s: Source, count: int) -> str:
    """x * w^T + b, with `count` rows of w."""
    weights = np.asarray(s.attributes["coefficients"], np.float32).reshape(count, -1)
    offset = np.asarray(s.get("intercepts") or [0.0] * count, np.float32)
    return linear_scores(b, s, rows(b, s), weights.T, offset)


def linear_scores(b: Builder, s: Source, x: str, weights: np.ndarray, offset: np.ndarray) -> str:
    """x * weights + offset"""
    (product,) = b.emit(s, "MatMul", [x, reals(b, s, weights, "weights")])
    return b.emit(s, "Add", [product, reals(b, s, offset, "offset")])[0]


def two(b: Builder, s: Source, score: str) -> str:
    (negative,) = b.emit(s, "Neg", [score])
    return b.emit(s, "Concat", [negative, score], attributes={"axis": 1})[0]


def shares(b: Builder, s: Source, score: str) -> str:
    """[1 - score, score]"""
    (rest,) = b.emit(s, "Sub", [reals(b, s, 1, "one"), score])
    return b.emit(s, "Concat", [rest, score], attributes={"axis": 1})[0]


def labelled(b: Builder, s: Source, scores: str, labels: np.ndarray) -> None:
    """The first output: of each row the label of the largest score, the first of equal ones."""
    if not s.outputs[0]:
        return
    (best,) = b.emit(s, "ArgMax", [scores], attributes={"axis": 1, "keepdims": 0, "select_last_index": 0})
    b.emit(s, "Gather", [b.constant(f"{s.outputs[0]}_labels", labels), best], s.outputs[:1], {"axis": 0})


def finished(b: Builder, s: Source, scores: str, outputs: Any) -> None:
    """The scores after `post_transform`."""
    after = s.attributes["post_transform"]
    if not outputs or not outputs[0]:
        return
    if after == "SOFTMAX":
        b.emit(s, "Softmax", [scores], outputs, {"axis": 1})
    elif after in ("LOGISTIC", "NONE"):
        b.emit(s, {"LOGISTIC": "Sigmoid", "NONE": "Identity"}[after], [scores], outputs)
    else:
        raise ModelError(f"with post_transform {after} is not supported", hint="export the model with NONE, LOGISTIC or SOFTMAX")
