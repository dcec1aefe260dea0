"""What edgec quantize reports, as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgec.base.harmless import ending
from edgec.reports.goal import goal_section
from edgec.reports.grades import decibels, graded
from edgec.reports.html import render_page
from edgec.reports.page import Cell, Details, Item, Page, Section, Table, Tile, cells, columns
from edgec.reports.pruning import pruning_section
from edgec.reports.words import clean, digits, plural

WORST, MOST_ROWS = 20, 3000
LAYERS = columns("layer", "operator", "#SQNR", "#codes hold", "#scale", "#zero point")
STEPS = columns("step", "#without", "#everywhere", "#kept", "#kept in")


def render_quantization(report: Mapping[str, Any], title: str) -> str:
    """report: what `QuantizationReport.to_json` gives. Equal reports give equal bytes; words of the model are shown and do nothing."""
    grade, sentence, least = graded(report["outputs"].values())
    layers, steps = report["layers"], report["steps"]
    tiles = (Tile(decibels(least), "the worst output", grade), Tile(str(len(layers)), "stored values"))
    notes = " · ".join(clean(note) for note in report["notes"])
    sections = (
        Section("layers", "Layers", "Each with the errors of all layers before it.", _layers(layers)),
        Section("steps", "Steps", "On samples that a step was not fitted to.", (Table("", STEPS, _steps(steps)),) if steps else ()),
        pruning_section(report["pruning"]),
        goal_section(report["goal"]),
        Section("outputs", "Outputs", "", _outputs(report)),
    )
    return render_page(Page(clean(title), notes, grade, sentence, tiles, tuple(section for section in sections if section.items)))


def _layers(layers: Sequence[Mapping[str, Any]]) -> tuple[Item, ...]:
    rows = tuple(
        cells(
            Cell(_name(layer["node"]), "name", _name(layer["value"]) if layer["value"] != layer["node"] else ""),
            clean(layer["operator"]),
            decibels(layer["sqnr"]),
            f"{digits(layer['low'])} to {digits(layer['high'])}",
            digits(layer["scale"]),
            str(layer["zero_point"]),
        )
        for layer in layers[:MOST_ROWS]
    )
    if len(rows) <= WORST:
        return (Table("Worst first", LAYERS, rows),) if rows else ()
    return Table(f"The {WORST} worst", LAYERS, rows[:WORST]), Details(f"All {len(layers):,}", (Table("", LAYERS, rows),))


def _steps(steps: Sequence[Mapping[str, Any]]) -> tuple[tuple[Cell, ...], ...]:
    ratios = ("before", "everywhere", "after")
    return tuple(cells(step["step"], *(decibels(step[key]) for key in ratios), f"{step['taken']} of {step['places']}") for step in steps)


def _outputs(report: Mapping[str, Any]) -> tuple[Item, ...]:
    rows = tuple(cells(Cell(_name(name), "name"), decibels(ratio)) for name, ratio in report["outputs"].items())
    items: list[Item] = [Table("", columns("output", "#SQNR"), rows)] if rows else []
    kept = tuple(cells(Cell(_name(name), "name"), Cell(clean(why), "reason")) for name, why in report["kept_in_float"].items())
    if kept:
        items.append(Details(f"{plural(len(kept), 'node')} left in float", (Table("", columns("node", "why"), kept[:MOST_ROWS]),)))
    return tuple(items)


def _name(name: str) -> str:
    return clean(ending(name))
