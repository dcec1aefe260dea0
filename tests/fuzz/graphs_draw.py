"""All drawers, and a random model out of them."""

from __future__ import annotations

import numpy as np

from tests.fuzz.graphs_classical import CLASSICAL
from tests.fuzz.graphs_composed import COMPOSED
from tests.fuzz.graphs_contributed import CONTRIBUTED
from tests.fuzz.graphs_control import CONTROL
from tests.fuzz.graphs_counted import COUNTED
from tests.fuzz.graphs_draft import OPSETS, Draft, Drawn, Misfit
from tests.fuzz.graphs_former import FORMER, LAST
from tests.fuzz.graphs_matrix import MATRIX
from tests.fuzz.graphs_move import MOVEMENT
from tests.fuzz.graphs_pointwise import POINTWISE, Drawer
from tests.fuzz.graphs_quantized import QUANTIZED
from tests.fuzz.graphs_recurrent import RECURRENT
from tests.fuzz.graphs_select import SELECTION
from tests.fuzz.graphs_sequences import SEQUENCES

FAMILIES = (
    POINTWISE,
    MOVEMENT,
    MATRIX,
    COMPOSED,
    RECURRENT,
    QUANTIZED,
    SELECTION,
    COUNTED,
    CONTROL,
    SEQUENCES,
    CONTRIBUTED,
    CLASSICAL,
    FORMER,
)
DRAWERS: dict[str, Drawer] = {name: drawer for family in FAMILIES for name, drawer in family.items()}
LIKELY = (  # what patterns start from
    "Conv", "MatMul", "Gemm", "Add", "Mul", "Relu", "Concat", "Reshape", "Transpose", "Slice", "Clip", "Sigmoid", "DequantizeLinear",
)  # fmt: skip
TRIES = 8


def draw(g: np.random.Generator, first: str = "", most: int = 9) -> Drawn:
    """A model of up to `most` drawings, among them one of the operator `first` where it can be drawn in the first tries."""
    opset = int(g.choice(OPSETS))
    if first in FORMER:
        opset = int(g.choice([version for version in OPSETS if version <= LAST]))
    elif first and g.random() < 0.7:
        opset = int(g.choice(OPSETS[-6:]))
    draft, wanted = Draft(g, opset), int(g.integers(1, most + 1))
    names, is_wanting = tuple(DRAWERS), bool(first)
    for number in range(wanted * 2):
        before = draft.mark()
        op = first if is_wanting and number < TRIES else str(g.choice(LIKELY if g.random() < 0.35 else names))
        try:
            DRAWERS[op](draft, op)
            is_wanting = is_wanting and op != first
        except Misfit:
            draft.reset(before)
        if len(draft.results) >= wanted and number >= wanted:
            break
    if not draft.results:
        draft.op("Relu", draft.data())
    return draft.finish()
