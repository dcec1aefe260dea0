"""Sliding windows over [batch, channel, *spatial] arrays, of any number of spatial axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgec.oracle.model import Node

Array = NDArray[Any]


@dataclass(frozen=True)
class Window:
    """One operator's window over images of one size; all tuples have one entry per spatial axis."""

    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    out: tuple[int, ...]

    def taps(self, x: Array, fill: Any) -> Iterator[tuple[tuple[int, ...], Array]]:
        """(tap, the pixels under that tap for every output position), with `fill` outside of the image."""
        reach = [(o - 1) * s + (k - 1) * d + 1 for o, s, k, d in zip(self.out, self.strides, self.kernel, self.dilations, strict=True)]
        after = [max(0, r - e - b) for r, e, b in zip(reach, self.extents, self.begins, strict=True)]
        if any(self.begins) or any(after):
            x = np.pad(x, [(0, 0), (0, 0), *zip(self.begins, after, strict=True)], constant_values=fill)
        for tap in np.ndindex(*self.kernel):
            starts = [t * d for t, d in zip(tap, self.dilations, strict=True)]
            cut = [slice(a, a + (o - 1) * s + 1, s) for a, o, s in zip(starts, self.out, self.strides, strict=True)]
            yield tap, x[(slice(None), slice(None), *cut)]

    def counts(self, include_pad: bool) -> Array:
        """How many pixels each output position averages; padding counts when `include_pad`, what lies beyond it never."""
        total = np.ones((1,) * len(self.out), np.int64)
        for axis, (o, k) in enumerate(zip(self.out, self.kernel, strict=True)):
            at = np.arange(o)[:, None] * self.strides[axis] + np.arange(k)[None, :] * self.dilations[axis] - self.begins[axis]
            first, last = (-self.begins[axis], self.extents[axis] + self.ends[axis]) if include_pad else (0, self.extents[axis])
            inside = ((at >= first) & (at < last)).sum(1)
            total = total * inside.reshape([-1 if d == axis else 1 for d in range(len(self.out))])
        return np.maximum(total, 1)


def window(node: Node, extents: Sequence[int], kernel: Sequence[int]) -> Window:
    """The window of a Conv or pooling node, with auto_pad and ceil_mode resolved."""
    rank = len(extents)
    strides, dilations = node.get("strides") or [1] * rank, node.get("dilations") or [1] * rank
    covers = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = list(node.get("pads") or [0] * (2 * rank))
    mode = node.get("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        sums = [max(0, (-(-e // s) - 1) * s + c - e) for e, s, c in zip(extents, strides, covers, strict=True)]
        small, large = [v // 2 for v in sums], [v - v // 2 for v in sums]
        pads = small + large if mode == "SAME_UPPER" else large + small
    elif mode == "VALID":
        pads = [0] * (2 * rank)
    begins, ends = pads[:rank], pads[rank:]
    out = []
    for e, s, c, b, a in zip(extents, strides, covers, begins, ends, strict=True):
        room = e + b + a - c
        count = (-(-room // s) if node.get("ceil_mode", 0) else room // s) + 1
        out.append(count - 1 if node.get("ceil_mode", 0) and (count - 1) * s >= e + b else count)
    return Window(*(tuple(int(v) for v in item) for item in (extents, kernel, strides, dilations, begins, ends, out)))


@dataclass(frozen=True)
class Spread:
    """ConvTranspose: input pixel i adds to position i * stride + tap * dilation of a full image, which is then cut."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    kernel: tuple[int, ...]
    begins: tuple[int, ...]
    out: tuple[int, ...]

    def full(self, extents: Sequence[int]) -> list[int]:
        """Extents of an image that holds every contribution and the whole result."""
        parts = zip(extents, self.strides, self.kernel, self.dilations, self.begins, self.out, strict=True)
        return [max((e - 1) * s + (k - 1) * d + 1, b + o) for e, s, k, d, b, o in parts]

    def places(self, extents: Sequence[int], tap: Sequence[int]) -> tuple[slice, ...]:
        parts = zip(extents, self.strides, self.dilations, tap, strict=True)
        return (slice(None), slice(None), *(slice(t * d, t * d + (e - 1) * s + 1, s) for e, s, d, t in parts))

    def cut(self) -> tuple[slice, ...]:
        return (slice(None), slice(None), *(slice(b, b + o) for b, o in zip(self.begins, self.out, strict=True)))


def spread(node: Node, extents: Sequence[int], kernel: Sequence[int]) -> Spread:
    """The geometry of a ConvTranspose node."""
    rank = len(extents)
    strides, dilations = node.get("strides") or [1] * rank, node.get("dilations") or [1] * rank
    extra, pads = node.get("output_padding") or [0] * rank, list(node.get("pads") or [0] * (2 * rank))
    full = [(e - 1) * s + (k - 1) * d + 1 + x for e, s, k, d, x in zip(extents, strides, kernel, dilations, extra, strict=True)]
    mode, wanted = node.get("auto_pad", "NOTSET"), node.get("output_shape")
    if wanted is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [e * s for e, s in zip(extents, strides, strict=True)]
    if wanted is not None:
        wanted = wanted[-rank:]
        sums = [max(0, f - w) for f, w in zip(full, wanted, strict=True)]
        small, large = [v // 2 for v in sums], [v - v // 2 for v in sums]
        pads = small + large if mode == "SAME_UPPER" else large + small
        out = list(wanted)
    else:
        out = [f - b - a for f, b, a in zip(full, pads[:rank], pads[rank:], strict=True)]
    return Spread(*(tuple(int(v) for v in item) for item in (strides, dilations, kernel, pads[:rank], out)))
