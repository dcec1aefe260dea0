"""Benches of a moment, and what they found."""

from __future__ import annotations

from pathlib import Path

from edgec.records.results import Job, read_results

QUICK = ("--seconds", "0.04", "--runs", "10", "--rounds", "2", "--threads", "1", "--accept-noise")


def jobs(folder: str) -> list[Job]:
    return [record for record in read_results(Path(folder) / "results.jsonl") if isinstance(record, Job)]
