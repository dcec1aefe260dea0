"""Rising lines a * x + b whose table changes no code, so that it rounds nothing and nobody needs to run it.

With s_x = s_y / a and z_x = z_y + k, where b is k steps s_y, each code stands for a * x + b of the number that it stood for. b is hardly
ever a whole number of steps: a step that is a little longer makes it one, or what is left of b is lost where that is less than a second
rounding would lose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from edgec.integer.unary import rising_line
from edgec.ir.graph import Graph
from edgec.ops.registry import Role
from edgec.quant.scope.coverage import Layer, Selection

ROUNDED = 1 / 12  # the mean square, in steps, of what rounding loses


@dataclass(frozen=True)
class RisingLine:
    """A table, and a and b of what it computes."""

    layer: Layer
    slope: Fraction
    offset: Fraction

    def steps(self, step: float) -> int:
        """The offset in whole steps."""
        return round(float(self.offset) / step)

    def lost(self, step: float) -> float:
        """The square of what these leave of the offset, in steps."""
        return (float(self.offset) / step - self.steps(step)) ** 2

    def loses_little(self, step: float) -> bool:
        return self.lost(step) <= ROUNDED

    def fitting_step(self, step: float) -> float:
        """The step, or a longer one, with which rounding and the lost part of the offset make the least error together."""
        whole = int(abs(float(self.offset)) / step)
        longer = float(np.float32(abs(float(self.offset)) / whole)) if whole else step
        return min((step, longer), key=lambda one: one**2 * (ROUNDED + self.lost(one)))


def lines(graph: Graph, selection: Selection) -> Iterator[RisingLine]:
    """Those of what another layer stores for them alone."""
    produced = selection.produced
    for layer in selection.layers:
        one = layer.operands[0] if layer.operands else ""
        if layer.role is Role.TABLE and one in produced and one not in graph.outputs and graph.reader_count(one) == 1:
            found = rising_line(graph, layer.node)
            if found is not None:
                yield RisingLine(layer, *found)
