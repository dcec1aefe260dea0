"""Damage to the structure of a model: nodes, ports, functions, names, versions."""

from __future__ import annotations

import onnx
from onnx import defs, helper

from tests.fuzz.draw import COMMON, NAMES, STRINGS, TYPES, Generator, Skip, graphs, integer, nodes, operators, pick, values
from tests.fuzz.grow import new_node, reachable, schema_of
from tests.fuzz.mutate_tensors import change_value

# Types of inputs and outputs


def port_shape(model: onnx.ModelProto, g: Generator) -> None:
    value = pick(g, [*model.graph.input, *model.graph.input, *model.graph.output])
    shape = value.type.tensor_type.shape
    kind = int(g.integers(6))
    if kind == 0:
        value.type.tensor_type.ClearField("shape")
    elif kind == 1:
        del shape.dim[:]
    elif kind == 2:
        shape.dim.add().dim_value = integer(g)
    elif kind == 3 and shape.dim:
        shape.dim[int(g.integers(len(shape.dim)))].dim_param = pick(g, NAMES)
    elif shape.dim:
        shape.dim[int(g.integers(len(shape.dim)))].dim_value = integer(g)


def port_type(model: onnx.ModelProto, g: Generator) -> None:
    value = pick(g, [*model.graph.input, *model.graph.input, *model.graph.output])
    kind = int(g.integers(8))
    if kind == 0:
        value.ClearField("type")
    elif kind == 1:
        value.type.sequence_type.elem_type.tensor_type.elem_type = 1
    elif kind == 2:
        value.type.optional_type.elem_type.tensor_type.elem_type = 1
    else:
        value.type.tensor_type.elem_type = pick(g, COMMON if g.random() < 0.7 else TYPES)


def ports(model: onnx.ModelProto, g: Generator) -> None:
    """Inputs and outputs added, dropped or there twice."""
    field = pick(g, (model.graph.input, model.graph.output, model.graph.output))
    kind = int(g.integers(4))
    if kind == 0 and len(field):
        del field[int(g.integers(len(field)))]
    elif kind == 1 and len(field):
        field.add().CopyFrom(pick(g, field))
    else:
        field.append(helper.make_empty_tensor_value_info(pick(g, (*values(model), "unknown"))))


def value_info(model: onnx.ModelProto, g: Generator) -> None:
    """A wrong note about a value inside."""
    shape = [integer(g) for _ in range(int(g.integers(4)))]
    model.graph.value_info.append(helper.make_tensor_value_info(pick(g, values(model)), pick(g, COMMON), shape))


# Nodes


def node_input(model: onnx.ModelProto, g: Generator) -> None:
    """An operand is another value, absent, unknown, of its own node; there are too few or too many."""
    node = pick(g, [node for node in nodes(model) if node.input])
    place = int(g.integers(len(node.input)))
    kind = int(g.integers(7))
    if kind <= 2:
        node.input[place] = pick(g, values(model))
    elif kind == 3:
        node.input[place] = pick(g, ("", "unknown", *node.output))
    elif kind == 4:
        del node.input[place]
    elif kind == 5:
        node.input.extend([pick(g, ("", *values(model)))] * int(pick(g, (1, 1, 2, 40))))
    else:
        node.input[:] = [node.input[i] for i in g.permutation(len(node.input))]


def node_output(model: onnx.ModelProto, g: Generator) -> None:
    node = pick(g, [node for node in nodes(model) if node.output])
    kind = int(g.integers(4))
    if kind == 0:
        node.output[int(g.integers(len(node.output)))] = pick(g, ("", *values(model)))
    elif kind == 1:
        del node.output[int(g.integers(len(node.output)))]
    elif kind == 2:
        node.output.extend([f"extra{len(node.output)}"] * int(pick(g, (1, 1, 30))))
    else:
        name = f"extra{len(node.output)}"
        node.output.append(name)
        model.graph.output.append(helper.make_empty_tensor_value_info(name))


def node_operator(model: onnx.ModelProto, g: Generator) -> None:
    """Another one of as many operands, mostly."""
    node, kind = pick(g, nodes(model)), g.random()
    if kind < 0.2:
        node.op_type = pick(g, NAMES if kind < 0.05 else operators())
    else:
        node.op_type = op = pick(g, reachable())
        if not (schema := schema_of(op, model)).min_input <= len(node.input) <= schema.max_input:
            raise Skip
        known = set(schema.attributes)
        kept = [item for item in node.attribute if item.name in known]
        del node.attribute[:]
        node.attribute.extend(kept)


def node_domain(model: onnx.ModelProto, g: Generator) -> None:
    pick(g, nodes(model)).domain = pick(g, ("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "mine", "a\nb"))


def node_name(model: onnx.ModelProto, g: Generator) -> None:
    pick(g, nodes(model)).name = pick(g, NAMES)


def node_missing(model: onnx.ModelProto, g: Generator) -> None:
    graph = pick(g, [graph for graph in graphs(model) if graph.node])
    del graph.node[int(g.integers(len(graph.node)))]


def node_added(model: onnx.ModelProto, g: Generator) -> None:
    """An operator over any values, whose result is an output or takes the place of another operand."""
    name = f"added{len(model.graph.node)}"
    node = new_node(model, g, name)
    if node.attribute and g.random() < 0.3:
        change_value(pick(g, node.attribute), g)
    readers = [item for item in model.graph.node if item.input]
    if readers and node.input and g.random() < 0.3:
        reader = pick(g, readers)
        place = int(g.integers(len(reader.input)))
        node.input[0] = reader.input[place]
        reader.input[place] = name
    else:
        model.graph.output.append(helper.make_empty_tensor_value_info(name))
    model.graph.node.append(node)


def nodes_added(model: onnx.ModelProto, g: Generator) -> None:
    """A few of them, which read one another."""
    for _ in range(int(g.integers(2, 6))):
        node_added(model, g)


def node_moved(model: onnx.ModelProto, g: Generator) -> None:
    """The order of a file's nodes means nothing."""
    order = [onnx.NodeProto.FromString(model.graph.node[i].SerializeToString()) for i in g.permutation(len(model.graph.node))]
    del model.graph.node[:]
    model.graph.node.extend(order)


# The rest of a file


def renamed(model: onnx.ModelProto, g: Generator) -> None:
    """One value has a strange name, everywhere."""
    old, new = pick(g, values(model)), pick(g, NAMES)
    for node in model.graph.node:
        for field in (node.input, node.output):
            field[:] = [new if name == old else name for name in field]
    for item in (*model.graph.input, *model.graph.output, *model.graph.initializer):
        item.name = new if item.name == old else item.name


def opset(model: onnx.ModelProto, g: Generator) -> None:
    kind = int(g.integers(8))
    if kind == 0:
        model.opset_import.add(domain=pick(g, ("", "ai.onnx", "mine", "com.microsoft")), version=integer(g))
    elif kind == 1:
        del model.opset_import[:]
    elif model.opset_import:
        version = int(g.integers(1, defs.onnx_opset_version() + 2)) if kind > 2 else integer(g)
        pick(g, model.opset_import).version = version


def function(model: onnx.ModelProto, g: Generator) -> None:
    """A function that calls itself, misses ports, or hides an operator."""
    kind = int(g.integers(5))
    if kind == 0 or not model.functions:
        op = pick(g, nodes(model)).op_type
        body = [helper.make_node(pick(g, (op, "Relu", "Add")), ["a"], ["b"], domain=pick(g, ("", "mine")))]
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
        model.functions.append(helper.make_function(pick(g, ("mine", "")), op or "F", ["a"], ["b"], body, opsets))
        return
    item = pick(g, model.functions)
    if kind == 1:
        call = item.node.add(op_type=item.name, domain=item.domain)
        call.input.extend(item.output[:1])
        call.output.append("again")
    elif kind == 2:
        field = pick(g, (item.input, item.output, item.attribute))
        field.append(pick(g, ("a", "extra", *field)))
    elif kind == 3:
        field = pick(g, (item.input, item.output, item.opset_import, item.node, item.attribute, item.attribute_proto))
        del field[:1]
    else:
        item.name = pick(g, ("Relu", "", "Other"))


def metadata(model: onnx.ModelProto, g: Generator) -> None:
    for _ in range(int(g.integers(1, 4))):
        model.metadata_props.add(key=pick(g, (*NAMES, "author", "license")), value=pick(g, (*NAMES, *STRINGS)))
    field = pick(g, ("producer_name", "producer_version", "domain", "doc_string"))
    setattr(model, field, pick(g, NAMES))
    model.graph.name = pick(g, NAMES)


def numbers(model: onnx.ModelProto, g: Generator) -> None:
    """Versions that nothing should depend on."""
    model.ir_version, model.model_version = integer(g), integer(g)
