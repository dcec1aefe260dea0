"""Which values are wanted channels-last, and values as the channels-last pixels or rows that template kernels read."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.ir.graph import Graph, Node
from edgec.lower.values import Extents, View, is_one
from edgec.program.expr import Expr, const

IMAGE_READERS = frozenset({
    "Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Resize", "LRN", "InstanceNormalization",
    "DepthToSpace", "SpaceToDepth", "BatchNormalization",
})  # fmt: skip
_THROUGH = frozenset({"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "MatMul", "Gemm", "Softmax"})
_SIGHT = 6  # operators to look ahead


def wants_channels_last(graph: Graph, name: str) -> bool:
    """Whether a convolution or pool reads `name`, directly or after a few operators that keep the layout."""
    seen, front = {name}, [name]
    for _ in range(_SIGHT):
        readers: list[Node] = [reader for value in front for reader in graph.readers(value)]
        if any(reader.op in IMAGE_READERS for reader in readers):
            return True
        front = [out for reader in readers if reader.op not in _THROUGH for out in reader.outputs if out and out not in seen]
        seen.update(front)
    return False


@dataclass(frozen=True)
class Pixels:
    """Channels-last memory: pixel (n, y, x) starts ((n * height + y) * width + x) * stride elements after `view`'s offset."""

    view: View
    stride: Expr


def pixels(view: View, shape: Extents) -> Pixels | None:
    """`view` of a tensor [batch, channel, spatial...] as evenly spaced pixels, None when it is not that."""
    spatial = [0, *range(2, len(shape))]
    if not is_one(shape[1]) and view.strides[1] != const(1):
        return None
    return _even(view, shape, spatial, shape[1])


def rows(view: View, shape: Extents) -> Pixels | None:
    """`view` of a tensor [..., k] as evenly spaced rows of k contiguous elements."""
    if not is_one(shape[-1]) and view.strides[-1] != const(1):
        return None
    return _even(view, shape, list(range(len(shape) - 1)), shape[-1])


def _even(view: View, shape: Extents, outer: list[int], inner: Expr) -> Pixels | None:
    real = [d for d in outer if not is_one(shape[d])]
    if not real:
        return Pixels(view, inner)
    stride = view.strides[real[-1]]
    step = stride
    for d in reversed(real):
        if view.strides[d] != step:
            return None
        step = step * shape[d]
    return Pixels(view, stride)
