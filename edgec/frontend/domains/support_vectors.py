"""Translations of support vector machines: sums of kernels, and of each two classes the one that they speak for."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.domains.classical import finished, labelled, labels_of, learned, linear_scores, reals, rows, two
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.source import Source

SURE = 1e-7  # libsvm's probabilities of two classes keep that far from 0 and 1


@learned("SVMRegressor")
def svm_regressor(b: Builder, s: Source) -> None:
    """A sum of kernels, or a product where there are no vectors; of one class alone 1 for what belongs to it, else -1."""
    count = s.attributes["n_supports"]
    weights = np.asarray(s.attributes["coefficients"], np.float32)
    score = kernel_sums(b, s, weights.reshape(count, 1)) if count > 0 else weighted(b, s, rows(b, s), weights.reshape(-1, 1))
    if s.attributes["one_class"]:
        (inside,) = b.emit(s, "Greater", [score, reals(b, s, 0, "zero")])
        (score,) = b.emit(s, "Where", [inside, reals(b, s, 1, "one"), reals(b, s, -1, "minus_one")])
    finished(b, s, score, s.outputs)


@learned("SVMClassifier")
def svm_classifier(b: Builder, s: Source) -> None:
    """The label that most of the decisions between two classes are for, and those decisions; of two classes also their probabilities."""
    labels = labels_of(s, "classlabels_ints", "classlabels_strings")
    sizes = [int(size) for size in s.get("vectors_per_class") or ()]
    if not sizes:
        _by_products(b, s, labels)
        return
    if len(sizes) != len(labels):
        raise ModelError(f"has vectors of {len(sizes)} classes and {len(labels)} labels", hint="export the model again")
    decisions = kernel_sums(b, s, _between_two(s, sizes))
    if len(sizes) == 2:
        labelled(b, s, two(b, s, decisions), labels[::-1])
    else:
        labelled(b, s, _votes(b, s, decisions, len(sizes)), labels)
    if s.get("prob_a"):
        _probabilities(b, s, decisions, len(sizes))
    elif len(sizes) == 2 and s.attributes["post_transform"] == "SOFTMAX":
        raise ModelError("with two classes and SOFTMAX is not supported", hint="export it with NONE or LOGISTIC")
    else:
        finished(b, s, two(b, s, decisions) if len(sizes) == 2 else decisions, s.outputs[1:])


def kernel_sums(b: Builder, s: Source, weights: np.ndarray) -> str:
    """[rows, sums]: of how near each row is to each of the support vectors, by their weights.

    ONNX Runtime's sums lose digits where features are large, so its answers are no reference. A sum of products is one product.
    """
    b.believed.append(s.where)
    x, vectors = rows(b, s), np.asarray(s.attributes["support_vectors"], np.float32).reshape(len(weights), -1)
    features = b.type(x).static_shape[1]
    if vectors.shape[1] != features:
        raise ModelError(f"its vectors have {vectors.shape[1]} numbers, its operand {features}", hint="export the model again")
    if s.attributes["kernel_type"] == "LINEAR":
        return weighted(b, s, x, vectors.T.astype(np.float64) @ weights)
    return weighted(b, s, _kernels(b, s, x, vectors), weights)


def _kernels(b: Builder, s: Source, x: str, vectors: np.ndarray) -> str:
    """[rows, vectors]"""
    gamma, offset, degree = (float(value) for value in s.get("kernel_params") or (0.0, 0.0, 0.0))
    kind = s.attributes["kernel_type"]
    if kind == "RBF":
        return _near(b, s, x, vectors, gamma)
    (product,) = b.emit(s, "MatMul", [x, reals(b, s, vectors.T, "vectors")])
    (product,) = b.emit(s, "Mul", [product, reals(b, s, gamma, "gamma")])
    (product,) = b.emit(s, "Add", [product, reals(b, s, offset, "coefficient")])
    if kind == "POLY":
        return b.emit(s, "Pow", [product, reals(b, s, degree, "degree")])[0]
    if kind == "SIGMOID":
        return b.emit(s, "Tanh", [product])[0]
    raise ModelError(f"has the unknown kernel {kind!r}")


def _near(b: Builder, s: Source, x: str, vectors: np.ndarray, gamma: float) -> str:
    """exp(-gamma |x - v|^2), from the differences: a sum of squares less a product would lose what is small."""
    axis = b.constant(f"{s.outputs[0]}_axis", [1])
    (apart,) = b.emit(s, "Sub", [b.emit(s, "Unsqueeze", [x, axis])[0], reals(b, s, vectors, "vectors")])
    last = b.constant(f"{s.outputs[0]}_last", [2])
    (square,) = b.emit(s, "ReduceSum", [*b.emit(s, "Mul", [apart, apart]), last], attributes={"keepdims": 0})
    return b.emit(s, "Exp", b.emit(s, "Mul", [square, reals(b, s, -gamma, "gamma")]))[0]


def weighted(b: Builder, s: Source, operand: str, weights: np.ndarray) -> str:
    """operand * weights + rho"""
    return linear_scores(b, s, operand, weights, np.asarray(s.get("rho") or [0.0], np.float32))


def _between_two(s: Source, sizes: list[int]) -> np.ndarray:
    """[vectors, pairs]: what each vector weighs in the decision between two classes, in libsvm's order of its coefficients."""
    total, pairs = sum(sizes), list(combinations(range(len(sizes)), 2))
    given = np.asarray(s.attributes["coefficients"], np.float32).reshape(len(sizes) - 1, total)
    spend_constant(total * len(pairs) * 4, s.where)
    places = np.cumsum([0, *sizes])
    found = np.zeros((total, len(pairs)), np.float32)
    for number, (one, other) in enumerate(pairs):
        first, second = slice(places[one], places[one + 1]), slice(places[other], places[other + 1])
        found[first, number], found[second, number] = given[other - 1, first], given[one, second]
    return found


def _votes(b: Builder, s: Source, decisions: str, count: int) -> str:
    """[rows, classes]: how many decisions are for each class. One that is not above 0 is for the second of its two."""
    pairs = list(combinations(range(count), 2))
    first, second = (np.zeros((len(pairs), count), np.float32) for _ in range(2))
    for number, (one, other) in enumerate(pairs):
        first[number, one] = second[number, other] = 1
    (above,) = b.emit(s, "Greater", [decisions, reals(b, s, 0, "zero")])
    (above,) = b.emit(s, "Cast", [above], attributes={"to": "float32"})
    return linear_scores(b, s, above, first - second, second.sum(axis=0))


def _probabilities(b: Builder, s: Source, decisions: str, count: int) -> None:
    """Of two classes: 1 / (1 + exp(a * decision + b)) is the first's."""
    if count != 2:
        hint = "export it with probability=False, or calibrated by CalibratedClassifierCV"
        raise ModelError(f"with probabilities of {count} classes is not supported, of two it is", hint=hint)
    if s.attributes["post_transform"] != "NONE":
        raise ModelError("with probabilities and a post_transform is not supported", hint="export it with post_transform NONE")
    a, offset = (reals(b, s, s.attributes[name], name) for name in ("prob_a", "prob_b"))
    (negative,) = b.emit(s, "Neg", b.emit(s, "Add", [b.emit(s, "Mul", [decisions, a])[0], offset]))
    (first,) = b.emit(s, "Sigmoid", [negative])
    (first,) = b.emit(s, "Clip", [first, reals(b, s, SURE, "least"), reals(b, s, 1 - SURE, "most")])
    (second,) = b.emit(s, "Sub", [reals(b, s, 1, "one"), first])
    b.emit(s, "Concat", [first, second], s.outputs[1:2] or 1, {"axis": 1})


def _by_products(b: Builder, s: Source, labels: np.ndarray) -> None:
    """Without vectors: a linear model, whose weights are one row for each class."""
    weights = np.asarray(s.attributes["coefficients"], np.float32).reshape(len(labels), -1)
    scores = weighted(b, s, rows(b, s), weights.T)
    labelled(b, s, scores, labels)
    finished(b, s, scores, s.outputs[1:])
