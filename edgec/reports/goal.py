"""How a goal of accuracy was reached: what stays in float32 or gets 16 bits, why, and accuracy against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgec.base.harmless import ending, kept_words
from edgec.reports.grades import decibels
from edgec.reports.page import Cell, Details, Figure, Gallery, Item, Section, Table, cells, columns
from edgec.reports.svg import Picture, Shape, dot, line, scale, words
from edgec.reports.words import clean, percent, plural, size_text

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 280, 44, 708, 22, 244
LAYERS = columns(
    "layer", "operator", "in", "#of the error", "#with it in int8", "#changed", "#of the MACs", "#adds to the time", "#int8 saves"
)
TRIED = columns("#layers kept", "#in int16", "#SQNR", "#changed", "#MACs in float", "#estimated time")
LEAD = (
    "Time is estimated: 1 with all layers in int8; a multiply-accumulate in float counts as three, of 16 bits as two, and each byte "
    "written as one."
)


def goal_section(goal: Mapping[str, Any] | None) -> Section:
    """goal: as a quantization's report has it."""
    items: list[Item] = []
    if goal is not None and goal["kept"]:
        items.append(Table("Kept from int8", LAYERS, tuple(map(_layer, goal["kept"]))))
        items.append(Gallery((Figure("Accuracy against estimated time", goal_picture(goal)),), wide=True))
        tried = sorted(goal["attempts"], key=lambda one: (one["latency"], one["kept"]))
        items.append(Details(plural(len(tried), "attempt"), (Table("", TRIED, tuple(map(_attempt, tried))),)))
    elif goal is not None:
        items.append(Table("", TRIED, tuple(map(_attempt, goal["attempts"]))))
    return Section("goal", "Goal", f"{_asked(goal)} {LEAD}" if goal else "", tuple(items))


def goal_picture(goal: Mapping[str, Any]) -> Picture:
    """A point for each attempt; the ratio that was asked for is a line, what was taken is orange."""
    attempts: Sequence[Mapping[str, Any]] = goal["attempts"]
    asked = goal["goal"]["min_sqnr"]
    up = scale([one["sqnr"] for one in attempts] + ([asked] if asked is not None else []), BOTTOM - 8, TOP + 4)
    across = scale([one["latency"] for one in attempts], LEFT + 10, RIGHT - 10)
    shapes: list[Shape] = []
    for tick in up.ticks(6):
        shapes += [line(LEFT, up.at(tick), RIGHT, up.at(tick), "grid"), words(LEFT - 5, up.at(tick) + 4, f"{tick:.6g}", "label", "end")]
    shapes += [words(2, 12, "dB", "label"), line(LEFT, BOTTOM, RIGHT, BOTTOM, "axis")]
    for tick in across.ticks(6):
        shapes += [line(across.at(tick), BOTTOM, across.at(tick), BOTTOM + 4, "axis")]
        shapes += [words(across.at(tick), BOTTOM + 17, f"{tick:.6g}", "label", "middle")]
    if asked is not None:
        shapes.append(line(LEFT, up.at(asked), RIGHT, up.at(asked), "limit"))
    taken = (len(goal["kept"]), goal["after"]["sqnr"])
    for one in sorted(attempts, key=lambda one: (one["kept"], one["sqnr"]) == taken):
        chosen = (one["kept"], one["sqnr"]) == taken
        hint = f"{plural(one['kept'], 'layer')} kept: {decibels(one['sqnr'])}, {one['latency']:.2f} of the time"
        shapes.append(dot(across.at(one["latency"]), up.at(one["sqnr"]), 5 if chosen else 3.5, "point local" if chosen else "point", hint))
    told = f"{plural(len(attempts), 'attempt')}; taken: {plural(taken[0], 'layer')} kept, {decibels(taken[1])}"
    return Picture(WIDTH, HEIGHT, tuple(shapes), "Signal-to-noise ratio of the outputs against estimated time", told)


def _asked(goal: Mapping[str, Any]) -> str:
    least, most = goal["goal"]["min_sqnr"], goal["goal"]["max_drop"]
    asked = [f"at least {least:g} dB"] if least is not None else []
    asked += [f"another best class in at most {percent(most, 2)} of the samples"] if most is not None else []
    judges = plural(goal["samples"], "sample") + (" that nothing was fitted to" if goal["apart"] else "")
    before, after = (f"{decibels(goal[key]['sqnr'])}{_changed(goal[key], ', ', ' changed')}" for key in ("before", "after"))
    kept = f"{kept_words(one['type'] for one in goal['kept'])}: {after}; all in int8: {before}" if goal["kept"] else f"All in int8: {after}"
    return f"Asked: {' and '.join(asked)}, on {judges}. {kept}."


def _layer(kept: Mapping[str, Any]) -> tuple[Cell, ...]:
    shares = (percent(kept["macs"]), percent(kept["latency"]), size_text(kept["bytes"]) if kept["bytes"] else "")
    name = Cell(clean(ending(kept["node"])), "name")
    return cells(name, clean(kept["operator"]), kept["type"], percent(kept["error"]), decibels(kept["sqnr"]), _changed(kept), *shares)


def _attempt(one: Mapping[str, Any]) -> tuple[Cell, ...]:
    return cells(
        str(one["kept"]), str(one["wide"]), decibels(one["sqnr"]), _changed(one), percent(one["float_macs"]), f"{one['latency']:.2f}"
    )


def _changed(found: Mapping[str, Any], before: str = "", after: str = "") -> str:
    return "" if found["drop"] is None else f"{before}{percent(found['drop'])}{after}"
