"""Translations of ensembles of decision trees: all trees walk at once, a level at each step, and what they end at is added up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.domains.classical import finished, labelled, labels_of, learned, reals, rows, shares, two
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.source import Source

COMPARE = {  # what holds when any of these does, none of them of NaN
    "BRANCH_LEQ": ("Less", "Equal"), "BRANCH_LT": ("Less",), "BRANCH_GTE": ("Greater", "Equal"), "BRANCH_GT": ("Greater",),
    "BRANCH_EQ": ("Equal",),
}  # fmt: skip
LEAF = "LEAF"
DEEPEST = 256  # levels
GRAIN = 256  # parts of 1, of which data are rather whole


def splits(values: np.ndarray, modes: np.ndarray) -> np.ndarray:
    """The float32 that numbers are compared with in place of `values`, which may have double precision.

    The nearest, so that a number which is the split itself stays on its side when it is rounded too; but where that is a number that data
    have, as 1 is for 0.99999999, the next one on whose other side it stays.
    """
    nearest = values.astype(np.float32)
    plain = np.rint(nearest * np.float32(GRAIN)) == nearest * np.float32(GRAIN)
    below = plain & (nearest > values) & np.isin(modes, ("BRANCH_LEQ", "BRANCH_GT"))
    above = plain & (nearest < values) & np.isin(modes, ("BRANCH_LT", "BRANCH_GTE"))
    toward = np.where(below, -np.inf, np.where(above, np.inf, nearest)).astype(np.float32)
    return np.asarray(np.nextafter(nearest, toward), np.float32)


class Forest:
    """The nodes of all trees as columns: where each is found by tree and number, its branches by place. A leaf leads to itself."""

    def __init__(self, s: Source) -> None:
        keys = list(zip(_ints(s, "nodes_treeids"), _ints(s, "nodes_nodeids"), strict=True))
        self.place = {key: number for number, key in enumerate(keys)}
        if len(self.place) < len(keys) or not keys:
            raise ModelError("has no nodes, or two of one number", hint="export the model again")
        _check_lengths(s, len(keys))
        self.modes = [str(mode) for mode in s.attributes["nodes_modes"]]
        is_leaf = np.array([mode == LEAF for mode in self.modes])
        own = np.arange(len(keys))
        self.features = np.where(is_leaf, 0, _ints(s, "nodes_featureids"))
        self.values = np.where(is_leaf, 0, splits(np.asarray(s.attributes["nodes_values"]), np.array(self.modes))).astype(np.float32)
        self.yes, self.no = (
            np.array(
                [
                    at if leaf else self.at(tree, child)
                    for at, leaf, (tree, _), child in zip(own, is_leaf, keys, _ints(s, name), strict=True)
                ]
            )
            for name in ("nodes_truenodeids", "nodes_falsenodeids")
        )
        self.missing = np.asarray(s.get("nodes_missing_value_tracks_true") or [0] * len(keys), bool) & ~is_leaf
        led_to = set(self.yes[~is_leaf]) | set(self.no[~is_leaf])
        self.roots = np.array([at for at in own if at not in led_to])
        if sorted(keys[at][0] for at in self.roots) != sorted({tree for tree, _ in keys}):
            raise ModelError("has a tree without one root", hint="export the model again")
        self.levels = self._levels(is_leaf)

    def at(self, tree: int, node: int) -> int:
        if (tree, node) not in self.place:
            raise ModelError(f"has a branch to node {node} of tree {tree}, which is not there", hint="export the model again")
        return self.place[tree, node]

    def _levels(self, is_leaf: np.ndarray) -> int:
        here, count, reached = self.roots, 0, np.zeros(len(is_leaf), bool)
        reached[here] = True
        while not is_leaf[here].all():
            here = np.unique(np.concatenate([self.yes[here], self.no[here]]))
            reached[here] = True
            count += 1
            if count > DEEPEST:
                raise ModelError(f"has more than {DEEPEST} levels, or a branch that leads back", hint="train shallower trees")
        if not reached.all():  # what some branch leads to, but no root does
            raise ModelError("has a branch that leads back", hint="export the model again")
        return count

    @property
    def compare(self) -> tuple[str, ...]:
        """What all branches ask."""
        found = set(self.modes) - {LEAF}
        if len(found) > 1 or not found <= COMPARE.keys():
            raise ModelError(
                f"compares by {', '.join(sorted(found))}: one of {', '.join(COMPARE)} is supported", hint="export another ensemble"
            )
        return COMPARE[found.pop()] if found else COMPARE["BRANCH_LEQ"]


def _check_lengths(s: Source, count: int) -> None:
    """Each list has something for each node, and what may be left out has that or nothing."""
    needed = ("nodes_modes", "nodes_featureids", "nodes_values", "nodes_truenodeids", "nodes_falsenodeids")
    optional = [name for name in ("nodes_missing_value_tracks_true",) if s.get(name)]
    for name in (*needed, *optional):
        found = len(s.get(name) or ())
        if found != count:
            raise ModelError(f"{name} has {found} elements for {count} nodes", hint="export the model again")


def _ints(s: Source, name: str) -> list[int]:
    return [int(value) for value in s.attributes[name]]


def sums(b: Builder, s: Source, what: str, count: int) -> str:
    """[rows, count]: what the leaves that each row ends at say of each target or class, added up."""
    forest = Forest(s)
    spend_constant(len(forest.values) * (count + 8) * 4, s.where)
    table = np.zeros((len(forest.values), count), np.float32)
    for tree, node, target, weight in zip(
        *(s.attributes[f"{what}_{key}"] for key in ("treeids", "nodeids", "ids", "weights")), strict=True
    ):
        if not 0 <= target < count:
            raise ModelError(f"says something of number {target}, of {count}", hint="export the model again")
        table[forest.at(tree, node), target] += np.float32(weight)
    leaves = walked(b, s, forest)
    (found,) = b.emit(s, "Gather", [reals(b, s, table, "leaves"), leaves], attributes={"axis": 0})
    axes = b.constant(f"{s.outputs[0]}_axes", [1])
    (total,) = b.emit(s, "ReduceSum", [found, axes], attributes={"keepdims": 0})
    base = s.get("base_values")
    return b.emit(s, "Add", [total, reals(b, s, base, "base")])[0] if base and any(base) else total


def walked(b: Builder, s: Source, forest: Forest) -> str:
    """[rows, trees]: the leaf that each row ends at."""
    x = rows(b, s)
    strange = [feature for feature in forest.features if not 0 <= feature < b.type(x).static_shape[1]]
    if strange:
        raise ModelError(f"reads feature {strange[0]}, of {b.type(x).static_shape[1]}")
    columns = {name: b.constant(f"{s.outputs[0]}_{name}", array) for name, array in _columns(forest).items()}
    compare, (count, width) = forest.compare, b.type(x).static_shape
    (flat,) = b.emit(s, "Reshape", [x, b.constant(f"{s.outputs[0]}_flat", [count * width])])
    starts = b.constant(f"{s.outputs[0]}_starts", np.arange(count).reshape(-1, 1) * width)
    spend_constant(count * len(forest.roots) * 8, s.where)
    here = b.constant(f"{s.outputs[0]}_roots", np.tile(forest.roots.astype(np.int64), (count, 1)))

    def of(column: str) -> str:
        return b.emit(s, "Gather", [columns[column], here], attributes={"axis": 0})[0]

    for _ in range(forest.levels):
        (value,) = b.emit(s, "Gather", [flat, *b.emit(s, "Add", [of("features"), starts])], attributes={"axis": 0})
        asked = [b.emit(s, op, [value, of("values")])[0] for op in compare]
        if forest.missing.any():
            (is_number,) = b.emit(s, "Equal", [value, value])
            asked += b.emit(s, "And", [*b.emit(s, "Not", [is_number]), of("missing")])
        holds = asked[0]
        for other in asked[1:]:
            (holds,) = b.emit(s, "Or", [holds, other])
        (here,) = b.emit(s, "Where", [holds, of("yes"), of("no")])
    return here


def _columns(forest: Forest) -> dict[str, np.ndarray]:
    places = {name: getattr(forest, name).astype(np.int64) for name in ("features", "yes", "no")}
    return {**places, "values": forest.values, "missing": forest.missing}


@learned("TreeEnsembleRegressor")
def tree_ensemble_regressor(b: Builder, s: Source) -> None:
    regressed(b, _single(s))


def regressed(b: Builder, s: Source) -> None:
    """What the trees say of each target."""
    if s.attributes["aggregate_function"] not in ("SUM", "AVERAGE"):
        raise ModelError(
            f"with aggregate_function {s.attributes['aggregate_function']} is not supported", hint="export it with SUM or AVERAGE"
        )
    total = sums(b, s, "target", s.attributes["n_targets"])
    if s.attributes["aggregate_function"] == "AVERAGE":
        if s.get("base_values"):
            raise ModelError("with AVERAGE and base values is not supported", hint="export it with SUM")
        (total,) = b.emit(s, "Div", [total, reals(b, s, len(set(s.attributes["nodes_treeids"])), "trees")])
    finished(b, s, total, s.outputs)


@learned("TreeEnsembleClassifier")
def tree_ensemble_classifier(b: Builder, s: Source) -> None:
    """Where the trees speak of one class of two, its score is a share of 1 if no weight is negative, else a number above or below 0."""
    labels = labels_of(s, "classlabels_int64s", "classlabels_strings")
    plain = _single(s)
    spoken = set(_ints(s, "class_ids"))
    if len(labels) != 2 or len(spoken) != 1:
        if len(labels) == 2:
            b.misread.append(s.where)  # it takes the second label wherever its score is above 0
        scores = sums(b, plain, "class", len(labels))
        labelled(b, s, scores, labels)
        finished(b, s, scores, s.outputs[1:])
        return
    one = _replaced(plain, class_ids=[0] * len(s.attributes["class_ids"]), base_values=list(s.get("base_values") or ())[-1:])
    score = sums(b, one, "class", 1)
    scores = shares(b, s, score) if min(s.attributes["class_weights"]) >= 0 else two(b, s, score)
    labelled(b, s, scores, labels)
    if s.attributes["post_transform"] == "LOGISTIC":
        finished(b, s, two(b, s, score), s.outputs[1:])
    else:
        b.emit(s, "Identity", [scores], s.outputs[1:2] or 1)


def _replaced(s: Source, **attributes: Any) -> Source:
    return replace(s, attributes={**s.attributes, **attributes})


def _single(s: Source) -> Source:
    """ModelError where numbers are given in double precision."""
    doubles = [name for name in s.attributes if name.endswith("_as_tensor") and name != "nodes_hitrates_as_tensor"]
    if doubles:
        raise ModelError(f"gives its numbers in double precision ({', '.join(doubles)})", hint="convert the model with float32 inputs")
    return s
