"""New nodes for a model that fit its values' types, so that they reach far, with numbers and attributes that nobody expects."""

from __future__ import annotations

import contextlib
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, defs, helper, numpy_helper

from edgec.frontend.dispatch import RULES
from edgec.ops import OPERATORS
from tests.fuzz.draw import FLOATS, SMALL, Generator, Skip, pick

FORM = defs.OpSchema.FormalParameterOption
SAMPLES: dict[int, Any] = {
    AttributeProto.INT: 1, AttributeProto.FLOAT: 1.0, AttributeProto.STRING: "a", AttributeProto.INTS: [1, 1],
    AttributeProto.FLOATS: [1.0], AttributeProto.TENSOR: numpy_helper.from_array(np.ones(1, np.float32)),
}  # fmt: skip


@cache
def reachable() -> tuple[str, ...]:
    """Operators that the import takes, or has a body for."""
    bodies = {schema.name for schema in defs.get_all_schemas() if schema.has_function and not schema.domain}
    return tuple(sorted(OPERATORS.keys() | {op for domain, op in RULES if not domain} | bodies))


def schema_of(op: str, model: onnx.ModelProto) -> Any:
    """The operator in the model's own operator set."""
    version = next((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), 0)
    try:
        return defs.get_schema(op, version, "")
    except (defs.SchemaError, TypeError) as error:
        raise Skip from error


def types(model: onnx.ModelProto) -> dict[str, str]:
    """Type of each value of the main graph, as schemas write it, as far as operands and schemas tell.

    ONNX's own shape inference would tell more, but some damaged models end its process.
    """
    graph = model.graph
    codes = {item.name: item.data_type for item in graph.initializer}
    codes |= {item.name: item.type.tensor_type.elem_type for item in (*graph.input, *graph.value_info, *graph.output)}
    codes |= {node.output[0]: code for node in graph.node if node.output and (code := _said(node))}
    found = {}
    for name, code in codes.items():
        with contextlib.suppress(KeyError, TypeError):
            kind = np.dtype(helper.tensor_dtype_to_np_dtype(code)).name
            found[name] = f"tensor({ {'float32': 'float', 'float64': 'double'}.get(kind, kind) })"
    for node in graph.node:
        with contextlib.suppress(Skip):
            _follow(node, schema_of(node.op_type, model), found)
    return found


def _said(node: onnx.NodeProto) -> int:
    """The element type that a Cast or Constant names."""
    given = {item.name: item for item in node.attribute}
    if node.op_type == "Cast" and "to" in given:
        return int(given["to"].i)
    return int(given["value"].t.data_type) if node.op_type == "Constant" and "value" in given else 0


def _follow(node: onnx.NodeProto, schema: Any, found: dict[str, str]) -> None:
    """Outputs of a type that the operands have, or that is the only one."""
    bound = {formal.type_str: found[name] for formal, name in zip(schema.inputs, node.input, strict=False) if name in found}
    for formal, name in zip(schema.outputs, node.output, strict=False):
        kind = bound.get(formal.type_str) or (next(iter(formal.types)) if len(formal.types) == 1 else "")
        if kind and name:
            found.setdefault(name, kind)


def new_node(model: onnx.ModelProto, g: Generator, name: str) -> onnx.NodeProto:
    op = pick(g, reachable())
    schema, known = schema_of(op, model), types(model)
    inputs, bound = list[str](), dict[str, str]()
    for formal in schema.inputs:
        if formal.option == FORM.Optional and g.random() < 0.4:
            inputs.append("")
            continue
        for _ in range(int(g.integers(1, 4)) if formal.option == FORM.Variadic else 1):
            inputs.append(_operand(model, g, formal, known, bound))
    node = helper.make_node(op, inputs, [name, *(f"{name}_{i}" for i in range(1, schema.min_output))], name)
    for item in schema.attributes.values():
        if item.required and int(item.type) in SAMPLES:
            node.attribute.append(helper.make_attribute(item.name, SAMPLES[int(item.type)]))
    return node


def _operand(model: onnx.ModelProto, g: Generator, formal: Any, known: dict[str, str], bound: dict[str, str]) -> str:
    """A value of a fitting type, or a constant where shapes and the like are wanted, and now and then elsewhere."""
    if formal.types == {"tensor(int64)"}:
        count = int(g.integers(1, 5))
        values = np.array([pick(g, SMALL) for _ in range(count)], np.int64)
        return _constant(model, values if g.random() < 0.8 else values[0])
    allowed = {bound[formal.type_str]} if formal.type_str in bound else formal.types
    fitting = [name for name, kind in known.items() if kind in allowed]
    if "tensor(float)" in allowed and (not fitting or g.random() < 0.2):
        shape = [int(extent) for extent in g.integers(1, 4, int(g.integers(3)))]
        return _constant(model, np.full(shape, pick(g, FLOATS) if g.random() < 0.3 else 0.5, np.float32))
    name = str(pick(g, fitting))
    bound[formal.type_str] = known[name]
    return name


def _constant(model: onnx.ModelProto, array: np.ndarray) -> str:
    name = f"new{len(model.graph.initializer)}"
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return name
