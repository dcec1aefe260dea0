"""The report as JUnit XML: a suite for each board, so that CI shows what failed where and why."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

from edgec.records.results import Job, Record
from edgec.reports.outcome import accuracy_words
from edgec.reports.runs import Run, exam_text, gather, way
from edgec.reports.words import interval_text, time_text

BROKEN = ("failure", "error")


def render_junit(records: Iterable[Record], *, history: Sequence[Iterable[Record]] = ()) -> str:
    """Earlier runs have no place in it. A job that did not pass has at least one test case that says so; one whose speed is
    unsteady has one for each promise that this left undecided."""
    run = gather(records)
    root = ET.Element("testsuites", name="edgec bench")
    for device in run.devices:
        _suite(root, run, device)
    for suite in (root, *root):
        for tag, count in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
            suite.set(tag, str(sum(1 for _ in suite.iter(count))))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, run: Run, device: str) -> None:
    jobs = [job for job in run.jobs if job.device == device]
    started = min(job.started for job in jobs)
    suite = ET.SubElement(
        root,
        "testsuite",
        name=device,
        timestamp=started.removesuffix("Z").removesuffix("+00:00"),
        time=f"{sum(max(job.seconds, 0.0) for job in jobs):.3f}",
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in {"target": jobs[0].target, **(jobs[0].board or {})}.items():
        ET.SubElement(properties, "property", name=name, value=value)
    for job in jobs:
        _job(suite, job, f"{device}.{run.label(job.package)}")


def _job(suite: ET.Element, job: Job, classname: str) -> None:
    """exam, latency, accuracy, each gate; and `job` where none of these tells that it did not pass."""
    cases = [_exam(suite, job, classname)]
    if latency := job.fastest:
        cases.append(_case(suite, classname, "latency", latency.seconds))
        warning = f"; {job.status}: {job.reason}" if job.status == "unsteady" else ""
        _say(cases[-1], f"p50 {time_text(latency.p50_us, 4)}, {interval_text(latency.low_us, latency.high_us)}, {way(latency)}{warning}")
    if job.accuracy is not None:
        cases.append(_case(suite, classname, "accuracy", job.accuracy.seconds))
        told = zip(("agreement", "top-1", "top-1 of float", "SQNR"), accuracy_words(job.accuracy), strict=True)
        _say(cases[-1], ", ".join(f"{name} {words}" for name, words in told if words))
    for gate in job.gates:
        cases.append(_case(suite, classname, f"gate {gate.name}"))
        found = f"found {gate.value}, the limit is {gate.limit}"
        if not gate.passed:
            ET.SubElement(cases[-1], "failure", message=f"{gate.name}: {found}", type="gate")
        _say(cases[-1], found)
    if not job.kept and not any(case.find(tag) is not None for case in cases for tag in BROKEN):
        _complain(_case(suite, classname, "job", job.seconds), "failure" if job.status == "failed" else "error", job)


def _exam(suite: ET.Element, job: Job, classname: str) -> ET.Element:
    case = _case(suite, classname, "exam")
    if job.exam is None:
        _complain(case, "error", job)
    else:
        if not job.exam.passed:
            ET.SubElement(case, "failure", message=exam_text(job), type="exam").text = job.reason
        _say(case, exam_text(job))
    return case


def _case(suite: ET.Element, classname: str, name: str, seconds: float = 0.0) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=classname, name=name, time=f"{max(seconds, 0.0):.3f}")


def _complain(case: ET.Element, tag: str, job: Job) -> None:
    tries = "\n".join(f"tried, and failed after {attempt.seconds:.1f} s: {attempt.reason}" for attempt in job.attempts)
    ET.SubElement(case, tag, message=f"{job.status}: {job.reason}".removesuffix(": "), type=job.status).text = "\n".join(
        filter(None, [job.reason, tries])
    )


def _say(case: ET.Element, words: str) -> None:
    """To be called last: schemas want what went wrong before it."""
    ET.SubElement(case, "system-out").text = words
