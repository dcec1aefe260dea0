"""The table of translations: how each operator of ONNX, in every version from 7 on, becomes canonical."""

from __future__ import annotations

from collections.abc import Callable

from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.source import Source

MICROSOFT = "com.microsoft"  # the domain of ONNX Runtime's own operators
Rule = Callable[[Builder, Source], None]
RULES: dict[tuple[str, str], Rule] = {}


def rule(*ops: str, domain: str = "") -> Callable[[Rule], Rule]:
    """Register a translation for these operators."""

    def register(function: Rule) -> Rule:
        for op in ops:
            if (domain, op) in RULES:
                raise ValueError(f"two rules for {op}")
            RULES[domain, op] = function
        return function

    return register
