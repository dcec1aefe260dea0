"""Latencies: percentiles, distributions, threads, packages against one another, and earlier runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from edgec.records.results import Job, Latency, Versus
from edgec.reports.outcome import left_out
from edgec.reports.page import Cell, Details, Figure, Gallery, Item, Section, Table, cells, columns
from edgec.reports.pictures import POINTS, histogram, history_picture, logarithm, median_bar, ratio_picture, reach, threads_picture
from edgec.reports.runs import Run, way
from edgec.reports.words import digits, interval_text, percent, size_text, time_text

MOST_ROWS, MOST_FIGURES = 1000, 48


def section(run: Run) -> Section | None:
    measured = [(job, latency) for job in run.jobs for latency in job.latencies]
    if not measured:
        return None
    lead = "Medians with their 95 % interval, taken from rounds that are a fresh process each. Times of one run."
    items: tuple[Item, ...] = (_percentiles(run, measured), _pictures(run), Details("How they were measured", (_rounds(run, measured),)))
    return Section("latency", "Latency", lead, items)


def _percentiles(run: Run, measured: Sequence[tuple[Job, Latency]]) -> Table:
    most = reach([latency for _, latency in measured])
    rows = tuple(
        cells(
            Cell(job.device, "name"),
            Cell(run.label(job.package), "name", way(latency)),
            Cell("", "", "", median_bar(latency, most)),
            Cell(time_text(latency.p50_us, 4), "number strong", interval_text(latency.low_us, latency.high_us)),
            *(time_text(us) for us in (latency.min_us, latency.mean_us, latency.p90_us, latency.p95_us, latency.p99_us, latency.std_us)),
            time_text(latency.cold_us),
            size_text(latency.rss_bytes),
        )
        for job, latency in measured[:MOST_ROWS]
    )
    titles = columns("board", "package", "", "#p50", "#min", "#mean", "#p90", "#p95", "#p99", "#std", "#cold start", "#resident")
    return Table("", titles, rows, left_out(len(measured), MOST_ROWS, "row"))


def _pictures(run: Run) -> Gallery:
    """The distribution of the fastest way of every job, and where threads were swept, what they gain."""
    figures = []
    shown = [(job, latency, f"{run.label(job.package)} on {job.device}") for job in run.jobs if (latency := job.fastest) is not None]
    for _, latency, who in shown[:MOST_FIGURES]:
        caption = f"{way(latency)}: p50 {time_text(latency.p50_us, 4)}, p99 {time_text(latency.p99_us)}"
        figures.append(Figure(who, histogram(latency, who), caption))
    for job, _, who in shown[:MOST_FIGURES]:
        if len({(latency.threads, latency.gpu) for latency in job.latencies}) > 1:
            caption = "Number of threads; the gain is over the first."
            figures.append(Figure(f"{who}, by threads", threads_picture(job.latencies, who), caption))
    return Gallery(tuple(figures), left_out(len(shown), MOST_FIGURES, "distribution"))


def _rounds(run: Run, measured: Sequence[tuple[Job, Latency]]) -> Table:
    rows = tuple(
        cells(
            Cell(job.device, "name"),
            Cell(run.label(job.package), "name", way(latency)),
            f"{latency.rounds:,}",
            f"{latency.runs:,}",
            f"{digits(latency.seconds)} s",
            ", ".join(time_text(us) for us in latency.medians_us[:12]),
            _frequencies(latency),
        )
        for job, latency in measured[:MOST_ROWS]
    )
    titles = columns("board", "package", "#rounds", "#runs", "#took", "median of each round", "clock under load")
    return Table("", titles, rows, left_out(len(measured), MOST_ROWS, "row"))


def _frequencies(latency: Latency) -> str:
    if not latency.frequencies_khz:
        return "not told"
    low, high = min(latency.frequencies_khz) / 1000, max(latency.frequencies_khz) / 1000
    return f"{low:,.0f} MHz" if low == high else f"{low:,.0f} to {high:,.0f} MHz"


def ratio_words(versus: Versus) -> str:
    """What the interval lets us say."""
    if versus.high < 1:
        return f"faster, by {percent(1 - versus.ratio)}"
    if versus.low > 1:
        return f"slower, by {percent(versus.ratio - 1)}"
    return "no difference shown"


def against(run: Run) -> Section | None:
    if not run.versus:
        return None
    shown = run.versus[:MOST_ROWS]
    widest = max(max(abs(logarithm(end)) for end in (versus.low, versus.high)) for versus in shown) * 1.1 + 0.02
    rows = tuple(
        cells(
            Cell(versus.device, "name"),
            Cell(run.label(versus.package), "name", f"against {run.label(versus.base)}"),
            Cell(f"×{digits(versus.ratio, 4)}", "number strong", f"{digits(versus.low, 4)} to {digits(versus.high, 4)}"),
            Cell("", "", "", ratio_picture(versus.ratio, versus.low, versus.high, widest)),
            ratio_words(versus),
            f"{versus.rounds:,}",
        )
        for versus in shown
    )
    titles = columns("board", "package", "#p50 / p50", "faster | slower", "which means", "#rounds")
    lead = "Packages that took turns, round by round, on the same board: the ratio of their medians and its 95 % interval."
    return Section("against", "Against one another", lead, (Table("", titles, rows, left_out(len(run.versus), MOST_ROWS, "row")),))


def history(runs: Sequence[Run]) -> Section | None:
    """runs: oldest first; the last is the one that the page shows. A package is the same when name, target and precision are."""
    points: dict[tuple[str, ...], list[_Point]] = defaultdict(list)
    last = {_identity(runs[-1], job) for job in runs[-1].jobs}
    for run in runs:
        for job in sorted(run.jobs, key=lambda job: job.started):
            latency = job.fastest
            if latency is not None and _identity(run, job) in last:
                points[_identity(run, job)].append(_Point(job.started[:10], latency, job.steady))
    several = [(identity, found) for identity, found in points.items() if len(found) > 1]
    if not several:
        return None
    figures = tuple(
        Figure(f"{name} on {device}", history_picture([(one.day, one.latency) for one in found], f"{name} on {device}"), _change(found))
        for (device, name, *_), found in several[:MOST_FIGURES]
    )
    rows = tuple(
        cells(Cell(device, "name"), Cell(name, "name"), f"{len(found)}", *_medians(found), _change(found))
        for (device, name, *_), found in several[:MOST_ROWS]
    )
    titles = columns("board", "package", "#runs", "#first median", "#run before", "#last median", "change")
    table = Table("", titles, rows, left_out(len(several), MOST_ROWS, "row"))
    lead = f"The fastest median latency of each of the last {min(len(runs), POINTS)} runs, with 95 % intervals."
    items = (Gallery(figures, left_out(len(several), MOST_FIGURES, "history")), Details("As a table", (table,)))
    return Section("history", "History", lead, items)


@dataclass(frozen=True)
class _Point:
    """What one run measured."""

    day: str
    latency: Latency
    steady: bool


def _medians(found: Sequence[_Point]) -> list[Cell]:
    return [Cell(time_text(one.latency.p50_us, 4), "number", one.day) for one in (found[0], found[-2], found[-1])]


def _identity(run: Run, job: Job) -> tuple[str, ...]:
    facts = run.packages.get(job.package)
    return (job.device, facts.name, facts.target, facts.precision) if facts else (job.device, run.label(job.package))


def _change(found: Sequence[_Point]) -> str:
    """The last run against the one before; only intervals that are apart, both of a steady board, say that something changed."""
    before, now = (one.latency for one in found[-2:])
    if not all(one.steady for one in found[-2:]):
        return "not known: a speed is unsteady"
    apart = now.low_us > before.high_us or now.high_us < before.low_us
    change = (
        f"{'+' if now.p50_us > before.p50_us else ''}{percent(now.p50_us / before.p50_us - 1)} against the run before"
        if before.p50_us > 0
        else "nothing to compare with"
    )
    return f"{change}{'' if apart else ', within the intervals'}"
