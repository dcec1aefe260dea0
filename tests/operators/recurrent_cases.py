"""Recurrent cells: every function, direction, operand and subset of outputs, and what exporters put around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import onnx

from tests.operators.case import Case
from tests.operators.own_cases import Net

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
# functions, with what they take
NUMBERS: dict[str, dict[str, list[float]]] = {
    "Relu": {}, "Tanh": {}, "Sigmoid": {}, "Softsign": {}, "Softplus": {}, "LeakyRelu": {"activation_alpha": [0.3]},
    "ThresholdedRelu": {"activation_alpha": [0.2]}, "Elu": {"activation_alpha": [0.7]},
    "HardSigmoid": {"activation_alpha": [0.3], "activation_beta": [0.4]}, "Affine": {"activation_alpha": [0.4], "activation_beta": [-0.1]},
    "ScaledTanh": {"activation_alpha": [1.5], "activation_beta": [0.6]},
}  # fmt: skip


@cache
def recurrent_cases() -> tuple[Case, ...]:
    return tuple(case for group in (_shapes, _functions, _operands, _outputs, _layouts, _habits) for case in group())


def cell(
    net: Net, op: str, x: str, sizes: Sequence[int], directions: int = 1, operands: Sequence[str] = (), computed: str = "", **named: Any
) -> list[str]:
    """A node of (steps, batch, inputs, hidden), its weights drawn. `operands` follow them ("bias" is drawn), `computed` adds to both."""
    _, _, inputs, hidden = sizes
    width = GATES[op] * hidden
    weights = [_weights(net, directions, width, inputs), _weights(net, directions, width, hidden)]
    given = [_weights(net, directions, 2 * width) if name == "bias" else name for name in operands]
    if computed:
        weights = [net.node("Add", name, computed) for name in weights]
    count = 3 if op == "LSTM" else 2
    outputs: list[str] = net.node(op, x, *weights, *given, outputs=count, hidden_size=hidden, **named)
    return outputs


def _weights(net: Net, *shape: int) -> str:
    return net.constant(net.array(shape) * 0.6, np.float32)


def _direction(name: str) -> dict[str, Any]:
    return {"directions": 2 if name == "bidirectional" else 1, "direction": name}


def _shapes() -> Iterator[Case]:
    sizes = [(1, 1, 3, 1), (4, 1, 3, 5), (3, 3, 2, 8), (2, 1, 7, 17), (5, 2, 1, 9), (3, 1, 4, 33)]
    for op, (direction, hidden) in product(GATES, enumerate(sizes)):
        name = ("forward", "reverse", "bidirectional")[direction % 3]
        net = Net(f"recurrent_{op}_{name}_{hidden}", hidden[:3])
        yield net.case(*cell(net, op, "x0", hidden, operands=["bias"], **_direction(name)))
    for op, flag in (("RNN", 0), ("GRU", 0), ("GRU", 1), ("LSTM", 0)):  # whose rows share walks over the weights
        net = Net(f"recurrent_{op}_rows_{flag}", (3, 6, 2), (1, 6, 96))
        lengths = net.constant(np.array([1, 3, 2, 3, 1, 2], np.int32))
        named = {"linear_before_reset": flag} if op == "GRU" else {}
        yield net.case(*cell(net, op, "x0", (3, 6, 2, 96), operands=["bias", lengths, "x1"], **named))
    net = Net("recurrent_GRU_zero_bias", (3, 1, 4))
    zeros = net.constant(np.zeros((1, 30)), np.float32)
    yield net.case(*cell(net, "GRU", "x0", (3, 1, 4, 5), operands=[zeros], linear_before_reset=1))


def _functions() -> Iterator[Case]:
    """Each as every function of each cell, with and without numbers of its own, within a clip or not."""
    sizes = (3, 2, 3, 5)
    for op, (name, numbers) in product(GATES, NUMBERS.items()):
        net = Net(f"recurrent_{op}_{name}", sizes[:3])
        outputs = []
        for place in range(len(FUNCTIONS[op])):
            chosen = [name if place == at else usual for at, usual in enumerate(FUNCTIONS[op])]
            outputs += cell(net, op, "x0", sizes, operands=["bias"], activations=chosen, **numbers)[:1]
        count = len(FUNCTIONS[op])
        outputs += cell(net, op, "x0", sizes, activations=[name] * count, clip=0.4, **_several(numbers, count))[:1]
        yield net.case(*outputs)
    net = Net("recurrent_small_letters", (3, 1, 2))
    yield net.case(*cell(net, "GRU", "x0", (3, 1, 2, 4), activations=["hardsigmoid", "leakyrelu"], activation_beta=[0.4]))
    net = Net("recurrent_functions_of_two_directions", (3, 1, 2))
    names = ["HardSigmoid", "LeakyRelu", "HardSigmoid", "Tanh"]
    numbers = {"activation_alpha": [0.3, 0.1, 0.25], "activation_beta": [0.4, 0.6]}
    yield net.case(*cell(net, "GRU", "x0", (3, 1, 2, 4), 2, direction="bidirectional", activations=names, **numbers))


def _several(numbers: dict[str, list[float]], count: int) -> dict[str, list[float]]:
    return {name: values * count for name, values in numbers.items()}


def _operands() -> Iterator[Case]:
    for op, hidden, directions in product(GATES, (5, 12), (1, 2)):
        batch, direction = 2, "bidirectional" if directions > 1 else "reverse"
        state, width = (directions, batch, hidden), GATES[op] * hidden
        lengths = np.array([2, 4], np.int32)
        net = Net(f"recurrent_{op}_operands_{hidden}_{direction}", (4, batch, 3), state, state, (directions, width, 1))
        given = [net.constant(lengths), "x1", *(["x2", _weights(net, directions, 3 * hidden)] if op == "LSTM" else [])]
        sizes: dict[str, Any] = {"sizes": (4, batch, 3, hidden), "directions": directions, "direction": direction}
        outputs = cell(net, op, "x0", operands=["bias", *given], **sizes)
        outputs += cell(net, op, "x0", operands=["", "", *given[1:]], computed="x3", **sizes)
        outputs += cell(net, op, "x0", operands=["bias", net.constant(np.array([4, 4], np.int32))], clip=0.7, **sizes)
        if op == "GRU":
            outputs += cell(net, op, "x0", operands=["bias", *given], linear_before_reset=1, **sizes)
            outputs += cell(net, op, "x0", operands=["", "", "x1"], linear_before_reset=1, clip=0.5, **sizes)
        if op == "LSTM":
            outputs += cell(net, op, "x0", operands=["bias", *given], input_forget=1, **sizes)
        yield net.case(*outputs)
    for op in GATES:
        net = Net(f"recurrent_{op}_lengths_at_run_time", (5, 3, 2), (3,))
        net.inputs["x1"] = np.array([5, 1, 3], np.int32)
        yield net.case(*cell(net, op, "x0", (5, 3, 2, 6), 2, operands=["bias", "x1"], direction="bidirectional"))
        net = Net(f"recurrent_{op}_computed_bias", (3, 1, 2), (1, 2 * GATES[op] * 5))
        flags = {"linear_before_reset": 1} if op == "GRU" else {}
        yield net.case(*cell(net, op, "x0", (3, 1, 2, 5), operands=["x1"], computed=net.constant(np.ones(1), np.float32), **flags))


def _outputs() -> Iterator[Case]:
    """Every subset, as absent names and as ones that nobody reads."""
    for op in GATES:
        count = 3 if op == "LSTM" else 2
        for wanted in range(1, 1 << count):
            net = Net(f"recurrent_{op}_outputs_{wanted}", (3, 2, 3))
            found = cell(net, op, "x0", (3, 2, 3, 5), 2, operands=["bias"], direction="bidirectional")
            kept = [name for place, name in enumerate(found) if wanted >> place & 1]
            for place, name in enumerate(found):
                net.nodes[-1].output[place] = name if name in kept else ""
            while not net.nodes[-1].output[-1]:
                del net.nodes[-1].output[-1]
            yield net.case(*kept)


def _layouts() -> Iterator[Case]:
    """Batches first, which ONNX Runtime refuses: it is asked with Transpose around the cell."""
    for op, direction in product(GATES, ("forward", "bidirectional")):
        directions = _direction(direction)["directions"]
        net = Net(f"recurrent_{op}_batch_first_{direction}", (2, 4, 3), (2, directions, 5))
        x, h = net.node("Transpose", "x0", perm=[1, 0, 2]), net.node("Transpose", "x1", perm=[1, 0, 2])
        found = cell(net, op, x, (4, 2, 3, 5), operands=["bias", "", h], **_direction(direction))
        usual = net.nodes[-1]
        perms = [[2, 0, 1, 3], [1, 0, 2], [1, 0, 2]]
        names = [net.node("Transpose", name, perm=perm) for name, perm in zip(found, perms, strict=False)]
        case = net.case(*names)
        node = onnx.NodeProto()
        node.CopyFrom(usual)
        node.input[0], node.input[5] = "x0", "x1"
        node.attribute.append(onnx.helper.make_attribute("layout", 1))
        del node.output[:]
        node.output.extend(names)
        del case.model.graph.node[:]
        case.model.graph.node.append(node)
        case.model.opset_import[0].version = 22
        yield case


def _habits() -> Iterator[Case]:
    """PyTorch's two layers of which the second reads both directions; a stream that hands its state on; Keras' Transpose and last state."""
    net = Net("recurrent_two_layers", (2, 6, 3))
    x = net.node("Transpose", "x0", perm=[1, 0, 2])
    lstm = cell(net, "LSTM", x, (6, 2, 3, 4), 2, operands=["bias"], direction="bidirectional")
    turned = net.node("Reshape", net.node("Transpose", lstm[0], perm=[0, 2, 1, 3]), net.constant([0, 0, -1], np.int64))
    gru = cell(net, "GRU", turned, (6, 2, 8, 4), 2, operands=["bias"], direction="bidirectional", linear_before_reset=1)
    last = net.node("Reshape", net.node("Transpose", gru[0], perm=[0, 2, 1, 3]), net.constant([0, 0, -1], np.int64))
    yield net.case(net.node("Transpose", last, perm=[1, 0, 2]), gru[1], lstm[1])
    net = Net("recurrent_stream", (1, 1, 6), (2, 1, 8))
    h, c = net.node("Split", "x1", net.constant([1, 1], np.int64), outputs=2, axis=0)
    y, new_h, new_c = cell(net, "LSTM", "x0", (1, 1, 6, 8), operands=["bias", "", h, c])
    seen = net.node("Relu", net.node("Squeeze", y, net.constant([1], np.int64)))
    yield net.case(net.node("MatMul", seen, net.normal(8, 3)), net.node("Concat", new_h, new_c, axis=0))
    net = Net("recurrent_last_state", (1, 7, 3))
    found = cell(net, "GRU", net.node("Transpose", "x0", perm=[1, 0, 2]), (7, 1, 3, 10), operands=["bias"])
    yield net.case(net.node("Softmax", net.node("Squeeze", found[1], net.constant([0], np.int64)), axis=-1))
