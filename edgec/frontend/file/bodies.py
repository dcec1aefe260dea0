"""Bodies of operators that users define (edgec/operators), as functions of the model that has their nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import onnx
from onnx import defs

from edgec.frontend.file.structure import graphs_in

SETTLED = 13  # before this version, operators could come to mean something else under the same words, as Softmax did


def add_bodies(model: onnx.ModelProto, content: bytes) -> tuple[set[tuple[str, str]], list[str]]:
    """Let `model` have the functions of edgec.operators' bundle, but those that it has itself; which were added, and what to say of it."""
    bundle = onnx.ModelProto.FromString(content)
    own = {(item.domain, item.name) for item in model.functions}
    added = [item for item in bundle.functions if (item.domain, item.name) not in own]
    model.functions.extend(added)
    known = {item.domain for item in model.opset_import}
    model.opset_import.extend(item for item in bundle.opset_import if item.domain not in known)
    hidden = [f"{item.domain}::{item.name}" for item in bundle.functions if (item.domain, item.name) in own]
    return {(item.domain, item.name) for item in added}, [f"{name}: the model has a function of this name, which counts" for name in hidden]


def misread_bodies(model: onnx.ModelProto, names: Collection[str]) -> list[str]:
    """Those of whose bodies ONNX Runtime makes something else: it reads them in the model's version of ONNX's operators."""
    version = _version(model.opset_import)
    bodies = {name: item for item in model.functions if (name := f"{item.domain}::{item.name}") in names}
    return [f"the body of {name}" for name, item in bodies.items() if not _alike(item.node, _version(item.opset_import), version)]


def _version(imports: Iterable[onnx.OperatorSetIdProto]) -> int:
    return next((int(item.version) for item in imports if item.domain in ("", "ai.onnx")), 1)


def _alike(nodes: Sequence[onnx.NodeProto], one: int, other: int) -> bool:
    """Whether all mean the same in two versions of ONNX's operators."""
    for node in nodes:
        schemas = [_schema(node, version) for version in (one, other)] if node.domain in ("", "ai.onnx") else []
        differs = len({0 if schema is None else schema.since_version for schema in schemas}) > 1
        if differs and (min(one, other) < SETTLED or None in schemas or not _means_one(node, *schemas)):
            return False
        if not all(_alike(graph.node, one, other) for item in node.attribute for graph in graphs_in(item)):
            return False
    return True


def _schema(node: onnx.NodeProto, version: int) -> Any:
    try:
        return defs.get_schema(node.op_type, version, "")
    except defs.SchemaError:
        return None


def _means_one(node: onnx.NodeProto, one: Any, other: Any) -> bool:
    """By what the node uses of both: its operands, its attributes, and the defaults of those that it does not give."""
    given = {item.name for item in node.attribute}
    operands = [[(item.name, item.option) for item in schema.inputs[: len(node.input)]] for schema in (one, other)]
    defaults = [{name: item.default_value for name, item in schema.attributes.items()} for schema in (one, other)]
    shared = defaults[0].keys() & defaults[1].keys()
    return operands[0] == operands[1] and given <= shared and all(defaults[0][name] == defaults[1][name] for name in shared - given)
