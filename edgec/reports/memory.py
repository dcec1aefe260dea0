"""The arena over the course of a run: which buffer lies where, and when."""

from __future__ import annotations

from collections.abc import Sequence

from edgec.records.results import Block, PackageFacts
from edgec.reports.page import Cell, Details, Figure, Gallery, Item, Section, Table, cells, columns
from edgec.reports.runs import Run
from edgec.reports.svg import Picture, Scale, Shape, line, path, rectangle, scale, words
from edgec.reports.words import fitting, percent, plural, size_text

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 280, 64, 708, 18, 244
MOST_BLOCKS, MOST_POINTS = 600, 400  # of one picture
MOST_PACKAGES, MOST_ROWS = 24, 200


def section(run: Run) -> Section | None:
    packages = [facts for facts in run.packages.values() if facts.blocks]
    if not packages:
        return None
    figures = tuple(
        Figure(run.label(facts.sha256), timeline(facts, run.label(facts.sha256)), _caption(facts)) for facts in packages[:MOST_PACKAGES]
    )
    more = f"{plural(len(packages) - MOST_PACKAGES, 'more package')} not shown" if len(packages) > MOST_PACKAGES else ""
    tables = tuple(_table(facts, run.label(facts.sha256)) for facts in packages[:MOST_PACKAGES])
    items: tuple[Item, ...] = (Gallery(figures, more, wide=True), Details("Every buffer, the largest first", tables))
    lead = "Each box is a buffer of the arena: up is its address, to the right the calls during which it is needed."
    return Section("memory", "Memory", lead, items)


def occupied(blocks: Sequence[Block], calls: int) -> list[int]:
    """Bytes that are needed during each of `calls` calls."""
    change = [0] * (calls + 1)
    for block in blocks:
        first = min(max(block.first, 0), calls)
        change[first] += block.bytes
        change[min(max(block.last + 1, first), calls)] -= block.bytes
    total, result = 0, []
    for step in change[:calls]:
        total += step
        result.append(total)
    return result


def calls_of(facts: PackageFacts) -> int:
    """How many calls a run has; a block that claims more than a package can have is drawn to the end."""
    return max(1, len(facts.layers) or min(max((block.last for block in facts.blocks), default=0) + 1, 100_000))


def timeline(facts: PackageFacts, who: str) -> Picture:
    calls = calls_of(facts)
    ends = [block.address + block.bytes for block in facts.blocks]
    across = Scale(0, calls, LEFT, RIGHT)
    up = scale([facts.arena_bytes, *ends], BOTTOM, TOP, zero=True)
    shapes = _axes(across, up, calls)
    largest = sorted(facts.blocks, key=lambda block: (-block.bytes, block.address, block.first))[:MOST_BLOCKS]
    needed = occupied(facts.blocks, calls)
    shapes += [_box(block, across, up) for block in largest]
    shapes.append(path(_steps(needed, across, up), "occupied"))
    shapes += [name for block in largest for name in _name(block, across, up)]
    total = up.at(facts.arena_bytes)
    shapes += [
        line(LEFT, total, RIGHT, total, "limit"),
        words(RIGHT, total - 5, f"arena {size_text(facts.arena_bytes)}", "label strong", "end"),
    ]
    description = (
        f"{plural(len(facts.blocks), 'buffer')} over {plural(calls, 'call')}; at most {size_text(max(needed))} are needed at once, "
        f"the arena has {size_text(facts.arena_bytes)}"
    )
    return Picture(WIDTH, HEIGHT, tuple(shapes), f"Memory time-line of {who}", description)


def _axes(across: Scale, up: Scale, calls: int) -> list[Shape]:
    shapes = []
    unit = next((size for size in (2**30, 2**20, 2**10) if up.high >= size), 1)
    for tick in [unit * tick for tick in Scale(up.low / unit, up.high / unit, 0, 1).ticks(5)]:
        shapes += [line(LEFT, up.at(tick), RIGHT, up.at(tick), "grid"), words(LEFT - 6, up.at(tick) + 4, size_text(tick), "label", "end")]
    for tick in [tick for tick in across.ticks(8) if tick == int(tick)]:
        shapes += [line(across.at(tick), BOTTOM, across.at(tick), BOTTOM + 4, "axis")]
        shapes += [words(across.at(tick), BOTTOM + 17, f"{int(tick):,}", "label", "middle")]
    return [
        *shapes,
        line(LEFT, BOTTOM, RIGHT, BOTTOM, "axis"),
        words((LEFT + RIGHT) / 2, HEIGHT - 4, f"calls of one run ({calls:,})", "label", "middle"),
    ]


def _box(block: Block, across: Scale, up: Scale) -> Shape:
    x, y = across.at(block.first), up.at(block.address + block.bytes)
    hint = f"{block.name}: {size_text(block.bytes)} at {block.address:,}, calls {block.first:,} to {block.last:,}"
    return rectangle(x, y, across.at(block.last + 1) - x - 0.5, up.at(block.address) - y - 0.5, "block", hint)


def _name(block: Block, across: Scale, up: Scale) -> list[Shape]:
    """The buffer's name, where its box has room."""
    x, right = across.at(block.first), across.at(block.last + 1)
    y, bottom = up.at(block.address + block.bytes), up.at(block.address)
    name = fitting(block.name, right - x - 8) if bottom - y >= 14 else ""
    return [words(x + 4, (y + bottom) / 2 + 4, name, "label inside")] if name else []


def _steps(needed: Sequence[int], across: Scale, up: Scale) -> list[tuple[float, float]]:
    """The outline of what is needed; of thousands of calls, the most of each of some hundred parts."""
    size = -(-len(needed) // MOST_POINTS)
    points = []
    for start in range(0, len(needed), size):
        level = up.at(max(needed[start : start + size]))
        points += [(across.at(start), level), (across.at(min(start + size, len(needed))), level)]
    return points


def _caption(facts: PackageFacts) -> str:
    most = max(occupied(facts.blocks, calls_of(facts)))
    lost = f", {percent(1 - most / facts.arena_bytes)} lost to gaps" if facts.arena_bytes > 0 and 0 <= most <= facts.arena_bytes else ""
    return (
        f"Arena {size_text(facts.arena_bytes)}; at most {size_text(most)} are needed at once{lost}. "
        f"Weights {size_text(facts.weights_bytes)}, in the program. The line is what is needed, the dashed one what is reserved."
    )


def _table(facts: PackageFacts, who: str) -> Table:
    largest = sorted(facts.blocks, key=lambda block: (-block.bytes, block.address, block.first))
    rows = tuple(
        cells(Cell(block.name, "name"), size_text(block.bytes), f"{block.address:,}", f"{block.first:,}", f"{block.last:,}")
        for block in largest[:MOST_ROWS]
    )
    rest = sum(block.bytes for block in largest[MOST_ROWS:])
    more = f"and {len(largest) - MOST_ROWS:,} more of {size_text(rest)}" if len(largest) > MOST_ROWS else ""
    return Table(who, columns("buffer", "#size", "#address", "#first call", "#last call"), rows, more)
