"""Promises: how people write them, and what becomes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgec.base.errors import UsageError
from edgec.boards.farm.gates import Gates, duration_us, make_gates, read_baselines, share, size, us_text
from edgec.records.results import Accuracy, Job, Latency, PackageFacts, to_line

LATENCY = Latency(
    1, (), "avx2", 3, 300, 2.0, 90.0, 101.0, 100.0, 110.0, 120.0, 150.0, 5.0, 98.0, 102.0, 900.0, 3 * 2**20, (99.0, 100.0, 101.0), (100.0,)
)  # fmt: skip
FACTS = PackageFacts("a" * 64, "net", "host", "int8", "b" * 64, 1000, 64, 32)
JOB = Job("here", "host", FACTS.sha256, "passed", "", "2024-05-01T10:00:00+00:00", 3.0, latencies=(LATENCY,))


def results(path: Path, *jobs: Job) -> Path:
    path.write_text("".join(f"{to_line(record)}\n" for record in (FACTS, *jobs)))
    return path


@pytest.mark.parametrize(
    ("words", "us"), [("20ms", 2e4), ("1.5 s", 1.5e6), ("800us", 800), ("800 µs", 800), ("50ns", 0.05), ("2e1ms", 2e4), (7.5, 7.5)]
)  # fmt: skip
def test_times_are_read_as_people_write_them(words: str | float, us: float) -> None:
    assert duration_us(words) == pytest.approx(us)


@pytest.mark.parametrize("words", ["20", "ms", "-3ms", "0ms", "3 hours", "", "1e999ms", "nanms", "20ms; rm"])
def test_words_that_are_no_time_are_refused(words: str) -> None:
    with pytest.raises(UsageError, match="write it as 20ms"):
        duration_us(words)


def test_shares_and_sizes_are_read_as_people_write_them() -> None:
    assert [share(words, "--min-agreement") for words in (0.95, "0.95", "95%", "100 %", ".5")] == [0.95, 0.95, 0.95, 1.0, 0.5]
    assert [size(words) for words in (4096, "12 MiB", "500k", "1.5GB")] == [4096, 12 * 2**20, 500_000, 1_500_000_000]


@pytest.mark.parametrize("words", ["95", "-1", "101%", "1.1", "x"])
def test_a_share_beyond_one_is_refused(words: str) -> None:
    with pytest.raises(UsageError, match="write it as"):
        share(words, "--min-agreement")


def test_the_latency_of_the_fastest_number_of_threads_counts() -> None:
    slow = replace(LATENCY, threads=2, p50_us=500.0)
    gates = make_gates(max_latency="0.1ms")
    (gate,) = gates.judge("here", "net", [slow, LATENCY], None)
    assert gate.passed and gate.value == "100 us (1 thread)" and gate.limit == "at most 100 us"
    (gate,) = gates.judge("here", "net", [slow], None)
    assert not gate.passed and gate.value == "500 us (2 threads)"


def test_the_percentile_can_be_chosen() -> None:
    (gate,) = make_gates(max_latency="140us", percentile="p99").judge("here", "net", [LATENCY], None)
    assert gate.name == "p99 latency" and not gate.passed
    with pytest.raises(UsageError, match="did you mean 'p99'"):
        make_gates(percentile="p98")


def test_accuracy_that_nobody_measured_breaks_its_promise() -> None:
    gates = make_gates(min_agreement="95%", min_top1=0.5)
    assert gates.accuracy and not Gates(max_latency_us=1.0).accuracy
    assert [(gate.name, gate.passed) for gate in gates.judge("here", "net", [LATENCY], None)] == [("agreement", False), ("top-1", False)]
    kept, broken = gates.judge("here", "net", [LATENCY], Accuracy(100, 0.95, 0.49, 0.9, 30.0, 1.0))
    assert kept.passed and not broken.passed and broken.value == "49.00%"


def test_memory_is_the_largest_of_all_thread_counts() -> None:
    more = replace(LATENCY, threads=2, rss_bytes=5 * 2**20, p50_us=500.0)
    (gate,) = make_gates(max_rss="4 MiB").judge("here", "net", [LATENCY, more], None)
    assert not gate.passed and gate.value == "5.00 MiB"


def test_faster_means_that_the_whole_interval_lies_below_one(tmp_path: Path) -> None:
    gates = make_gates(faster_than=results(tmp_path / "other.jsonl", JOB))
    sure = replace(LATENCY, p50_us=50.0, medians_us=(49.0, 50.0, 51.0))
    (gate,) = gates.judge("here", "net", [sure], None)
    assert gate.passed and "0.500 times" in gate.value and gate.limit == "faster than other.jsonl"
    vague = replace(LATENCY, p50_us=80.0, medians_us=(40.0, 80.0, 160.0))
    (gate,) = gates.judge("here", "net", [vague], None)
    assert not gate.passed and "0.800 times" in gate.value, "faster on average, and not for certain"


def test_the_newest_measurement_of_the_same_board_package_and_threads_is_the_baseline(tmp_path: Path) -> None:
    newer = replace(JOB, started="2024-06-01T10:00:00+00:00", latencies=(replace(LATENCY, medians_us=(10.0, 10.0, 10.0)),))
    spoiled = replace(JOB, started="2024-07-01T10:00:00+00:00", status="unsteady", latencies=(replace(LATENCY, medians_us=(1.0, 1.0)),))
    failed = replace(spoiled, status="failed", noise="the board is busy")
    (baseline,) = read_baselines(results(tmp_path / "other.jsonl", newer, JOB, spoiled, failed))
    assert (baseline.device, baseline.package, baseline.threads, baseline.medians_us) == ("here", "net", 1, (10.0, 10.0, 10.0))


def test_a_baseline_without_the_board_or_its_threads_breaks_the_promise_and_says_why(tmp_path: Path) -> None:
    gates = make_gates(faster_than=results(tmp_path / "other.jsonl", JOB))
    (gate,) = gates.judge("there", "net", [LATENCY], None)
    assert not gate.passed and "no steady measurement of this board" in gate.value
    (gate,) = gates.judge("here", "net", [replace(LATENCY, threads=4)], None)
    assert not gate.passed and "this number of threads" in gate.value


def test_a_baseline_of_another_package_counts_when_it_is_the_only_one(tmp_path: Path) -> None:
    other = replace(FACTS, sha256="c" * 64, name="rival")
    path = results(tmp_path / "other.jsonl", JOB)
    fast = replace(LATENCY, medians_us=(49.0, 50.0, 51.0))
    (gate,) = make_gates(faster_than=path).judge("here", "new-net", [fast], None)
    assert gate.passed
    with path.open("a") as file:
        file.write(f"{to_line(other)}\n{to_line(replace(JOB, package=other.sha256))}\n")
    (gate,) = make_gates(faster_than=path).judge("here", "new-net", [fast], None)
    assert not gate.passed and "no steady measurement of new-net on this board" in gate.value


@pytest.mark.parametrize(
    ("limit", "became"),
    [(400.0, "kept"), (250.0, "undecided"), (100.0, "undecided"), (40.0, "undecided"), (20.0, "broken")],
)  # fmt: skip
def test_an_unsteady_speed_decides_only_what_is_clear_by_far(limit: float, became: str, tmp_path: Path) -> None:
    """About 100 us on a board that was busy: 400 us are kept, 20 us are broken, whoever else was there."""
    by_file = make_gates(
        faster_than=results(tmp_path / "other.jsonl", replace(JOB, latencies=(replace(LATENCY, medians_us=(limit,) * 3),)))
    )
    for gates in (Gates(max_latency_us=limit), by_file):
        (gate,) = gates.judge("here", "net", [LATENCY], None, known=False)
        assert (gate.passed, gate.undecided) == (became == "kept", became == "undecided"), gate
    (gate,) = by_file.judge("there", "net", [LATENCY], None, known=False)
    assert not gate.undecided and "not known" in gate.value, "no wait makes up for a file that does not have it"


def test_figures_that_scatter_leave_a_promise_far_away_alone() -> None:
    wide = replace(LATENCY, low_us=0.0, high_us=3000.0)
    (kept,) = Gates(max_latency_us=1e5).judge("here", "net", [wide], None, known=False)
    (near,) = Gates(max_latency_us=5000.0).judge("here", "net", [wide], None, known=False)
    (broken,) = Gates(max_latency_us=10.0).judge("here", "net", [wide], None, known=False)
    assert kept.passed and near.undecided and not (broken.passed or broken.undecided), "no run at all was that fast"


def test_results_without_a_measurement_are_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"its times are not known well: the board is busy.*--accept-noise"):
        make_gates(faster_than=results(tmp_path / "other.jsonl", replace(JOB, status="unsteady", noise="the board is busy")))
    accepted = replace(JOB, noise="the board is busy", noise_accepted=True)
    assert make_gates(faster_than=results(tmp_path / "other.jsonl", accepted)).faster_than
    with pytest.raises(UsageError, match="no measurement in it"):
        make_gates(faster_than=results(tmp_path / "other.jsonl", replace(JOB, latencies=())))
    with pytest.raises(UsageError, match="cannot read"):
        make_gates(faster_than=tmp_path / "none.jsonl")


def test_times_are_written_as_people_read_them() -> None:
    assert [us_text(us) for us in (0.51234, 12.5, 1234.0, 2.5e6)] == ["0.5123 us", "12.5 us", "1.234 ms", "2.5 s"]
