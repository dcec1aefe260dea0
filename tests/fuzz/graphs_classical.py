"""Drawers of ai.onnx.ml, as scikit-learn's exporters write models: scaling, columns, linear models and trees over rows of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.graphs_draft import FLOAT, LEARNED, Draft
from tests.fuzz.graphs_pointwise import Drawer


def rows(d: Draft) -> tuple[str, int]:
    """Rows of numbers, and how many are in one."""
    x = d.data((FLOAT,), 2, 2)
    return x, d.shape(x)[1]


def some(d: Draft, count: int) -> list[float]:
    return [float(number) for number in d.g.uniform(-2, 2, count).astype(FLOAT)]


def scaler(d: Draft, op: str) -> None:
    x, width = rows(d)
    count = d.pick(1, width)
    d.op(op, x, domain=LEARNED, offset=some(d, count), scale=some(d, count))


def normalizer(d: Draft, op: str) -> None:
    """Of L2 ONNX Runtime loses the signs."""
    d.op(op, rows(d)[0], domain=LEARNED, norm=d.pick("L1", "MAX"))


def binarizer(d: Draft, op: str) -> None:
    d.op(op, rows(d)[0], domain=LEARNED, threshold=d.pick(0.0, 0.5, -1.0))


def columns(d: Draft, op: str) -> None:
    x, width = rows(d)
    d.op(op, x, d.const(d.g.integers(0, width, d.number(1, 5)), np.int64), domain=LEARNED)


def categories(d: Draft, op: str) -> None:
    d.op(op, d.data((np.int64,), 1, 2), domain=LEARNED, cats_int64s=[0, 1, *d.g.choice(np.arange(2, 9), d.number(1, 4), replace=False)])


def keys(d: Draft, op: str) -> None:
    """Whole numbers, and where none of them is meant the default."""
    known = d.g.choice(np.arange(5), d.number(1, 4), replace=False).tolist()
    d.op(op, d.data((np.int64,), 1, 2), domain=LEARNED, keys_int64s=known, values_floats=some(d, len(known)), default_float=-1.0)


def missing(d: Draft, op: str) -> None:
    x, width = rows(d)
    d.op(op, x, domain=LEARNED, imputed_value_floats=some(d, d.pick(1, width)), replaced_value_float=d.pick(0.0, float("nan")))


def joined(d: Draft, op: str) -> None:
    x, width = rows(d)
    d.op(op, x, x, domain=LEARNED, inputdimensions=[width, width])


def numbers(d: Draft, op: str) -> None:
    x, width = rows(d)
    count = d.number(1, 3)
    d.op(op, x, domain=LEARNED, coefficients=some(d, count * width), intercepts=some(d, count), targets=count)


def classes(d: Draft, op: str) -> None:
    x, width = rows(d)
    count = d.number(1, 4)
    known: dict[str, Any] = {"coefficients": some(d, count * width), "intercepts": some(d, count)}
    after = d.pick("NONE", "LOGISTIC", "SOFTMAX")
    d.op(op, x, outputs=2, domain=LEARNED, classlabels_ints=[7, 3, 11, 5][: max(count, 2)], post_transform=after, **known)


def trees(d: Draft, op: str) -> None:
    """One node and two leaves each. ONNX Runtime forgets what a single target's number becomes."""
    x, width = rows(d)
    count, targets, of = d.number(1, 4), d.pick(1, 3), "class" if "Classifier" in op else "target"
    nodes = {
        "treeids": [tree for tree in range(count) for _ in range(3)], "nodeids": [0, 1, 2] * count,
        "featureids": [number for _ in range(count) for number in (d.number(0, width - 1), 0, 0)],
        "values": [number for first in some(d, count) for number in (first, 0.0, 0.0)],
        "modes": [d.pick("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"), "LEAF", "LEAF"] * count,
        "truenodeids": [1, 0, 0] * count, "falsenodeids": [2, 0, 0] * count,
        "missing_value_tracks_true": [d.number(0, 1), 0, 0] * count,
    }  # fmt: skip
    leaves = [(tree, leaf, target) for tree in range(count) for leaf in (1, 2) for target in range(targets)]
    said = dict(zip(("treeids", "nodeids", "ids"), map(list, zip(*leaves, strict=True)), strict=True))
    named = {f"nodes_{key}": value for key, value in nodes.items()} | {f"{of}_{key}": value for key, value in said.items()}
    named |= {
        f"{of}_weights": some(d, len(leaves)),
        "post_transform": "NONE" if (of, targets) == ("target", 1) else d.pick("NONE", "LOGISTIC", "SOFTMAX"),
    }
    if of == "class":
        d.op(op, x, outputs=2, domain=LEARNED, classlabels_int64s=[4, 2, 9][: max(targets, 2)], **named)
    else:
        d.op(op, x, domain=LEARNED, n_targets=targets, **named)


CLASSICAL: dict[str, Drawer] = {
    "Scaler": scaler, "Normalizer": normalizer, "Binarizer": binarizer, "ArrayFeatureExtractor": columns, "OneHotEncoder": categories,
    "LabelEncoder": keys, "Imputer": missing, "FeatureVectorizer": joined,
    "LinearRegressor": numbers, "LinearClassifier": classes, "TreeEnsembleRegressor": trees, "TreeEnsembleClassifier": trees,
}  # fmt: skip
