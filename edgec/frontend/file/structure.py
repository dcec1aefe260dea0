"""The order of the nodes: each after those it reads, only those that an output needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import onnx
from onnx import defs

from edgec.base.errors import ModelError, Problem

LONGEST = 32768  # characters of a name: a package's manifest holds twice as many, also of names that are made of it


def graphs_in(item: onnx.AttributeProto) -> list[onnx.GraphProto]:
    """The graphs that an attribute holds."""
    return [item.g] if item.HasField("g") else list(item.graphs)


def reads(node: onnx.NodeProto) -> list[str]:
    """The values that a node reads, those of its branches included."""
    names = [name for name in node.input if name]
    for item in node.attribute:
        for graph in graphs_in(item):
            inner = {name for child in graph.node for name in child.output} | {item.name for item in (*graph.initializer, *graph.input)}
            names += [name for child in graph.node for name in reads(child) if name not in inner]
            names += [value.name for value in graph.output if value.name not in inner]
    return names


def check_text(model: onnx.ModelProto) -> None:
    """ModelError when a name is not UTF-8: protobuf hands such names on as bytes; or longer than a package's manifest may hold."""
    texts = [*(item.domain for item in model.opset_import), *_texts(model.graph)]
    texts += [text for function in model.functions for text in _texts_of(function.node)]
    damaged = [text for text in texts if isinstance(text, bytes)]
    if damaged:
        raise ModelError(f"a name is not UTF-8: {damaged[0]!r}", hint="the file is damaged: copy or export it again")
    longest = max(texts, key=len)
    if len(longest) > LONGEST:
        told = f"a name of {len(longest):,} characters, {LONGEST:,} are the most: {longest[:40]!r}..."
        raise ModelError(told, hint="the file is damaged: copy or export it again")


def _texts(graph: onnx.GraphProto) -> list[str]:
    texts = [graph.name, *(item.name for item in (*graph.input, *graph.output, *graph.initializer))]
    texts += [dim.dim_param for value in graph.input for dim in value.type.tensor_type.shape.dim]
    return texts + _texts_of(graph.node)


def _texts_of(nodes: Iterable[onnx.NodeProto]) -> list[str]:
    texts = []
    for node in nodes:
        texts += [node.name, node.op_type, node.domain, *node.input, *node.output, *(item.name for item in node.attribute)]
        texts += [text for item in node.attribute for graph in graphs_in(item) for text in _texts(graph)]
    return texts


def check_functions(model: onnx.ModelProto) -> None:
    """ModelError when the file says anew what an operator of ONNX is: engines do not agree on which of both counts."""
    known = {schema.name for schema in defs.get_all_schemas() if not schema.domain}
    problems = [
        Problem("has the name of an operator of ONNX", f"function {item.name}")
        for item in model.functions if item.domain in ("", "ai.onnx") and item.name in known
    ]  # fmt: skip
    if problems:
        raise ModelError("functions hide operators", problems, hint="give them a domain of their own in the exporter")


def drop_unread(node: onnx.NodeProto, read: set[str]) -> None:
    """Take away trailing optional outputs that nobody reads, such as the mask of a Dropout or the indices of a MaxPool."""
    while len(node.output) > 1 and node.output[-1] not in read and node.op_type != "Split":
        del node.output[-1]


def label(node: onnx.NodeProto) -> str:
    return f"{node.name or next(iter(node.output), '?')} ({node.op_type})"


def ordered(graph: onnx.GraphProto, given: set[str]) -> list[onnx.NodeProto]:
    """Live nodes in topological order, the file's order where it is one. ModelError: cycles, missing values, two definitions."""
    producers: dict[str, onnx.NodeProto] = {}
    problems: list[Problem] = []
    for node in graph.node:
        for name in node.output:
            if name and (name in producers or name in given):
                problems.append(Problem(f"defines {name!r} a second time", label(node)))
            if name:
                producers[name] = node
    live = _live(producers, [value.name for value in graph.output])
    for node in graph.node:
        unknown = [name for name in reads(node) if name not in producers and name not in given]
        if id(node) in live and unknown:
            problems.append(Problem(f"reads {', '.join(map(repr, dict.fromkeys(unknown)))}, which nothing defines", label(node)))
    problems += [
        Problem("is not computed by any node", f"output {value.name}")
        for value in graph.output if value.name not in producers and value.name not in given
    ]  # fmt: skip
    for kind, values in (("input", graph.input), ("output", graph.output)):
        counts = Counter(value.name for value in values)
        problems += [Problem("is there twice", f"{kind} {name}") for name, count in counts.items() if count > 1]
    if not graph.output:
        problems.append(Problem("it has no outputs"))
    if problems:
        raise ModelError("the graph is broken", problems, hint="export the model again")
    return _sorted([node for node in graph.node if id(node) in live], producers)


def live_nodes(graph: onnx.GraphProto, outputs: Iterable[str]) -> list[onnx.NodeProto]:
    """The nodes of a graph inside of a node that these values depend on, in their order, without optional outputs that nobody reads."""
    outputs, every = list(outputs), list(graph.node)  # the list keeps their identities
    found = _live({name: node for node in every for name in node.output if name}, outputs)
    nodes = [node for node in every if id(node) in found]
    read = {name for node in nodes for name in reads(node)} | set(outputs)
    for node in nodes:
        drop_unread(node, read)
    return nodes


def _live(producers: dict[str, onnx.NodeProto], outputs: Iterable[str]) -> set[int]:
    """Identities of the nodes that some output depends on."""
    found: set[int] = set()
    stack = list(outputs)
    while stack:
        node = producers.get(stack.pop())
        if node is not None and id(node) not in found:
            found.add(id(node))
            stack.extend(reads(node))
    return found


def _sorted(nodes: list[onnx.NodeProto], producers: dict[str, onnx.NodeProto]) -> list[onnx.NodeProto]:
    done: set[int] = set()
    result: list[onnx.NodeProto] = []
    for root in nodes:
        stack, active = [(root, False)], set[int]()
        while stack:
            node, finished = stack.pop()
            if finished:
                done.add(id(node))
                active.discard(id(node))
                result.append(node)
                continue
            if id(node) in done:
                continue
            active.add(id(node))
            stack.append((node, True))
            for name in reversed(reads(node)):
                source = producers.get(name)
                if source is not None and id(source) in active:
                    raise ModelError(f"the graph has a cycle through {label(node)}", hint="export the model again")
                if source is not None and id(source) not in done:
                    stack.append((source, False))
    return result
