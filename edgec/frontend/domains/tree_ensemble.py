"""The translation of TreeEnsemble, which counts branches and leaves apart, into what TreeEnsembleRegressor says.

A branch keeps its number, and a leaf gets its own after those of all branches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from edgec.base.errors import ModelError
from edgec.frontend.domains.classical import learned
from edgec.frontend.domains.trees import COMPARE, LEAF, regressed
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.source import Source

NAMES = {  # of the numbers that say how
    "nodes_modes": ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER"),
    "aggregate_function": ("AVERAGE", "SUM", "MIN", "MAX"),
    "post_transform": ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"),
}
TRACKS = "nodes_missing_value_tracks_true"


@learned("TreeEnsemble")
def tree_ensemble(b: Builder, s: Source) -> None:
    older = _older(s)
    if older["post_transform"] != "NONE":
        b.misread.append(s.where)  # ONNX Runtime counts LOGISTIC before SOFTMAX
    regressed(b, replace(s, attributes=older))
    b.kinds[s.outputs[0]] = b.file_type(s.inputs[0])


def _older(s: Source) -> dict[str, Any]:
    """The attributes of a TreeEnsembleRegressor: of all that a root leads to."""
    count, leaves = len(s.attributes["nodes_featureids"]), len(s.attributes["leaf_targetids"])
    yes, no = (_children(s, side, count, leaves) for side in ("true", "false"))
    tree_of = _trees(s, yes, no)
    kept = sorted(tree_of)
    ends = [node for node in kept if node >= count]
    modes = [_named("nodes_modes", mode) for mode in _listed(s, "nodes_modes", count)]
    lacking = sorted({*modes} - COMPARE.keys())
    if lacking:
        raise ModelError(f"has no implementation of {', '.join(lacking)}", hint="export another ensemble")
    columns: dict[str, Any] = {
        "nodes_treeids": tree_of,
        "nodes_nodeids": range(count + leaves),
        "nodes_modes": modes + [LEAF] * leaves,
        "nodes_featureids": [*s.attributes["nodes_featureids"], *[0] * leaves],
        "nodes_values": _listed(s, "nodes_splits", count) + [0.0] * leaves,
        "nodes_truenodeids": yes + [0] * leaves,
        "nodes_falsenodeids": no + [0] * leaves,
        TRACKS: (_listed(s, TRACKS, count) if s.get(TRACKS) else [0] * count) + [0] * leaves,
    }
    weights = _listed(s, "leaf_weights", leaves)
    return {
        **{name: [column[node] for node in kept] for name, column in columns.items()},
        "target_treeids": [tree_of[node] for node in ends],
        "target_nodeids": ends,
        "target_ids": [s.attributes["leaf_targetids"][node - count] for node in ends],
        "target_weights": [weights[node - count] for node in ends],
        "n_targets": s.get("n_targets") or 1,
        **{name: _named(name, s.attributes[name]) for name in ("aggregate_function", "post_transform")},
    }


def _listed(s: Source, name: str, count: int) -> list[Any]:
    found = list(s.get(name, ()))
    if len(found) != count:
        raise ModelError(f"{name} has {len(found)} elements instead of {count}", hint="export the model again")
    return found


def _named(name: str, number: int) -> str:
    if not 0 <= number < len(NAMES[name]):
        raise ModelError(f"has the unknown {name} {number}", hint="export the model again")
    return NAMES[name][number]


def _children(s: Source, side: str, count: int, leaves: int) -> list[int]:
    """Where each branch leads to on one side."""
    found = []
    for number, leaf in zip(_listed(s, f"nodes_{side}nodeids", count), _listed(s, f"nodes_{side}leafs", count), strict=True):
        if not 0 <= number < (leaves if leaf else count):
            raise ModelError(f"has a branch to {'leaf' if leaf else 'node'} {number}, which is not there", hint="export the model again")
        found.append(count + number if leaf else number)
    return found


def _trees(s: Source, yes: list[int], no: list[int]) -> dict[int, int]:
    """The tree of each node that a root leads to."""
    tree_of: dict[int, int] = {}
    for tree, root in enumerate(s.attributes["tree_roots"]):
        if root in tree_of or not 0 <= root < len(yes):
            raise ModelError(f"has the root {root}, which is no node or in another tree", hint="export the model again")
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node not in tree_of:
                tree_of[node] = tree
                waiting += [yes[node], no[node]] if node < len(yes) else []
    return tree_of
