"""Axes that a run counts, through the operators behind a selection: of some elements, of all, of none. ONNX Runtime says what is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import numpy as np
from onnx import helper, numpy_helper

from tests.operators.case import Case
from tests.operators.own_cases import Net

PARTS = (0.0, 0.5, 1.0)  # of the elements that are selected


@cache
def counted_cases() -> tuple[Case, ...]:
    groups = (_sorted, _shaped, _selected_again, _joined, _chosen, _detected, _updated)
    return tuple(case for group in groups for case in group())


def _selected(net: Net, data: str, mask: str) -> str:
    """As PyTorch exports data[mask]."""
    return str(net.node("GatherND", data, net.node("Transpose", net.node("NonZero", mask), perm=[1, 0])))


def _net(name: str, part: float, rows: int = 9) -> tuple[Net, str, str]:
    """A model, what is selected of rows of four numbers, and of numbers: few of these differ."""
    net = Net(f"{name}_{part}", (rows, 4))
    net.inputs["x1"] = net.rng.integers(0, 4, rows).astype(np.float32)
    net.inputs["x2"] = net.rng.random(rows) < part
    return net, _selected(net, "x0", "x2"), _selected(net, "x1", "x2")


def _count(net: Net, value: str) -> str:
    """How many rows it has, as [1]."""
    first = net.node("Gather", net.node("Shape", value), net.constant(0))
    return str(net.node("Unsqueeze", first, net.constant([0])))


def _least(net: Net, value: str, most: int) -> str:
    """As torchvision exports min(count, most)."""
    both = net.node("Concat", net.constant([most]), _count(net, value), axis=0)
    return str(net.node("Reshape", net.node("ReduceMin", both, keepdims=0), net.constant([1])))


def _sorted() -> Iterator[Case]:
    """As many as there are, at most a number, half of them, and as an input says."""
    wanted: dict[str, Callable[[Net, str], str]] = {
        "all": _count, "some": lambda net, value: _least(net, value, 3), "more": lambda net, value: _least(net, value, 20),
        "half": lambda net, value: net.node("Div", _count(net, value), net.constant([2])),
    }  # fmt: skip
    for (what, number), part, largest in product(wanted.items(), PARTS, (0, 1)):
        net, rows, numbers = _net(f"top_k_of_{what}_{largest}", part)
        values, places = net.node("TopK", numbers, number(net, numbers), outputs=2, largest=largest)
        yield net.case(values, places, net.node("Gather", rows, places), net.node("Neg", values))
        values, places = net.node("TopK", rows, number(net, rows), outputs=2, axis=0, largest=largest)
        yield net.case(values, net.node("Cast", places, to=1))
    for part in PARTS:
        net, rows, numbers = _net("top_k_of_many", part, 200)
        values, places = net.node("TopK", numbers, _least(net, numbers, 20), outputs=2)
        yield net.case(values, places, net.node("Gather", rows, places))
    net, rows, numbers = _net("top_k_of_a_number", 1.0)
    yield net.case(*net.node("TopK", numbers, net.constant([4]), outputs=2))


def _shaped() -> Iterator[Case]:
    """Extents that are computed from what is counted."""
    for part in PARTS:
        net, rows, numbers = _net("shapes", part)
        flat = net.node("Reshape", rows, net.constant([-1]))
        pairs = net.node("Reshape", rows, net.node("Concat", net.constant([-1]), net.constant([2]), axis=0))
        turned = net.node("Reshape", numbers, net.node("Concat", net.constant([1]), _count(net, rows), axis=0), allowzero=1)
        ones = net.node("ConstantOfShape", net.node("Shape", rows), value=numpy_helper.from_array(np.array([7], np.int64)))
        wide = net.node("Expand", net.node("Unsqueeze", numbers, net.constant([1])),
                        net.node("Concat", _count(net, rows), net.constant([3]), axis=0))  # fmt: skip
        steps = net.node("Range", net.constant(0), net.node("Squeeze", _count(net, rows)), net.constant(1))
        yield net.case(flat, pairs, turned, ones, wide, steps, net.node("Flatten", rows, axis=0), net.node("Size", rows))
        net, rows, numbers = _net("slices", part)
        for start, end in ((0, 3), (2, 100), (1, -1), (4, 6), (0, 2**62)):
            net.node("Slice", rows, net.constant([start]), net.constant([end]), net.constant([0]))
        yield net.case(*(node.output[0] for node in net.nodes[-5:]))


def _selected_again() -> Iterator[Case]:
    for part in PARTS:
        net, rows, numbers = _net("selected_again", part)
        large = net.node("Greater", numbers, net.constant(1.0, np.float32))
        kept = net.node("Compress", rows, large, axis=0)
        where = net.node("NonZero", large)
        yield net.case(where, kept, net.node("Gather", numbers, net.node("Squeeze", where, net.constant([0]))), net.node("NonZero", rows))


def _joined() -> Iterator[Case]:
    """With what is counted elsewhere, and with what is not; one sum by two ways is one extent."""
    for part in PARTS:
        net, rows, numbers = _net("joined", part)
        few = net.node("Slice", rows, net.constant([0]), net.constant([2]), net.constant([0]))
        one = net.node("Slice", numbers, net.constant([0]), net.constant([2]), net.constant([0]))
        whole = net.node("Concat", rows, "x0", few, axis=0)
        beside = net.node("Concat", numbers, "x1", one, axis=0)
        moved = net.node("Add", whole, net.node("Unsqueeze", beside, net.constant([1])))
        yield net.case(whole, beside, moved, net.node("ReduceMax", whole, keepdims=0), net.node("ReduceSum", beside))


def _chosen() -> Iterator[Case]:
    """Nothing where there is nothing, as PyTorch exports it, and where the data says so."""
    for part, negative in product(PARTS, (False, True)):
        net, rows, numbers = _net(f"chosen_{negative}", part)
        elements = net.node("ReduceProd", net.node("Shape", rows), keepdims=0)
        holds = net.node("Equal", elements, net.constant(0))
        if negative:
            holds = net.node("Less", net.node("ReduceSum", "x0", keepdims=0), net.constant(0.0, np.float32))
        nothing = helper.make_node("Constant", [], ["none"], value=numpy_helper.from_array(np.zeros(0, np.float32)))
        then = helper.make_graph([nothing], "then", [], [helper.make_tensor_value_info("none", 1, [0])])
        double = helper.make_node("Add", [numbers, numbers], ["double"])
        other = helper.make_graph([double], "else", [], [helper.make_tensor_value_info("double", 1, ["n"])])
        found = net.node("If", holds, then_branch=then, else_branch=other)
        yield net.case(found, net.node("Slice", found, net.constant([0]), net.constant([3])))


def _detected() -> Iterator[Case]:
    """Classes that are selected, cut and joined, then suppressed together."""
    for threshold, most in product((0.2, 0.7, 2.0), (3, 50)):
        net = Net(f"detected_{threshold}_{most}", ())
        net.inputs["x0"] = net.rng.random((14, 4)).astype(np.float32)
        net.inputs["x1"] = net.rng.random((14, 3)).astype(np.float32)
        parts: list[tuple[str, ...]] = []
        for label in range(3):
            scores = net.node("Gather", "x1", net.constant(label), axis=1)
            mask = net.node("Greater", scores, net.constant(threshold, np.float32))
            scores, boxes = _selected(net, scores, mask), _selected(net, "x0", mask)
            scores, places = net.node("TopK", scores, _least(net, scores, most), outputs=2)
            like = numpy_helper.from_array(np.array([label], np.int64))
            parts.append((net.node("Gather", boxes, places), scores, net.node("ConstantOfShape", net.node("Shape", scores), value=like)))
        boxes, scores, labels = (net.node("Concat", *column, axis=0) for column in zip(*parts, strict=True))
        shift = net.node("Unsqueeze", net.node("Mul", net.node("Cast", labels, to=1), net.constant(2.0, np.float32)), net.constant([1]))
        apart = net.node("Unsqueeze", net.node("Add", boxes, shift), net.constant([0]))
        limits = (net.constant([2**62]), net.constant([0.4], np.float32))
        found = net.node("NonMaxSuppression", apart, net.node("Unsqueeze", scores, net.constant([0, 1])), *limits)
        kept = net.node("Squeeze", net.node("Gather", found, net.constant([2]), axis=1), net.constant([1]))
        kept = net.node("Slice", kept, net.constant([0]), net.constant([9]))
        yield net.case(*(net.node("Gather", value, kept) for value in (boxes, scores, labels)))


def _updated() -> Iterator[Case]:
    """Rows written at places of which a run knows how many there are."""
    for part in PARTS:
        net, rows, numbers = _net("updated", part)
        where = net.node("Squeeze", net.node("NonZero", "x2"), net.constant([0]))
        places = net.node("Expand", net.node("Unsqueeze", where, net.constant([1])), net.node("Shape", rows))
        low = net.node("Less", rows, net.constant(0.0, np.float32))
        yield net.case(
            net.node("ScatterElements", net.node("Neg", "x0"), places, rows, axis=0), net.node("ScatterElements", "x1", where, numbers),
            net.node("Where", low, net.constant(0.0, np.float32), rows),
        )  # fmt: skip
