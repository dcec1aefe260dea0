"""ONNX files in, canonical Graphs out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgec.base.lazy import parts

if TYPE_CHECKING:
    from edgec.frontend.load import Imported, from_proto, load_model

__all__ = ["Imported", "from_proto", "load_model"]

_HOMES = {"Imported": "load", "from_proto": "load", "load_model": "load"}
__getattr__ = parts(__name__, _HOMES)
