"""Small graphs and samples for the tests of quantization."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, TensorType
from edgec.ops.infer import infer_graph
from edgec.passes import optimize
from edgec.quant.runs.float_run import Probe
from edgec.quant.runs.noise import Noise
from edgec.quant.trials.scores import Score
from tests import nets


class Small:
    """A graph under construction over one input `x`; every method returns the name of the new value."""

    def __init__(self, shape: tuple[int, ...], seed: int = 0) -> None:
        self.graph = Graph("small", ["x"], [], [], {}, {"x": TensorType(DType.FLOAT32, shape)})
        self.rng = np.random.default_rng(seed)

    def node(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        serial = len(self.graph.nodes)
        names = [f"{op.lower()}_{serial}" + (f"_{index}" if index else "") for index in range(outputs)]
        self.graph.nodes.append(Node(op, list(inputs), names, attributes, f"{op}{serial}"))
        self.graph.touched()
        infer_graph(self.graph)
        return names[0]

    def constant(self, array: np.ndarray) -> str:
        return self.graph.add_constant("c", array)

    def conv(self, x: str, outputs: int, kernel: int = 3, group: int = 1, spread: float = 0.0) -> str:
        """`spread`: how many powers of two the scales of the output channels cover."""
        inputs = self.graph.types[x].static_shape[1] // group
        scale = 2.0 ** (self.rng.uniform(-spread / 2, spread / 2, (outputs, 1, 1, 1)))
        weights = self.rng.standard_normal((outputs, inputs, kernel, kernel)) * scale * (2 / (inputs * kernel**2)) ** 0.5
        bias = self.rng.standard_normal(outputs) * 0.1 * scale.ravel()
        names = [self.constant(array.astype(np.float32)) for array in (weights, bias)]
        return self.node(
            "Conv", x, *names, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, group=group, strides=[1, 1], dilations=[1, 1]
        )

    def pool(self, op: str, x: str, size: int = 2) -> str:
        attributes = {"kernel_shape": [size] * 2, "strides": [size] * 2, "pads": [0] * 4, "dilations": [1, 1], "ceil_mode": 0}
        return self.node(op, x, **attributes, **({"count_include_pad": 0} if op == "AveragePool" else {}))

    def done(self, *outputs: str) -> Graph:
        self.graph.outputs = list(outputs)
        return self.graph


def net(family: str, seed: int = 0) -> Graph:
    graph = from_proto(nets.MODELS[family](seed)).graph
    optimize(graph)
    return graph


def samples(graph: Graph, count: int = 8, seed: int = 1) -> Callable[[], Iterator[dict[str, np.ndarray]]]:
    def opened() -> Iterator[dict[str, np.ndarray]]:
        rng = np.random.default_rng(seed)
        for _ in range(count):
            yield {name: rng.standard_normal(graph.types[name].static_shape).astype(np.float32) for name in graph.inputs}

    return opened


Opened = Callable[[], Iterator[dict[str, np.ndarray]]]


def sqnr(graph: Graph, other: Graph, count: int = 4, seed: int = 2, others: Opened | None = None) -> float:
    """SQNR over all outputs in dB, Q/DQ in float, on random samples or on `others`."""
    one, two, noise = Probe(graph, graph.outputs, exact=True), Probe(other, other.outputs, exact=True), Noise()
    for sample in (others or samples(graph, count, seed))():
        exact, stored = one(sample), two(sample)
        for output in graph.outputs:
            noise.add(exact[output], stored[output])
    return noise.sqnr


def content(graph: Graph) -> bytes:
    return to_onnx(graph).SerializeToString(deterministic=True)


def score_of(shares: np.ndarray, outputs: np.ndarray | None = None, even: float = 1.0) -> Score:
    """Of one value that stands for an output, and of that output where its shares are given."""
    behind = np.zeros((len(shares), 0)) if outputs is None else outputs[:, None]
    return Score(shares[:, None], behind, np.full(behind.shape[1], even))
