"""gcc 12 took a loop for one that stores nothing, and left its call out, where it counts through memory of two widths by one register:
emitted C keeps it from looking for such."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

import edgec
from tests.frontend.test_classical import model_of

DEPTH, TREES, COLUMNS = 4, 10, 4


def whole_trees() -> dict[str, Any]:
    """Trees whose leaves are all as deep, and where a missing number goes left: what LightGBM makes."""
    random, inner, count = np.random.default_rng(1), 2**DEPTH - 1, 2 ** (DEPTH + 1) - 1
    nodes = [(tree, node, node < inner) for tree in range(TREES) for node in range(count)]
    leaves = [(tree, node) for tree, node, branches in nodes if not branches]
    return {
        "nodes_treeids": [tree for tree, _, _ in nodes],
        "nodes_nodeids": [node for _, node, _ in nodes],
        "nodes_featureids": random.integers(COLUMNS, size=len(nodes)).tolist(),
        "nodes_values": random.random(len(nodes)).tolist(),
        "nodes_modes": ["BRANCH_LEQ" if branches else "LEAF" for _, _, branches in nodes],
        "nodes_truenodeids": [2 * node + 1 if branches else 0 for _, node, branches in nodes],
        "nodes_falsenodeids": [2 * node + 2 if branches else 0 for _, node, branches in nodes],
        "nodes_missing_value_tracks_true": [int(branches) for _, _, branches in nodes],
        "target_treeids": [tree for tree, _ in leaves],
        "target_nodeids": [node for _, node in leaves],
        "target_ids": [0] * len(leaves),
        "target_weights": random.uniform(-1, 1, len(leaves)).tolist(),
    }


def test_a_loop_that_stores_is_called(tmp_path: Path, needs) -> None:
    """The build examines the package."""
    needs("gcc")
    model = model_of("TreeEnsembleRegressor", {"y": TensorProto.FLOAT}, np.zeros((1, COLUMNS), np.float32), n_targets=1, **whole_trees())
    onnx.save(model, tmp_path / "trees.onnx")
    edgec.build(tmp_path / "trees.onnx", precision="fp32", target="portable", cc="gcc", out=tmp_path / "package")
