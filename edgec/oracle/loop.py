"""Loops: an evaluator of the body, asked turn by turn. It is as exact as the body is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Protocol

import numpy as np
import onnx
from onnx import helper, numpy_helper

from edgec.oracle.context import Context
from edgec.oracle.disturbance import Chance
from edgec.oracle.grid import Array
from edgec.oracle.model import Model, Node, captured

_TURN, _HOLDS = 0, 1  # inputs of a body


class Evaluates(Protocol):
    """What evaluates a model."""

    exact_outputs: frozenset[str]
    model: Model

    def run(self, inputs: dict[str, Array], *, chance: Chance | None = None) -> dict[str, Array]: ...


class Turns:
    """A Loop's node. around: what it reads of the model beside the node's inputs."""

    def __init__(self, context: Context, node: Node, evaluator: Callable[[onnx.ModelProto], Evaluates]) -> None:
        self._graph: onnx.GraphProto = node.attributes["body"]
        known = [name for name in captured(node.proto) if context.model.knows(name)]
        constants = {name: array for name in known if (array := context.constant(name)) is not None}
        self.around = tuple(dict.fromkeys(name for name in known if name not in constants))
        self._body = evaluator(_model(context, self._graph, constants, self.around))
        self.exact = self._body.exact_outputs == frozenset(self._body.model.outputs)
        self._count = len(node.inputs) - 2

    def __call__(self, inputs: Sequence[Array | None], chance: Chance | None = None) -> list[Array]:
        """The states behind the last turn, and the rows of all turns, stacked."""
        most, holds, *rest = inputs
        states: list[Array | None]
        states, around = rest[: self._count], dict(zip(self.around, rest[self._count :], strict=True))
        names, outputs = [item.name for item in self._graph.input], [item.name for item in self._graph.output]
        rows: list[list[Array]] = [[] for _ in outputs[1 + self._count :]]
        going = holds is None or bool(holds.item())
        for turn in count():
            if not going or (most is not None and turn >= int(most.item())):
                break
            feed = {names[_TURN]: np.array(turn, np.int64), names[_HOLDS]: np.array(True)}
            feed |= dict(zip(names[2:], states, strict=True)) | around
            found = self._body.run(feed, chance=chance)
            going = bool(found[outputs[0]].item())
            states = [found[name] for name in outputs[1 : 1 + self._count]]
            for column, name in zip(rows, outputs[1 + self._count :], strict=True):
                column.append(found[name])
        return [*(state for state in states if state is not None), *self._stacked(rows)]

    def _stacked(self, rows: Sequence[list[Array]]) -> Iterator[Array]:
        for column, item in zip(rows, list(self._graph.output)[1 + self._count :], strict=True):
            kind = item.type.tensor_type
            shape = [0, *(dim.dim_value for dim in kind.shape.dim)]
            yield np.stack(column) if column else np.zeros(shape, helper.tensor_dtype_to_np_dtype(kind.elem_type))


def _model(context: Context, graph: onnx.GraphProto, constants: dict[str, Array], around: Sequence[str]) -> onnx.ModelProto:
    """The body as a model, whose further inputs are what is around it."""
    proto = onnx.GraphProto()
    proto.CopyFrom(graph)
    for name in around:
        kind = context.model.types[name]
        unknown: list[int | None] = [None] * ((kind.rank or 1) - 1)
        shape = None if kind.rank is None else [*unknown, *[kind.last or None] * (kind.rank > 0)]
        proto.input.append(helper.make_tensor_value_info(name, kind.element, shape))
    proto.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    opsets = [helper.make_opsetid(domain, version) for domain, version in context.model.opsets.items()]
    return helper.make_model(proto, opset_imports=opsets, ir_version=context.model.proto.ir_version)
