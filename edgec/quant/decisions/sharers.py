"""Layers that read the same weights, as steps of an unrolled recurrence do: they are decided on together, so that one copy is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgec.ir.graph import Node
from edgec.quant.scope.coverage import Layer

Sharers = Mapping[str, Sequence[Layer]]


def sharers_of(layers: Sequence[Layer]) -> Sharers:
    """For the output of each matrix operator all that read its weights as rows of the same form, in the order of `layers`."""
    found: dict[Any, list[Layer]] = {}
    for layer in layers:
        found.setdefault(_read(layer.node), []).append(layer)
    return {layer.node.outputs[0]: together for together in found.values() for layer in together}


def _read(node: Node) -> tuple[Any, ...]:
    return node.op, node.inputs[1], node.attributes.get("transB", 0), node.attributes.get("group", 1)


def together(sharers: Sharers) -> list[Sequence[Layer]]:
    """Each group once, in the order of the first layers of each."""
    return [group for output, group in sharers.items() if output == group[0].node.outputs[0]]
