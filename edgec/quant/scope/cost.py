"""What layers cost, in a measure that needs no processor: the time of one multiply-accumulate in int8.

One in float32 or of codes of 16 bits takes as long as the RATES of the target's best vocabulary say. A byte that is written takes WRITTEN,
a weight as long as WEIGHT more of its products, which counts where few numbers meet it, and a function that is no table FUNCTION for each
number. Good enough to choose between layers; where `edgec bench --profile` has measured them, its times are taken instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from edgec.integer.roles import output_channels, role_of
from edgec.ir.graph import Graph, Node
from edgec.ops.registry import Role
from edgec.quant.scope.coverage import Layer, elements

Times = Sequence[tuple[Sequence[str], float]]  # of each call: the nodes that it computes, microseconds


@dataclass(frozen=True)
class Rates:
    """Times of a multiply-accumulate, where one in int8 takes 1."""

    float32: float
    int16: float


USUAL = Rates(3.0, 2.0)
RATES = {  # measured with ResNet8, whole runs; what is not here is taken for USUAL
    "avx512vnni": Rates(254 / 106, 182 / 106),
    "avx2": Rates(2.0, 2.0),  # int8 is widened to 16 bits there as well, and codes of 16 bits are no faster than floats
}
WRITTEN, WEIGHT = 3.0, 4.0  # a network of residual additions, and a matrix times a vector out of the second cache, whole runs on x86-64
FUNCTION = 100.0  # networks whose gates were tables and then float


@dataclass(frozen=True)
class Costs:
    """How the time of layers is told. measured: by precision, int8 or float32, what a bench's profile has of each call."""

    rates: Rates = USUAL
    measured: Mapping[str, Times] | None = None

    @classmethod
    def of_target(cls, vocabularies: Sequence[str], measured: Mapping[str, Times] | None = None) -> Costs:
        """vocabularies: those of a target, the best one last."""
        return cls(RATES.get(vocabularies[-1], USUAL), measured)

    def of_layers(self, graph: Graph, layers: Sequence[Layer]) -> list[tuple[float, float]]:
        """Of each layer in float and in integers. Measured times are told in the unit that makes those in int8 as long as estimated."""
        estimated = {kind: {layer.node.name: self._estimate(graph, layer, kind) for layer in layers} for kind in ("float32", "int8")}
        told = {kind: timed(known, (self.measured or {}).get(kind, ())) for kind, known in estimated.items()}
        unit = sum(told["int8"].values()) / max(sum(estimated["int8"][name] for name in told["int8"]), 1.0)
        if unit:
            estimated = {kind: known | {name: us / unit for name, us in told[kind].items()} for kind, known in estimated.items()}
        return [(estimated["float32"][layer.node.name], estimated["int8"][layer.node.name]) for layer in layers]

    def _estimate(self, graph: Graph, layer: Layer, kind: str) -> float:
        """Its products, the weights that they read, its functions, and the bytes that it writes."""
        codes = kind == "int8"
        written = sum(elements(graph, name) for name in layer.results)
        weights = graph.constants[layer.node.inputs[1]].size if layer.role is Role.MATRIX else 0
        products = (multiplications(graph, layer.node) + weights * WEIGHT) * (1.0 if codes else self.rates.float32)
        functions = FUNCTION * written if layer.role is Role.TABLE and not codes else 0.0
        return products + functions + written * WRITTEN * (1 if codes and not layer.ends_in_float else 4)

    def widening(self, graph: Graph, value: str, readers: Iterable[tuple[Layer, float]]) -> float:
        """What it costs that a value has 16 bits, of which layers with these times in int8 read codes: it is written as floats first,
        products are slower, and what is no product computes in float."""
        return elements(graph, value) * 4 * WRITTEN + sum(
            time * (self.rates.int16 - 1) if layer.role is Role.MATRIX else elements(graph, layer.node.outputs[0]) * 4 * WRITTEN
            for layer, time in readers
        )


def timed(estimated: Mapping[str, float], calls: Times) -> dict[str, float]:
    """The time of each of these layers that a call computes; one that computes several is shared out as it is estimated."""
    found: dict[str, float] = {}
    for nodes, us in calls:
        known = {node: estimated[node] for node in nodes if node in estimated}
        whole = sum(known.values())
        for node, part in known.items():
            found[node] = found.get(node, 0.0) + us * part / whole if whole else 0.0
    return found


def multiplications(graph: Graph, node: Node) -> int:
    """Multiply-accumulates of an operator with constant weights; 0 for any other."""
    if role_of(graph, node)[0] is not Role.MATRIX:
        return 0
    data, weights = node.inputs[0], graph.constants[node.inputs[1]]
    if node.op == "ConvTranspose":  # each number that is read meets the weights of its channel
        return elements(graph, data) // int(weights.shape[0]) * weights.size
    return elements(graph, node.outputs[0]) // output_channels(node, weights.shape) * weights.size


def conversion_cost(graph: Graph, value: str, *, to_float: bool) -> float:
    """Writing a value once more, as codes or as float numbers."""
    return elements(graph, value) * WRITTEN * (4 if to_float else 1)


def saved_bytes(graph: Graph, layer: Layer) -> int:
    """Of weights, which int8 stores in a quarter."""
    return graph.constants[layer.node.inputs[1]].size * 3 if layer.role is Role.MATRIX else 0
