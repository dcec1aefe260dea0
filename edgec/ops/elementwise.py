"""The value of an elementwise node on known inputs, by its own scalar rule: constant folding gives what emitted code gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgec.base.errors import ModelError
from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.ops.registry import OPERATORS
from edgec.program import semantics
from edgec.program.expr import Binary, Cast, Const, Expr, Select, Unary, Var, var

_TYPES = {dtype.numpy for dtype in DType}
_OPEN = frozenset({"Cast", "BitCast", "Clip"})  # of floats too: what onnx's reference leaves to the processor


def evaluate_rule(node: Node, inputs: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """The output of an operator on integers, or of one in _OPEN; None where the reference may be asked."""
    known = [array for array in inputs if array is not None]
    rule = OPERATORS[node.op].scalar if node.op in OPERATORS else None
    if rule is None or not known or any(array.dtype not in _TYPES for array in known):
        return None
    if known[0].dtype.kind not in "iu" and node.op not in _OPEN:
        return None
    names = [var(f"v{place}", DType.of(array)) if array is not None else None for place, array in enumerate(inputs)]
    values = {f"v{place}": array for place, array in enumerate(inputs) if array is not None}
    try:
        shape = np.broadcast_shapes(*(array.shape for array in known))
    except (ValueError, RuntimeError) as error:  # NumPy's for more dimensions than it broadcasts
        raise ModelError(f"cannot be evaluated: {error}", where=f"{node.name} ({node.op})") from error
    expression = rule(*names, **node.attributes)
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(_value(expression, values)).astype(expression.dtype.numpy), shape).copy()


def _value(e: Expr, known: Mapping[str, Any]) -> Any:
    if isinstance(e, Const):
        return np.asarray(e.value, e.dtype.numpy)
    if isinstance(e, Var):
        return known[e.name]
    if isinstance(e, Cast):
        return semantics.convert(_value(e.a, known), e.dtype.numpy)
    if isinstance(e, Select):
        return np.where(_value(e.condition, known), _value(e.a, known), _value(e.b, known))
    if isinstance(e, Unary) and e.op == "bits":
        return semantics.as_bits(_value(e.a, known), e.dtype.numpy)
    if isinstance(e, Unary):
        return semantics.UNARY[e.op](_value(e.a, known))
    assert isinstance(e, Binary)
    return semantics.BINARY[e.op](_value(e.a, known), _value(e.b, known))
