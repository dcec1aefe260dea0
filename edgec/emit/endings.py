"""How the sums of integer kernels become codes, in the words of a SIMD vocabulary: the functions of edgec/program/functions.py."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from edgec.emit.c_text import float_literal
from edgec.emit.templates import fill
from edgec.program.expr import Binary, Const, Expr, Select, Var
from edgec.program.functions import ARGUMENTS, FUNCTIONS

_BOUNDS = "(float)(a->low - a->zero_y), (float)(a->high - a->zero_y)"
_WORDS = {"add": "add", "sub": "subtract", "mul": "multiply"}
_MEMBERS = frozenset(ARGUMENTS.values())


@dataclass(frozen=True)
class Shape:
    """A function as a template has it: its name, the constant that stands for it, and its steps.

    A step is a name and what it is of `v`, `e` and those before it; the last one is what `v` becomes.
    """

    op: str
    constant: str
    steps: tuple[tuple[str, str], ...]


def shape_of(op: str) -> Shape:
    return Shape(op, FUNCTIONS[op].name.upper(), tuple((step.name, in_words(value)) for step, value in FUNCTIONS[op].steps))


def in_words(item: Expr) -> str:
    """A float expression in vectors of float32; a number that a function takes is a member of the ending `e`."""
    if isinstance(item, Const):
        return f"floats_splat({float_literal(float(item.value))})"
    if isinstance(item, Var):
        return f"floats_splat(e.{item.name})" if item in _MEMBERS else item.name
    if isinstance(item, Binary) and item.op == "min" and isinstance(item.b, Binary) and item.b.op == "max":
        return f"floats_clamp({', '.join(map(in_words, (item.b.b, item.b.a, item.a)))})"
    if isinstance(item, Binary) and item.op == "max":
        return f"floats_at_least({in_words(item.b)}, {in_words(item.a)})"
    if isinstance(item, Binary):
        return f"floats_{_WORDS[item.op]}({in_words(item.a)}, {in_words(item.b)})"
    assert isinstance(item, Select) and isinstance(item.condition, Binary) and item.condition.op == "lt", f"{item} has no words"
    return f"floats_where_less({', '.join(map(in_words, (item.condition.a, item.condition.b, item.a, item.b)))})"


def ending_of(op: str, apart: str = "a->apart") -> str:
    """The ending of a kernel with this function ("" for none), by its arguments `a`. apart: from scales to multipliers."""
    return f"ending_by({FUNCTIONS[op].name.upper()}, {apart}, a->alpha, a->beta, {_BOUNDS})" if op else f"ending({_BOUNDS})"


def render_endings(ops: Iterable[str]) -> str:
    """The type of endings, and how a float is shaped by each of these functions."""
    return fill("c", "int8_ending.j2", {"functions": [shape_of(op) for op in ops]}).strip()
