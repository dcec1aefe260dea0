"""How much there is to do in a call, about: what decides how many threads are worth handing it to.

Everything is counted in multiply-accumulates of 8 bits, of which a core does `Vocabulary.pace` in a nanosecond. Convolutions are what
that was measured on; for the rest it is enough to be right by a small factor, since nothing but time depends on it. benchmarks/handover.py
measures both: what a core does, and what it costs to hand work to another one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from edgec.program.expr import Binary, Const, Expr, Load, Select, Size, Unary, Var, bound, const
from edgec.program.program import AnyCall, For, LoopCall, Program, Statement
from edgec.program.walk import distinct, expressions, replaced

PART_NS = 2_000  # of work that a thread is given at least: several times what it takes to hand it to one that waits
RUN_NS = 50_000  # a run of less work stays on one thread: between two runs the others fall asleep, and would come too late
OF_FLOATS = 2  # a multiply-accumulate of floats
OF_AN_OPERATION = 4  # an operation or a load in a loop
OF_AN_ELEMENT = 8  # that a kernel without multiply-accumulates reads


def effort(program: Program, call: AnyCall) -> int:
    """Of a call, each time it is called."""
    if isinstance(call, LoopCall):
        return OF_AN_OPERATION * _operations(call.body, {})
    read = [program.buffers[name] for name in call.call.reads]
    macs = call.call.macs // _turns(program, call)
    if macs == 0:
        return (call.arguments.effort or OF_AN_ELEMENT) * bound(read[0].size)
    return macs * (call.arguments.effort or (OF_FLOATS if read[0].dtype.is_float else 1))  # activations come first


def effort_of_run(program: Program) -> int:
    """Of a run, every turn of its loops taken; of the largest where there are several sets of shapes."""
    sets = Counter[int]()
    for call in program.calls:
        sets[call.call.shape] += _turns(program, call) * effort(program, call)
    return max(sets.values())


def _turns(program: Program, call: AnyCall) -> int:
    return math.prod(program.repeats[name].turns for name in call.call.within)


def _operations(body: Iterable[Statement], middles: Mapping[str, int]) -> int:
    """Those of the statements of a nest. middles: the middle number of each outer loop's variable, which an inner extent may depend on."""
    found = 0
    for item in body:
        if isinstance(item, For):
            turns = _turns_of(item.extent, middles)
            found += turns * _operations(item.body, {**middles, item.var.name: turns // 2})
        else:
            parts = distinct(expressions(item))
            found += 1 + sum(isinstance(part, (Unary, Binary, Select, Load)) for part in parts)
    return found


def _turns_of(extent: Expr, middles: Mapping[str, int]) -> int:
    """At most, where only sizes tell; what a run computes counts as 1."""

    def number(part: Expr) -> Expr | None:
        if isinstance(part, Var):
            return const(middles.get(part.name, 1), part.dtype)
        return None if isinstance(part, (Const, Size, Binary)) else const(1, part.dtype)

    return max(0, bound(replaced(extent, number)))
