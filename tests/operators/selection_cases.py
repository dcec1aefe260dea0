"""Corners of the operators that sort, select and scatter. ONNX Runtime says what is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from tests.operators.case import Case
from tests.operators.own_cases import Net, by_reference


@cache
def selection_cases() -> tuple[Case, ...]:
    groups = (_top_k, _without_order, _scattered_elements, _scattered_rows, _reversed, _places_of_pools, _counted, _unique, _suppressed)
    return tuple(case for group in groups for case in group())


def _top_k() -> Iterator[Case]:
    """Found one by one, and by sorting: rows of 1 to 300 of any length, with many of equal size."""
    rows: list[tuple[Sequence[int], int, int]] = [
        ((7,), 0, 3), ((1,), 0, 1), ((3, 1, 4), 1, 1), ((2, 5, 3), -2, 5), ((4, 70), 1, 50), ((2, 37, 3), 1, 37), ((300,), -1, 299),
        ((64, 2), 0, 40), ((2, 3, 33), 0, 2), ((2, 500), 1, 60),
    ]  # fmt: skip
    for (shape, axis, k), kind, largest in product(rows, (np.float32, np.int64), (0, 1)):
        net = Net(f"top_k_{shape}_{axis}_{k}_{np.dtype(kind)}_{largest}", ())
        net.inputs["x0"] = net.rng.integers(-9, 9, shape).astype(kind)
        yield net.case(*net.node("TopK", "x0", net.constant([k]), outputs=2, axis=axis, largest=largest))
    net = Net("top_k_of_a_sum_and_what_lies_there", (3, 20), (3, 20))
    values, places = net.node("TopK", net.node("Add", "x0", "x1"), net.constant([4]), outputs=2)
    yield net.case(values, net.node("GatherElements", "x1", places, axis=1), net.node("Cast", places, to=1))


def _without_order() -> Iterator[Case]:
    """NaN is the largest; ONNX Runtime says nothing of it, so numpy does."""
    for k, largest in ((3, 0), (3, 1), (40, 0), (40, 1)):
        net = Net(f"top_k_of_nan_{k}_{largest}", ())
        x = net.rng.integers(-5, 5, (2, 40)).astype(np.float32)
        x[net.rng.random(x.shape) < 0.2] = np.nan
        x[:, 7:9] = np.inf, -np.inf
        net.inputs["x0"] = x
        case = net.case(*net.node("TopK", "x0", net.constant([k]), outputs=2, largest=largest))
        yield by_reference(case)


def _scattered_elements() -> Iterator[Case]:
    shapes: list[tuple[Sequence[int], Sequence[int], int]] = [
        ((6,), (4,), 0), ((3, 4, 5), (2, 4, 3), 0), ((3, 4, 5), (3, 9, 2), 1), ((3, 4, 5), (1, 1, 7), -1), ((2, 1), (1, 1), 1),
    ]  # fmt: skip
    for serial, (data, wanted, axis) in enumerate(shapes):
        for reduction in ("none", "add", "mul", "max", "min"):
            kind = np.float32 if serial % 2 else np.int64
            net = Net(f"scatter_elements_{data}_{wanted}_{axis}_{reduction}", data, wanted, dtype=kind)
            indices = net.rng.integers(-data[axis], data[axis], wanted)
            known = serial == 2
            if not known:
                net.inputs["x2"] = indices
            yield net.case(
                net.node("ScatterElements", "x0", net.constant(indices) if known else "x2", "x1", axis=axis, reduction=reduction)
            )
    net = Net("scatter_elements_bool", (3, 4), (3, 2), dtype=np.bool_)
    net.inputs["x2"] = np.array([[0, -1], [3, 1], [2, 2]], np.int32)
    yield net.case(net.node("ScatterElements", "x0", "x2", "x1", axis=1))


def _scattered_rows() -> Iterator[Case]:
    rows: list[tuple[Sequence[int], Sequence[int]]] = [
        ((5,), (3, 1)), ((4, 3), (2, 1)), ((4, 3, 2), (2, 3, 2)), ((2, 3, 4), (6, 3)), ((3, 4, 5), (1,)), ((3, 4, 5), (2,)),
    ]  # fmt: skip
    for serial, (data, wanted) in enumerate(rows):
        updates = (*wanted[:-1], *data[wanted[-1] :])
        for reduction in ("none", "add", "mul", "max", "min"):
            net = Net(f"scatter_nd_{data}_{wanted}_{reduction}", data, updates)
            indices = np.asarray(net.rng.integers(-np.array(data[: wanted[-1]]), data[: wanted[-1]], wanted))
            if serial == 4 or reduction == "none":  # of the same place the last one is not promised
                indices = np.array([np.unravel_index(n, data[: wanted[-1]]) for n in range(int(np.prod(wanted[:-1])))]).reshape(wanted)
            if serial % 3:
                net.inputs["x2"] = indices
            yield net.case(net.node("ScatterND", "x0", "x2" if serial % 3 else net.constant(indices), "x1", reduction=reduction))
    net = Net("scatter_nd_of_codes_and_sums", (6, 4), (2, 4), (2, 4))
    net.inputs["x3"] = np.array([[5], [-5]])
    y = net.node("ScatterND", net.node("Relu", "x0"), "x3", net.node("Add", "x1", "x2"))
    yield net.case(net.node("MatMul", y, net.normal(4, 3)), y)


def _reversed() -> Iterator[Case]:
    for shape, batch, lengths in (((4, 3), 1, [4, 1, 2]), ((3, 5, 2), 0, [5, 1, 3]), ((6, 2, 2, 3), 1, [2, 6]), ((1, 1), 1, [1])):
        net = Net(f"reverse_sequence_{shape}_{batch}", shape)
        net.inputs["x1"] = np.array(lengths)
        yield net.case(net.node("ReverseSequence", "x0", "x1", batch_axis=batch, time_axis=1 - batch))


def _places_of_pools() -> Iterator[Case]:
    windows: list[tuple[Sequence[int], dict[str, Any]]] = [
        ((2, 3, 11), {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}), ((2, 3, 7, 6), {"kernel_shape": [2, 3], "strides": [2, 2]}),
        ((1, 2, 7, 6), {"kernel_shape": [3, 3], "strides": [1, 2], "pads": [1, 1, 1, 1]}),
        ((1, 2, 9, 8), {"kernel_shape": [2, 2], "dilations": [3, 2]}),
        ((1, 3, 6, 5), {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
        ((2, 2, 4, 5, 6), {"kernel_shape": [2, 2, 3], "strides": [2, 1, 2]}),
    ]  # fmt: skip
    for (shape, attributes), order in product(windows, (0, 1)):
        net = Net(f"max_pool_places_{shape}_{order}", shape)
        net.inputs["x0"] = net.rng.integers(-5, 5, shape).astype(np.float32)
        yield net.case(*net.node("MaxPool", "x0", outputs=2, storage_order=order, **attributes))
    net = Net("max_unpool_after_a_convolution", (1, 3, 8, 6))
    y, places = net.node("MaxPool", net.node("Conv", "x0", net.normal(4, 3, 1, 1)), outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    wide = net.node("MaxUnpool", net.node("Relu", y), places, kernel_shape=[2, 2], strides=[2, 2])
    yield net.case(net.node("Conv", wide, net.normal(2, 4, 3, 3)), places)


def _counted() -> Iterator[Case]:
    """What is selected, how much of it there is, and operators behind it: of some elements, of all and of none."""
    for shape, kind, part in product(((7,), (3, 4), (2, 3, 5)), (np.float32, np.bool_, np.int32), (0.0, 0.4, 1.0)):
        net = Net(f"non_zero_{shape}_{np.dtype(kind)}_{part}", ())
        net.inputs["x0"] = (net.rng.random(shape) < part).astype(kind)
        yield net.case(net.node("NonZero", "x0"))
    for axis, looked, part in product((None, 0, -1), (3, 4), (0.0, 0.6)):
        net = Net(f"compress_{axis}_{looked}_{part}", (4, 5))
        net.inputs["x1"] = net.rng.random(looked) < part
        kept = net.node("Compress", "x0", "x1", **({} if axis is None else {"axis": axis}))
        yield net.case(kept, net.node("Exp", net.node("Mul", kept, net.constant(0.5, np.float32))), net.node("Transpose", kept))
    for part in (0.0, 0.5, 1.0):
        net = Net(f"masked_elements_{part}", (3, 4), (5,))
        net.inputs["x2"] = net.rng.random((3, 4)) < part
        where = net.node("Transpose", net.node("NonZero", "x2"), perm=[1, 0])
        taken = net.node("GatherND", "x0", where)
        pairs = net.node("Concat", net.node("Unsqueeze", taken, net.constant([1])), net.node("Cast", where, to=1), axis=1)
        results = [
            net.node("ReduceSum", taken, keepdims=0), net.node("ReduceMax", pairs, net.constant([1])),
            net.node("ScatterND", "x0", where, net.node("Neg", taken)), net.node("Reshape", taken, net.constant([-1, 1])),
        ]  # fmt: skip
        yield net.case(taken, *results)


def _unique() -> Iterator[Case]:
    for (shape, axis), kind, order in product((((9,), None), ((3, 5), None), ((6, 2), 0), ((2, 7, 2), 1)), (np.float32, np.int64), (0, 1)):
        net = Net(f"unique_{shape}_{axis}_{np.dtype(kind)}_{order}", ())
        net.inputs["x0"] = net.rng.integers(-1, 2, shape).astype(kind)
        found = net.node("Unique", "x0", outputs=4, sorted=order, **({} if axis is None else {"axis": axis}))
        yield net.case(*found, net.node("Neg", found[0]))
    for k in (0, 3, 9):
        net = Net(f"top_k_of_as_many_as_a_run_says_{k}", (2, 9))
        net.inputs["x1"] = np.array([k])
        values, places = net.node("TopK", "x0", "x1", outputs=2)
        yield net.case(values, places, net.node("Add", net.node("Transpose", values), net.constant(1, np.float32)))


def _suppressed() -> Iterator[Case]:
    """Random boxes, some of equal scores, in both formats; thresholds that are known and that are not."""
    for serial, (samples, classes, count, most) in enumerate([(1, 1, 40, 10), (2, 3, 25, 4), (1, 4, 60, 100), (3, 1, 1, 1)]):
        for centered, known in product((0, 1), (False, True)):
            net = Net(f"suppressed_{samples}_{classes}_{count}_{centered}_{known}", ())
            corners = net.rng.random((samples, count, 4)).astype(np.float32)
            net.inputs["x0"] = corners
            net.inputs["x1"] = (net.rng.integers(0, 12, (samples, classes, count)) / 10).astype(np.float32)
            limits = {"x2": np.array([most]), "x3": np.array([0.3], np.float32), "x4": np.array([0.35], np.float32)}
            operands = [net.constant(array) for array in limits.values()] if known else list(limits)
            net.inputs |= {} if known else limits
            found = net.node("NonMaxSuppression", "x0", "x1", *operands[: 3 if serial == 3 else 5], center_point_box=centered)
            box = net.node("Squeeze", net.node("Slice", found, net.constant([2]), net.constant([3]), net.constant([1])), net.constant([1]))
            picked = net.node("Gather", net.node("Reshape", "x0", net.constant([-1, 4])), box)
            yield net.case(found, net.node("Mul", picked, net.constant(2.0, np.float32)))
