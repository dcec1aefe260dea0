"""The boards side by side, what could have spoilt their measurements, and how to measure again."""

from __future__ import annotations

import re
from collections.abc import Callable

from edgec.records.results import Job, State
from edgec.reports.outcome import left_out
from edgec.reports.page import Cell, Column, Commands, Item, Section, Table, cells, columns
from edgec.reports.runs import Run
from edgec.reports.words import count_text, digits, size_text

MOST_BOARDS, MOST_FACTS, MOST_PACKAGES = 500, 16, 200
TYPABLE = re.compile(r"[A-Za-z0-9._@:-]{1,80}")
SIDE_BY_SIDE = 6  # boards that a page is wide enough for


def section(run: Run) -> Section | None:
    jobs = {job.device: job for job in sorted(run.jobs, key=lambda job: bool(job.board))}
    if not jobs:
        return None
    boards = [jobs[device] for device in sorted(jobs)]
    items: list[Item] = [_facts(boards)]
    watched = [job for job in run.jobs if job.before or job.after]
    if watched:
        items.append(_states(run, watched))
    return Section("boards", "Boards", "What each board says of itself.", tuple(items))


def _facts(boards: list[Job]) -> Table:
    """Boards as columns where there is room for them, as rows where there are many."""
    names = list(dict.fromkeys(name for job in boards for name in (job.board or {})))[:MOST_FACTS]
    facts = {job.device: {"target": job.target, **(job.board or {})} for job in boards[:MOST_BOARDS]}
    names = list(dict.fromkeys(["target", *names]))
    if len(boards) <= SIDE_BY_SIDE:
        titles = (Column(""), *(Column(device) for device in facts))
        return Table("", titles, tuple(cells(Cell(name, "head"), *(found.get(name, "") for found in facts.values())) for name in names))
    rows = tuple(cells(Cell(device, "name"), *(found.get(name, "") for name in names)) for device, found in facts.items())
    return Table("", columns("board", *names), rows, left_out(len(boards), MOST_BOARDS, "board"))


def _states(run: Run, jobs: list[Job]) -> Table:
    rows = tuple(
        cells(
            Cell(job.device, "name"),
            Cell(run.label(job.package), "name"),
            _change(job, lambda state: state.governor),
            _change(job, lambda state: "" if state.frequency_khz is None else f"{state.frequency_khz / 1000:,.0f} MHz"),
            _change(job, lambda state: "" if state.most_frequency_khz is None else f"{state.most_frequency_khz / 1000:,.0f} MHz"),
            _change(job, lambda state: "" if state.temperature_c is None else f"{state.temperature_c:.1f} °C"),
            _throttled(job),
            _change(job, lambda state: "" if state.load is None else digits(state.load, 2)),
        )
        for job in jobs[:MOST_BOARDS]
    )
    titles = columns("board", "package", "governor", "#clock", "#highest clock", "#temperature", "throttled", "#load")
    return Table("Before → after the measurement", titles, rows, left_out(len(jobs), MOST_BOARDS, "job"))


def _change(job: Job, told: Callable[[State], str]) -> str:
    """What was told before and after; one word where nothing changed."""
    said = [told(state) if state is not None else "" for state in (job.before, job.after)]
    before, after = [words or "not told" for words in said]
    return before if before == after else f"{before} → {after}"


def _throttled(job: Job) -> Cell:
    reasons = dict.fromkeys(reason for state in (job.before, job.after) if state is not None for reason in state.throttled)
    return Cell(", ".join(list(reasons)[:6]), "bad") if reasons else Cell("no")


def again(run: Run) -> Section | None:
    """How to get these numbers once more: what was measured, exactly, and the command."""
    if not run.packages:
        return None
    rows = tuple(
        cells(
            Cell(facts.name, "name", f"{facts.target}, {facts.precision}"),
            Cell(sha256, "hash"),
            Cell(facts.model_sha256, "hash"),
            count_text(facts.macs),
            size_text(facts.arena_bytes),
            size_text(facts.weights_bytes),
        )
        for sha256, facts in list(run.packages.items())[:MOST_PACKAGES]
    )
    titles = columns("package", "sha256 of manifest.json", "sha256 of the model", "#MACs", "#arena", "#weights")
    table = Table("", titles, rows, left_out(len(run.packages), MOST_PACKAGES, "package"))
    devices = "".join(f" --device {device}" for device in run.devices[:12] if TYPABLE.fullmatch(device) and not device.startswith("-"))
    profile = " --profile" if any(job.profile for job in run.jobs) else ""
    commands = Commands(("sha256sum PACKAGE/manifest.json", f"edgec bench PACKAGE{devices}{profile}"))
    return Section(
        "again",
        "How to measure again",
        "A package is known by the hash of its manifest, which has those of all its files.",
        (table, commands),
    )
