"""Windows of convolutions without what never lies in the image: of dilations as wide as that, the middle alone is left."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.ir.graph import Graph, Node


@dataclass(frozen=True)
class WindowLine:
    """A window along one axis: places are `stride` apart, taps `dilation`, the first `before` ahead of an image of `size`."""

    size: int
    results: int
    taps: int
    stride: int
    dilation: int
    before: int

    def lives(self, tap: int) -> bool:
        """Whether it lies in the image for a result."""
        first = tap * self.dilation - self.before
        return first < self.size and first + (self.results - 1) * self.stride >= 0

    @property
    def alive(self) -> range:
        """The taps between which all lie that live; one at least."""
        found = [tap for tap in range(self.taps) if self.lives(tap)] or [0]
        return range(found[0], found[-1] + 1)


@dataclass(frozen=True)
class Trimmed:
    """What gives the same results along one axis: these taps, so far apart, with so much padding before the image."""

    taps: range
    dilation: int
    before: int


def kept(graph: Graph, node: Node) -> list[Trimmed]:
    """Of a Conv, by axis; all of its window where an extent is a symbol, or where less would begin within the image.

    And where taps are neighbours: these go beyond the tiniest images alone, whose package may hold the weights for others too.
    """
    attributes, window = node.attributes, graph.types[node.inputs[1]].static_shape[2:]
    steps = zip(window, attributes["strides"], attributes["dilations"], attributes["pads"], strict=False)
    found = []
    for axis, (taps, stride, dilation, before) in enumerate(steps, 2):
        size, results = graph.shape(node.inputs[0])[axis], graph.shape(node.outputs[0])[axis]
        whole = Trimmed(range(taps), dilation, before)
        if dilation > 1 and isinstance(size, int) and isinstance(results, int):
            alive = WindowLine(size, results, taps, stride, dilation, before).alive
            less = Trimmed(alive, dilation if len(alive) > 1 else 1, before - alive.start * dilation)
            found.append(less if less.before >= 0 else whole)
        else:
            found.append(whole)
    return found
