"""Windows of convolutions without what never lies in the image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.passes.rewrite import become, rewrites, why_not


@dataclass(frozen=True)
class Line:
    """A window along one axis: places are `step` apart, taps `dilation`, the first `before` ahead of the image."""

    size: int
    results: int
    taps: int
    step: int
    dilation: int
    before: int

    def lives(self, tap: int) -> bool:
        """Whether it lies in the image for a result."""
        first = tap * self.dilation - self.before
        return first < self.size and first + (self.results - 1) * self.step >= 0

    @property
    def alive(self) -> range:
        """The taps between which all lie that live; one at least."""
        found = [tap for tap in range(self.taps) if self.lives(tap)] or [0]
        return range(found[0], found[-1] + 1)

    @property
    def pads(self) -> tuple[int, int]:
        """What those need, before and behind; negative where they leave out some of the image."""
        before = self.before - self.alive.start * self.dilation
        reach = (self.results - 1) * self.step + (len(self.alive) - 1) * self.dilation + 1
        return before, reach - before - self.size

    @property
    def shrinks(self) -> bool:
        """Whether a window of the taps that live gives the same results."""
        before, behind = self.pads
        return len(self.alive) < self.taps and before >= 0 and behind > -self.step


@rewrites("Conv")
def trim_window(graph: Graph, node: Node) -> bool:
    """conv(x, w) -> conv(x, the taps of w that lie in the image for a result): of dilations as wide as the image the middle one is left."""
    weight, image = graph.constant(node.inputs[1]), graph.shape(node.inputs[0])[2:]
    sizes = [size for size in image if isinstance(size, int)]
    if weight is None or len(sizes) < len(image):
        return False
    lines = _lines(graph, node, sizes)
    if all(all(map(line.lives, range(line.taps))) for line in lines):
        return False
    shrinking = [line.shrinks for line in lines]
    if not any(shrinking):
        return why_not(node, "its window would begin in the image")
    kept = [line.alive if shrinks else range(line.taps) for line, shrinks in zip(lines, shrinking, strict=True)]
    part = weight[(slice(None), slice(None), *(slice(taps.start, taps.stop) for taps in kept))]
    pads = [line.pads if shrinks else pair for line, shrinks, pair in zip(lines, shrinking, _pairs(node), strict=True)]
    changed = {
        "kernel_shape": list(part.shape[2:]),
        "pads": [max(0, pair[end]) for end in (0, 1) for pair in pads],
        "dilations": [step if extent > 1 else 1 for step, extent in zip(node.attributes["dilations"], part.shape[2:], strict=True)],
    }
    name = graph.add_constant(node.inputs[1], np.ascontiguousarray(part))
    return become(graph, node, "Conv", [node.inputs[0], name, *node.inputs[2:]], {**node.attributes, **changed})


def _lines(graph: Graph, node: Node, sizes: list[int]) -> list[Line]:
    taps, results = graph.shape(node.inputs[1])[2:], graph.types[node.outputs[0]].static_shape[2:] if sizes else ()
    facts = zip(sizes, results, taps, node.attributes["strides"], node.attributes["dilations"], _pairs(node), strict=True)
    return [Line(size, count, int(extent), step, apart, pair[0]) for size, count, extent, step, apart, pair in facts]


def _pairs(node: Node) -> list[tuple[int, int]]:
    """Its padding before and behind, by axis."""
    pads = node.attributes["pads"]
    half = len(pads) // 2
    return list(zip(pads[:half], pads[half:], strict=True))
