"""Measuring in rounds: real processes on this machine, which say what an exam program says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgec.base.errors import UsageError
from edgec.boards.board.exam_program import ProgramFailed, ProgramHung
from edgec.boards.board.measure import Options, measure, profile, profile_in_rounds, sweep
from edgec.boards.board.validity import spoiled
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.device import Device, Limits
from edgec.records.results import Latency, State

SAID: dict[str, Any] = {
    "schema_version": 1, "name": "net", "isa": "avx2", "threads": 1, "runs": 4, "seconds": 0.01, "min_us": 1.0, "mean_us": 2.5,
    "p50_us": 2.5, "p90_us": 4.0, "p95_us": 4.0, "p99_us": 4.0, "std_us": 1.29, "cold_us": 50.0, "rss_bytes": 4096,
    "arena_bytes": 64, "frequencies_khz": [1800000, 1790000], "samples_us": [1.0, 2.0, 3.0, 4.0],
}  # fmt: skip
QUICK = Options(seconds=0.05, runs=10, rounds=3)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    device = Device("bench-top", "host", "local", work=str(tmp_path / "work"), limits=Limits(run=5))
    line = connect(device)
    yield line
    line.close()


def program(folder: Path, name: str, said: object, before: str = "") -> str:
    """A program that notes its arguments and prints what an exam program would."""
    path = folder / name
    text = said if isinstance(said, str) else json.dumps(said)
    path.write_text(f"#!/bin/sh\necho {name} \"$@\" >> '{folder}/log'\n{before}\ncat <<'END'\n{text}\nEND\n")
    path.chmod(0o755)
    return str(path)


def log(folder: Path) -> list[str]:
    return (folder / "log").read_text().splitlines()


def latency(*frequencies: int) -> Latency:
    return Latency(1, (), "x", 2, 2, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, (1.0, 1.0), (1.0,), tuple(frequencies))


def test_two_packages_take_turns_and_change_their_order(connection: Connection, tmp_path: Path) -> None:
    programs = [program(tmp_path, name, SAID) for name in "ab"]
    renewals: list[int] = []
    found = measure(connection, programs, QUICK, renew=lambda: renewals.append(1))
    assert [line[0] for line in log(tmp_path)] == list("abbaab")
    assert len(renewals) == 6
    assert [len(latencies) for latencies in found] == [1, 1]


def test_a_round_is_asked_for_its_share_of_the_time_runs_and_samples(connection: Connection, tmp_path: Path) -> None:
    options = replace(QUICK, threads=(2,), cores=(2, 3), isa="avx2", samples=100)
    measure(connection, [program(tmp_path, "a", SAID)], options)
    words = "--json --bench 0.016667 --runs 4 --samples 34 --threads 2 --cores 2,3 --isa avx2"
    assert log(tmp_path) == [f"a {words}"] * 3


def test_cores_of_the_inventory_count_unless_others_are_asked_for(tmp_path: Path) -> None:
    line = connect(Device("bench-top", "host", "local", cores=(1,), work=str(tmp_path / "work")))
    (own,), (none,) = (measure(line, [program(tmp_path, "a", SAID)], options)[0] for options in (QUICK, replace(QUICK, cores=())))
    assert (own.cores, none.cores) == ((1,), ())
    assert sum("--cores 1" in words for words in log(tmp_path)) == 3
    line.close()


def test_rounds_are_pooled(connection: Connection, tmp_path: Path) -> None:
    ((found,),) = measure(connection, [program(tmp_path, "a", SAID)], QUICK)
    assert (found.runs, found.rounds, found.min_us, found.medians_us) == (12, 3, 1.0, (2.5, 2.5, 2.5))
    assert (found.mean_us, found.p50_us, found.low_us, found.high_us) == pytest.approx((2.5, 2.5, 2.5, 2.5))
    assert found.samples_us == (1.0, 2.0, 3.0, 4.0) * 3 and found.frequencies_khz == (1800000, 1790000) * 3
    assert (found.cold_us, found.rss_bytes, found.isa) == (50.0, 4096, "avx2")


GARBAGE: list[dict[str, Any]] = [
    {"min_us": 0}, {"min_us": 3.0}, {"p50_us": "2.5"}, {"p50_us": True}, {"cold_us": -1}, {"runs": 0}, {"runs": 2.5}, {"runs": 10**30},
    {"samples_us": []}, {"samples_us": [1.0] * 5}, {"samples_us": [0, 1.0]}, {"samples_us": ["<b>"]}, {"samples_us": 3},
    {"frequencies_khz": [1]}, {"frequencies_khz": None}, {"isa": 7}, {"rss_bytes": None}, {"std_us": [1]}, {"seconds": 1e300},
]  # fmt: skip


@pytest.mark.parametrize("wrong", GARBAGE, ids=str)
def test_an_answer_that_cannot_be_is_garbage(connection: Connection, tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ProgramFailed, match=r"bench-top: .*garbage"):
        measure(connection, [program(tmp_path, "a", SAID | wrong)], QUICK)


def test_a_round_that_does_not_end_in_time_says_what_to_change(tmp_path: Path) -> None:
    line = connect(Device("bench-top", "host", "local", work=str(tmp_path / "work"), limits=Limits(run=0.5)))
    with pytest.raises(ProgramHung, match=r"bench-top: one round of 4 runs did not end within 0.5 s.*--runs.*limits.run"):
        measure(line, [program(tmp_path, "a", SAID, "sleep 60")], QUICK)
    line.close()


def test_a_profile_has_a_time_for_every_call(connection: Connection, tmp_path: Path) -> None:
    said = {"schema_version": 1, "name": "net", "isa": "avx2", "runs": 20, "calls_us": [1.5, 2.5]}
    path = program(tmp_path, "a", said)
    assert profile(connection, path, 2, QUICK) == (1.5, 2.5)
    with pytest.raises(ProgramFailed, match="times of 2 calls, the package has 3"):
        profile(connection, path, 3, QUICK)


def test_profiles_of_several_packages_take_turns_in_rounds(connection: Connection, tmp_path: Path) -> None:
    """And share the seconds, so that what changes on the board meanwhile changes all."""
    said = {"schema_version": 1, "name": "net", "isa": "avx2", "runs": 20, "calls_us": [1.5, 2.5]}
    paths = [program(tmp_path, name, said | {"calls_us": us}) for name, us in (("a", [1, 2]), ("b", [3]))]
    renewed: list[int] = []
    found = profile_in_rounds(
        connection, [(paths[0], 2), (paths[1], 1)], replace(QUICK, rounds=4, seconds=2), renew=lambda: renewed.append(1)
    )
    assert found == [[(1, 2)] * 4, [(3,)] * 4] and len(renewed) == 8
    assert [line[0] for line in log(tmp_path)] == list("abbaabba") and all("--profile 0.5" in line for line in log(tmp_path))


def test_a_sweep_doubles_up_to_all_cores() -> None:
    assert [sweep(cores) for cores in (0, 1, 2, 4, 6, 8)] == [(1,), (1,), (1, 2), (1, 2, 4), (1, 2, 4, 6), (1, 2, 4, 8)]


@pytest.mark.parametrize(
    "wrong",
    [{"rounds": 1}, {"seconds": 0}, {"seconds": float("nan")}, {"runs": 0}, {"threads": (0,)}, {"cores": (-1,)}, {"threads": (4096,)}],
    ids=str,
)  # fmt: skip
def test_options_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="--"):
        Options(**wrong)


def test_a_clock_that_falls_under_load_spoils_a_measurement() -> None:
    calm = State()
    assert spoiled(calm, calm, [latency(1800000, 1750000, 1790000, 1720000)]) == ""
    assert spoiled(calm, calm, [latency(1800000, 1800000, 1790000, 1500000)]) == "the clock fell from 1800 to 1500 MHz under load"
    assert spoiled(calm, calm, [latency(600, 1800, 600, 1800)]) == "", "a governor that raises the clock anew in each round"
    assert spoiled(calm, calm, [latency(1800, 1800, 600, 600)]) != "", "a round that never got its clock back"
    assert spoiled(calm, calm, [latency()]) == ""


def test_a_throttled_board_spoils_a_measurement() -> None:
    assert spoiled(State(), State(throttled=("under-voltage",)), []) == "the board throttled: under-voltage"
    assert spoiled(State(throttled=("throttled",)), State(), []) == "the board throttled: throttled"
