"""What of a model is wanted: the part between tensors in its middle, with inputs whose value is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Constant = bool | int | float | tuple[bool | int | float, ...]
States = Mapping[str, tuple[str, float]]  # of an input the output that becomes it for the next run, and the number that it starts with
LONGEST = 4096  # numbers of a constant


@dataclass(frozen=True)
class Part:
    """inputs: tensors that become inputs, and their shapes, None for what the file says. outputs: tensors that become the only outputs.

    constants: of inputs; the input says in which type and shape. states: what one run leaves for the next.
    """

    inputs: Mapping[str, Sequence[int] | None] = field(default_factory=dict)
    outputs: Sequence[str] = ()
    constants: Mapping[str, Constant] = field(default_factory=dict)
    states: States = field(default_factory=dict)

    @property
    def is_cut(self) -> bool:
        return bool(self.inputs or self.outputs)


WHOLE = Part()
