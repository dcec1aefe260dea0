"""What a build takes of a bench's times: those of a steady board, one of every call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgec.base.errors import UsageError
from edgec.exam.measurement import read_measurement, read_times
from edgec.records.results import GpuUse, Job, LayerTime, Record, to_line
from edgec.verbs.bench import Bench
from tests.reports.samples import job, latency, package

INT8, FLOAT = package(), package(precision="fp32", mark="b")
TIMES = tuple(LayerTime(layer, 10.0 + layer) for layer in range(9))
STEADY = job(INT8, started="2026-11-01", profile=TIMES, gpu=GpuUse("V3D", profile=TIMES[:2]))
ANEW = replace(
    STEADY, started="2026-11-02", status="unsteady", noise="the board is busy", profile=tuple(LayerTime(layer, 1.0) for layer in range(9))
)
BESIDE = job(FLOAT, profile=TIMES)


def results(folder: Path, *jobs: Job) -> Path:
    path = folder / "results.jsonl"
    records: tuple[Record, ...] = (INT8, FLOAT, *jobs)
    path.write_text("".join(f"{to_line(record)}\n" for record in records))
    return path


def test_the_newest_steady_times_count(tmp_path: Path) -> None:
    path = results(tmp_path, STEADY, ANEW, BESIDE)
    taken = read_times(path, INT8.model_sha256)
    assert {kind: sum(us for _, us in times) for kind, times in taken.items()} == {"int8": 126, "float32": 126}
    calls = tuple(layer.name for layer in INT8.layers)
    found = read_measurement(path, INT8.model_sha256, INT8.target, "int8", calls)
    assert found.cpu_us == tuple(time.us for time in TIMES)


@pytest.mark.parametrize("jobs", [(ANEW,), (ANEW, BESIDE), (STEADY, replace(BESIDE, status="unsteady", noise="the board is busy"))])
def test_times_of_a_board_that_was_busy_are_called_so(jobs: tuple[Job, ...], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"times are not known well: the board is busy.*--accept-noise"):
        read_times(results(tmp_path, *jobs), INT8.model_sha256)


@pytest.mark.parametrize("profile", [TIMES[:8], (*TIMES[:8], LayerTime(99, 1.0)), (*TIMES[:8], LayerTime(-1, 1.0)), (*TIMES[:8], TIMES[0])])
def test_times_of_other_calls_are_no_measurement(profile: tuple[LayerTime, ...], tmp_path: Path) -> None:
    path = results(tmp_path, replace(STEADY, profile=profile), BESIDE)
    with pytest.raises(UsageError, match="no int8 package of this model was benched in it with --profile"):
        read_times(path, INT8.model_sha256)
    with pytest.raises(UsageError, match="it has no times of calls"):
        read_measurement(path, INT8.model_sha256, INT8.target, "int8", tuple(layer.name for layer in INT8.layers))


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ((900, 1400, 2700), "3 times as long on 4 threads"),
        ((900, 1400, 500), "1.6 times as long on 2"),
        ((900, 905, 500), ""),
        ((900,), ""),
    ],
)
def test_threads_that_cost_more_than_they_save_are_named(times: tuple[int, ...], said: str, tmp_path: Path) -> None:
    measured = replace(STEADY, latencies=tuple(latency(middle, 2**power) for power, middle in enumerate(times)))
    advice = Bench((INT8, measured), tmp_path, tmp_path).advice
    assert [said in words for words in advice] == [True] * bool(said)
    assert Bench((INT8, replace(measured, noise="the board is busy", status="unsteady")), tmp_path, tmp_path).advice == []
