"""The smallest part of a drawn model that still fails: fewer outputs, and values that become inputs instead of being computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from onnx import helper

from edgec.frontend.file.structure import reads
from tests.fuzz.graphs_draft import Drawn, info, wrapped

Fails = Callable[[Drawn], bool]
MOST_TRIALS = 60


def minimized(drawn: Drawn, fails: Fails) -> Drawn:
    """Greedily: every step takes the first smaller model that still fails."""
    trials = 0
    while True:
        for smaller in candidates(drawn):
            trials += 1
            if trials > MOST_TRIALS:
                return drawn
            if fails(smaller):
                drawn = smaller
                break
        else:
            return drawn


def candidates(drawn: Drawn) -> Iterator[Drawn]:
    """Single outputs, single inner values as outputs, then each computed value as an input, the last ones first; one vector alone."""
    outputs = [value.name for value in drawn.model.graph.output]
    inner = [name for step in drawn.steps for name in step.node.output if drawn.values[0][name].size]
    if len(outputs) > 1:
        for name in outputs:
            yield part(drawn, [name])
        for name in outputs:
            yield part(drawn, [other for other in outputs if other != name])
    if len(outputs) == 1:
        for name in inner:
            if name != outputs[0]:
                yield part(drawn, [name])
    for name in inner[::-1]:
        if name not in outputs:
            yield part(drawn, outputs, cut=[name])
    if len(drawn.vectors) > 1:
        for place in range(len(drawn.vectors)):
            yield Drawn(drawn.model, [drawn.vectors[place]], drawn.steps, [drawn.values[place]], drawn.operators)


def part(drawn: Drawn, outputs: Sequence[str], cut: Sequence[str] = ()) -> Drawn:
    """The nodes that `outputs` need, with the values of `cut` as inputs."""
    needed, steps = set(outputs), []
    for step in reversed(drawn.steps):
        if needed.intersection(step.node.output) - set(cut):
            steps.append(step)
            needed.update(reads(step.node))
    steps.reverse()
    graph = drawn.model.graph
    tensors = {tensor.name for tensor in graph.initializer}
    made = {name for step in steps for name in step.node.output} - set(cut)
    inputs = [name for name in (*(value.name for value in graph.input if value.name not in tensors), *cut) if name in needed - made]
    infos = [info(name, drawn.values[0][name]) for name in inputs]
    # a cut output of a node that stays for its other outputs gets another name there
    nodes = []
    for step in steps:
        copy = type(step.node)()
        copy.CopyFrom(step.node)
        copy.output[:] = [f"{name}_unread" if name in cut else name for name in step.node.output]
        nodes.append(copy)
    kept = [tensor for tensor in graph.initializer if tensor.name in needed]
    made_graph = helper.make_graph(nodes, "drawn", infos, [info(name, drawn.values[0][name]) for name in outputs], kept)
    opset = next(item.version for item in drawn.model.opset_import if not item.domain)
    model = wrapped(made_graph, opset)
    vectors = [{name: values[name] for name in inputs} for values in drawn.values]
    return Drawn(model, vectors, steps, drawn.values, frozenset(step.node.op_type for step in steps))
