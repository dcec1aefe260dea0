"""Which loops become axes of a GPU's grid: hand-made nests, and a proof by trial on those of real models."""

from __future__ import annotations

import zlib
from itertools import product
from typing import Any

import numpy as np
import pytest

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.nest import Axis, Nest, independent, tells_apart
from edgec.emit.gpu.rewrite import in_variables
from edgec.ir.types import DType
from edgec.program.expr import FLOAT, INT, Expr, Load, const, load, maximum, var
from edgec.program.program import Assign, Call, Declare, For, LoopCall, Statement, Store
from edgec.program.regions import Place, places
from tests.emit.programs import execute
from tests.gpu.cases import target_with_gpu
from tests.operators.onnx_cases import onnx_cases
from tests.operators.own_cases import own_cases
from tests.operators.suite import Compiled, compile_case

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the onnx package, while it makes its cases
i, j, k = var("i"), var("j"), var("k")
PLACES = {"x": Place("io", 0, 4000), "y": Place("arena", 0, 4000), "over_y": Place("arena", 400, 4000)}
SIZES = dict.fromkeys(PLACES, 4)


def loops(body: tuple[Statement, ...], *extents: tuple[Any, int]) -> tuple[Statement, ...]:
    for variable, extent in reversed(extents):
        body = (For(variable, const(extent), body),)
    return body


def nest_of(body: tuple[Statement, ...], parallel: bool = False) -> Nest:
    return independent(LoopCall(Call("loop", (), (), (), (), 0), body, parallel), PLACES, SIZES)


def axes(body: tuple[Statement, ...], parallel: bool = False) -> list[str]:
    return [axis.variable.name for axis in nest_of(body, parallel).axes]


def x(index: Expr) -> Load:
    return load("x", index, FLOAT)


def y(index: Expr) -> Load:
    return load("y", index, FLOAT)


def test_every_loop_of_a_movement_is_an_axis() -> None:
    assert axes(loops((Store("y", j * 10 + i, x(i * 7 + j)),), (i, 10), (j, 7))) == ["i", "j"]


def test_a_loop_that_starts_later_keeps_its_start() -> None:
    body = (For(i, const(5), (Store("y", i, x(i)),), start=const(3)),)
    assert nest_of(body).axes == (Axis(i, 3, 5),)


def test_a_sum_is_carried_and_stays_within() -> None:
    total = var("total", FLOAT)
    row = (Declare(total, const(0.0), True), For(k, const(9), (Assign(total, total + x(i * 9 + k)),)), Store("y", i, total))
    found = nest_of(loops(row, (i, 5)))
    assert [axis.variable.name for axis in found.axes] == ["i"] and found.body == row


def test_columns_are_taken_out_from_between_the_passes_of_a_reduction() -> None:
    columns = ((i, 3), (j, 4))
    body = (
        *loops((Store("y", i * 4 + j, const(0.0)),), *columns),
        *loops((Store("y", i * 4 + j, y(i * 4 + j) + x(k * 12 + i * 4 + j)),), (k, 6), *columns),
    )
    found = nest_of(body)
    assert [axis.variable.name for axis in found.axes] == ["i", "j"]
    assert found.body == (
        Store("y", i * 4 + j, const(0.0)),
        For(k, const(6), (Store("y", i * 4 + j, y(i * 4 + j) + x(k * 12 + i * 4 + j)),)),
    )
    held = in_variables(found, PLACES, dict.fromkeys(PLACES, FLOAT)).body
    assert isinstance(held[0], Declare) and isinstance(held[-1], Store)
    assert sum(isinstance(item, Store) for item in held) == 1 and "buffer='y'" not in str(held[1])


@pytest.mark.parametrize(
    "body",
    [
        loops((Store("y", i // 2, x(i)),), (i, 8)),  # two iterations store to one element
        loops((Store("y", i * 2, x(i)), Store("y", i * 2 + 2, x(i))), (i, 8)),  # so do two statements
        loops((Store("y", i + 1, y(i)),), (i, 8)),  # reads what the one before stored
        loops((Store("y", i, load("over_y", i, FLOAT)),), (i, 8)),  # the same, under another name
        loops((Store("y", const(0), maximum(y(const(0)), x(i))),), (i, 8)),  # all store to one element
        loops((Store("y", i, x(i)), Store("y", i + 4, x(i))), (i, 8)),  # ranges that overlap
        (Declare(var("t", FLOAT), const(0.0), True), *loops((Assign(var("t", FLOAT), x(i)), Store("y", i, var("t", FLOAT))), (i, 8))),
    ],
)  # fmt: skip
def test_loops_whose_iterations_meet_are_no_axes(body: tuple[Statement, ...]) -> None:
    assert axes(body) == []


def test_only_the_loops_that_do_not_meet_are_axes() -> None:
    assert axes(loops((Store("y", i * 8 + (j + 1) // 2, x(j)),), (i, 3), (j, 8))) == []  # not known to be apart
    assert axes(loops((Store("y", i * 8 + (j + 1) // 2, x(j)),), (i, 3), (j, 8)), parallel=True) == ["i"]  # i by contract
    assert axes(loops((Store("y", i * 8 + j, x(j)),), (i, 3), (j, 9))) == []  # the ninth is the next row's first
    assert axes(loops((Store("y", i * 9 + j, y(i * 9 + j) + x(k)),), (k, 3), (i, 3), (j, 9))) == ["i", "j"]


def test_what_a_body_repeats_for_all_iterations_is_not_repeated_for_each() -> None:
    total = var("total", FLOAT)
    body = (Declare(total, const(0.0), True), For(k, const(900), (Assign(total, total + x(k)),)), *loops((Store("y", i, total),), (i, 900)))
    assert axes(body) == []


def test_indices_are_told_apart_by_their_digits() -> None:
    rows, columns = Axis(i, 0, 5), Axis(j, 2, 7)
    assert tells_apart(i * 7 + j, (rows, columns)) and tells_apart(j * 5 + i, (rows, columns))
    assert (
        not tells_apart(i * 6 + j, (rows, columns))
        and not tells_apart(i * 7, (rows, columns))
        and not tells_apart(i * 7 + k, (rows, columns))
    )


class Recorder:
    """A buffer that notes which of its elements are used."""

    def __init__(self, data: np.ndarray, place: Place, uses: list[tuple[bool, str, int]]) -> None:
        self.data, self.place, self.uses = data, place, uses

    def _note(self, index: int, stores: bool) -> None:
        self.uses.append((stores, self.place.region, self.place.offset + int(index) * self.data.itemsize))

    def __getitem__(self, index: int) -> Any:
        self._note(index, False)
        return self.data[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self._note(index, True)
        self.data[index] = value


@pytest.mark.thorough
def test_invocations_of_real_models_loops_never_meet() -> None:
    """For every value of the axes, run by run: what one stores, no other one stores or loads."""
    target = target_with_gpu("portable")
    checked = 0
    for case in (*own_cases(), *onnx_cases()):
        if (
            zlib.crc32(case.name.encode()) % 24 == 0
            and isinstance(found := compile_case(case, target), Compiled)
            and not found.program.sizes
        ):
            layout_constants(found.program)
            where = places(found.program)
            for call in found.program.calls:
                if isinstance(call, LoopCall):
                    checked += _check(call, found.program.buffers, where)
    assert checked > 40


def _check(call: LoopCall, buffers: Any, where: Any) -> int:
    nest = independent(call, where, {name: buffer.dtype.bytes for name, buffer in buffers.items()})
    if not 1 < np.prod([axis.extent for axis in nest.axes]) < 300 or "FLOAT16" in str(call.body):
        return 0
    owners: dict[tuple[str, int], tuple[int, ...]] = {}
    loaded: list[tuple[tuple[str, int], tuple[int, ...]]] = []
    uses: list[tuple[bool, str, int]] = []
    memory: Any = {}
    for name, buffer in buffers.items():
        data = np.array(buffer.data) if buffer.data is not None else np.zeros(buffer.max_bytes // buffer.dtype.bytes, buffer.dtype.numpy)
        memory[name] = Recorder(data, where[name], uses)
    for value in product(*(range(axis.start, axis.start + axis.extent) for axis in nest.axes)):
        uses.clear()
        with np.errstate(all="ignore"):
            try:
                execute(nest.body, {axis.variable.name: np.int32(one) for axis, one in zip(nest.axes, value, strict=True)}, memory)
            except KeyError:  # functions that the plain evaluator does not have
                return 0
        for stores, region, byte in uses:
            if stores:
                assert owners.setdefault((region, byte), value) == value, f"{call.call.name}: {value} and {owners[region, byte]}"
            else:
                loaded.append(((region, byte), value))
    for place, value in loaded:
        assert owners.get(place, value) == value, f"{call.call.name}: {value} loads what {owners[place]} stores"
    return 1


def test_the_type_of_elements_counts_when_buffers_share_memory() -> None:
    body = loops((Store("y", i, load("codes", i, DType.INT8)),), (i, 8))
    call = LoopCall(Call("loop", (), (), (), (), 0), body, False)
    assert independent(call, {**PLACES, "codes": Place("arena", 0, 8)}, {**SIZES, "codes": 1}).axes == ()
    assert independent(call, {**PLACES, "codes": Place("arena", 4000, 8)}, {**SIZES, "codes": 1}).axes == (Axis(i, 0, 8),)
    assert INT is i.dtype
