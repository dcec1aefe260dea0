"""The profile as a Chrome trace, which Perfetto opens: a process for each board, a thread for each package."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from edgec.records.results import Job, Record
from edgec.reports.layers import timed_layers
from edgec.reports.memory import occupied
from edgec.reports.runs import Run, gather


def render_trace(records: Iterable[Record], *, history: Sequence[Iterable[Record]] = ()) -> str:
    """One run of each package from time 0, its calls end to end; a package without a profile is one event. Earlier runs are left out."""
    run = gather(records)
    events: list[dict[str, Any]] = []
    for process, device in enumerate(run.devices, 1):
        events.append(_named("process_name", process, 0, device))
        jobs = [job for job in run.jobs if job.device == device]
        for thread, job in enumerate(jobs, 1):
            events += [_named("thread_name", process, thread, run.label(job.package)), *_job(run, job, process, thread)]
    lines = ",\n".join(json.dumps(event, allow_nan=False) for event in events)
    return f'{{"displayTimeUnit": "ms", "traceEvents": [\n{lines}\n]}}\n'


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _job(run: Run, job: Job, process: int, thread: int) -> list[dict[str, Any]]:
    """A slice for the run, one for each call in it, and the arena's bytes in use from call to call."""
    calls = timed_layers(run, job)
    latency = job.fastest
    whole = sum(max(call.us, 0.0) for call in calls) if calls else latency.p50_us if latency else 0.0
    place = {"pid": process, "tid": thread}
    args: dict[str, Any] = {"status": job.status, "package": job.package}
    events = [{"name": run.label(job.package), "cat": "run", "ph": "X", "ts": 0.0, "dur": round(max(whole, 0.0), 3), **place, "args": args}]
    at = 0.0
    starts = []
    for call in calls:
        layer = call.layer
        args = {"kernel": layer.kernel, "precision": layer.precision, "macs": layer.macs, "nodes": list(layer.nodes)}
        args |= {} if layer.sqnr_db is None else {"sqnr_db": layer.sqnr_db}
        starts.append(round(at, 3))
        events.append(
            {"name": layer.name, "cat": "call", "ph": "X", "ts": starts[-1], "dur": round(max(call.us, 0.0), 3), **place, "args": args}
        )
        at += max(call.us, 0.0)
    return events + _arena(run, job, process, starts, round(at, 3))


def _arena(run: Run, job: Job, process: int, starts: Sequence[float], end: float) -> list[dict[str, Any]]:
    facts = run.packages.get(job.package)
    if facts is None or not facts.blocks or len(starts) != len(facts.layers):
        return []
    used = [*occupied(facts.blocks, len(starts)), 0]
    counter = {"name": f"arena of {run.label(job.package)}", "ph": "C", "pid": process}
    return [{**counter, "ts": at, "args": {"bytes": count}} for at, count in zip([*starts, end], used, strict=True)]
