"""Damage to a model: one function for each kind, on the parsed ModelProto, so that what comes out still parses and reaches far."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
import onnx

from tests.fuzz.draw import Generator, Mutation, Skip, pick
from tests.fuzz.mutate_graph import (
    function,
    metadata,
    node_added,
    node_domain,
    node_input,
    node_missing,
    node_moved,
    node_name,
    node_operator,
    node_output,
    nodes_added,
    numbers,
    opset,
    port_shape,
    port_type,
    ports,
    renamed,
    value_info,
)
from tests.fuzz.mutate_tensors import (
    attribute_added,
    attribute_declared_type,
    attribute_missing,
    attribute_reference,
    attribute_renamed,
    attribute_twice,
    attribute_type,
    attribute_value,
    initializer_missing,
    initializer_twice,
    input_frozen,
    sparse,
    tensor,
    tensor_external,
)

# How often each is drawn
MUTATIONS: dict[Mutation, int] = {
    attribute_value: 14, attribute_type: 2, attribute_declared_type: 1, attribute_missing: 3, attribute_twice: 1, attribute_added: 6,
    attribute_renamed: 1, attribute_reference: 1, tensor: 14, tensor_external: 2, initializer_missing: 1, initializer_twice: 1, sparse: 1,
    input_frozen: 4, port_shape: 6, port_type: 4, ports: 3, value_info: 1, node_input: 7, node_output: 3, node_operator: 6, node_domain: 1,
    node_name: 1, node_missing: 1, node_added: 12, nodes_added: 6, node_moved: 1, renamed: 2, opset: 3, function: 2, metadata: 1,
    numbers: 1,
}  # fmt: skip
TRIES = 8  # until a mutation finds something to change
_DRAWN = [mutation for mutation, weight in MUTATIONS.items() for _ in range(weight)]


def damage(model: onnx.ModelProto, numbers: Sequence[int]) -> tuple[onnx.ModelProto, list[str]]:
    """A copy with one mutation for each number, which seeds it alone, so that any selection of them can be tried; and their names."""
    copy, names = onnx.ModelProto(), []
    copy.CopyFrom(model)
    for number in numbers:
        g = np.random.default_rng(number)
        for _ in range(TRIES):
            mutation = pick(g, _DRAWN)
            with contextlib.suppress(Skip):
                mutation(copy, g)
                names.append(mutation.__name__)
                break
    return copy, names


def damage_bytes(content: bytes, g: Generator) -> bytes:
    """Flipped, cut, repeated or inserted bytes."""
    data = bytearray(content)
    for _ in range(int(g.integers(1, 5))):
        place, length = int(g.integers(len(data) + 1)), int(g.integers(1, 9))
        kind = int(g.integers(5))
        if kind <= 1 and place < len(data):
            data[place] = int(g.integers(256))
        elif kind == 2:
            del data[place : place + length]
        elif kind == 3:
            data[place:place] = data[place : place + length]
        else:
            data[place:place] = g.bytes(length)
    return bytes(data)
