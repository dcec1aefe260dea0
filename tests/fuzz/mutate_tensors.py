"""Damage to the numbers of a model: tensors and attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from tests.fuzz.draw import (
    COMMON,
    FLOATS,
    NAMES,
    STRINGS,
    TYPES,
    Generator,
    Skip,
    attributes,
    graphs,
    initializers,
    integer,
    nodes,
    pick,
    values,
)
from tests.fuzz.grow import SAMPLES, schema_of

MOST_AXES = 64  # of an array of numpy

# Attributes


def attribute_value(model: onnx.ModelProto, g: Generator) -> None:
    """Another value of the same type."""
    change_value(pick(g, attributes(model)), g)


def change_value(item: AttributeProto, g: Generator) -> None:
    if item.type == AttributeProto.INT:
        item.i = integer(g)
    elif item.type == AttributeProto.FLOAT:
        item.f = pick(g, FLOATS)
    elif item.type == AttributeProto.STRING:
        item.s = pick(g, STRINGS).encode() if g.random() < 0.9 else b"\xff\xfe\x80"
    elif item.type == AttributeProto.TENSOR:
        damage_tensor(item.t, g)
    elif item.type in (AttributeProto.INTS, AttributeProto.FLOATS):
        field, draw = (item.ints, lambda: integer(g)) if item.type == AttributeProto.INTS else (item.floats, lambda: pick(g, FLOATS))
        damage_list(field, draw, g)
    else:
        raise Skip


def damage_list(field: Any, draw: Callable[[], Any], g: Generator) -> None:
    kind = int(g.integers(6))
    if kind == 0:
        del field[:]
    elif kind == 1:
        field.append(draw())
    elif kind == 2 and len(field):
        field.pop()
    elif kind == 3:
        field.extend([draw()] * int(pick(g, (10, 64, 3000))))
    elif kind == 4 and len(field):
        field[:] = [draw()] * len(field)
    elif len(field):
        field[int(g.integers(len(field)))] = draw()


def attribute_type(model: onnx.ModelProto, g: Generator) -> None:
    """A value of another type under the same name."""
    item = pick(g, attributes(model))
    other = pick(g, (3, 1.5, "text", [1, 2], [1.5], ["a"], numpy_helper.from_array(np.zeros(2, np.float32))))
    item.CopyFrom(helper.make_attribute(item.name, other))


def attribute_declared_type(model: onnx.ModelProto, g: Generator) -> None:
    """Only what the file says of its type."""
    pick(g, attributes(model)).type = pick(g, tuple(AttributeProto.AttributeType.values()))


def attribute_missing(model: onnx.ModelProto, g: Generator) -> None:
    node = pick(g, [node for node in nodes(model) if node.attribute])
    del node.attribute[int(g.integers(len(node.attribute)))]


def attribute_twice(model: onnx.ModelProto, g: Generator) -> None:
    node = pick(g, [node for node in nodes(model) if node.attribute])
    node.attribute.add().CopyFrom(pick(g, node.attribute))
    if g.random() < 0.5:
        change_value(node.attribute[-1], g)


def attribute_added(model: onnx.ModelProto, g: Generator) -> None:
    """One that the operator has and the node did not give, often with an extreme value."""
    node = pick(g, nodes(model))
    schema = schema_of(node.op_type, model)
    name = pick(g, sorted(set(schema.attributes) - {item.name for item in node.attribute}))
    sample = SAMPLES.get(int(schema.attributes[name].type))
    if sample is None:
        raise Skip
    node.attribute.append(helper.make_attribute(name, sample))
    change_value(node.attribute[-1], g)


def attribute_renamed(model: onnx.ModelProto, g: Generator) -> None:
    pick(g, attributes(model)).name = pick(g, NAMES)


def attribute_reference(model: onnx.ModelProto, g: Generator) -> None:
    """A reference to an attribute of a function, where there is none."""
    pick(g, attributes(model)).ref_attr_name = pick(g, ("alpha", "nothing"))


# Tensors


def tensor(model: onnx.ModelProto, g: Generator) -> None:
    damage_tensor(pick(g, initializers(model)), g)


def damage_tensor(item: TensorProto, g: Generator) -> None:
    kind = int(g.integers(8))
    if kind == 0:
        item.data_type = pick(g, COMMON if g.random() < 0.5 else TYPES)
    elif kind == 1:
        damage_list(item.dims, lambda: integer(g), g)
    elif kind == 2:
        item.raw_data = item.raw_data[: int(g.integers(len(item.raw_data) + 1))]
    elif kind == 3:
        item.raw_data = item.raw_data + bytes(int(pick(g, (1, 4, 8, 1000))))
    elif kind == 4:
        other = pick(g, ("float_data", "int32_data", "int64_data", "double_data"))
        getattr(item, other).extend([1] * int(g.integers(1, 5)))
    else:
        change_numbers(item, g)


def change_numbers(item: TensorProto, g: Generator) -> None:
    """Extreme numbers in a tensor that stays well formed; now and then another type or shape as well."""
    try:
        array = numpy_helper.to_array(item)
    except Exception as error:
        raise Skip from error
    if array.dtype.kind not in "fiub" or array.size > 1 << 16:
        raise Skip
    array = np.array(array, order="C")
    draw = (lambda: pick(g, FLOATS)) if array.dtype.kind == "f" else lambda: integer(g)
    kind = int(g.integers(6))
    with np.errstate(all="ignore"):
        if kind == 0:
            array = np.full_like(array, np.asarray(draw()).astype(array.dtype))
        elif kind == 1:
            array = array.astype(pick(g, (np.float32, np.float64, np.float16, np.int32, np.int64, np.int8, np.uint8, np.bool_)))
        elif kind == 2:
            deeper = array[None] if array.ndim < MOST_AXES else array
            array = pick(g, (array.reshape(-1), deeper, array[:0] if array.ndim else deeper, array.reshape(-1)[:1]))
        elif kind == 3 and array.size == 1:
            array = array.reshape(()) if array.ndim else array.reshape(1)
        elif array.size:
            array.reshape(-1)[int(g.integers(array.size))] = np.asarray(draw()).astype(array.dtype)  # .flat ends at 32 axes
    item.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), item.name))


def tensor_external(model: onnx.ModelProto, g: Generator) -> None:
    """Bytes in another file: beside the model, outside of it, nowhere; any offset and length."""
    item = pick(g, initializers(model))
    size = len(item.raw_data)
    item.ClearField("raw_data")
    item.data_location = TensorProto.EXTERNAL
    numbers = ("0", str(size), "1", "-1", "", "9" * 5000, str(2**63), str(2**64), "0x10", "1e3", " 8", "٣", "²", "8.0")
    places = ("weights.bin", "weights.bin", "weights.bin", "", ".", "/dev/zero", "../weights.bin", "a\0b", "x" * 5000, "no/such", "é")
    item.external_data.add(key="location", value=pick(g, places))
    for key in ("offset", "length", "checksum", "basepath", "location"):
        if g.random() < (0.6 if key in ("offset", "length") else 0.05):
            item.external_data.add(key=key, value=pick(g, numbers))


def initializer_missing(model: onnx.ModelProto, g: Generator) -> None:
    graph = pick(g, [graph for graph in graphs(model) if graph.initializer])
    del graph.initializer[int(g.integers(len(graph.initializer)))]


def initializer_twice(model: onnx.ModelProto, g: Generator) -> None:
    graph = pick(g, [graph for graph in graphs(model) if graph.initializer])
    graph.initializer.add().CopyFrom(pick(g, graph.initializer))


def sparse(model: onnx.ModelProto, g: Generator) -> None:
    item = model.graph.sparse_initializer.add()
    item.values.CopyFrom(numpy_helper.from_array(np.ones(2, np.float32), pick(g, (*values(model), "sparse"))))
    item.indices.CopyFrom(numpy_helper.from_array(np.array([0, integer(g)]), ""))
    item.dims.extend([integer(g)])


def input_frozen(model: onnx.ModelProto, g: Generator) -> None:
    """An input becomes a constant of extreme or plain numbers."""
    value = pick(g, model.graph.input)
    shape = [min(max(dim.dim_value, 1), 64) for dim in value.type.tensor_type.shape.dim]
    kind = value.type.tensor_type.elem_type
    if kind not in COMMON or np.prod(shape) > 1 << 14:
        raise Skip
    array = np.asarray(g.standard_normal(shape) * 3).astype(helper.tensor_dtype_to_np_dtype(kind))
    model.graph.initializer.append(numpy_helper.from_array(array, value.name))
    if g.random() < 0.8:
        model.graph.input.remove(value)
