"""Attention of floats becomes one kernel where its products, scale, mask and softmax are read by nobody else, and is the same anyway."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec.frontend import from_proto
from edgec.ir.types import Symbol
from edgec.kernels import AttentionFloat, PackFloat, ProductFloat
from edgec.lower import lower
from edgec.program.program import TemplateCall
from edgec.schedule import schedule
from tests.lower.interpreter import run
from tests.lower.test_float import TARGET, check, close, net, normal
from tests.passes import compare

ROWS, HEADS, SIZE = 9, 2, 5
SHAPE = [3, ROWS, 3 * HEADS * SIZE]  # queries, keys and values side by side


def nodes(*between: tuple[str, str, str], perm: tuple[int, ...] = (0, 2, 3, 1), axis: int = -1) -> list[onnx.NodeProto]:
    """x -> heads -> softmax(scores), with the nodes `between` (operator, operands with @ for the last result, result) before it -> y."""
    made = [helper.make_node("Split", ["x"], ["q0", "k0", "v0"], axis=2, num_outputs=3)]
    for name, order in (("q", (0, 2, 1, 3)), ("k", perm), ("v", (0, 2, 1, 3))):
        made.append(helper.make_node("Reshape", [f"{name}0", "heads"], [f"{name}1"]))
        made.append(helper.make_node("Transpose", [f"{name}1"], [name], perm=order))
    made.append(helper.make_node("MatMul", ["q", "k"], ["scores"]))
    last = "scores"
    for op, operands, result in between:
        made.append(helper.make_node(op, [last if word == "@" else word for word in operands.split()], [result]))
        last = result
    made.append(helper.make_node("Softmax", [last], ["weights"], axis=axis))
    made.append(helper.make_node("MatMul", ["weights", "v"], ["mixed"]))
    made.append(helper.make_node("Transpose", ["mixed"], ["y"], perm=[0, 2, 1, 3]))
    return made


def kinds(made: list[onnx.NodeProto], **constants: np.ndarray) -> list[type]:
    program = check(net(made, SHAPE, {"heads": np.array([3, ROWS, HEADS, SIZE]), **constants}))
    return [type(call.arguments) for call in program.calls if isinstance(call, TemplateCall)]


SCALE = {"scale": np.float32(0.3).reshape(1)}
UPPER = np.triu(np.ones((ROWS, ROWS), bool), 1)
NOISE = {"noise": normal(3, 1, ROWS, ROWS), "low": np.float32(-1e38)}
FUSED = [PackFloat, PackFloat, AttentionFloat]


@pytest.mark.parametrize(
    ("between", "constants"),
    [
        ([], {}),
        ([("Mul", "@ scale", "s")], SCALE),
        ([("Div", "@ scale", "s"), ("Add", "@ mask", "m")], SCALE | {"mask": normal(ROWS, ROWS)}),
        ([("Add", "@ mask", "m")], {"mask": normal(3, 1, 1, ROWS)}),
        ([("Add", "@ mask", "m")], {"mask": normal(3, HEADS, ROWS, ROWS)}),
        ([("Add", "mask @", "m")], {"mask": np.float32([0, 0, -np.inf] * 3)}),
        ([("Mul", "@ scale", "s"), ("Where", "hidden low @", "m")], SCALE | {"hidden": UPPER, "low": np.float32(-np.inf)}),
        ([("Where", "hidden low @", "m")], {"hidden": np.tril(np.ones((ROWS, ROWS), bool)), "low": np.float32(-1e9)}),
        ([("Where", "seen @ low", "m")], {"seen": ~UPPER[-1], "low": np.finfo(np.float32).min.reshape(1)}),
        ([("ReduceMean", "x", "mean"), ("Less", "noise @", "hidden"), ("Where", "hidden low scores", "m")], NOISE),
        ([("ReduceMean", "x", "mean"), ("Less", "noise @", "seen"), ("Where", "seen scores low", "m")], NOISE),
    ],
)
def test_fused(between: list[tuple[str, str, str]], constants: dict[str, np.ndarray]) -> None:
    assert kinds(nodes(*between), **constants) == FUSED


@pytest.mark.parametrize(
    ("between", "constants", "axis"),
    [
        ([], {}, 2),
        ([("Mul", "@ scale", "s")], {"scale": normal(ROWS, 1)}, -1),
        ([("Add", "@ mask", "m")], {"mask": normal(ROWS, 1)}, -1),
        ([("Add", "@ scores", "m")], {}, -1),
        ([("Relu", "@", "m")], {}, -1),
        ([("Where", "hidden low @", "m")], {"hidden": UPPER, "low": np.float32(-9)}, -1),
        ([("Where", "hidden low @", "m")], {"hidden": UPPER[:, :1], "low": np.float32(-1e38)}, -1),
    ],
)
def test_other_forms(between: list[tuple[str, str, str]], constants: dict[str, np.ndarray], axis: int) -> None:
    made = nodes(*between, axis=axis)
    assert kinds(made, **constants) == [PackFloat, ProductFloat, PackFloat, ProductFloat]


def test_scores_that_others_read() -> None:
    made = nodes()
    made[-1] = helper.make_node("Add", ["mixed", "more"], ["y"])
    made.insert(-1, helper.make_node("ReduceMax", ["scores"], ["more"], keepdims=1))
    assert kinds(made).count(ProductFloat) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((2, 7), (7, 3)),
        ((7,), (7, 3)),
        ((4, 7), (7,)),
        ((7,), (7,)),
        ((3, 1, 3, 4), (2, 4, 5)),
        ((1, 4), (2, 3, 4, 6)),
        ((2, 3, 4, 5, 3), (3, 1, 3, 2)),
        ((5, 7), (7, 3)),
        ((2, 4, 37), (2, 37, 3)),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_products(first: tuple[int, ...], second: tuple[int, ...], turned: bool) -> None:
    """Of computed operands of any rank, the last two axes of both perhaps swapped before."""
    made, operands = [], []
    for name, shape in (("a", first), ("b", second)):
        swap = turned and len(shape) > 1
        stored = (*shape[:-2], shape[-1], shape[-2]) if swap else shape
        made += [
            helper.make_node("Expand", ["x", f"{name}_size"], [f"{name}0"]),
            helper.make_node("Add", [f"{name}0", f"{name}_more"], [name]),
        ]
        perm = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        made += [helper.make_node("Transpose", [name], [f"{name}_turned"], perm=perm)] if swap else []
        operands.append((name, stored, f"{name}_turned" if swap else name))
    made.append(helper.make_node("MatMul", [operand[2] for operand in operands], ["y"]))
    constants = {f"{name}_size": np.array(stored) for name, stored, _ in operands} | {
        f"{name}_more": normal(*stored) for name, stored, _ in operands
    }
    program = check(net(made, [1], constants))
    found = [type(call.arguments) for call in program.calls if isinstance(call, TemplateCall)]
    by_columns = turned or len(second) == 1
    few = len(first) == 1 or first[-2] <= (4 if by_columns else 2)
    assert set(found) == (set() if few else {PackFloat, ProductFloat})
    assert sum(call.call.macs for call in program.calls) == np.matmul(np.ones(first), np.ones(second)).size * first[-1]


def test_sizes_known_when_it_runs() -> None:
    sizes = [Symbol("batch", 4), Symbol("length", 20)]
    made = nodes(("Mul", "@ scale", "s"))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ["b", "n", SHAPE[2]]), ("y", None)))
    constants = [numpy_helper.from_array(array, name) for name, array in {"heads": np.array([0, 0, HEADS, SIZE]), **SCALE}.items()]
    model = helper.make_model(helper.make_graph(made, "net", [x], [y], constants), opset_imports=[helper.make_opsetid("", 18)])
    graph = from_proto(model, shapes={"x": [*sizes, SHAPE[2]]}).graph
    program = schedule(lower(graph, TARGET, "net"), TARGET)
    assert [type(call.arguments) for call in program.calls if isinstance(call, TemplateCall)] == FUSED
    for batch, length in ((1, 1), (3, 7), (4, 20)):
        whole = normal(batch, length, SHAPE[2])
        fixed = from_proto(model, shapes={"x": list(whole.shape)}).graph
        found = run(program, {"x": whole}, {"batch": batch, "length": length})["y"]
        close(found, compare.run(fixed, {"x": whole})[0])
