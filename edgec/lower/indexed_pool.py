"""MaxPool that also says where in the tensor each of its results was."""

from __future__ import annotations

from math import prod

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower import movement
from edgec.lower.builder import Lowering
from edgec.lower.nest import Axis
from edgec.lower.values import Index, Value, digits, fixed, is_one, store
from edgec.program.expr import Expr, binary, cast, clamp, const, logical, select, unary, var
from edgec.program.program import Assign, Declare, For, Statement


def indexed_max_pool(lowering: Lowering, node: Node) -> None:
    """A call finds where in its plane the first of the largest of each window is, or its first NaN; the number is read from there."""
    source = lowering.shared(lowering.value(node.inputs[0]), node.inputs[0])
    compared = source.coded.value if source.coded is not None else source  # codes rise with what they stand for
    shape, image = lowering.shape(node.outputs[0]), [fixed(extent) for extent in source.shape[2:]]
    places = lowering.places(f"{node.outputs[1]}_places", shape, const(prod(image)))
    loops: list[Axis] = [(var(f"i{d}"), size) for d, size in enumerate(shape)]
    index = tuple(const(0) if is_one(size) else variable for variable, size in loops)
    body = [*_search(node, compared, index, image), store(places, index, clamp(var("place"), 0, prod(image) - 1))]
    lowering.loops(loops, body, node.outputs[1], places.by(source, node=node.name, op=node.op))

    def there(index: Index) -> Index:
        return (*index[:2], *digits(places.at(index), image))

    def number(index: Index) -> Expr:
        plane = cast(index[0], DType.INT64) * cast(source.shape[1], DType.INT64) + cast(index[1], DType.INT64)
        return plane * prod(image) + cast(places.at(index), DType.INT64)

    if node.outputs[0]:
        lowering.define(node.outputs[0], movement.lift(source, lambda value: movement.remapped(value, shape, there)))
    lowering.define(node.outputs[1], Value(DType.INT64, shape, number, free=True))


def _search(node: Node, source: Value, index: Index, image: list[int]) -> list[Statement]:
    """`place` becomes that of the first of the largest; -1, as it begins, where a window lies beside the image."""
    rank, attributes = len(image), node.attributes
    taps = [var(f"k{d}") for d in range(rank)]
    steps = zip(index[2:], taps, attributes["strides"], attributes["dilations"], attributes["pads"], strict=False)
    at = [i * stride + tap * dilation - pad for i, tap, stride, dilation, pad in steps]
    inside: Expr = const(True)
    for position, extent in zip(at, image, strict=True):
        inside = logical("and", inside, logical("and", binary("le", 0, position), binary("lt", position, extent)))
    near = [clamp(position, 0, extent - 1) for position, extent in zip(at, image, strict=True)]
    seen, best, place, take = var("seen", source.dtype), var("best", source.dtype), var("place"), var("take", DType.BOOL)
    above = binary("lt", best, seen)
    if source.dtype.is_float:
        above = logical("or", above, logical("and", binary("eq", best, best), unary("not", binary("eq", seen, seen))))
    flat: Expr = const(0)
    for position, extent in zip(near, image, strict=True):
        flat = flat * extent + position
    body: tuple[Statement, ...] = (
        Declare(seen, source.at((*index[:2], *near))),
        Declare(take, logical("and", inside, logical("or", binary("lt", place, 0), above))),
        Assign(best, select(take, seen, best)), Assign(place, select(take, flat, place)),
    )  # fmt: skip
    for tap, size in reversed(list(zip(taps, attributes["kernel_shape"], strict=True))):
        body = (For(tap, const(size), body),)
    first = source.at((*index[:2], *[const(0)] * rank))
    return [Declare(place, const(-1), mutable=True), Declare(best, first, mutable=True), *body]
