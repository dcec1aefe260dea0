"""Which way a node takes: a function of the model, a translation rule, as it is, or expanded by ONNX's own function body."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import defs, helper

from edgec.errors import ModelError, Problem, did_you_mean
from edgec.frontend import (  # noqa: F401  (they fill RULES)
    arithmetic,
    composed,
    gathering,
    movement,
    qlinear,
    scattering,
    selection,
    tapers,
    trigonometry,
    window,
)
from edgec.frontend.builder import HINTS, Builder, unsupported
from edgec.frontend.conform import conforming
from edgec.frontend.rules import RULES, rule
from edgec.frontend.source import Source, find_schema, read_attributes
from edgec.ops import OPERATORS
from edgec.ops.proto import attribute_proto, tensor_code

DEEPEST = 32  # nested function calls; a function that calls itself would never end


def dispatch(b: Builder, source: Source) -> None:
    """Translate one node, or raise ModelError. A node that reads broken values is checked for support only."""
    key = (source.domain, source.op, source.overload)
    if key in b.functions:
        if not b.is_broken(source.inputs):
            expand(b, source, b.functions[key])
        else:
            b.broken.update(source.outputs)
        return
    schema = find_schema(source.op, source.domain, source.version)
    translate = RULES.get((source.domain, source.op))
    if schema is None and (translate is None or not source.domain):
        raise ModelError("is no operator that ONNX knows in this version", hint=unknown_hint(source))
    native = not source.domain and source.op in OPERATORS
    foldable = all(name in b.graph.constants for name in source.inputs if name) and source.op not in HINTS
    composite = schema is not None and (schema.has_function or schema.has_context_dependent_function)
    is_branch = source.op == "If" and not source.domain
    if translate is None and not is_branch and not native and not composite and not foldable:
        raise unsupported(source.op)
    if b.is_broken(source.inputs):
        b.broken.update(source.outputs)
        return
    source = conforming(b, source, schema)
    if is_branch:
        branch(b, source)
    elif translate is not None:
        translate(b, source)
    elif native or (foldable and not source.domain and not composite):
        b.emit(source, source.op, source.inputs, source.outputs, source.attributes)
    else:
        expand(b, source, body_of(b, source, schema))


@rule("LayerNormalization")
def layer_normalization(b: Builder, source: Source) -> None:
    """Fused, except where mean and deviation are outputs as well."""
    if any(source.outputs[1:]):
        expand(b, source, body_of(b, source, find_schema(source.op, "", source.version)))
    else:
        arithmetic.layer_normalization(b, source)


def unknown_hint(source: Source) -> str:
    if source.domain:
        return f"operators of the domain {source.domain} are not supported: export the model with ONNX's own"
    if any(schema.name == source.op for schema in defs.get_all_schemas()):
        return f"it exists in other operator sets, not in {source.version}"
    return did_you_mean(source.op, OPERATORS)


def body_of(b: Builder, source: Source, schema: Any) -> onnx.FunctionProto:
    """The function body of a composite operator; some bodies depend on the types of the operands."""
    function = onnx.FunctionProto()
    if schema.has_function:
        versions = [version for version in schema.function_opset_versions if version <= source.version]
        text = schema.get_function_with_opset_version(max(versions, default=schema.function_opset_versions[0]))
    else:
        node = onnx.NodeProto(op_type=source.op, input=source.inputs, output=source.outputs)
        node.attribute.extend(attribute_proto(name, value) for name, value in source.attributes.items())
        types = [
            helper.make_tensor_type_proto(tensor_code(b.type(name).dtype), b.type(name).static_shape).SerializeToString() if name else b""
            for name in source.inputs
        ]
        versions = [version for version in schema.context_dependent_function_opset_versions if version <= source.version]
        version = max(versions, default=schema.context_dependent_function_opset_versions[0])
        text = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), types)
    if not text:
        raise unsupported(source.op)
    function.ParseFromString(text)
    return function


def expand(b: Builder, source: Source, function: onnx.FunctionProto) -> None:
    """Put the body of a function in place of its call."""
    if b.depth >= DEEPEST:
        raise ModelError("calls itself without end, or is nested too deeply")
    names = dict.fromkeys(function.input, "")
    names.update(zip(function.input, source.inputs, strict=False))
    formal = dict(zip(function.output, source.outputs, strict=False))
    names.update({name: actual for name, actual in formal.items() if actual})
    versions = b.versions | {item.domain: item.version for item in function.opset_import}
    defaults = {item.name: item for item in function.attribute_proto}
    given = {name: attribute_proto(name, value) for name, value in source.attributes.items()}
    before = len(b.problems)
    b.depth += 1
    for proto in function.node:
        bind_attributes(proto := copy_of(proto), {**defaults, **given})
        b.add(read_node(b, proto, versions, names, f"{source.name}/"))
    b.depth -= 1
    passed = {name: names[name] for name in function.output if name in function.input}
    for name, origin in passed.items():
        b.emit(source, "Identity", [origin], [formal[name]])
    if b.depth == 0 and len(b.problems) > before:
        blame_caller(b, source, before)


def copy_of(proto: onnx.NodeProto) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(proto)
    return copy


def blame_caller(b: Builder, source: Source, start: int) -> None:
    """The user knows the composite node, not what it was expanded to: say both."""
    b.problems[start:] = [Problem(f"expands to {item.where}, which {item.what}", source.where, item.hint) for item in b.problems[start:]]


def bind_attributes(proto: onnx.NodeProto, given: dict[str, onnx.AttributeProto]) -> None:
    """Replace references to the function's attributes by the caller's values; an attribute that nobody gives disappears."""
    kept = []
    for item in proto.attribute:
        if item.ref_attr_name:
            if item.ref_attr_name not in given:
                continue
            bound = onnx.AttributeProto()
            bound.CopyFrom(given[item.ref_attr_name])
            bound.name = item.name
            kept.append(bound)
            continue
        for graph in [item.g] if item.HasField("g") else item.graphs:
            for node in graph.node:
                bind_attributes(node, given)
        kept.append(item)
    del proto.attribute[:]
    proto.attribute.extend(kept)


def read_node(b: Builder, proto: onnx.NodeProto, versions: dict[str, int], names: dict[str, str], prefix: str) -> Source:
    """A node of a function or branch as a Source over the values of the graph; `names` maps its scope and grows."""
    domain = "" if proto.domain == "ai.onnx" else proto.domain
    inputs = tuple(names.get(name, name) for name in proto.input)
    outputs = []
    for name in proto.output:
        if name and name not in names:
            names[name] = b.fresh(f"{prefix}{name}" if prefix else name)
        outputs.append(names[name] if name else "")
    attributes = read_attributes(proto)
    scope = (dict(names), dict(versions)) if proto.op_type == "If" else None
    label = f"{prefix}{proto.name or proto.op_type}"
    return Source(proto.op_type, domain, versions.get(domain, 1), inputs, tuple(outputs), label, attributes, proto.overload, scope)


def branch(b: Builder, source: Source) -> None:
    """An If whose condition is known becomes the branch it takes."""
    condition = b.value(source.inputs[0])
    if condition is None:
        raise ModelError("chooses its branch while the model runs", hint="export the model with the condition fixed")
    graph = source.attributes["then_branch" if condition.reshape(-1)[0] else "else_branch"]
    assert source.scope is not None
    outer, versions = source.scope
    names = dict(outer)
    for tensor in graph.initializer:
        names[tensor.name] = b.define(b.fresh(f"{source.name}/{tensor.name}"), onnx.numpy_helper.to_array(tensor))
    inner = {name for node in graph.node for name in node.output}
    for name in inner:
        names.pop(name, None)
    passed = []
    for value, output in zip(graph.output, source.outputs, strict=True):
        if value.name in inner and value.name not in names:
            names[value.name] = output
        else:
            passed.append((names.get(value.name, value.name), output))
    for node in graph.node:
        b.add(read_node(b, node, versions, names, f"{source.name}/"))
    for origin, output in passed:
        if b.is_broken([origin]):
            b.broken.add(output)
        else:
            b.emit(source, "Identity", [origin], [output])
