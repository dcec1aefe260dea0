"""The layers of a diagnosis as tables."""

from __future__ import annotations

import rich.table

from edgec.base.harmless import ending
from edgec.cli.console import table
from edgec.records.diagnosis import BEST, Diagnosis, LayerFacts

WORST = 15
COLUMNS = ("node", "operator", "own dB", "weights", "storing", "accumulated", "of the error", "codes hold", "seen", "outside", "lost")


def layer_tables(found: Diagnosis) -> list[rich.table.Table | str]:
    """The layers that cost most, the outputs, and what to try next."""
    worst = found.ranked[:WORST]
    title = f"the {len(worst)} of {len(found.layers)} stored values that cost the outputs most, {found.samples} samples"
    shown: list[rich.table.Table | str] = [table(title, COLUMNS, map(_row, worst)), ""] if worst else []
    shown += [table("outputs", ["output", "SQNR dB"], {**found.outputs, **found.judged}.items()), ""]
    return [*shown, "what to try next", *(f"  {advice.what}\n    -> {advice.attempt}" for advice in found.advice)]


def _row(layer: LayerFacts) -> tuple[object, ...]:
    return (
        ending(layer.node),
        layer.operator,
        *(_decibels(ratio) for ratio in (layer.local, layer.weights, layer.rounding, layer.accumulated)),
        f"{layer.cost:.1%}",
        f"{layer.low:.4g} to {layer.high:.4g}",
        f"{layer.seen_low:.4g} to {layer.seen_high:.4g}",
        f"{layer.saturated:.2%}" if layer.saturated else "",
        f"{layer.dead} of {layer.channels}" if layer.dead else "",
    )


def _decibels(ratio: float) -> str:
    return "-" if ratio >= BEST else f"{ratio:.1f}"
