"""In which forms a package holds its loops: each is the same C, compiled with other instructions enabled. Kernels choose at run time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgec.emit.vocabularies import VOCABULARIES
from edgec.program.expr import Binary, Const, Load, Size, Var, bound
from edgec.program.program import Assign, Declare, For, LoopCall, Statement, Store
from edgec.program.walk import statements, subexpressions, walk
from edgec.targets import Target

FEW = 4096  # elements that are done before other instructions are worth their code


@dataclass(frozen=True)
class LoopForm:
    """Instructions that compilers may use in loops. Vocabularies whose own include `needs` run loops in this form, or in a later one."""

    name: str
    needs: str
    gcc: str  # arguments of __attribute__((target(...)))
    clang: str
    floats: bool = False  # for loops that compute with floats alone, be it of codes: others are moves of memory, and gain nothing


_AVX512 = "avx2,avx512f,avx512bw,avx512dq,avx512vl"
FORMS = (
    LoopForm("sse41", "sse4.1", "sse4.1", "sse4.1"),
    LoopForm("avx2", "avx2", "avx2", "avx2"),
    LoopForm("avx512", "avx512f", f"{_AVX512},prefer-vector-width=512", _AVX512, floats=True),
)


def forms_of(target: Target) -> tuple[LoopForm, ...]:
    """Those of a package, from the one on that its least processor has for all loops; none where one form serves all processors."""
    known = [_best(name, FORMS) for name in target.vocabularies]
    least = min((_best(name, [form for form in FORMS if not form.floats]) for name in target.vocabularies), default=0)
    return FORMS[max(least, 0) : max(known) + 1] if max(known, default=0) > 0 else ()


def form_of(vocabulary: str, target: Target) -> int:
    """The number of the form in which a vocabulary runs loops."""
    return max(_best(vocabulary, forms_of(target)), 0)


def _best(vocabulary: str, forms: Sequence[LoopForm]) -> int:
    known = VOCABULARIES[vocabulary].gcc.split(",")
    return max((number for number, form in enumerate(forms) if form.needs in known), default=-1)


def is_side_by_side(call: LoopCall) -> bool:
    """Whether no iteration waits for another one's total: a chain of additions is slower the more of it is in one vector."""
    chains = (item for item in statements(call.body) if isinstance(item, For) and not item.lanes)
    return not any(isinstance(inner, Assign) and inner.var.dtype.is_float for item in chains for inner in item.body)


def gains(call: LoopCall) -> bool:
    """Whether other instructions are worth their code in a call: not where a run counts its few elements, nor where an element of these
    lies where those before it have led, as in a sort. Detectors have such calls for each class."""
    nest, parts = list(statements(call.body)), list(subexpressions(call))
    if not any(isinstance(item, Size) and item.counted for item in parts):
        return True
    changing = {item.var.name for item in nest if isinstance(item, Declare) and item.mutable}
    places = [item.index for item in (*nest, *parts) if isinstance(item, (Load, Store))]
    led = any(isinstance(part, Var) and part.name in changing for place in places for part in walk(place))
    return not led and _iterations(call.body) > FEW


def _iterations(body: Sequence[Statement]) -> int:
    """At most, where extents are that plain."""
    found = 0
    for item in body:
        if isinstance(item, For):
            plain = all(isinstance(part, (Const, Size, Binary)) and getattr(part, "op", "mul") == "mul" for part in walk(item.extent))
            found += max(1, _iterations(item.body)) * (bound(item.extent) if plain else FEW + 1)
    return found
