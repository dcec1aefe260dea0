"""The report as one page that needs nothing else: no script, no font, no address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from edgec.base.resources import resource
from edgec.records.results import Record
from edgec.reports import boards, layers, memory, outcome, timing
from edgec.reports.page import Page, Section, Tile
from edgec.reports.runs import Run, gather, verdict
from edgec.reports.words import moment, plural, size_text, time_text

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment() -> Environment:
    """Every value is escaped; an unknown name is an error."""
    import jinja2  # here, since whoever asks for help or completion makes no page

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(resource("templates", "report")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )


def render_html(records: Iterable[Record], *, history: Sequence[Iterable[Record]] = ()) -> str:
    """The page of `records`; `history`: those of earlier runs, the oldest first. The same records give the same bytes."""
    run = gather(records)
    return render_page(page(run, [gather(earlier) for earlier in history]))


def render_page(page: Page) -> str:
    """Any page. Equal pages give equal bytes."""
    return _environment().get_template("page.html.j2").render(page=page)


def page(run: Run, earlier: Sequence[Run] = ()) -> Page:
    """What the page says, in words."""
    said = verdict(run)
    found = [
        outcome.section(run),
        timing.section(run),
        timing.against(run),
        layers.section(run),
        memory.section(run),
        boards.section(run),
        timing.history([*earlier, run]),
        boards.again(run),
    ]
    sections: tuple[Section, ...] = tuple(section for section in found if section is not None and section.items)
    return Page(_title(run), _subtitle(run), said.status, said.sentence, _tiles(run), sections)


def _title(run: Run) -> str:
    names = sorted({facts.name for facts in run.packages.values()})
    return ", ".join(names[:3]) + (" and more" if len(names) > 3 else "") if names else "Results"


def _subtitle(run: Run) -> str:
    parts = [plural(len(run.packages), "package"), plural(len(run.devices), "board"), moment(run.started)]
    return " · ".join(part for part in parts if part)


def _tiles(run: Run) -> tuple[Tile, ...]:
    tiles = [Tile(f"{count:,}", status, status) for status, count in run.counts.items() if count]
    measured = [(latency, job) for job in run.jobs if (latency := job.fastest) is not None]
    if measured:
        latency, job = min(measured, key=lambda pair: pair[0].p50_us)
        tiles.append(Tile(time_text(latency.p50_us), f"fastest median, {run.label(job.package)} on {job.device}"))
    most = max((latency.rss_bytes for latency, _ in measured), default=0)
    arena = max((facts.arena_bytes for facts in run.packages.values()), default=0)
    return (*tiles, *_memory_tiles(arena, most))


def _memory_tiles(arena: int, resident: int) -> list[Tile]:
    named = ((arena, "largest arena"), (resident, "largest resident set"))
    return [Tile(size_text(count), name) for count, name in named if count > 0]
