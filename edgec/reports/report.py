"""Reports of results files, each in the form that its name ends in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgec.base.errors import UsageError
from edgec.base.output import check_outputs, write_file
from edgec.records.results import Job, Record, read_results
from edgec.reports.html import render_html
from edgec.reports.junit import render_junit
from edgec.reports.markdown import render_markdown
from edgec.reports.runs import Run, Verdict, exam_text, gather, verdict
from edgec.reports.suffixes import DEFAULT, SUFFIXES
from edgec.reports.trace import render_trace

FORMS: dict[str, Callable[..., str]] = dict(zip(SUFFIXES, (render_html, render_markdown, render_junit, render_trace), strict=True))


@dataclass(frozen=True)
class Report:
    """What was read and written. `run` is the last of the runs; `earlier` counts those before it."""

    run: Run
    verdict: Verdict
    earlier: int
    written: tuple[Path, ...]

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict.status,
            "summary": self.verdict.sentence,
            "jobs": [_job_facts(self.run, job) for job in self.run.jobs],
            "earlier_runs": self.earlier,
            "reports": [str(path) for path in self.written],
        }


def write_report(records: Iterable[Record], path: Path, *, history: Sequence[Iterable[Record]] = (), force: bool = False) -> None:
    """Write the report in the form that the suffix of `path` names; UsageError for another one, or where nobody may write.

    history: records of earlier runs, the oldest first. The same records give the same bytes.
    """
    check_form(path)
    form = path.suffix.lower()
    write_file(path, FORMS[form](records, history=history).encode(), form, force=force)


def check_form(path: Path) -> None:
    if path.suffix.lower() not in FORMS:
        raise UsageError(f"unknown form of report {path.suffix!r}", where=str(path), hint=f"end its name in one of {', '.join(FORMS)}")
    if path.is_dir():
        raise UsageError("is a folder", where=str(path), hint=f"give a file, such as {path / DEFAULT}")


def report_results(results: Sequence[Path], outputs: Sequence[Path] = (DEFAULT,), *, force: bool = False) -> Report:
    """Write reports of results files. Several are runs of one history: the last one that was started is shown in full.

    UsageError for a file that holds no results, for an output whose suffix is of no form, and, unless forced, for one that is one of the
    results, or a file that edgec did not write.
    """
    for output in outputs:
        check_form(output)
    check_outputs(outputs, results, force=force)
    *earlier, last = sorted((read_results(path) for path in results), key=_started)
    for output in outputs:
        write_report(last, output, history=earlier, force=force)
    run = gather(last)
    return Report(run, verdict(run), len(earlier), tuple(outputs))


def _started(records: Sequence[Record]) -> str:
    return min((record.started for record in records if isinstance(record, Job)), default="")


def _job_facts(run: Run, job: Job) -> dict[str, Any]:
    latency = job.fastest
    return {
        "device": job.device,
        "package": job.package,
        "name": run.label(job.package),
        "status": job.status,
        "reason": job.reason,
        "exam": exam_text(job),
        "p50_us": latency.p50_us if latency else None,
        "interval_us": [latency.low_us, latency.high_us] if latency else None,
        "gates": {gate.name: gate.passed for gate in job.gates},
    }
