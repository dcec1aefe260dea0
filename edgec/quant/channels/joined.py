"""A multiplication and an addition for each channel as one convolution of one tap.

A normalization of channels behind a function, a pool or a Concat goes into nobody's weights. As two operators it is rounded twice, and its
factors share one scale; a convolution in groups of one channel rounds once, has a scale for each channel, and passes over the image once.
What is added to a stream is left as it is: streams may go on in float, see edgec/quant/floats/between.py. So are normalizations of what
they compute themselves, which end in float, and factors that are one number, which a table or a scale takes in.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType
from edgec.passes.rewrite import become, constant_operand, per_channel, sole_producer
from edgec.quant.scope.coverage import Selection

SUMS = ("Add", "Sub")
PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
MOVES = ("Reshape", "Transpose", "Squeeze", "Unsqueeze")
IMAGE = 4  # axes of what is joined: kernels take a lone row of an image slower


@dataclass(frozen=True)
class Pair:
    """source * scale + shift, by channel (float64)."""

    multiplication: Node
    addition: Node
    source: str
    scale: np.ndarray
    shift: np.ndarray


def joinable(graph: Graph, selection: Selection) -> list[str]:
    """The results of such additions whose operators both compute in integers, in the order of the graph."""
    layers = {layer.node: layer for layer in selection.layers}
    found = []
    for node in layers:
        pair = pair_of(graph, node.outputs[0]) if node.op == "Add" else None
        first = layers.get(pair.multiplication) if pair else None
        if first is not None and first.activation is None and not first.ends_in_float:
            found.append(node.outputs[0])
    return found


def join(graph: Graph, values: Collection[str]) -> None:
    """Compute these values so, in place; what is none of such additions stays."""
    for value in values:
        pair = pair_of(graph, value)
        if pair is None:
            continue
        first, channels = pair.multiplication, len(pair.scale)
        scale = graph.add_constant(f"{value}_scale", pair.scale.astype(np.float32).reshape(channels, 1, 1, 1))
        shift = graph.add_constant(f"{value}_shift", pair.shift.astype(np.float32))
        taps = {"kernel_shape": [1, 1], "strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1]}
        become(graph, pair.addition, "Conv", [pair.source, scale, shift], {"group": channels, **taps}, name=first.name)
        graph.remove([first])


def pair_of(graph: Graph, value: str) -> Pair | None:
    """What computes `value` from an image; None where nothing of that kind does, or it is left as it is."""
    addition = graph.producer(value)
    second = constant_operand(graph, addition) if addition is not None and addition.op == "Add" else None
    first = sole_producer(graph, second[0], "Mul") if second is not None else None
    factor = constant_operand(graph, first) if first is not None else None
    if addition is None or second is None or first is None or factor is None:
        return None
    source, kind = factor[0], graph.types[value]
    if graph.types[source] != kind or not kind.is_static or len(kind.shape) != IMAGE or kind.dtype is not DType.FLOAT32:
        return None
    scale, shift = (per_channel(constant, kind.shape, 1) for constant in (factor[1], second[1]))
    if scale is None or shift is None or (np.ptp(scale) == 0 and np.ptp(shift) == 0):
        return None
    maker = graph.producer(source)
    while maker is not None and maker.op in MOVES:
        maker = graph.producer(maker.inputs[0])
    if maker is None or maker.op in (*SUMS, *PRODUCTS) or "Normalization" in maker.op:
        return None
    return Pair(first, addition, source, scale, shift)
