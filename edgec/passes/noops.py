"""Operators that do nothing."""

from __future__ import annotations

from math import inf

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.passes.arithmetic import bounds
from edgec.passes.rewrite import bypass, fixed_shape, rewrites, why_not


@rewrites("Identity")
def remove_identity(graph: Graph, node: Node) -> bool:
    """identity(x) -> x. (A Dropout outside of training is an Identity since the import.)"""
    return bypass(graph, node, node.inputs[0])


@rewrites("Cast")
def remove_cast(graph: Graph, node: Node) -> bool:
    """cast(x) -> x when x has that type already."""
    return graph.dtype(node.inputs[0]) == graph.dtype(node.outputs[0]) and bypass(graph, node, node.inputs[0])


@rewrites("Transpose")
def remove_transpose(graph: Graph, node: Node) -> bool:
    """transpose(x, 0, 1, 2...) -> x."""
    perm = list(node.attributes.get("perm", range(len(graph.shape(node.inputs[0])))[::-1]))
    return perm == sorted(perm) and bypass(graph, node, node.inputs[0])


@rewrites("Reshape", "Expand", "Tile")
def remove_reshape(graph: Graph, node: Node) -> bool:
    """reshape(x), expand(x), tile(x) -> x when the shape stays the same."""
    same = graph.shape(node.inputs[0]) == graph.shape(node.outputs[0])
    return same and 0 not in graph.shape(node.inputs[0]) and bypass(graph, node, node.inputs[0])


@rewrites("Slice")
def remove_slice(graph: Graph, node: Node) -> bool:
    """slice(x) -> x when it takes everything in order."""
    if graph.shape(node.inputs[0]) != graph.shape(node.outputs[0]):
        return False
    steps = graph.constant(node.input(4)) if node.input(4) else np.ones(1)
    if steps is None or np.any(steps < 1):
        return why_not(node, "it may reverse an axis")
    return bypass(graph, node, node.inputs[0])


@rewrites("Pad")
def remove_pad(graph: Graph, node: Node) -> bool:
    """pad(x, 0...) -> x."""
    pads = graph.constant(node.input(1))
    return pads is not None and not pads.any() and bypass(graph, node, node.inputs[0])


@rewrites("Concat")
def remove_concat(graph: Graph, node: Node) -> bool:
    """concat(x) -> x."""
    return len(node.inputs) == 1 and bypass(graph, node, node.inputs[0])


@rewrites("Split")
def remove_split(graph: Graph, node: Node) -> bool:
    """split(x) -> x when there is one piece."""
    return len(node.outputs) == 1 and bypass(graph, node, node.inputs[0])


@rewrites("Resize")
def remove_resize(graph: Graph, node: Node) -> bool:
    """resize(x) -> x when every scale is exactly one."""
    if node.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        return why_not(node, "it crops")
    scales = graph.constant(node.input(2)) if node.input(2) else None
    shape = fixed_shape(graph, node.inputs[0])
    if scales is not None and scales.size:
        return bool(np.all(scales == 1)) and bypass(graph, node, node.inputs[0])
    same = shape is not None and shape == graph.shape(node.outputs[0])
    return same and bypass(graph, node, node.inputs[0])


@rewrites("MaxPool", "AveragePool")
def remove_pool(graph: Graph, node: Node) -> bool:
    """pool(x) -> x when the window is one pixel and the stride is one."""
    if len(node.outputs) > 1 or any(node.attributes.get("pads", [])) or graph.shape(node.inputs[0]) != graph.shape(node.outputs[0]):
        return False
    return all(extent == 1 for extent in node.attributes["kernel_shape"]) and bypass(graph, node, node.inputs[0])


@rewrites("Clip")
def remove_clip(graph: Graph, node: Node) -> bool:
    """clip(x, -inf, inf) -> x."""
    return bounds(graph, node) == (-inf, inf) and bypass(graph, node, node.inputs[0])
