"""Words that no name of an emitted program may be."""

from __future__ import annotations

KEYWORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while and or not xor bool
    class delete new this template true false try catch throw private public protected operator namespace using virtual
    typename friend export main NULL asm linux unix explicit mutable typeid nullptr constexpr decltype noexcept wchar_t
    """.split()  # noqa: SIM905 - a list of words reads better so
)
# Parameters and variables of NAME_run and of the exam, beside which inputs and outputs stand
LOCALS = frozenset({"instance", "run", "steps", "step", "job", "i", "status", "sizes", "tensors"})
