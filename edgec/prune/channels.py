"""Which channels of a network can only be removed together.

Every value may have an axis of channels, and each index of it belongs to a cell. A convolution or a matrix product gives its result fresh
cells; operators that keep channels apart hand theirs on; those that bring channels together (a sum of two values, a filter for each
channel, equal groups) unite cells. To remove a cell is to remove all its indices, wherever they are. Cell 0 holds what must stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

FIXED = 0


@dataclass(frozen=True)
class Channels:
    """The axis of a value that can shrink, and the cell of each of its indices."""

    axis: int
    cells: np.ndarray


@dataclass
class Cells:
    """Union-find over cells. of: the channels of values; a value without has nothing to remove. births: the value that each cell was made

    for. reasons: why cells must stay; what is united with them must stay too.
    """

    of: dict[str, Channels] = field(default_factory=dict)
    births: list[str] = field(default_factory=lambda: [""])
    reasons: dict[int, str] = field(default_factory=lambda: {FIXED: "they go together with numbers that no layer makes"})
    _parent: list[int] = field(default_factory=lambda: [FIXED])

    def fresh(self, value: str, count: int) -> np.ndarray:
        """So many new cells."""
        first = len(self._parent)
        self._parent += range(first, first + count)
        self.births += [value] * count
        return np.arange(first, first + count)

    def root(self, cell: int) -> int:
        while self._parent[cell] != cell:
            self._parent[cell] = self._parent[self._parent[cell]]
            cell = self._parent[cell]
        return cell

    def unite(self, first: np.ndarray, second: np.ndarray) -> None:
        """Pair by pair."""
        for one, two in zip(first.tolist(), second.tolist(), strict=True):
            low, high = sorted((self.root(one), self.root(two)))
            self._parent[high] = low

    def unite_rows(self, cells: np.ndarray) -> None:
        """All cells of a column; a matrix of them."""
        for row in cells[1:]:
            self.unite(cells[0], row)

    def fix(self, value: str, reason: str) -> None:
        """The channels of `value` must stay."""
        if value in self.of:
            for cell in self.of[value].cells.tolist():
                self.reasons.setdefault(cell, reason)

    def roots(self) -> np.ndarray:
        """The root of every cell: the lowest of those united, FIXED for what must stay."""
        found = np.array([self.root(cell) for cell in range(len(self._parent))])
        fixed = {self.root(cell) for cell in self.reasons}
        return np.where(np.isin(found, list(fixed)), FIXED, found)

    def why(self) -> dict[str, str]:
        """For each value of whose own channels none can go: the reason."""
        known = dict[int, str]()
        for cell, reason in self.reasons.items():
            if cell != FIXED or self.root(cell) not in known:
                known.setdefault(self.root(cell), reason)
        roots, found, free = self.roots(), dict[str, str](), set[str]()
        for cell, birth in enumerate(self.births[1:], 1):
            if roots[cell] != FIXED:
                free.add(birth)
            else:
                found.setdefault(birth, known[self.root(cell)])
        return {value: reason for value, reason in found.items() if value not in free}
