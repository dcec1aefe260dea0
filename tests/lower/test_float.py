"""Float graphs: what the Program computes against ONNX Runtime, and how it is built."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec.base.errors import ModelError
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.ir.types import Symbol
from edgec.kernels import ConvFloat, DepthwiseFloat
from edgec.lower import LowerOptions, lower
from edgec.passes import optimize
from edgec.program.expr import BOOL, Binary, Select, Var, const, select
from edgec.program.program import LoopCall, Program, TemplateCall
from edgec.program.walk import subexpressions
from edgec.schedule import schedule
from edgec.targets import load_target
from tests import nets
from tests.lower.interpreter import run
from tests.passes import compare
from tests.passes.random_graphs import STEPS, random_graph

TARGET = load_target("x86-64")


def close(found: np.ndarray, wanted: np.ndarray, tolerance: float = 2e-5) -> None:
    """max|a - b| <= tolerance * max|b|; NaN and infinities at the same places."""
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    limit = tolerance * np.abs(wanted[np.isfinite(wanted)], dtype=np.float64).max(initial=0) + 1e-30
    np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=1e-6, atol=limit)


def check(graph: Graph, seed: int = 0) -> Program:
    """Lower `graph`, interpret it on random inputs and compare with ONNX Runtime."""
    generator = np.random.default_rng(seed)
    inputs = {name: compare.random_array(graph.types[name], generator) for name in graph.inputs}
    program = schedule(lower(graph, TARGET, "net"), TARGET)
    results = run(program, inputs)
    for name, wanted in zip(graph.outputs, compare.run(graph, inputs), strict=True):
        close(results[name], wanted)
    return program


def net(nodes: list[onnx.NodeProto], shape: list[int], constants: dict[str, np.ndarray], output: str = "y") -> Graph:
    """A graph from ONNX nodes that read the float input `x`."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
    known = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "net", [x], [y], known)
    return from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])).graph


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def templates(program: Program, kind: type) -> list[TemplateCall]:
    return [call for call in program.calls if isinstance(call, TemplateCall) and isinstance(call.arguments, kind)]


def loops(program: Program) -> list[LoopCall]:
    return [call for call in program.calls if isinstance(call, LoopCall)]


@pytest.mark.parametrize("block", range(8))
def test_random_graphs_compute_what_onnxruntime_computes(block: int) -> None:
    """Every kind of operator in every neighbourhood: 20 graphs of up to 12 operators in each block."""
    for seed in range(block * 20, block * 20 + 20):
        generator = np.random.default_rng(seed)
        count = int(generator.integers(1, 12))
        steps = [(int(generator.integers(len(STEPS))), int(generator.integers(1 << 30))) for _ in range(count)]
        check(random_graph(steps), seed)


@pytest.mark.parametrize("family", sorted(nets.MODELS))
def test_families_of_nets(family: str) -> None:
    graph = from_proto(nets.MODELS[family](3)).graph
    optimize(graph)
    check(graph)


@pytest.mark.parametrize(
    "attributes, weights",
    [
        ({"strides": [2, 2]}, (3, 4, 2, 2)),
        ({"strides": [2, 3], "pads": [1, 0, 1, 2]}, (3, 4, 4, 5)),
        ({"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}, (3, 4, 3, 3)),
        ({"strides": [3, 2], "dilations": [2, 3], "pads": [2, 1, 0, 3]}, (3, 4, 3, 2)),
        ({"pads": [2, 2, 2, 2]}, (3, 4, 3, 3)),
        ({"strides": [4, 4], "pads": [3, 3, 3, 3]}, (3, 4, 2, 2)),
    ],
)
def test_transposed_convolutions(attributes: dict[str, list[int]], weights: tuple[int, ...]) -> None:
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **attributes)
    check(net([node], [2, 3, 5, 6], {"w": normal(*weights), "b": normal(weights[1])}))


def test_grouped_and_one_dimensional_transposed_convolutions() -> None:
    grouped = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], group=2)
    check(net([grouped], [1, 4, 5, 6], {"w": normal(4, 3, 3, 3)}))
    line = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[3], pads=[1, 2])
    check(net([line], [2, 4, 7], {"w": normal(4, 3, 5)}))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("transform", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
@pytest.mark.parametrize("size", [(10, 14), (3, 4), (7, 9)])
def test_resize(mode: str, transform: str, size: tuple[int, int]) -> None:
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode=mode, coordinate_transformation_mode=transform)
    check(net([node], [1, 2, 5, 7], {"sizes": np.array([1, 2, *size])}))


def test_residual_and_activation_join_the_convolution() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["a", "w1"], ["b"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Conv", ["d", "w2"], ["y"], group=4),
    ]
    program = check(net(nodes, [2, 4, 5, 6], {"w0": normal(4, 4, 3, 3), "w1": normal(4, 4, 3, 3, seed=1), "w2": normal(4, 1, 3, 3)}))
    last = templates(program, ConvFloat)[-1].arguments
    assert isinstance(last, ConvFloat) and last.residual is not None and (last.low, last.high) == (0.0, float("inf"))
    assert len(templates(program, DepthwiseFloat)) == 1 and len(loops(program)) == 2  # in and out of channels-last


def test_depthwise_kernels_add_nothing() -> None:
    """They compute in vectors of channels, of which a convolution of groups of one fills one number."""
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["a", "w1"], ["b"], pads=[1, 1, 1, 1], group=5),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    program = check(net(nodes, [2, 4, 5, 6], {"w0": normal(5, 4, 3, 3), "w1": normal(5, 1, 3, 3, seed=1)}))
    assert len(templates(program, ConvFloat)) == len(templates(program, DepthwiseFloat)) == 1


@pytest.mark.parametrize("op, shape", [("Conv", (15, 1, 3, 3)), ("ConvTranspose", (5, 1, 4, 3))])
@pytest.mark.parametrize("inside", [False, True])
def test_few_results_of_each_channel_are_a_depthwise_layer(op: str, shape: tuple[int, ...], inside: bool) -> None:
    """Also of what a layer before it computes, which others read as it is."""
    stride = [1, 1] if op == "Conv" else [2, 2]
    nodes = [helper.make_node(op, ["h" if inside else "x", "w", "b"], ["y"], group=5, strides=stride)]
    constants = {"w": normal(*shape), "b": normal(15 if op == "Conv" else 5, seed=1)}
    if inside:
        nodes = [helper.make_node("Conv", ["x", "w0"], ["h"]), *nodes, helper.make_node("Relu", ["h"], ["z"])]
        constants["w0"] = normal(5, 5, 1, 1, seed=2)
    program = check(net(nodes, [2, 5, 6, 7], constants))
    (layer,) = templates(program, DepthwiseFloat)
    assert isinstance(layer.arguments, DepthwiseFloat) and layer.arguments.channels == (15 if op == "Conv" else 20)


@pytest.mark.parametrize(
    "attributes, shape, window, left",
    [
        ({"dilations": [7, 8], "pads": [7, 8, 7, 8]}, [2, 2, 6, 9], (3, 3), ((1, 3), (1, 8), (0, 8))),
        ({"dilations": [2, 1], "pads": [7, 0, 2, 0], "strides": [3, 1]}, [1, 2, 3, 9], (5, 1), ((3, 1), (2, 1), (3, 0))),
        ({"dilations": [4], "pads": [5, 0]}, [1, 2, 4], (3,), ((1, 3), (1, 4), (0, 5))),  # what is left would begin within
        ({"dilations": [9], "pads": [9, 9]}, [1, 2, 4], (3,), ((1, 1), (1, 1), (0, 0))),
    ],
)
def test_what_never_lies_in_the_image_is_not_multiplied(
    attributes: dict[str, list[int]], shape: list[int], window: tuple[int, ...], left: tuple[tuple[int, int], ...]
) -> None:
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
    program = check(net([node], shape, {"w": normal(3, 2, *window), "b": normal(3, seed=1)}))
    found = templates(program, ConvFloat)[0].arguments.window  # type: ignore[attr-defined]
    geometry = (
        (found.kernel_height, found.kernel_width),
        (found.dilation_height, found.dilation_width),
        (found.pad_top, found.pad_left),
    )
    assert geometry == left


def test_concatenated_convolutions_write_one_buffer() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"]),
        helper.make_node("Conv", ["x", "w1"], ["b0"]),
        helper.make_node("Relu", ["b0"], ["b"]),
        helper.make_node("Concat", ["a", "b"], ["c"], axis=1),
        helper.make_node("Conv", ["c", "w2"], ["y"]),
    ]
    program = check(net(nodes, [1, 4, 5, 6], {"w0": normal(3, 4, 1, 1), "w1": normal(5, 4, 1, 1), "w2": normal(2, 8, 1, 1)}))
    first, second, last = (call.arguments for call in templates(program, ConvFloat))
    assert isinstance(first, ConvFloat) and isinstance(second, ConvFloat) and isinstance(last, ConvFloat)
    assert first.y.buffer == second.y.buffer == last.x.buffer
    assert len(loops(program)) == 2


def test_views_cost_nothing() -> None:
    """Splitting channels, transposing to channels-last and reshaping pixels to rows move no data."""
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"]),
        helper.make_node("Split", ["a", "parts"], ["b", "c"], axis=1),
        helper.make_node("Conv", ["c", "w1"], ["d"]),
        helper.make_node("Transpose", ["d"], ["e"], perm=[0, 2, 3, 1]),
        helper.make_node("Reshape", ["e", "shape"], ["f"]),
        helper.make_node("MatMul", ["f", "w2"], ["y"]),
    ]
    constants = {
        "w0": normal(8, 3, 3, 3), "parts": np.array([3, 5]), "w1": normal(4, 5, 1, 1), "shape": np.array([1, -1, 4]), "w2": normal(4, 6),
    }  # fmt: skip
    program = check(net(nodes, [1, 3, 6, 7], constants))
    assert len(loops(program)) == 1  # the input to channels-last


def test_groups_of_channels_are_normalized_without_divisions() -> None:
    """As PyTorch writes a GroupNormalization: channels lie side by side before it, and become rows once."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Reshape", ["a", "groups"], ["b"]),
        helper.make_node("InstanceNormalization", ["b", "scale", "bias"], ["c"]),
        helper.make_node("Reshape", ["c", "channels"], ["d"]),
        helper.make_node("Conv", ["d", "w"], ["y"]),
    ]
    constants = {
        "w": normal(6, 6, 1, 1), "groups": np.array([0, 2, -1]), "channels": np.array([2, 6, 5, 7]),
        "scale": normal(2), "bias": normal(2, seed=1),
    }  # fmt: skip
    program = check(net(nodes, [2, 6, 5, 7], constants))
    assert not {e.op for call in loops(program) for e in subexpressions(call) if isinstance(e, Binary)} & {"mod", "floordiv"}


def test_one_loop_for_a_chain_of_elementwise_operators() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Sigmoid", ["a"], ["b"]),
        helper.make_node("Mul", ["a", "b"], ["c"]),
        helper.make_node("Exp", ["c"], ["d"]),
        helper.make_node("Conv", ["d", "w"], ["y"]),
    ]
    program = check(net(nodes, [1, 4, 5, 6], {"w": normal(4, 4, 1, 1)}))
    assert [call.call.comment[0].split()[2] for call in loops(program)][1] == "Sigmoid+Mul+Exp"


def test_a_call_is_named_after_the_first_node_that_it_computes() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="stem"),
        helper.make_node("Relu", ["a"], ["b"], name="bend"),
        helper.make_node("Sigmoid", ["b"], ["c"]),
        helper.make_node("Exp", ["c"], ["y"]),
    ]
    program = check(net(nodes, [1, 4, 5, 6], {"w": normal(4, 4, 1, 1)}))
    names = {call.call.comment[0].split()[2]: call.call.name for call in program.calls}
    assert names["Conv+Relu"] == "stem_call" and names["Sigmoid+Exp"] == "Sigmoid_2_call"


def test_calls_begin_with_the_first_node_of_the_graph() -> None:
    nodes = [
        helper.make_node("Exp", ["x"], ["a"], name="first"),
        helper.make_node("Sigmoid", ["x"], ["b"], name="second"),
        helper.make_node("Add", ["b", "a"], ["y"], name="sum"),
    ]
    (call,) = check(net(nodes, [1, 4, 5, 6], {})).calls
    assert call.call.nodes == ("first", "second", "sum") and call.call.name == "first_call"
    assert call.call.comment[0].startswith('%0 = Sigmoid+Exp+Add  ONNX "first", "second", "sum"')


def test_symbolic_batch() -> None:
    model = nets.MODELS["resnet"](1)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    graph = from_proto(model, shapes={"x": [Symbol("batch", 4), *shape[1:]]}).graph
    optimize(graph)
    program = schedule(lower(graph, TARGET, "net"), TARGET)
    assert [(size.name, size.bound) for size in program.sizes] == [("batch", 4)]
    for batch in (1, 3, 4):
        x = normal(batch, *shape[1:], seed=batch)
        for row in range(batch):  # every image as if it were alone
            alone = run(program, {"x": x[row : row + 1]}, {"batch": 1})
            together = run(program, {"x": x}, {"batch": batch})
            for name in graph.outputs:
                np.testing.assert_array_equal(alone[name][0], together[name][row])


def test_channels_last_interface() -> None:
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"])]
    graph = net(nodes, [1, 4, 5, 6], {"w": normal(3, 4, 3, 3)})
    program = schedule(lower(graph, TARGET, "net", LowerOptions(io_layout="nhwc")), TARGET)
    assert not loops(program)  # nothing is left to transpose
    x = normal(1, 4, 5, 6)
    found = run(program, {"x": x.transpose(0, 2, 3, 1)})["y"].transpose(0, 3, 1, 2)
    close(found, compare.run(graph, {"x": x})[0])


def test_all_that_is_not_supported_is_named_at_once() -> None:
    nodes = [
        helper.make_node("Gemm", ["x", "large"], ["a"], name="first", alpha=1000.0),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Gemm", ["b", "large"], ["y"], name="second", alpha=1000.0),
    ]
    with pytest.raises(ModelError) as caught:
        lower(net(nodes, [6, 6], {"large": np.full((6, 6), 3e38, np.float32)}), TARGET, "net")
    assert [problem.where for problem in caught.value.problems] == ["first", "second"]
    assert all(problem.hint for problem in caught.value.problems)


def test_a_zero_keeps_its_sign() -> None:
    """In constants of one magnitude, and in expressions that differ by it alone."""
    zeros = np.array([0.0, -0.0, 0.0], np.float32)
    nodes = [helper.make_node("Add", ["x", "zeros"], ["y"]), helper.make_node("Identity", ["zeros"], ["z"])]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "yz"],
        [numpy_helper.from_array(zeros, "zeros")],
    )
    program = schedule(lower(from_proto(helper.make_model(graph)).graph, TARGET, "net"), TARGET)
    found = run(program, {"x": -zeros})
    assert [found[name].tobytes() for name in "yz"] == [(zeros - zeros).tobytes(), zeros.tobytes()]
    assert isinstance(select(Var(BOOL, "sign"), const(0.0), const(-0.0)), Select)
