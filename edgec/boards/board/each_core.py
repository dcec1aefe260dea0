"""A package on each core of a board alone, and on all of them with both ways to share a step: do cores differ, and which way suits them?"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from edgec.boards.board.intervals import paired_ratio
from edgec.boards.board.measure import Options, run_round
from edgec.boards.connect.connection import Connection
from edgec.records.results import EachCore

BLOCKS = 8  # as the pool of packages has them where cores differ


def measure_each_core(
    connection: Connection, program: str, options: Options, cores: tuple[int, ...], *, renew: Callable[[], None] | None = None
) -> EachCore:
    """Rounds in which all ways take turns, and share the seconds and runs. cores: two at least.

    renew: called between rounds. ProgramFailed where a core cannot be had.
    """
    alone = {core: options.arguments(1, (core,)) for core in cores}
    together = {blocks: [*options.arguments(len(cores), cores), "--blocks", str(blocks)] for blocks in (1, BLOCKS)}
    core_us: dict[int, list[float]] = {core: [] for core in cores}
    blocks_us: dict[int, list[float]] = {blocks: [] for blocks in together}
    turns = [(alone[core], core_us[core]) for core in cores] + [(together[blocks], blocks_us[blocks]) for blocks in together]
    for turn in range(options.rounds):
        for arguments, found in turns if turn % 2 == 0 else reversed(turns):
            found.append(run_round(connection, program, arguments, options).p50_us)
            if renew is not None:
                renew()
    ratio, low, high = paired_ratio(blocks_us[1], blocks_us[BLOCKS])
    us = tuple(median(core_us[core]) for core in cores)
    return EachCore(cores, us, median(blocks_us[1]), median(blocks_us[BLOCKS]), ratio, low, high, options.rounds)
