"""Data movement nodes: each states which function of movement.py it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgec.integer.grid import code_of
from edgec.ir.dimensions import total
from edgec.ir.graph import Node
from edgec.lower import movement
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.coding import decoded, limits
from edgec.lower.destination import slices
from edgec.lower.indices import places_on
from edgec.lower.values import Coded, Extents, Index, Value, View, elements, fixed, row_major, same_strides
from edgec.program.expr import Const, Expr, binary, const, select


def reshaped(lowering: Lowering, node: Node) -> None:
    """Reshape, Flatten, Squeeze, Unsqueeze: the output's type says all."""
    shape = lowering.shape(node.outputs[0])
    lowering.define(node.outputs[0], movement.lift(lowering.value(node.inputs[0]), lambda value: movement.reshape(value, shape)))


def transposed(lowering: Lowering, node: Node) -> None:
    perm = node.attributes["perm"]
    lowering.define(node.outputs[0], movement.lift(lowering.value(node.inputs[0]), lambda value: movement.transpose(value, perm)))


def integers(lowering: Lowering, node: Node, index: int) -> list[int]:
    """A constant operand as a list."""
    array = lowering.graph.constant(node.input(index))
    if array is None:
        raise Unsupported(f"input {index} must be a constant", "make shapes and axes constant in the exporter")
    return [int(value) for value in array.reshape(-1)]


def slice_(lowering: Lowering, node: Node) -> None:
    source = lowering.value(node.inputs[0])
    shape = lowering.shape(node.outputs[0])
    starts, steps = [0] * source.rank, [1] * source.rank
    lists = [integers(lowering, node, index) for index in range(1, 5)]
    for start, end, axis, step in zip(*lists, strict=True):
        if not isinstance(source.shape[axis], Const):
            starts[axis] = start
            continue
        size = fixed(source.shape[axis])
        starts[axis], _, steps[axis] = slice(start, None if step < 0 and end < -size else end, step).indices(size)
    lowering.define(node.outputs[0], movement.lift(source, lambda value: movement.sliced(value, starts, steps, shape)))


def split(lowering: Lowering, node: Node) -> None:
    source, axis = lowering.value(node.inputs[0]), node.attributes["axis"]
    if not source.free:
        source = lowering.shared(source, node.inputs[0])
    start = 0
    for name in node.outputs:
        if name:
            starts = [start if d == axis % source.rank else 0 for d in range(source.rank)]
            shape = lowering.shape(name)
            lowering.define(name, movement.lift(source, lambda v, s=starts, e=shape: movement.sliced(v, s, [1] * v.rank, e)))  # type: ignore[misc]
        start += integers(lowering, node, 1)[node.outputs.index(name)]


def expand(lowering: Lowering, node: Node) -> None:
    """Expand and Tile repeat elements, so they read what is in memory or free."""
    shape = lowering.shape(node.outputs[0])
    source = repeated(lowering, node, shape)
    move = movement.tile if node.op == "Tile" else movement.expand
    lowering.define(node.outputs[0], movement.lift(source, lambda value: move(value, shape)))


def repeated(lowering: Lowering, node: Node, shape: Extents) -> Value:
    """The data operand of a node that may read elements more than once."""
    source = lowering.value(node.inputs[0])
    inner = source.coded.value if source.coded else source
    return source if inner.free or elements(source.shape) >= elements(shape) else lowering.shared(source, node.inputs[0])


def gather(lowering: Lowering, node: Node) -> None:
    source = lowering.value(node.inputs[0])
    indices, shape = lowering.value(node.inputs[1]), lowering.shape(node.outputs[0])
    axis = node.attributes["axis"] % source.rank
    extent = source.shape[axis]
    if indices.constant is not None and indices.rank == 0 and isinstance(extent, Const):
        at = int(indices.constant) % int(extent.value)
        one = (*source.shape[:axis], const(1), *source.shape[axis + 1 :])
        starts = [at if d == axis else 0 for d in range(source.rank)]
        steps = [1] * source.rank

        def pick(value: Value) -> Value:
            return movement.reshape(movement.sliced(value, starts, steps, one), shape)

        lowering.define(node.outputs[0], movement.lift(source, pick))
        return
    source = repeated(lowering, node, shape)
    places = places_on(lowering, node, indices, extent)
    lowering.define(node.outputs[0], movement.lift(source, lambda value: movement.take(value, axis, places, shape)))


def pad(lowering: Lowering, node: Node) -> None:
    source, shape = lowering.value(node.inputs[0]), lowering.shape(node.outputs[0])
    inner = source.coded.value if source.coded else source
    if not inner.free:
        source = lowering.shared(source, node.inputs[0])
    before, mode = integers(lowering, node, 1)[: source.rank], node.attributes["mode"]
    given = lowering.graph.constant(node.input(2)) if node.input(2) else np.zeros(())
    if given is None:
        filler = lowering.value(node.input(2))
        filler = filler if filler.free else lowering.materialize(filler, node.input(2))
        lowering.define(node.outputs[0], movement.pad(source, before, shape, mode, movement.reshape(filler, ()).at(())))
        return
    fill = given.reshape(()).item()
    result = movement.pad(source, before, shape, mode, const(fill, source.dtype))
    if source.coded is not None:
        code = _fill_code(lowering, node, fill, source.coded) if mode == "constant" else 0
        if code is not None:
            moved = movement.pad(source.coded.value, before, shape, mode, const(code, source.coded.value.dtype))
            result = decoded(replace(source.coded, value=moved), source.dtype)
    lowering.define(node.outputs[0], result)


def _fill_code(lowering: Lowering, node: Node, fill: float, coded: Coded) -> int | None:
    """The code that stands for `fill` exactly, None when there is none."""
    if coded.scale is None:
        return int(fill) + coded.zero
    grid = lowering.matched.grids.get(node.outputs[0])
    return None if grid is None else code_of(fill, grid) + limits(coded.value.dtype)[0]


def depth_to_space(lowering: Lowering, node: Node) -> None:
    b, mode = node.attributes["blocksize"], node.attributes["mode"]
    shape = lowering.shape(node.outputs[0])

    def move(value: Value) -> Value:
        return block_to_space(value, b, shape, depth_first=mode == "CRD")

    lowering.define(node.outputs[0], movement.lift(lowering.value(node.inputs[0]), move))


def block_to_space(value: Value, b: int, shape: Extents, depth_first: bool) -> Value:
    """[n, (b b c) or (c b b), h, w] -> [n, c, h b, w b]"""
    n, _, h, w = value.shape
    c, size = shape[1], const(b)
    if depth_first:
        split_value = movement.reshape(value, (n, c, size, size, h, w))
        return movement.reshape(movement.transpose(split_value, (0, 1, 4, 2, 5, 3)), shape)
    split_value = movement.reshape(value, (n, size, size, c, h, w))
    return movement.reshape(movement.transpose(split_value, (0, 3, 4, 1, 5, 2)), shape)


def space_to_depth(lowering: Lowering, node: Node) -> None:
    b, shape = node.attributes["blocksize"], lowering.shape(node.outputs[0])

    def move(value: Value) -> Value:
        n, c, h, w = value.shape
        parts = movement.reshape(value, (n, c, h // b, const(b), w // b, const(b)))
        return movement.reshape(movement.transpose(parts, (0, 3, 5, 1, 2, 4)), shape)

    lowering.define(node.outputs[0], movement.lift(lowering.value(node.inputs[0]), move))


def concat(lowering: Lowering, node: Node) -> None:
    parts = [lowering.value(name) for name in node.inputs]
    lowering.define(node.outputs[0], concatenated(lowering, node, node.outputs[0], parts, node.inputs))


def concatenated(lowering: Lowering, node: Node, name: str, parts: Sequence[Value], names: Sequence[str]) -> Value:
    """The parts side by side in one buffer, each written by its producer or copied by a loop nest of its own."""
    shape, axis = lowering.shape(name), node.attributes["axis"] % parts[0].rank
    whole = lowering.reserved.get(name)
    if whole is None or whole.dtype != parts[0].dtype:
        natural = next((part.order for part in parts if part.order and part.constant is None), row_major(len(shape)))
        order = lowering.preferred(parts[0], name) or natural
        whole = lowering.place(name, parts[0].dtype, shape, order)
    assert whole.view is not None
    dims = [lowering.graph.shape(source)[axis] for source in names]
    starts = lowering.extents([total(dims[:place]) for place in range(len(dims))])
    for part, view, source in zip(parts, slices(whole, axis, starts), names, strict=True):
        if part.view is None or not _same_place(part.view, view, part.shape):
            labelled = part.by(part, node=node.name, op=node.op)
            lowering.materialize(labelled, f"{source}_part", into=view)
    return whole


def _same_place(a: View, b: View, shape: Extents) -> bool:
    return a.buffer == b.buffer and a.offset == b.offset and same_strides(a.strides, b.strides, shape)


def trilu(lowering: Lowering, node: Node) -> None:
    source = lowering.value(node.inputs[0])
    k = integers(lowering, node, 1)[0] if node.input(1) else 0
    upper = node.attributes["upper"]

    def at(index: Index) -> Expr:
        diagonal = index[-2] + k
        keep = binary("le", diagonal, index[-1]) if upper else binary("le", index[-1], diagonal)
        return select(keep, source.at(index), const(0, source.dtype))

    result = Value(source.dtype, source.shape, at, order=source.order)
    lowering.define(node.outputs[0], result.by(source, node=node.name, op=node.op))


MOVES = {
    "Reshape": reshaped, "Flatten": reshaped, "Squeeze": reshaped, "Unsqueeze": reshaped, "Transpose": transposed, "Slice": slice_,
    "Split": split, "Expand": expand, "Tile": expand, "Gather": gather, "Pad": pad, "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth, "Concat": concat, "Trilu": trilu,
}  # fmt: skip
