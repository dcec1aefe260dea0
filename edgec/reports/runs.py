"""What a list of records says as a whole: the last job of every package on every board, names that tell packages apart, the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from edgec.records.results import STATUSES, ExamResult, Job, Latency, PackageFacts, Record, Versus, packages_of
from edgec.reports.words import harmless, plural, short


@dataclass(frozen=True)
class Run:
    """Everything in it is harmless. Jobs: one for each package and board, those that did not pass first."""

    packages: Mapping[str, PackageFacts]
    jobs: tuple[Job, ...]
    versus: tuple[Versus, ...]
    labels: Mapping[str, str]

    def label(self, sha256: str) -> str:
        """How people call a package; a hash where nothing is known of it."""
        return self.labels.get(sha256) or f"package {short(sha256)}"

    @property
    def devices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sorted(job.device for job in self.jobs)))

    @property
    def started(self) -> str:
        return min((job.started for job in self.jobs), default="")

    @property
    def counts(self) -> dict[str, int]:
        """How many jobs ended in each status, all statuses in their order."""
        counts = Counter(job.status for job in self.jobs)
        return {status: counts[status] for status in STATUSES}


@dataclass(frozen=True)
class Verdict:
    """status: "passed", "failed" (some job did not pass, or left a promise undecided) or "empty"."""

    status: str
    sentence: str


def gather(records: Iterable[Record]) -> Run:
    """A job that was run again replaces the earlier one of the same package on the same board."""
    harmless_records = [harmless(record) for record in records]
    jobs: dict[tuple[str, str], Job] = {}
    versus: dict[tuple[str, str, str], Versus] = {}
    for record in harmless_records:
        if isinstance(record, Job):
            jobs[record.device, record.package] = record
        elif isinstance(record, Versus):
            versus[record.device, record.base, record.package] = record
    packages = packages_of(harmless_records)
    labels = _labels(packages)
    order = sorted(jobs.values(), key=lambda job: (job.status == "passed", job.device, labels.get(job.package, ""), job.package))
    return Run(packages, tuple(order), tuple(versus[key] for key in sorted(versus)), labels)


def _labels(packages: Mapping[str, PackageFacts]) -> dict[str, str]:
    """The name, and of target, precision and hash what packages of that name need to be told apart."""
    labels = {}
    for sha256, facts in packages.items():
        alike = [other for other in packages.values() if other.name == facts.name]
        parts = [
            part
            for part, several in ((facts.target, _several(alike, "target")), (facts.precision, _several(alike, "precision")))
            if several
        ]
        twin = sum((other.target, other.precision) == (facts.target, facts.precision) for other in alike) > 1
        labels[sha256] = " ".join([facts.name, *parts, *([short(sha256)] if twin else [])])
    return labels


def _several(packages: Iterable[PackageFacts], fact: str) -> bool:
    return len({getattr(facts, fact) for facts in packages}) > 1


def verdict(run: Run) -> Verdict:
    """The whole in one sentence."""
    total = len(run.jobs)
    if not total:
        return Verdict("empty", "There are no results: nothing was run")
    where = f"on {plural(len(run.devices), 'board')}"
    bad = Counter(job.status for job in run.jobs if not job.kept)
    if not bad:
        unsteady = run.counts["unsteady"]
        but = f", the speed of {unsteady:,} is unsteady" if unsteady else ""
        return Verdict("passed", f"{'The job' if total == 1 else f'All {total:,} jobs'} passed {where}{but}")
    kinds = ", ".join(f"{bad[status]:,} {status}" for status in STATUSES if bad[status])
    return Verdict("failed", f"{sum(bad.values()):,} of {plural(total, 'job')} {where} did not pass: {kinds}")


def way(latency: Latency) -> str:
    """How a package was run, in words."""
    pinned = f", cores {','.join(map(str, latency.cores[:8]))}" if latency.cores else ""
    gpu = f", and {latency.gpu}" if latency.gpu else ""
    return f"{plural(latency.threads, 'thread')}, {latency.isa or 'plain C'}{pinned}{gpu}"


def exam_text(job: Job) -> str:
    """What became of the exam on the board."""
    return _exam_words(job.exam)


def _exam_words(exam: ExamResult | None) -> str:
    if exam is None:
        return "not run"
    vectors = plural(exam.vectors, "vector")
    if exam.passed and exam.exact:
        return f"bit for bit, {vectors}"
    off = f"largest difference {exam.difference:.2g}, {vectors}"
    return f"within tolerance, {off}" if exam.passed else f"wrong answers, {vectors}" if exam.exact else f"wrong, {off}"


def gpu_text(job: Job) -> str:
    """What became of the package's half for a GPU; "" for one that has none."""
    if job.gpu is None:
        return ""
    return f"on {job.gpu.device}: {_exam_words(job.gpu.exam)}" if job.gpu.device else f"not on the GPU: {job.gpu.reason}"


def hashes_text(run: Run, package: str) -> tuple[str, bool]:
    """Whether all boards that ran the exam of a package gave the same bytes, in words; and if that is as it should be."""
    exams = [job.exam for job in run.jobs if job.package == package and job.exam is not None and job.exam.hashes]
    groups, boards = len({exam.hashes for exam in exams}), plural(len(exams), "board")
    if groups < 2:
        return (f"the same bytes from {'all ' if len(exams) > 1 else ''}{boards}" if exams else "no answers to compare"), True
    tolerated = all(exam.passed and not exam.exact for exam in exams)
    return f"{groups} different answers from {boards}{', all within tolerance' if tolerated else ''}", tolerated
