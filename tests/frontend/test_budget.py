"""Small files that ask for much: each ends with one clear error, before anything of that size is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec.base.budget import Budget, BudgetError, parse_budget, spending
from edgec.base.errors import ModelError
from edgec.emit import emit_sources
from edgec.frontend import from_proto, load_model
from edgec.ir.liveness import live_bytes
from edgec.ir.text import loads
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.passes import optimize
from edgec.quant.runs.float_run import Probe
from edgec.schedule import schedule
from edgec.targets import load_target
from tests.counting import calls

from .models import ints, model, node, weights

SMALL = Budget(nodes=2000, constants=1 << 20, tensors=1 << 24, operations=1 << 26, seconds=60)


def nested_functions(depth: int) -> onnx.ModelProto:
    """Each function calls the one below it twice: 2^depth nodes in all."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
    functions = [helper.make_function("f", "f0", ["a"], ["b"], [node("Neg", "a", "b")], opsets)]
    for level in range(1, depth + 1):
        calls = [node(f"f{level - 1}", "a", "m", domain="f"), node(f"f{level - 1}", "m", "b", domain="f")]
        functions.append(helper.make_function("f", f"f{level}", ["a"], ["b"], calls, opsets))
    top = [node(f"f{depth}", "x", "y", "bomb", domain="f")]
    return model(top, {"x": [1]}, ["y"], functions=functions, domains={"f": 1})


def one(op: str, constants: dict[str, np.ndarray] | None = None, inputs: str = "x", **attributes: object) -> onnx.ModelProto:
    """One node of that name over a small image, and constants."""
    used = {"x": [1, 1, 4, 4]} if "x" in inputs.split() else {}
    return model([node(op, inputs, "y", "big", **attributes)], used, ["y"], constants)


BIG = 1 << 15
DEEP = {"w": weights(1, 1, 2, 1, 1)}
CASES: dict[str, tuple[onnx.ModelProto, str, str]] = {
    "functions": (nested_functions(30), "nodes", r"bomb/.*more than 2,000 nodes"),
    "constant of shape": (one("ConstantOfShape", {"s": ints(BIG, BIG)}, "s"), "constants", r"big.*4,294,967,296 bytes"),
    "range": (one("Range", {"a": np.array(0, np.int64), "b": np.array(1 << 40), "c": np.array(1, np.int64)}, "a b c"), "constants", "big"),
    "tile, folded": (one("Tile", {"t": weights(4), "n": ints(1 << 30)}, "t n"), "constants", "big"),
    "expand, folded": (one("Expand", {"t": weights(1), "s": ints(BIG, BIG)}, "t s"), "constants", "big"),
    "pad, folded": (one("Pad", {"t": weights(1), "s": ints(0, 1 << 40)}, "t s"), "constants", "big"),
    "one-hot": (
        one("OneHot", {"t": ints(*range(64)), "d": np.array(1 << 30), "v": np.array([0, 1], np.float32)}, "t d v"), "constants", "big",
    ),
    "eye-like": (model([node("EyeLike", "x", "y", "big")], {"x": [512, 1024]}, ["y"]), "constants", r"big.*2,097,152 bytes"),
    "running sums": (model([node("CumSum", "x a", "y", "big")], {"x": [1 << 19]}, ["y"], {"a": ints(0)}), "constants", "big"),
    "resize": (one("Resize", {"s": ints(1, 1, BIG, BIG)}, "x _ _ s"), "tensors", r"big.*4,294,967,296 bytes"),
    "transposed convolution": (
        one("ConvTranspose", {"w": weights(1, 1, 1, 1)}, "x w", strides=[BIG, BIG]), "tensors", "big",
    ),
    "phases of a transposed convolution": (
        model([node("ConvTranspose", "x w", "y", "big", strides=[1 << 29, 1, 1])], {"x": [1, 1, 2, 2, 2]}, ["y"], DEEP), "constants", "big",
    ),
    "padding of a volume": (
        model([node("Conv", "x w", "y", "big", pads=[1 << 30, 0, 0, 0, 0, 0])], {"x": [1, 1, 2, 2, 2]}, ["y"], DEEP), "constants", "big",
    ),
    "spectrum": (model([node("DFT", "x n", "y", "big", axis=1)], {"x": [1, 8, 1]}, ["y"], {"n": np.array(99991)}), "constants", "big"),
    "samples of a region": (
        model([node("RoiAlign", "x r i", "y", "big", sampling_ratio=1 << 30)], {"x": [1, 1, 4, 4]}, ["y"],
              {"r": np.zeros((1, 4), np.float32), "i": ints(0)}), "constants", "big",
    ),
    "columns": (
        model([node("Col2Im", "x i k", "y", "big", strides=[1 << 30])], {"x": [1, 1, 1 << 10]}, ["y"], {"i": ints(1 << 40), "k": ints(1)},
              opset=18), "constants", "big",
    ),
    "tile": (one("Tile", {"n": ints(1, BIG, BIG, 1)}, "x n"), "tensors", "big"),
    "pad": (one("Pad", {"p": ints(0, 0, 0, 0, 0, 0, BIG, BIG)}, "x p"), "tensors", "big"),
    "expand": (one("Expand", {"s": ints(*[64] * 10, 1, 1, 4, 4)}, "x s"), "tensors", "big"),
    "product": (model([node("MatMul", "x x", "y", "big")], {"x": [512, 512]}, ["y"]), "operations", r"big.*134,742,016 operations"),
    "many products": (
        model([node("MatMul", "x x", "m"), node("MatMul", "x m", "y", "big")], {"x": [400, 400]}, ["y"]), "operations", "big",
    ),
    "transposed product": (
        model([node("Gemm", "x x", "y", "big", transA=1)], {"x": [1 << 15, 100]}, ["y"]), "operations", "big",
    ),
    "pool": (one("MaxPool", kernel_shape=[2048, 2048], pads=[1024] * 4), "operations", "big"),
    "normalization": (model([node("LRN", "x", "y", "big", size=63)], {"x": [1, 64, 128, 160]}, ["y"]), "operations", "big"),
    "convolution": (
        model([node("Conv", "x w", "y", "big")], {"x": [1, 8, 200, 200], "w": [64, 8, 3, 3]}, ["y"]), "operations", "big",
    ),
    "products of a transposed convolution": (
        model([node("ConvTranspose", "x w", "y", "big")], {"x": [1, 64, 32, 32], "w": [64, 64, 5, 5]}, ["y"]), "operations", "big",
    ),
    "convolution, transposed": (
        model([node("ConvTranspose", "x w", "y", "big")], {"x": [1, 8, 200, 200], "w": [8, 64, 3, 3]}, ["y"]), "tensors", "big",
    ),
    "input": (model([node("Relu", "x", "y")], {"x": [1 << 20, 1 << 20]}, ["y"]), "tensors", "input x"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_bomb_is_refused_with_its_node_and_the_flag_that_raises_the_limit(name: str) -> None:
    proto, key, words = CASES[name]
    assert len(proto.SerializeToString()) < 4000
    with pytest.raises(BudgetError) as caught:
        from_proto(proto, budget=SMALL)
    assert re.search(words, str(caught.value), re.DOTALL)
    assert f"--budget {key}=" in str(caught.value)


# the second state grows, so that each turn is written out
TURNS = """<ir_version: 8, opset_import: ["": 18]> graph (float[8] x) => (float[8] y) {
  often = Constant<value = int64 {200}>()
  y, z = Loop(often, , x, x) <body = b (int64 i, bool c, float[8] s, float[K] r) => (bool d, float[8] n, float[L] m) {
    d = Identity(c) m = Concat<axis = 0>(r, s) BODY }>
}"""


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ("o = Cast<to = 9>(i) n = If(o) <then_branch = g () => (float[8] a) <float[800] w = {WEIGHTS}> "
         "{ t = ReduceMax<keepdims = 0>(w) a = Add(s, t) }, else_branch = h () => (float[8] a) { a = Identity(s) }>", "constants"),
        ("w = Constant<value = float[800] {WEIGHTS}>() v = Add(s, s) t = ReduceMax<keepdims = 0>(w) n = Add(v, t)", ""),
        ("q = SplitToSequence<keepdims = 0>(s) n = ConcatFromSequence<axis = 0, new_axis = 1>(q)", "nodes"),
    ],
    ids=["of a graph in each turn", "of no turn", "nodes of a sequence"],
)  # fmt: skip
def test_what_each_turn_makes_is_paid_for(body: str, key: str) -> None:
    proto = onnx.parser.parse_model(TURNS.replace("BODY", body).replace("WEIGHTS", ", ".join(["1"] * 800)))
    budget = Budget(nodes=2000, constants=1 << 18)
    if not key:
        from_proto(proto, budget=budget)
        return
    with pytest.raises(BudgetError, match=f"--budget {key}="):
        from_proto(proto, budget=budget)


def test_a_budget_can_be_raised() -> None:
    proto = nested_functions(4)
    with pytest.raises(BudgetError, match="more than 20 nodes"):
        from_proto(proto, budget=Budget(nodes=20))
    assert len(from_proto(proto, budget=Budget(nodes=100)).graph.nodes) == 16


def test_time_is_counted() -> None:
    with pytest.raises(BudgetError, match=r"longer than 0 s.*--budget seconds="):
        from_proto(one("Neg"), budget=Budget(seconds=0))


def test_external_data_is_paid_for_before_it_is_read(tmp_path: Path) -> None:
    """A sparse file has any length that one likes."""
    with (tmp_path / "weights.bin").open("wb") as file:
        file.truncate(1 << 41)
    tensor = TensorProto(name="w", dims=[1 << 39], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="weights.bin")
    proto = model([node("Add", "x w", "y")], {"x": [1]}, ["y"])
    proto.graph.initializer.append(tensor)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(BudgetError, match=r"tensor w: .*--budget constants="):
        load_model(tmp_path / "model.onnx")


def test_a_shape_of_many_numbers_is_none() -> None:
    nodes = [node("ConstantOfShape", "n", "s", value=numpy_helper.from_array(ints(1))), node("Reshape", "x s", "y", "shaped")]
    with pytest.raises(Exception, match=r"shaped.*200,000 numbers"):
        from_proto(model(nodes, {"x": [1]}, ["y"], {"n": ints(200_000)}), budget=Budget())


def test_folding_between_passes_is_paid_for() -> None:
    graph = loads(
        'graph g\ninput %x: float32[65536]\nconst %c: float32[32768] = fill(1)\nconst %n: int64[1] = [2]\n'
        '%t: float32[65536] = Tile(%c, %n) "grown"\n%y: float32[65536] = Add(%x, %t)\noutput %y\n'
    )  # fmt: skip
    with pytest.raises(BudgetError, match=r"grown.*--budget constants="):
        optimize(graph.copy(), Budget(constants=1 << 17))
    optimize(graph, SMALL)


def test_a_run_that_looks_at_too_much_is_refused_before_it_begins() -> None:
    graph = loads(
        "graph g\ninput %x: float32[1048576]\n%a: float32[1048576] = Neg(%x)\n%b: float32[1048576] = Abs(%a)\n"
        "%y: float32[1048576] = Exp(%b)\noutput %y\n"
    )
    assert live_bytes(graph) == (3 << 22, " (Abs)")
    with spending(Budget(tensors=(4 << 22) - 1)), pytest.raises(BudgetError, match="--budget tensors="):
        Probe(graph, ["x", "a", "b", "y"])


@pytest.mark.parametrize(
    ("text", "message"), [("nodes", "nodes=500000"), ("node=3", "'nodes'"), ("nodes=0", "positive"), ("memory=1X", "1X")]
)
def test_a_budget_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_budget(text)
    assert parse_budget("nodes=5,tensors=2G") == Budget(nodes=5, tensors=2 << 30)


def test_lowering_is_timed_too() -> None:
    graph = from_proto(one("Neg")).graph
    with pytest.raises(BudgetError, match=r"big \(Neg\).*--budget seconds="):
        lower(graph, load_target("portable"), "m", budget=Budget(seconds=0))


@pytest.mark.parametrize("listed", [False, True], ids=["constants", "inputs with defaults"])
def test_very_many_initializers(listed: bool) -> None:
    def made(count: int) -> onnx.ModelProto:
        proto = model([node("Add", "x c0", "y")], {"x": [1]}, ["y"], {f"c{i}": np.array([i], np.float32) for i in range(count)})
        if listed:
            proto.graph.input.extend(helper.make_tensor_value_info(f"c{i}", TensorProto.FLOAT, [1]) for i in range(count))
        return proto

    check_steps(made)


@pytest.mark.parametrize("op", ["Concat", "Sum"])
def test_very_many_operands(op: str) -> None:
    attributes = {"axis": 0} if op == "Concat" else {}
    check_steps(lambda count: model([node(op, " ".join(["x"] * count), "y", **attributes)], {"x": [4]}, ["y"]))


def test_very_many_outputs() -> None:
    """Up to the sources of their package."""

    def package(proto: onnx.ModelProto) -> None:
        target = load_target("portable")
        program = schedule(lower(from_proto(proto).graph, target, "many"), target)
        plan(program)
        emit_sources(program, target, "c")

    def made(count: int) -> onnx.ModelProto:
        names = [f"y{place}" for place in range(count)]
        return model([node("Neg", "x", name) for name in names], {"x": [4]}, names)

    check_steps(made, package, (40, 80, 160))


def check_steps(
    made: Callable[[int], onnx.ModelProto],
    work: Callable[[onnx.ModelProto], object] = from_proto,
    counts: Sequence[int] = (500, 1000, 2000),
) -> None:
    """Twice as many take twice as many steps."""
    few, more, most = (calls(partial(work, made(count))) for count in counts)
    assert (most - more) / (more - few) < 2.2


@pytest.mark.parametrize("op", ["Mul", "Add"])
def test_an_extent_that_is_computed_of_itself_again_and_again_ends(op: str) -> None:
    """What a run counts, times itself 30 times: no tensor of whole numbers holds it."""
    squares = [node(op, f"s{n} s{n}", f"s{n + 1}") for n in range(30)]
    proto = model(
        [node("NonZero", "x", "found"), node("Shape", "found", "s0"), *squares, node("Expand", "x s30", "y")], {"x": [1, 1]}, ["y"]
    )
    with pytest.raises((ModelError, BudgetError), match="Expand"):
        from_proto(proto)
