"""A quantized Graph with signed codes in place of unsigned ones: the same numbers, as docs/int8.md, clause 1 says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgec.ir.graph import Graph
from edgec.ir.types import DType


def signed(graph: Graph) -> Graph:
    """A copy whose codes and zero points are all 128 less, with the inputs and outputs that are codes."""
    result = graph.copy()
    for name, array in graph.constants.items():
        if array.dtype == np.uint8:
            result.constants[name] = (array.astype(np.int16) - 128).astype(np.int8)
    for name, kind in graph.types.items():
        if kind.dtype is DType.UINT8:
            result.types[name] = replace(kind, dtype=DType.INT8)
    return result
