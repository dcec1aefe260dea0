"""The shapes that a file gives its values, and those that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import onnx

# results are as large as what an operator reads besides single numbers
ALIKE = frozenset({
    "Sqrt", "Log", "Exp", "Abs", "Neg", "Cast", "CastLike", "Identity", "Relu", "Sigmoid", "Tanh", "Sin", "Cos", "Floor", "Ceil",
    "Add", "Sub", "Mul", "Div", "Pow", "Min", "Max",
})  # fmt: skip
SINGLE = ""  # no value is called so


def declared(file: onnx.GraphProto) -> dict[str, tuple[int, ...]]:
    """Where these are numbers throughout: of values that the file declares, and of the one that each of those was made of, by elements."""
    found: dict[str, tuple[int, ...]] = {}
    for value in (*file.value_info, *file.output):
        shape = _shape(value)
        if shape is not None and 0 not in shape:
            found[value.name] = shape
    origins = _origins(file)
    for name, shape in list(found.items()):
        origin = origins.get(name, name)
        if prod(shape) > 1 and origin:
            found.setdefault(origin, shape)
    return found


def _shape(value: onnx.ValueInfoProto) -> tuple[int, ...] | None:
    kind = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not kind.HasField("shape") or not all(dim.HasField("dim_value") for dim in kind.shape.dim):
        return None
    return tuple(max(dim.dim_value, 0) for dim in kind.shape.dim)


def _origins(file: onnx.GraphProto) -> dict[str, str | None]:
    """The one value that another was made of by elementwise operators, None of several; it is as large where that is more than a number."""
    found: dict[str, str | None] = {tensor.name: SINGLE for tensor in file.initializer if _is_single(tensor.dims)}
    found |= {value.name: SINGLE for value in file.input if (shape := _shape(value)) is not None and _is_single(shape)}
    for node in file.node:
        if node.op_type == "Constant" and _is_number(node):
            found.update(dict.fromkeys(node.output, SINGLE))
        elif node.op_type in ALIKE and not node.domain:
            names = node.input[:1] if node.op_type == "CastLike" else node.input
            origins = {found.get(name, name) for name in names} - {SINGLE}
            found.update(dict.fromkeys(node.output, SINGLE if not origins else origins.pop() if len(origins) == 1 else None))
    return found


def _is_number(node: onnx.NodeProto) -> bool:
    given = {item.name: item for item in node.attribute}
    return "value_float" in given or "value_int" in given or ("value" in given and _is_single(given["value"].t.dims))


def _is_single(shape: Sequence[int]) -> bool:
    """One number that gives no result more axes."""
    return len(shape) <= 1 and prod(shape) == 1
