"""The search for the layers that lose most, as a page or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from edgec.base.errors import UsageError
from edgec.base.harmless import ending
from edgec.base.output import write_file
from edgec.records.diagnosis import Diagnosis, LayerFacts
from edgec.reports.decibels import depth_picture, histogram_picture
from edgec.reports.grades import decibels, graded
from edgec.reports.html import render_page
from edgec.reports.page import Cell, Details, Figure, Gallery, Item, Page, Section, Table, Tile, cells, columns
from edgec.reports.pictures import share_bar
from edgec.reports.words import digits, harmless, percent, plural

WORST, MOST_ROWS = 20, 3000
TITLES = columns(
    "layer", "operator", "#of the outputs' error", "", "#own error", "#in weights", "#in storing", "#accumulated", "#codes hold", "#seen",
    "#outside", "#lost channels", "#scale", "#zero point",
)  # fmt: skip


def write_diagnosis(diagnosis: Diagnosis, title: str, path: Path, *, force: bool = False) -> None:
    """In the form that the suffix of `path` names; UsageError for another one, or where nobody may write. title: what was looked at."""
    check_diagnosis_form(path)
    form = path.suffix.lower()
    write_file(path, FORMS[form](diagnosis, title).encode(), form, force=force)


def check_diagnosis_form(path: Path) -> None:
    if path.suffix.lower() not in FORMS:
        raise UsageError(f"unknown form of report {path.suffix!r}", where=str(path), hint=f"end its name in one of {', '.join(FORMS)}")


def render_diagnosis(diagnosis: Diagnosis, title: str) -> str:
    """The page. Equal facts give equal bytes; words of the model are shown and do nothing."""
    layers = tuple(replace(one, node=ending(one.node), value=ending(one.value)) for one in diagnosis.layers)
    histograms = tuple(replace(one, value=ending(one.value)) for one in diagnosis.histograms)
    return render_page(_page(harmless(replace(diagnosis, layers=layers, histograms=histograms)), harmless(title)))


def _as_json(diagnosis: Diagnosis, title: str) -> str:
    return json.dumps({"what": title, **diagnosis.facts}, indent=1, allow_nan=False) + "\n"


FORMS: dict[str, Callable[[Diagnosis, str], str]] = {".html": render_diagnosis, ".json": _as_json}


def _page(found: Diagnosis, title: str) -> Page:
    grade, sentence, least = graded(found.judged.values())
    sections = (_advice(found), _depth(found), _layers(found), _histograms(found), _outputs(found))
    tiles = [Tile(decibels(least), "the worst output", grade), Tile(str(len(found.layers)), "stored values")]
    if found.ranked:
        tiles.append(Tile(percent(found.ranked[0].cost), f"of the outputs' error begins in {found.ranked[0].node}"))
    subtitle = f"{plural(found.samples, 'sample')} · observer {found.observer}"
    return Page(title, subtitle, grade, sentence, tuple(tiles), tuple(one for one in sections if one.items))


def _advice(found: Diagnosis) -> Section:
    rows = tuple(cells(Cell(advice.what, "reason"), Cell(advice.attempt, "reason")) for advice in found.advice)
    items: tuple[Item, ...] = (Table("", columns("what was noticed", "what to try"), rows),) if rows else ()
    return Section("advice", "What to try next", "", items)


def _depth(found: Diagnosis) -> Section:
    lead = (
        "Orange: what each layer makes wrong by itself when it reads exact values as they are stored. Blue: what is wrong with all "
        "layers before it. Where blue falls and orange does not, errors add up."
    )
    items: tuple[Item, ...] = (Gallery((Figure("SQNR along the depth", depth_picture(found.layers)),), wide=True),) if found.layers else ()
    return Section("depth", "Along the depth", lead, items)


def _layers(found: Diagnosis) -> Section:
    lead = "The part of the outputs' error is what each layer's own error does to the outputs, run by run, when all others are exact."
    title = f"The {min(WORST, len(found.layers))} of {plural(len(found.layers), 'value')} that cost most"
    more = f"and {len(found.layers) - MOST_ROWS:,} more" if len(found.layers) > MOST_ROWS else ""
    every = Details("All in their order", (Table("", TITLES, _rows(found.layers[:MOST_ROWS], 0.0), more),))
    items = (Table(title, TITLES, _rows(found.ranked[:WORST], found.ranked[0].cost)), every) if found.layers else ()
    return Section("layers", "Layers", lead, items)


def _rows(layers: Sequence[LayerFacts], most: float) -> tuple[tuple[Cell, ...], ...]:
    return tuple(_row(layer, most) for layer in layers)


def _row(layer: LayerFacts, most: float) -> tuple[Cell, ...]:
    lost = f"{layer.dead} of {layer.channels}" if layer.dead else ""
    return cells(
        Cell(layer.node, "name", layer.value if layer.value != layer.node else ""),
        layer.operator,
        percent(layer.cost),
        Cell("", "", "", share_bar(layer.cost / most, "bar") if most > 0 else None),
        decibels(layer.local),
        decibels(layer.weights),
        decibels(layer.rounding),
        decibels(layer.accumulated),
        f"{digits(layer.low)} to {digits(layer.high)}",
        f"{digits(layer.seen_low)} to {digits(layer.seen_high)}",
        Cell(percent(layer.saturated, 2) if layer.saturated else "", "bad" if layer.saturated > 0.01 else ""),
        Cell(lost, "bad" if lost else "", f"{layer.constant} never vary" if layer.constant else ""),
        digits(layer.scale),
        str(layer.zero_point),
    )


def _histograms(found: Diagnosis) -> Section:
    lead = "Of the layers that cost most. Shaded: what the codes hold. Dashed: the ends of 99.8 % of the numbers. Heights are square roots."
    layers = {layer.value: layer for layer in found.layers}
    known = [(histogram, layers[histogram.value]) for histogram in found.histograms if histogram.value in layers]
    figures = tuple(Figure(layer.node, histogram_picture(histogram, layer)) for histogram, layer in known)
    return Section("histograms", "Where the numbers lie", lead, (Gallery(figures),) if figures else ())


def _outputs(found: Diagnosis) -> Section:
    rows = tuple(cells(Cell(name, "name"), decibels(ratio)) for name, ratio in {**found.outputs, **found.judged}.items())
    items: list[Item] = [Table("", columns("output", "#SQNR"), rows)]
    if found.kept_in_float:
        kept = tuple(cells(Cell(name, "name"), Cell(why, "reason")) for name, why in found.kept_in_float.items())
        items.append(Details(f"{plural(len(kept), 'node')} left in float", (Table("", columns("node", "why"), kept[:MOST_ROWS]),)))
    return Section("outputs", "Outputs", "What a final Softmax or Sigmoid reads stands for its result.", tuple(items))
