"""What pruning removed and what it costs, as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import rich.table

from edgec.cli.console import table

TITLES = ["pruned layer", "operator", "channels", "left"]


def pruning_tables(pruning: Mapping[str, Any]) -> list[rich.table.Table | str]:
    """pruning: the facts that reports and manifests have."""
    rows = [[layer[key] for key in ("node", "operator", "before", "after")] for layer in pruning["layers"]]
    judges = f"{pruning['samples']} samples" + (" that nothing was fitted to" if pruning["apart"] else " that it was fitted to")
    alike = "" if pruning["agreement"] is None else f", the same best class in {pruning['agreement']:.0%}"
    return [
        "",
        f"pruned: {pruning['macs']:.1%} of the multiply-accumulates and {pruning['parameters']:.1%} of the parameters are gone",
        f"pruned against original, both in float: SQNR {pruning['sqnr']:.1f} dB{alike}, on {judges}",
        "",
        table("", TITLES, rows),
        f"warning: {pruning['warning']}",
    ]
