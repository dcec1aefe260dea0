"""A board whose cores are measured one by one: which ways take turns, what is made of their times, and what people are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from edgec.boards.board.each_core import measure_each_core
from edgec.boards.board.exam_program import ProgramFailed
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.parcel import open_parcel
from edgec.boards.device import Device
from edgec.records.results import EachCore
from edgec.verbs.bench import advice_of
from tests.boards.test_job import QUICK as OF_A_JOB
from tests.boards.test_job import here, jobs, run
from tests.boards.test_measure import QUICK, SAID, log, program
from tests.calling import Program

# what the program takes: 10 us on core 0, 30 on core 1; 12 on both, 9 by blocks
TIMES = """us=12
case "$*" in *"--cores 0 "*|*"--cores 0") us=10;; *"--cores 1 "*|*"--cores 1") us=30;; *"--blocks 8"*) us=9;; esac
"""


def told(folder: Path, before: str = TIMES) -> str:
    times = dict.fromkeys(("min_us", "mean_us", "p50_us", "cold_us"), 7777)
    said = json.dumps({**SAID, **times, "samples_us": [7777], "runs": 1}).replace("7777", "$us")
    path = Path(program(folder, "a", "", before))
    path.write_text(path.read_text().replace("<<'END'\n\nEND", f"<<END\n{said}\nEND"))
    return str(path)


def test_all_ways_take_turns_in_each_round(tmp_path: Path) -> None:
    line = connect(Device("bench-top", "host", "local", work=str(tmp_path / "work")))
    renewed: list[int] = []
    found = measure_each_core(line, told(tmp_path), replace(QUICK, rounds=2), (0, 1), renew=lambda: renewed.append(1))
    line.close()
    assert (found.cores, found.alone_us, found.shares_us, found.blocks_us, found.rounds) == ((0, 1), (10, 30), 12, 9, 2)
    assert found.ratio == pytest.approx(0.75) and found.apart == 3 and found.blocks_win and len(renewed) == 8
    ways = [words.split("--threads ")[1] for words in log(tmp_path)]
    order = ["1 --cores 0", "1 --cores 1", "2 --cores 0,1 --blocks 1", "2 --cores 0,1 --blocks 8"]
    assert ways == [*order, *reversed(order)]


def test_what_people_are_told_names_the_call() -> None:
    found = EachCore((0, 4, 7), (30.0, 10.0, 12.0), 12.0, 9.0, 0.75, 0.7, 0.8, 3)
    assert advice_of(found) == (
        "takes 3.00 times as long on core 0 as on core 4; on all 3, blocks take 0.75 (0.70 to 0.80) of the time of equal shares: "
        "run it with blocks: NAME_set_shares(&model, 8, -1)"
    )
    assert advice_of(replace(found, high=1.01)).endswith("run it with one share for each: NAME_set_shares(&model, 1, -1)")


def test_a_core_that_is_not_there_is_named(tmp_path: Path) -> None:
    line = connect(Device("bench-top", "host", "local", work=str(tmp_path / "work")))
    refused = 'case "$*" in *"--cores 9"*) echo "cannot run on cores 9" >&2; exit 1;; esac\n'
    with pytest.raises(ProgramFailed, match="cannot run on cores 9"):
        measure_each_core(line, told(tmp_path, refused + TIMES), QUICK, (0, 9))
    line.close()


def test_a_job_has_them_where_it_was_asked_for_and_there_are_two(tmp_path: Path, package: Callable[..., Path]) -> None:
    parcel = open_parcel(package())
    for cores, asked, expected in (((0, 1), True, (0, 1)), ((0,), True, None), ((0, 1), False, None)):
        (job,) = jobs(run(here(tmp_path, cores=cores), parcel, options=replace(OF_A_JOB, each_core=asked)))
        assert job.status == "passed" and (job.each_core and job.each_core.cores) == expected


def test_the_bench_says_so(bench: Program, package: Callable[..., Path]) -> None:
    done = bench(package(), "--each-core", "--cores", "0,1", "--json", "-o", "out")
    (job,) = done.json["jobs"]
    assert job["each_core"]["cores"] == [0, 1] and job["each_core"]["blocks_us"] > 0
    assert any("times as long on core" in note for note in done.json["notes"])
