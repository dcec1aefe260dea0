"""Where the time of a run goes, call by call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgec.base.harmless import ending
from edgec.records.results import BenchedLayer, Job
from edgec.reports.outcome import left_out
from edgec.reports.page import Cell, Details, Item, Section, Table, cells, columns, filled
from edgec.reports.pictures import share_bar
from edgec.reports.runs import Run
from edgec.reports.words import count_text, digits, percent, plural, time_text

MOST_BARS = 20  # layers that are shown without unfolding
MOST_JOBS, MOST_ROWS = 12, 3000  # of a page
STYLES = {"int8": "int8", "uint8": "int8", "float32": "float32"}
TITLES = columns("layer", "kernel", "precision", "", "#time", "#share", "#MACs", "#on the GPU", "#GMAC/s", "#SQNR")


@dataclass(frozen=True)
class Timed:
    """A call and its median time on the processor, and on the GPU where it was measured there."""

    layer: BenchedLayer
    us: float
    gpu_us: float | None = None


def timed_layers(run: Run, job: Job) -> list[Timed]:
    """Calls in their order; a time of a call that the package does not have is left out."""
    facts = run.packages.get(job.package)
    layers = facts.layers if facts else ()
    on_gpu = {time.layer: time.us for time in job.gpu.profile} if job.gpu else {}
    return [Timed(layers[time.layer], time.us, on_gpu.get(time.layer)) for time in job.profile if 0 <= time.layer < len(layers)]


def section(run: Run) -> Section | None:
    profiled = [(job, layers) for job in run.jobs if (layers := timed_layers(run, job))]
    if not profiled:
        return None
    items: list[Item] = []
    rows = MOST_ROWS // min(len(profiled), MOST_JOBS)
    for job, layers in profiled[:MOST_JOBS]:
        wait = f"Each piece of work takes the GPU {time_text(job.gpu.wait_us)} more." if job.gpu and job.gpu.profile else ""
        items += _of_job(f"{run.label(job.package)} on {job.device}", layers, rows, wait)
    left = left_out(len(profiled), MOST_JOBS, "profile")
    lead = f"The median time of every call on one thread, the longest first. {left}".strip()
    return Section("layers", "Layers", lead, tuple(items))


def _of_job(who: str, layers: Sequence[Timed], most: int, wait: str) -> list[Item]:
    total = sum(max(timed.us, 0.0) for timed in layers)
    longest = sorted(layers, key=lambda timed: -timed.us)
    rest = longest[MOST_BARS:]
    spent = sum(max(timed.us, 0.0) for timed in rest)
    more = f"and {len(rest):,} more: {time_text(spent)} together, {_share(spent, total)}" if rest else ""
    more = f"{more}{'. ' if more and wait else ''}{wait}"
    title = f"{who}: {time_text(total)} in {plural(len(layers), 'call')}"
    shown = filled(Table(title, TITLES, _rows(longest[:MOST_BARS], total, bars=True), more))
    if not rest:
        return [shown]
    left = left_out(len(layers), most, "call")
    return [
        shown,
        Details(f"All {len(layers):,} calls in their order", (filled(Table("", TITLES, _rows(layers[:most], total, bars=False), left)),)),
    ]


def _rows(layers: Sequence[Timed], total: float, *, bars: bool) -> tuple[tuple[Cell, ...], ...]:
    most = max((timed.us for timed in layers), default=0.0)
    return tuple(_row(timed, total, most, bars=bars) for timed in layers)


def _row(timed: Timed, total: float, most: float, *, bars: bool) -> tuple[Cell, ...]:
    layer = timed.layer
    style = STYLES.get(layer.precision, "other")
    nodes = ", ".join(node for node in layer.nodes[:4] if node != layer.name) if bars else ""
    return cells(
        Cell(ending(layer.name), "name", nodes),
        Cell(layer.kernel, "kernel"),
        Cell(layer.precision, f"precision {style}"),
        Cell("", "", "", share_bar(timed.us / most if most > 0 else 0.0, f"bar {style}") if bars else None),
        time_text(timed.us),
        _share(timed.us, total),
        count_text(layer.macs) if layer.macs else "",
        "" if timed.gpu_us is None else time_text(timed.gpu_us),
        digits(layer.macs / timed.us / 1000) if layer.macs and timed.us > 0 else "",
        "" if layer.sqnr_db is None else f"{layer.sqnr_db:.1f} dB",
    )


def _share(us: float, total: float) -> str:
    return percent(us / total) if total > 0 else ""
