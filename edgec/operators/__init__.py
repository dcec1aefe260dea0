"""Operators of users' own domains: written in operators of ONNX, in a Python file that a build names or a package that is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgec.base.lazy import parts

if TYPE_CHECKING:
    from edgec.operators.definition import CustomOperator, custom
    from edgec.operators.tracing import BodyTensor, op

__all__ = ["BodyTensor", "CustomOperator", "custom", "op"]

_HOMES = {"CustomOperator": "definition", "custom": "definition", "BodyTensor": "tracing", "op": "tracing"}
__getattr__ = parts(__name__, _HOMES)
