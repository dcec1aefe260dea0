"""Which channels were removed, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgec.base.harmless import ending
from edgec.reports.grades import decibels
from edgec.reports.page import Cell, Details, Item, Section, Table, cells, columns
from edgec.reports.words import clean, percent, plural

LAYERS = columns("layer", "operator", "#channels", "#left")


def pruning_section(pruning: Mapping[str, Any] | None) -> Section:
    """pruning: as a quantization's report has it."""
    if pruning is None:
        return Section("pruning", "Pruning", "", ())
    alike = "" if pruning["agreement"] is None else f", the same best class in {percent(pruning['agreement'])}"
    judges = plural(pruning["samples"], "sample") + (" that nothing was fitted to" if pruning["apart"] else "")
    gone = f"{percent(pruning['macs'])} of the multiply-accumulates and {percent(pruning['parameters'])} of the parameters are gone."
    lead = f"{gone} Against the original, both in float: {decibels(pruning['sqnr'])}{alike}, on {judges}. {pruning['warning']}"
    rows = tuple(
        cells(_name(layer["node"]), clean(layer["operator"]), str(layer["before"]), str(layer["after"])) for layer in pruning["layers"]
    )
    whole = tuple(cells(_name(name), Cell(clean(why), "reason")) for name, why in pruning["whole"].items())
    items: list[Item] = [Table("Smaller layers", LAYERS, rows)]
    items += [Details(f"{plural(len(whole), 'layer')} kept whole", (Table("", columns("layer", "why"), whole),))] if whole else []
    return Section("pruning", "Pruning", lead, tuple(items))


def _name(name: str) -> Cell:
    return Cell(clean(ending(name)), "name")
