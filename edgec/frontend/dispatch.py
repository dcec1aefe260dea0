"""Which way a node takes: a function of the model, a translation rule, as it is, or expanded by ONNX's own function body."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import defs, helper

from edgec.base.errors import CUT, ModelError, Problem, did_you_mean
from edgec.frontend import control, former, quantized, selection, signal, windows  # noqa: F401  (a room fills RULES)
from edgec.frontend.arithmetic import normalization
from edgec.frontend.control.conditional import hand_on
from edgec.frontend.domains import contributed
from edgec.frontend.domains.own import check_call, told_call
from edgec.frontend.file.structure import graphs_in
from edgec.frontend.movement import late
from edgec.frontend.translation.builder import HINTS, Builder, unsupported
from edgec.frontend.translation.conform import conforming
from edgec.frontend.translation.rules import RULES, rule
from edgec.frontend.translation.source import Source, find_schema, read_node
from edgec.ir.types import DType
from edgec.ops import OPERATORS
from edgec.ops.proto import attribute_proto, tensor_code

OWN = "see docs/custom-operators.md"
DEEPEST = 32  # nested function calls; a function that calls itself would never end


def dispatch(b: Builder, source: Source) -> None:
    """Translate one node, or raise ModelError. A node that reads broken values is checked for support only."""
    key = (source.domain, source.op, source.overload)
    if key in b.functions:
        call_function(b, source, b.functions[key])
        return
    schema = find_schema(source.op, source.domain, source.version)
    translate = RULES.get((source.domain, source.op))
    former_only = not source.domain and source.op in (*former.EXPERIMENTAL, *contributed.RUNTIMES)
    if schema is None and (translate is None or not (source.domain or former_only)):
        raise ModelError("is no operator that ONNX knows in this version", hint=unknown_hint(source))
    native = not source.domain and source.op in OPERATORS
    foldable = all(name in b.graph.constants for name in source.inputs if name) and source.op not in HINTS
    composite = schema is not None and (schema.has_function or schema.has_context_dependent_function)
    if translate is None and not native and not composite and not foldable:
        raise unsupported(source.op)
    if b.is_broken(source.inputs):
        b.broken.update(source.outputs)
        return
    if source.op != "Identity" and not b.ragged.isdisjoint(source.inputs):
        raise ModelError("reads rows of iterations that a run need not make", hint=CUT)
    source = conforming(b, source, schema)
    if not source.domain and source.version < former.MODERN:
        source = former.modern(b, source)
    if late.is_late(b, source) and late.translated(b, source):
        return
    if translate is not None:
        translate(b, source)
    elif native or (foldable and not source.domain and not composite):
        b.emit(source, source.op, source.inputs, source.outputs, source.attributes)
    else:
        expand(b, source, body_of(b, source, schema))


@rule("RMSNormalization")
def root_normalization(b: Builder, source: Source) -> None:
    """Fused over the last axis of float32."""
    kind = b.type(source.inputs[0])
    if kind.dtype is DType.FLOAT32 and source.attributes["axis"] in (-1, len(kind.shape) - 1):
        normalization.layer_normalization(b, source)
    else:
        expand(b, source, body_of(b, source, find_schema(source.op, "", source.version)))


@rule("LayerNormalization")
def layer_normalization(b: Builder, source: Source) -> None:
    """Fused, except where mean and deviation are outputs as well."""
    if find_schema(source.op, "", source.version) is None:
        contributed.contributed_layer_norm(b, source)
    elif any(source.outputs[1:]):
        expand(b, source, body_of(b, source, find_schema(source.op, "", source.version)))
    else:
        normalization.layer_normalization(b, source)


def unknown_hint(source: Source) -> str:
    if source.domain:
        how = "export the model with ONNX's own"
        if source.domain.startswith(("ai.onnx", "com.microsoft")):
            return f"operators of the domain {source.domain} are not supported: {how}"
        return (
            f"operators of the domain {source.domain} are not known: give a Python file that defines them with --operators, {OWN}, or {how}"
        )
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
        types = [type_proto(b, name) if name else b"" for name in source.inputs]
        versions = [version for version in schema.context_dependent_function_opset_versions if version <= source.version]
        version = max(versions, default=schema.context_dependent_function_opset_versions[0])
        text = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), types)
    if not text:
        raise unsupported(source.op)
    function.ParseFromString(text)
    return function


def call_function(b: Builder, source: Source, function: onnx.FunctionProto) -> None:
    """A node of a function of the model, or of an operator that the user defines."""
    is_own = (source.domain, source.op) in b.own
    if is_own:
        check_call(source, function)
    if b.is_broken(source.inputs):
        b.broken.update(source.outputs)
        return
    expand(b, source, function)
    if is_own:
        b.calls.append(told_call(b, source, function))


def type_proto(b: Builder, name: str) -> bytes:
    proto = helper.make_tensor_type_proto(tensor_code(DType(b.file_type(name))), b.type(name).static_shape)
    return bytes(proto.SerializeToString())


def expand(b: Builder, source: Source, function: onnx.FunctionProto) -> None:
    """Put the body of a function in place of its call. An output that is an input is handed on behind it."""
    if b.depth >= DEEPEST:
        raise ModelError("calls itself without end, or is nested too deeply")
    names = dict.fromkeys(function.input, "")
    names.update(zip(function.input, source.inputs, strict=False))
    wanted = {name: actual for name, actual in zip(function.output, source.outputs, strict=False) if actual}
    passed = {name: wanted.pop(name) for name in function.input if name in wanted}
    names.update(wanted)
    versions = b.versions | {item.domain: item.version for item in function.opset_import}
    defaults = {item.name: item for item in function.attribute_proto}
    given = {name: attribute_proto(name, value) for name, value in source.attributes.items()}
    before = len(b.problems)
    b.depth += 1
    for proto in function.node:
        bind_attributes(proto := copy_of(proto), {**defaults, **given})
        b.add(read_node(b.fresh, proto, versions, names, f"{source.name}/"))
    b.depth -= 1
    for name, actual in passed.items():
        hand_on(b, source, names[name], actual)
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
        for graph in graphs_in(item):
            for node in graph.node:
                bind_attributes(node, given)
        kept.append(item)
    del proto.attribute[:]
    proto.attribute.extend(kept)
