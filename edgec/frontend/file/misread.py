"""What ONNX Runtime makes something else of than the standard does, or does not survive: it cannot be asked about such a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx

from edgec.frontend.file.structure import graphs_in, label

NEEDED = {"LayerNormalization": 2, "DFT": 2}  # the operand that it looks into wherever the node has as many names


def misread(model: onnx.ModelProto) -> tuple[str, ...]:
    """The nodes, with those of branches and functions.

    A last operand that is left out by an empty name ends its process, see NEEDED; AveragePool's automatic padding forgets the dilations;
    MatMulNBits may be told to round what it multiplies to 8 bits; MeanVarianceNormalization of equal numbers, which no file tells, is NaN.
    A Squeeze of no axes is noted where it is translated, since these may be computed.
    """
    bodies = [model.graph.node, *(function.node for function in model.functions)]
    return tuple(label(node) for body in bodies for node in _nodes(body) if _is_misread(node))


def _nodes(body: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    for node in body:
        yield node
        for item in node.attribute:
            for graph in graphs_in(item):
                yield from _nodes(graph.node)


def _is_misread(node: onnx.NodeProto) -> bool:
    needed = NEEDED.get(node.op_type)
    if needed is not None and len(node.input) > needed and not node.input[needed]:
        return True
    given = {item.name: item for item in node.attribute}
    if node.op_type == "MatMulNBits":
        return "accuracy_level" in given and given["accuracy_level"].i == 4
    if node.op_type == "MeanVarianceNormalization":
        return True
    same = "auto_pad" in given and given["auto_pad"].s.startswith(b"SAME")
    return node.op_type == "AveragePool" and same and "dilations" in given and max(given["dilations"].ints, default=1) > 1
