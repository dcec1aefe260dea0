"""The memory plan: every arena buffer of a Program gets an address; buffers whose lives do not overlap share bytes.

Placing intervals of given sizes is NP-hard; first-fit over a few orders, then a seeded search, reaches the live-set
bound (no plan can be smaller than the largest sum of buffers alive at one call) on ordinary networks.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import accumulate

from edgec.lower.in_place import in_place_pairs
from edgec.lower.slots import by_slots
from edgec.program.program import AnyCall, Kind, LoopCall, Program, TemplateCall
from edgec.program.turns import lives

ALIGNMENT = 64
SLACK = 64  # readable bytes after the last tensor: 8-bit kernels read a few bytes past a pixel's channels
SEARCH_ROUNDS = 300
SEARCH_WORK = 5_000_000  # blocks that these rounds look at, at most


@dataclass(frozen=True)
class Life:
    """A block of memory: alive from the call that first writes it to the last that reads it, both included."""

    name: str
    size: int
    first: int
    last: int


def plan(program: Program) -> None:
    """Set the address of every arena buffer, and the Program's arena, scratch and live-set sizes, in bytes."""
    roots = _shared_roots(program)
    lives = _lives(program, roots)
    program.scratch_bytes = max((call.scratch_bytes for call in program.calls if isinstance(call, TemplateCall)), default=0)
    tensors_bound = _live_bound(lives, len(program.calls))
    program.live_bound_bytes = tensors_bound + SLACK + program.scratch_bytes
    addresses = _search(lives, tensors_bound) if _pairs(lives) <= SEARCH_WORK else by_slots(lives)
    program.arena_bytes = _extent(lives, addresses) + SLACK
    _place_states(program, roots)
    for name, buffer in program.buffers.items():
        if buffer.kind is Kind.ARENA:
            offset = 0 if buffer.offset is None else _constant_offset(program, name) * buffer.dtype.bytes
            program.place(name, addresses.get(roots[name], 0) + offset)


def _place_states(program: Program, roots: dict[str, str]) -> None:
    """Behind the tensors, since states outlive a run. A run that fails must leave them as they were."""
    uses = _lives_of(program, roots)
    fails = [index for index, call in enumerate(program.calls) if isinstance(call, LoopCall) and call.outside is not None]
    placed = []
    for state in program.states:
        read, written = state.input.buffer, state.output.buffer
        size = _aligned(program.buffers[read].max_bytes)
        (_, last), (first, _) = uses.get(read, (0, -1)), uses[written]
        one = last < first and not any(index >= first for index in fails)
        start = _aligned(program.arena_bytes)
        placed.append(replace(state, places=(start, start if one else start + size)))
        added = start - program.arena_bytes + (size if one else 2 * size)
        program.arena_bytes += added
        program.live_bound_bytes += added
    program.states = placed


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _constant_offset(program: Program, name: str) -> int:
    """Elements from the start of the root's memory to a view's first; views of arena buffers start at fixed places."""
    from edgec.program.expr import bound

    buffer, total = program.buffers[name], 0
    while buffer.parent is not None:
        total += bound(buffer.offset) if buffer.offset is not None else 0
        buffer = program.buffers[buffer.parent]
    return total


def _shared_roots(program: Program) -> dict[str, str]:
    """buffer -> the buffer whose memory it uses: a view's root, then whatever that root may be computed in."""
    roots = {name: program.root(name) for name in program.buffers}
    merged: dict[str, str] = {}

    def final(name: str) -> str:
        while name in merged:
            name = merged[name]
        return name

    uses = _lives_of(program, roots)
    first_use, last_use = ({name: life[end] for name, life in uses.items()} for end in (0, 1))
    for index, written, read in in_place_pairs(program):
        source, result = final(roots[read]), roots[written]
        fresh = result not in merged and first_use[result] == index  # no bytes of its own yet: not even another operand's
        if fresh and source != result and last_use[source] == index and _same_size(program, source, result):
            merged[result] = source
            last_use[source] = max(last_use[source], last_use[result])
    return {name: final(root) for name, root in roots.items()}


def _same_size(program: Program, source: str, result: str) -> bool:
    one, two = program.buffers[source], program.buffers[result]
    return one.kind is two.kind is Kind.ARENA and one.max_bytes >= two.max_bytes


def _lives_of(program: Program, roots: dict[str, str]) -> dict[str, tuple[int, int]]:
    """The first and the last call that need each root."""
    uses: dict[str, list[int]] = {}
    for index, call in enumerate(program.calls):
        for name in _touched(call):
            uses.setdefault(roots[name], []).append(index)
    return lives(program, uses)


def _touched(call: AnyCall) -> Iterator[str]:
    yield from call.call.reads
    yield from call.call.writes
    if call.call.when is not None:
        yield call.call.when.buffer


def _lives(program: Program, roots: dict[str, str]) -> list[Life]:
    """Lives of the memory blocks, in order of first use; a buffer that no call touches needs none."""
    found = {name: life for name, life in _lives_of(program, roots).items() if program.buffers[name].kind is Kind.ARENA}
    return [Life(name, _aligned(program.buffers[name].max_bytes), *life) for name, life in found.items()]


def _live_bound(lives: Sequence[Life], calls: int) -> int:
    change = [0] * (calls + 1)
    for life in lives:
        change[life.first] += life.size
        change[life.last + 1] -= life.size
    return max(accumulate(change), default=0)


def _extent(lives: Sequence[Life], addresses: dict[str, int]) -> int:
    return max((addresses[life.name] + life.size for life in lives), default=0)


def _pairs(lives: Sequence[Life]) -> int:
    """How many pairs of blocks are alive together."""
    count, ends = 0, list[int]()
    for life in sorted(lives, key=lambda life: life.first):
        while ends and ends[0] < life.first:
            heappop(ends)
        count += len(ends)
        heappush(ends, life.last)
    return count


def _neighbours(lives: Sequence[Life]) -> dict[str, list[Life]]:
    """For each block those that are alive at some moment with it."""
    found: dict[str, list[Life]] = {life.name: [] for life in lives}
    alive: list[Life] = []
    for life in sorted(lives, key=lambda life: life.first):
        alive = [other for other in alive if other.last >= life.first]
        for other in alive:
            found[life.name].append(other)
            found[other.name].append(life)
        alive.append(life)
    return found


def _first_fit(order: Sequence[Life], neighbours: dict[str, list[Life]]) -> dict[str, int]:
    """Each block at the lowest address where nothing that is alive at the same time lies."""
    addresses: dict[str, int] = {}
    for life in order:
        address = 0
        for start, end in sorted((addresses[other.name], addresses[other.name] + other.size)
                                 for other in neighbours[life.name] if other.name in addresses):  # fmt: skip
            if start < address + life.size and address < end:
                address = end
        addresses[life.name] = address
    return addresses


def _search(lives: Sequence[Life], bound_bytes: int) -> dict[str, int]:
    neighbours = _neighbours(lives)
    orders = [
        sorted(lives, key=lambda life: (-life.size, life.first)),
        sorted(lives, key=lambda life: (-life.size * (life.last - life.first + 1), life.first)),
        sorted(lives, key=lambda life: (life.first, -life.size)),
        sorted(lives, key=lambda life: (life.first - life.last, -life.size)),
    ]
    best_order = min(orders, key=lambda order: _extent(lives, _first_fit(order, neighbours)))
    best = _first_fit(best_order, neighbours)
    generator = random.Random(0)
    work = len(lives) + sum(map(len, neighbours.values()))
    rounds = min(SEARCH_ROUNDS, SEARCH_WORK // work) if len(lives) > 1 else 0
    for _ in range(rounds):
        if _extent(lives, best) <= bound_bytes:
            break
        order = list(best_order)
        first, second = generator.randrange(len(order)), generator.randrange(len(order))
        order.insert(second, order.pop(first))
        candidate = _first_fit(order, neighbours)
        if _extent(lives, candidate) <= _extent(lives, best):
            best, best_order = candidate, order
    return best
