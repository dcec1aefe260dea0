"""Loops that read on one side of a number alone are pieces in which nothing is chosen, and each computes what the whole did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgec.emit.calls import functions
from edgec.ir.types import DType
from edgec.lower.in_place import in_place_pairs
from edgec.lower.plan import plan
from edgec.program.expr import BOOL, FLOAT, INT, Binary, Expr, Select, bound, cast, const, expr, load, logical, select, unary, var
from edgec.program.program import Assign, Declare, For, Kind, LoopCall, Program, Store
from edgec.program.walk import distinct, roots, statements
from edgec.schedule.loop_pieces import with_pieces
from edgec.toolchain import compile_package, run_exam
from tests.emit.packages import HOST, write_package
from tests.emit.programs import buffer, evaluate, exam_of, loop, port, random_inputs

ROWS, WIDTH = 3, 28
i, j, v = var("i"), var("j"), var("v", FLOAT)
AT = i * WIDTH + j


def lt(a: Expr | int, b: Expr | int, op: str = "lt") -> Expr:
    return Binary(BOOL, op, expr(a), expr(b))


def le(a: Expr | int, b: Expr | int) -> Expr:
    return lt(a, b, "le")


def padded(condition: Expr, shift: int = 0) -> Expr:
    return select(condition, load("x", AT - shift, FLOAT), 0.0)


def program(value: Expr) -> Program:
    """y = value + z, where z may lie in y's place, and the caller gets y * 2."""
    made = Program("pieces", "host")
    for name in ("x", "w"):
        port(made, name, DType.FLOAT32, (ROWS, WIDTH), Kind.INPUT)
    port(made, "out", DType.FLOAT32, (ROWS, WIDTH), Kind.OUTPUT)
    for name in ("y", "z"):
        buffer(made, name, DType.FLOAT32, ROWS * WIDTH, Kind.ARENA)
    every = const(ROWS * WIDTH)
    loop(made, "copy", (For(i, every, (Store("z", i, load("w", i, FLOAT) + 1.0),)),), ("w",), ("z",))
    added = (Declare(v, load("z", AT, FLOAT)), Store("y", AT, value + v))
    loop(made, "add", (For(i, const(ROWS), (For(j, const(WIDTH), added),)),), ("x", "z"), ("y",))
    loop(made, "double", (For(i, every, (Store("out", i, load("y", i, FLOAT) * 2.0),)),), ("y",), ("out",))
    return made


def ends(made: Program) -> list[tuple[int, int]]:
    """Of the innermost loops that add, the first number and the one behind the last."""
    (call,) = [call for call in made.calls if call.call.name == "add"]
    assert isinstance(call, LoopCall)
    inner = [item for item in statements(call.body) if isinstance(item, For) and not any(isinstance(x, For) for x in item.body)]
    found = []
    for item in inner:
        first = 0 if item.start is None else bound(item.start)
        found.append((first, first + bound(item.extent)))
    return found


def chooses(made: Program) -> bool:
    return any(isinstance(part, Select) for call in made.calls if isinstance(call, LoopCall) for part in distinct(roots(call.body)))


CASES: dict[str, tuple[Expr, list[tuple[int, int]]]] = {
    "behind": (padded(lt(j, 24)), [(0, 24), (24, 28)]),
    "before": (padded(le(4, j), 4), [(0, 4), (4, 28)]),
    "not before": (padded(unary("not", lt(j, 4)), 4), [(0, 4), (4, 28)]),
    "downward": (padded(lt(20 - j * 3, -1)), [(0, 8), (8, 28)]),
    "at most": (padded(le(j * 2, 33)), [(0, 17), (17, 28)]),
    "on both sides": (padded(logical("and", lt(1, j), lt(j - 2, 24)), 2), [(0, 2), (2, 26), (26, 28)]),
    "two tensors": (padded(lt(j, 24)) + padded(lt(j, 20)), [(0, 20), (20, 24), (24, 28)]),
    "the same border": (padded(lt(j, 24)) + padded(le(j, 23)) * 3.0, [(0, 24), (24, 28)]),
    "in each other": (select(lt(j, 24), padded(lt(j, 9)), load("w", AT, FLOAT)), [(0, 9), (9, 24), (24, 28)]),
    "with what a row decides": (padded(logical("and", lt(i, 2), lt(j, 24))), [(0, 24), (24, 28)]),
    "a number that is read": (cast(cast(padded(lt(j, 24)), INT), FLOAT), [(0, 24), (24, 28)]),
}
WHOLE: dict[str, Expr] = {
    "nothing padded": padded(lt(j, WIDTH)),
    "all padded": padded(lt(j, 0)),
    "a row": padded(lt(i, 2)),
    "both numbers": padded(lt(i + j, 24)),
    "what is read": padded(lt(cast(load("w", AT, FLOAT), INT), 1)),
    "no reads": select(lt(j, 24), const(1.0), const(2.0)),
    "many borders": padded(lt(j, 5)) + padded(lt(j, 10)) + padded(lt(j, 15)) + padded(lt(j, 20)),
    "sides that wrap": padded(lt(j * (1 << 30), 5)),
}


@pytest.mark.parametrize(("value", "pieces"), CASES.values(), ids=CASES)
def test_pieces_choose_nothing_and_compute_the_same(value: Expr, pieces: list[tuple[int, int]]) -> None:
    whole = program(value)
    made = with_pieces(whole)
    assert ends(made) == pieces
    assert chooses(made) == (value is CASES["with what a row decides"][0])
    given = random_inputs(whole, 3)
    np.testing.assert_array_equal(evaluate(made, given)["out"], evaluate(whole, given)["out"])


@pytest.mark.parametrize("value", WHOLE.values(), ids=WHOLE)
def test_other_loops_stay(value: Expr) -> None:
    whole = program(value)
    assert with_pieces(whole) == whole


def test_short_loops_and_shared_ones_stay() -> None:
    """Threads share the iterations of an outermost loop."""
    for body in (
        For(i, const(ROWS), (For(j, const(12), (Store("y", AT, padded(lt(j, 8))),)),)),
        For(j, const(WIDTH), (Store("y", j, select(lt(j, 24), load("x", j, FLOAT), 0.0)),)),
        For(i, const(ROWS), (Declare(v, const(0.0), mutable=True), For(j, const(WIDTH), (Assign(v, v + padded(lt(j, 24))),)))),
    ):
        made = program(const(0.0))
        loop(made, "more", (body,), ("x",), ("y",))
        assert with_pieces(made) == made


def test_what_only_another_piece_needs_is_not_computed() -> None:
    made = program(const(0.0))
    w = var("w0", FLOAT)
    value = select(logical("and", lt(j, 24), Binary(BOOL, "lt", w, const(0.0))), load("x", AT, FLOAT), 0.0)
    body = For(i, const(ROWS), (For(j, const(WIDTH), (Declare(w, load("w", AT, FLOAT)), Store("y", AT, value))),))
    loop(made, "more", (body,), ("x", "w"), ("y",))
    call = with_pieces(made).calls[-1]
    assert isinstance(call, LoopCall) and isinstance(call.body[0], For)
    first, last = (item for item in call.body[0].body if isinstance(item, For))
    assert len(first.body) == 2 and last.body == (Store("y", AT, const(0.0)),)


def test_pieces_write_over_what_they_read() -> None:
    """As the whole loop does."""
    whole = program(CASES["on both sides"][0])
    pairs = list(in_place_pairs(whole))
    assert pairs == list(in_place_pairs(with_pieces(whole))) and (1, "y", "z") in pairs


@pytest.mark.parametrize(
    "change",
    [
        lambda first, second: (first, replace(second, start=const(25))),
        lambda first, second: (second, first),
        lambda first, second: (first, replace(second, body=(Store("y", AT + 1, const(0.0)),))),
        lambda first, second: (first, *second.body),
        lambda first, second: (replace(first, body=first.body * 2), second),
    ],
    ids=["a gap", "backwards", "elsewhere", "beside a loop", "twice"],
)
def test_what_is_not_pieces_of_one_loop_writes_elsewhere(change: Callable[[For, For], tuple[For | Store, ...]]) -> None:
    made = with_pieces(program(CASES["behind"][0]))
    call = made.calls[1]
    assert isinstance(call, LoopCall) and isinstance(call.body[0], For)
    first, second = call.body[0].body
    assert isinstance(first, For) and isinstance(second, For)
    made.calls[1] = replace(call, body=(replace(call.body[0], body=change(first, second)),))
    assert (1, "y", "z") not in list(in_place_pairs(made))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compiled_pieces(tmp_path: Path, needs: Callable[..., None], compiler: str) -> None:
    """In place, against the evaluation of the whole loops."""
    needs(compiler)
    whole = program(CASES["on both sides"][0] + CASES["before"][0])
    answers = exam_of(whole)
    made = with_pieces(whole)
    plan(made)
    assert made.buffers["y"].address == made.buffers["z"].address
    (text,) = (item.text for item in functions(made, HOST) if item.name == "step_add")
    assert text.count("j++") == 4 and "?" not in text
    built = compile_package(write_package(tmp_path, made, HOST, answers), HOST, compiler, "-O3", ["-Wall", "-Wextra", "-Werror"])
    assert run_exam(built, HOST).returncode == 0
