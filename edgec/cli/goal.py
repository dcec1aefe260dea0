"""How a goal of accuracy was reached, as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import rich.table

from edgec.base.harmless import kept_words
from edgec.cli.console import bytes_text, table

ALL_IN_INT8 = "reached with all layers in int8"


def goal_tables(goal: Mapping[str, Any]) -> list[rich.table.Table | str]:
    """goal: before, after, samples, apart, kept, attempts, as reports and manifests have them."""
    judges = f"{goal['samples']} samples" + (" that nothing was fitted to" if goal["apart"] else "")
    if not goal["kept"]:
        return ["", f"goal: {ALL_IN_INT8}: {_words(goal['after'])}, on {judges}"]
    counted = kept_words(kept["type"] for kept in goal["kept"])
    titles = ["layer", "operator", "kept in", "of the error", "with it in int8", "of the MACs", "adds to the time", "int8 saves"]
    rows = [
        (
            kept["node"],
            kept["operator"],
            kept["type"],
            f"{kept['error']:.1%}",
            _words(kept),
            f"{kept['macs']:.1%}",
            f"{kept['latency']:.1%}",
            bytes_text(kept["bytes"]),
        )
        for kept in goal["kept"]
    ]
    return [
        "",
        f"goal: reached with {counted}: {_words(goal['after'])} instead of {_words(goal['before'])}, on {judges}",
        "",
        table("kept from int8", titles, rows),
        "",
        table("the best tries, by estimated time", ["layers kept", "in int16", "answers", "MACs in float", "time"], _attempts(goal)),
    ]


def _attempts(goal: Mapping[str, Any]) -> list[tuple[object, ...]]:
    """Those that no quicker one was as good as, and the one that was taken."""
    taken, found = (len(goal["kept"]), goal["after"]["sqnr"]), list[Mapping[str, Any]]()
    for one in sorted(goal["attempts"], key=lambda one: (one["latency"], -one["sqnr"])):
        if (one["kept"], one["sqnr"]) == taken or all(one["sqnr"] > other["sqnr"] for other in found):
            found.append(one)
    return [(one["kept"], one["wide"], _words(one), f"{one['float_macs']:.1%}", f"{one['latency']:.2f}") for one in found]


def _words(found: Mapping[str, Any]) -> str:
    changed = "" if found.get("drop") is None else f", {found['drop']:.1%} of best classes changed"
    return f"{found['sqnr']:.2f} dB{changed}"
