"""Laws on PIPELINE: every rule of the room is in it, once, and says its algebra."""

import importlib
import inspect
import pkgutil
from types import ModuleType

import numpy as np
import pytest

import edgec.passes
from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, TensorType
from edgec.passes import PIPELINE
from edgec.passes.pipeline import ROUNDS, apply, name_uniquely, optimize
from edgec.passes.rewrite import Rewrite, become

MODULES = [importlib.import_module(f"edgec.passes.{module.name}") for module in pkgutil.iter_modules(edgec.passes.__path__)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_rule_is_in_the_pipeline(module: ModuleType) -> None:
    for name, item in vars(module).items():
        if isinstance(item, Rewrite):
            assert item in PIPELINE, name
        if inspect.isfunction(item) and not name.startswith("_"):
            kinds = [str(kind.annotation) for kind in inspect.signature(item).parameters.values()]
            assert kinds != ["Graph", "Node"] or inspect.signature(item).return_annotation != "bool", f"{name} lacks @rewrites"


def test_every_rule_is_there_once_and_states_its_algebra() -> None:
    assert len({rewrite.name for rewrite in PIPELINE}) == len(PIPELINE)
    for rewrite in PIPELINE:
        assert rewrite.function.__doc__, rewrite.name


def test_a_rewrite_that_changes_a_type_is_refused() -> None:
    kind = TensorType(DType.FLOAT32, (2, 3))
    node = Node("Relu", ["x"], ["y"])
    graph = Graph("g", ["x"], ["y"], [node], {}, {"x": kind, "y": kind})
    with pytest.raises(RuntimeError, match="changed the type"):
        become(graph, node, "Transpose", ["x"], {"perm": [1, 0]})


def test_names_become_unique_and_the_first_keeps_its_own() -> None:
    kind = TensorType(DType.FLOAT32, (2,))
    rows = [("Relu", "x", "a", "n"), ("Neg", "a", "b", "n"), ("Neg", "b", "c", "n"), ("Neg", "c", "y", "")]
    nodes = [Node(op, [x], [y], {}, name) for op, x, y, name in rows]
    graph = Graph("g", ["x"], ["y"], nodes, {}, dict.fromkeys(["x", "a", "b", "c", "y"], kind))
    name_uniquely(graph)
    assert [node.name for node in graph.nodes] == ["n", "n/Neg", "n/Neg1", ""]


def test_optimize_settles_and_a_second_run_changes_nothing() -> None:
    kind, square = TensorType(DType.FLOAT32, (1, 2, 4, 4)), np.float32(2)
    rows = [("Mul", ["x", "c"], "a"), ("Div", ["a", "c"], "b"), ("Identity", ["b"], "y")]
    nodes = [Node(op, inputs, [output], {}, op) for op, inputs, output in rows]
    types = {**dict.fromkeys(["x", "a", "b", "y"], kind), "c": TensorType(DType.FLOAT32, ())}
    graph = Graph("g", ["x"], ["y"], nodes, {"c": np.asarray(square)}, types)
    optimize(graph)
    assert [(node.op, node.inputs, node.outputs) for node in graph.nodes] == [("Identity", ["x"], ["y"])]
    assert not graph.constants and ROUNDS > 10
    assert not any(apply(rewrite, graph) for rewrite in PIPELINE)
