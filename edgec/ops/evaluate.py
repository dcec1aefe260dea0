"""The value of one node on known inputs, by ONNX's reference implementation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from edgec.errors import ModelError
from edgec.ir.graph import Node
from edgec.ops.proto import IR_VERSION, OPSET, node_proto, schema


def evaluate(node: Node, inputs: Sequence[np.ndarray | None]) -> list[np.ndarray]:
    """Outputs of `node`; absent optional inputs are None. ModelError when the reference cannot compute it."""
    found = schema(node.op)
    if found is None:
        raise ModelError("ONNX has no such operator", where=f"{node.name} ({node.op})")
    names = [f"x{index}" if array is not None else "" for index, array in enumerate(inputs)]
    outputs = [name or f"unused{index}" for index, name in enumerate(node.outputs)]
    proto = node_proto(Node(node.op, names, outputs, node.attributes))
    feeds = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    # the reference reads only names from these declarations
    graph = helper.make_graph(
        [proto], "one_node", [helper.make_empty_tensor_value_info(name) for name in feeds],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
    )  # fmt: skip
    opset = helper.make_opsetid("", max(OPSET, found.since_version))
    model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(array) for array in ReferenceEvaluator(model).run(None, feeds)]
    except Exception as error:  # the reference raises whatever numpy raises
        raise ModelError(f"cannot be evaluated: {error}", where=f"{node.name} ({node.op})") from error
