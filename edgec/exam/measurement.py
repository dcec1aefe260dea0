"""A bench's times of every call of a model's packages, as the build needs them: to choose what goes to the GPU, and what leaves int8."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgec.base.errors import UsageError
from edgec.records.results import MEASURED, Job, LayerTime, PackageFacts, packages_of, read_results, steady_ones
from edgec.schedule.gpu.choice import Measured

Times = tuple[tuple[tuple[str, ...], float], ...]  # of each call: the nodes that it computes, microseconds
_HINT = "run `edgec bench MODEL --gpu on --profile` on that board, with the model and the settings of this build"


def read_measurement(path: Path, model_sha256: str, target: str, precision: str, calls: tuple[str, ...]) -> Measured:
    """The newest profile of both sides, of a package of this model with these calls for this target. UsageError, in words, for none."""
    records = read_results(path)
    packages = {key: facts for key, facts in packages_of(records).items() if (facts.model_sha256, facts.target) == (model_sha256, target)}
    if not packages:
        raise UsageError(f"no package of this model for {target} was benched in it", where=str(path), hint=_HINT)
    alike = {key: facts for key, facts in packages.items() if (facts.precision, _names(facts)) == (precision, calls)}
    if not alike:
        raise UsageError("what was benched in it was built with other settings, and has other calls", where=str(path), hint=_HINT)
    jobs = [record for record in records if isinstance(record, Job) and record.package in alike]
    whole = [job for job in jobs if job.status in MEASURED and _of_all(job.profile, len(calls)) and job.gpu and job.gpu.profile]
    if not whole:
        why = next((job.gpu.reason for job in jobs if job.gpu and job.gpu.reason), "")
        what = "it has no times of calls on the processor and on the GPU" + (f": {why}" if why else "")
        raise UsageError(what, where=str(path), hint=_HINT)
    if len(boards := sorted({job.device for job in whole})) > 1:
        raise UsageError(f"it has measurements of several boards: {', '.join(boards)}", where=str(path), hint="bench one of them: --device")
    return _measured(max(steady_ones(whole, path), key=lambda job: job.started), len(calls))


def read_times(path: Path, model_sha256: str) -> dict[str, Times]:
    """By precision, int8 and perhaps float32, the newest profile of this model's packages, of one board. UsageError for none of int8."""
    records = read_results(path)
    packages = {key: facts for key, facts in packages_of(records).items() if facts.model_sha256 == model_sha256}
    jobs = [record for record in records if isinstance(record, Job) and record.package in packages]
    whole = [job for job in jobs if job.status in MEASURED and job.profile and _of_all(job.profile, len(packages[job.package].layers))]
    measured: dict[str, list[Job]] = {}
    for job in whole:
        measured.setdefault(packages[job.package].precision, []).append(job)
    if "int8" not in measured:
        hint = "run `edgec bench INT8 FLOAT --profile` on that board, with packages of this model in both precisions"
        raise UsageError("no int8 package of this model was benched in it with --profile", where=str(path), hint=hint)
    if len(boards := sorted({job.device for job in whole})) > 1:
        raise UsageError(f"it has measurements of several boards: {', '.join(boards)}", where=str(path), hint="bench one of them: --device")
    newest = {name: max(steady_ones(own, path), key=lambda job: job.started) for name, own in measured.items()}
    return {"float32" if precision == "fp32" else precision: _times(job, packages[job.package]) for precision, job in newest.items()}


def _of_all(profile: Sequence[LayerTime], calls: int) -> bool:
    """Whether there is one time of every call."""
    return sorted(time.layer for time in profile) == list(range(calls))


def _times(job: Job, facts: PackageFacts) -> Times:
    return tuple((facts.layers[time.layer].nodes, time.us) for time in job.profile)


def _names(facts: PackageFacts) -> tuple[str, ...]:
    return tuple(layer.name for layer in facts.layers)


def _measured(job: Job, calls: int) -> Measured:
    assert job.gpu is not None
    on_cpu, on_gpu = ({time.layer: time.us for time in times} for times in (job.profile, job.gpu.profile))
    order = range(calls)
    return Measured(job.device, job.gpu.device, tuple(on_cpu[at] for at in order), tuple(map(on_gpu.get, order)), job.gpu.wait_us)
