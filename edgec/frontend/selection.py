"""Translations of operators that select elements."""

from __future__ import annotations

from edgec.errors import ModelError
from edgec.frontend.builder import Builder
from edgec.frontend.rules import rule
from edgec.frontend.source import Source
from edgec.ops.rules import axis_of


@rule("TopK")
def top_k(b: Builder, s: Source) -> None:
    """Always in order, by which ONNX Runtime does not go where the file asks for none."""
    given = [s.attributes["k"]] if s.version < 10 else b.known(s, 1, "k")
    if len(given) != 1:
        raise ModelError(f"has {len(given)} numbers as k, needs one")
    attributes = {"axis": axis_of(s.attributes["axis"], b.rank(s.inputs[0])), "largest": s.get("largest", 1), "sorted": 1}
    if not s.get("sorted", 1):
        b.misread.append(s.where)
    outputs = [name or b.fresh(f"{s.name}_unused") for name in (*s.outputs, "")[:2]]
    b.emit(s, "TopK", [s.inputs[0], b.constant(f"{outputs[0]}_k", given)], outputs, attributes)
