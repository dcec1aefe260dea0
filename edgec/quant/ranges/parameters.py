"""Scales and zero points: from ranges, and shared along values whose bytes are only moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from edgec.ir.graph import Graph
from edgec.ir.types import DType
from edgec.ops.registry import Role
from edgec.quant.ranges.additions import exact_additions
from edgec.quant.ranges.lines import RisingLine, lines
from edgec.quant.ranges.observers import Histogram, Range, merged
from edgec.quant.scope.coverage import Selection

SMALLEST_SCALE = 2.0**-60  # products of two scales stay normal binary32 numbers
LARGEST_SCALE = 2.0**60
FINER = 32.0  # steps of 16 bits to one of 8: the other 3 bits are four times the range, or more, so what a range cut comes back
SHARED_STEP = 2.0**0.5  # a Concat operand with other readers shares the step when that costs them less than a requantization


@dataclass(frozen=True)
class Parameters:
    """Affine storage: a number is (q - zero_point) * scale, with 0 <= q <= 255, or, of 16 bits, -32,768 <= q <= 32,767."""

    scale: float
    zero_point: int
    bits: int = 8

    @property
    def dtype(self) -> DType:
        return DType.UINT8 if self.bits == 8 else DType.INT16

    @property
    def range(self) -> Range:
        least, most = self._ends
        return (least - self.zero_point) * self.scale, (most - self.zero_point) * self.scale

    @property
    def widened(self) -> Parameters:
        """Of 16 bits, for the same numbers."""
        return Parameters(self.scale / FINER, 0, 16)

    def store(self, values: np.ndarray) -> np.ndarray:
        """Codes, rounded to nearest even in float64."""
        stored = np.rint(values.astype(np.float64) / self.scale) + self.zero_point
        return np.asarray(np.clip(stored, *self._ends), self.dtype.numpy)

    @property
    def _ends(self) -> tuple[int, int]:
        return (0, 255) if self.bits == 8 else (-(2**15), 2**15 - 1)


def parameters_of(limits: Range, scale: float | None = None, multiple: int = 1) -> Parameters:
    """Parameters whose 256 levels span `limits` and zero; the scale, when it is not given, is the binary32 number that just does.

    multiple: the zero point is a multiple of it.
    """
    low, high = min(0.0, limits[0]), max(0.0, limits[1])
    scale = scale or float(np.float32(min(max((high - low) / 255, SMALLEST_SCALE), LARGEST_SCALE)))
    return Parameters(scale, int(np.clip(np.rint(-low / scale / multiple) * multiple, 0, 256 - multiple)))


@dataclass
class Families:
    """Values that share parameters: a union-find whose roots are values."""

    parent: dict[str, str] = field(default_factory=dict)

    def root(self, value: str) -> str:
        while self.parent.get(value, value) != value:
            value = self.parent[value]
        return value

    def unite(self, first: str, second: str) -> None:
        self.parent[self.root(second)] = self.root(first)


def choose_parameters(
    graph: Graph,
    selection: Selection,
    histograms: Mapping[str, Histogram],
    choose: Callable[[tuple[str, ...], Histogram], Range],
    pixels: Iterable[str] = (),
) -> dict[str, Parameters]:
    """Parameters of every value of the selection. choose: the range of the values that share one, from their histogram.

    Moved data keeps those of its source, so a family of values has one histogram: that of the members which are not copies.
    `pixels` hold 0, 1... 255 and need no rounding at scale 1. What one run leaves and the next begins with is one family.
    A Concat's operands join the family of its result when nobody else reads them, or when the others lose less than rounding twice.
    """
    families, copies = Families(), moved_values(selection)
    for layer in selection.layers:
        if layer.role is Role.MOVE:
            for output in layer.outputs:
                families.unite(layer.operands[0], output)

    for name, state in graph.states.items():
        if name in selection.values and state.output in selection.values:
            families.unite(name, state.output)

    def limits(root: str) -> Range:
        if any(families.root(value) == root for value in pixels):
            return 0.0, 255.0
        members = tuple(value for value in selection.values if families.root(value) == root and value not in copies)
        return choose(members, merged([histograms[value] for value in members]))

    chosen = {root: limits(root) for root in dict.fromkeys(map(families.root, selection.values))}
    for layer in selection.layers:
        if layer.role is not Role.CONCAT:
            continue
        for operand in layer.operands:
            mine, whole = families.root(operand), families.root(layer.outputs[0])
            if mine == whole or not worth_sharing(graph, operand, families, chosen[mine], chosen[whole]):
                continue
            families.unite(whole, mine)
            chosen[whole] = limits(whole)
    roots = {value: families.root(value) for value in selection.values}
    scales, even = exact_additions(selection, roots, {root: parameters_of(chosen[root]).scale for root in roots.values()})
    straight = [line for line in lines(graph, selection) if list(roots.values()).count(roots[line.layer.operands[0]]) == 1]
    added = {roots[value] for layer in selection.layers if layer.role is Role.ADD for value in (*layer.operands, *layer.outputs)}
    for line in straight:
        root = roots[line.layer.outputs[0]]
        scales[root] = scales[root] if root in added else line.fitting_step(scales[root])
    found = {value: parameters_of(chosen[root], scales[root], 2 if root in even else 1) for value, root in roots.items()}
    return found | {line.layer.operands[0]: of_line(line, found) for line in straight}


def of_line(line: RisingLine, found: Mapping[str, Parameters]) -> Parameters:
    """Those of what a line reads, so that its codes stay as they are; its own where that cannot be, or loses more."""
    own, result = (found[name] for name in (line.layer.operands[0], line.layer.outputs[0]))
    scale, zero = float(np.float32(result.scale / float(line.slope))), result.zero_point + line.steps(result.scale)
    fits = SMALLEST_SCALE <= scale <= LARGEST_SCALE and 0 <= zero <= 255 and line.loses_little(result.scale)
    return Parameters(scale, zero) if fits else own


def moved_values(selection: Selection) -> frozenset[str]:
    """The results of data movement: every number in them is counted at its source already."""
    return frozenset(name for layer in selection.layers if layer.role is Role.MOVE for name in layer.outputs)


def worth_sharing(graph: Graph, operand: str, families: Families, mine: Range, whole: Range) -> bool:
    """Shared: the operand's other readers see the step of the Concat. Apart: the Concat sees two roundings."""
    members = [value for value in graph.types if families.root(value) == families.root(operand)]
    if sum(graph.reader_count(value) for value in members) <= len(members):
        return True
    step = [parameters_of(limits).scale for limits in (mine, whole)]
    return step[1] <= step[0] * SHARED_STEP
