"""What became of every job: verdicts, gates, exams, and what had to be tried again."""

from __future__ import annotations

from edgec.records.results import Accuracy, Job
from edgec.reports.page import Cell, Details, Item, Section, Table, cells, columns, filled, status_cell
from edgec.reports.runs import Run, exam_text, gpu_text, hashes_text
from edgec.reports.words import digits, interval_text, percent, plural, time_text

MOST_JOBS, MOST_GATES, MOST_ATTEMPTS = 1000, 500, 300  # rows


def section(run: Run) -> Section:
    items: list[Item] = [_verdicts(run)] if run.jobs else []
    gates = [(job, gate) for job in run.jobs for gate in job.gates]
    if gates:
        items.append(_gates(run))
    if len(run.devices) > 1 and any(job.exam for job in run.jobs):
        items.append(_hashes(run))
    if any(job.accuracy for job in run.jobs):
        items.append(_accuracies(run))
    if any(job.attempts for job in run.jobs):
        items.append(Details("What was tried again, and why", (_attempts(run),)))
    return Section("verdicts", "Verdicts", "", tuple(items))


def _verdicts(run: Run) -> Table:
    rows = tuple(
        cells(
            status_cell(job.status),
            Cell(job.device, "name", job.target),
            Cell(run.label(job.package), "name"),
            Cell(job.reason, "reason"),
            _exam(job),
            _median(job),
            _kept(job),
        )
        for job in run.jobs[:MOST_JOBS]
    )
    titles = columns("status", "board", "package", "reason", "exam", "#median latency", "gates")
    return filled(Table("", titles, rows, left_out(len(run.jobs), MOST_JOBS, "job")))


def left_out(count: int, most: int, noun: str) -> str:
    """What a table of `most` rows says of those that it has no room for."""
    return f"and {plural(count - most, f'more {noun}')}: see the results file" if count > most else ""


def _exam(job: Job) -> Cell:
    return Cell(exam_text(job), "" if job.exam is None or job.exam.passed else "bad", gpu_text(job))


def _median(job: Job) -> Cell:
    latency = job.fastest
    return Cell(time_text(latency.p50_us, 4), "number", interval_text(latency.low_us, latency.high_us)) if latency else Cell("", "number")


def _kept(job: Job) -> Cell:
    broken = [gate for gate in job.gates if not gate.passed]
    if not job.gates:
        return Cell("")
    open_ones = sum(gate.undecided for gate in broken)
    kept = f"{len(job.gates) - len(broken)} of {len(job.gates)} kept" + (f", {open_ones} undecided" if open_ones else "")
    return Cell(kept, "bad" if len(broken) > open_ones else "", ", ".join(gate.name for gate in broken[:4]))


def _gates(run: Run) -> Table:
    gates = sorted(((job, gate) for job in run.jobs for gate in job.gates), key=lambda pair: pair[1].passed)
    rows = tuple(
        cells(
            status_cell("passed" if gate.passed else "unsteady" if gate.undecided else "failed"),
            Cell(gate.name, "name"),
            Cell(gate.limit, "value"),
            Cell(gate.value, "value" if gate.passed else "value bad"),
            Cell(job.device, "name"),
            Cell(run.label(job.package), "name"),
        )
        for job, gate in gates[:MOST_GATES]
    )
    return Table("Gates", columns("", "gate", "limit", "found", "board", "package"), rows, left_out(len(gates), MOST_GATES, "gate"))


def accuracy_words(accuracy: Accuracy) -> tuple[str, str, str, str]:
    """Agreement, top-1, top-1 of the float model, signal to noise; "" for what was not measured."""
    shares = [accuracy.agreement, accuracy.top1, accuracy.reference_top1]
    agreement, top1, reference = ["" if share is None else percent(share, 2) for share in shares]
    return agreement, top1, reference, "" if accuracy.sqnr_db is None else f"{accuracy.sqnr_db:.1f} dB"


def _accuracies(run: Run) -> Table:
    measured = [(job, job.accuracy) for job in run.jobs if job.accuracy is not None]
    rows = tuple(
        cells(
            Cell(job.device, "name"),
            Cell(run.label(job.package), "name"),
            f"{found.samples:,}",
            *accuracy_words(found),
            f"{digits(found.seconds)} s",
        )
        for job, found in measured[:MOST_JOBS]
    )
    titles = columns("board", "package", "#samples", "#agreement", "#top-1", "#top-1 of float", "#SQNR", "#took")
    return filled(Table("Accuracy on the board, against the float model", titles, rows, left_out(len(measured), MOST_JOBS, "job")))


def _attempts(run: Run) -> Table:
    tries = [(job, number, attempt) for job in run.jobs for number, attempt in enumerate(job.attempts, 1)]
    rows = tuple(
        cells(
            Cell(job.device, "name"),
            Cell(run.label(job.package), "name"),
            str(number),
            f"{digits(attempt.seconds)} s",
            Cell(attempt.reason, "reason"),
        )
        for job, number, attempt in tries[:MOST_ATTEMPTS]
    )
    return Table("", columns("board", "package", "#try", "#after", "reason"), rows, left_out(len(tries), MOST_ATTEMPTS, "try"))


def _hashes(run: Run) -> Table:
    """Whether boards agree with one another, byte for byte."""
    rows = []
    for sha256 in sorted({job.package for job in run.jobs}, key=run.label):
        text, good = hashes_text(run, sha256)
        rows.append(cells(Cell(run.label(sha256), "name"), Cell(text, "" if good else "bad")))
    return Table("Answers of the exam from board to board", columns("package", "answers"), tuple(rows))
