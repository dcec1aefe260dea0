"""bench() as a paragraph: choose boards, build what is needed, run every board's job, write the results and the report."""

from __future__ import annotations

import getpass
import os
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from edgec.base.errors import EdgecError, Problem, UsageError, did_you_mean
from edgec.base.output import check_outputs
from edgec.boards.board.inventory import choose, load_inventory
from edgec.boards.board.measure import Options
from edgec.boards.deploy.parcel import Parcel, open_parcel
from edgec.boards.device import Device
from edgec.boards.farm.farm import run_farm
from edgec.boards.farm.gates import Gates, make_gates
from edgec.boards.farm.job import Judge, Task, run_task
from edgec.boards.farm.scheduler import run_on_cluster
from edgec.exam.judging import BoardJudge, paper_of, write_sheet
from edgec.exporters import path_of
from edgec.package import Package
from edgec.pipeline.evaluation import Data, Labels, kept_options, open_evaluation
from edgec.pipeline.finish import build
from edgec.pipeline.models import Progress, read_model
from edgec.pipeline.prepare import check_data, check_file, prepare
from edgec.provenance.verify import verify_files
from edgec.records.results import EachCore, Job, PackageFacts, Record, Versus, packages_of
from edgec.reports import write_report
from edgec.settings.config import BuildConfig, configure
from edgec.settings.forms_of_text import OperatorSources
from edgec.targets import load_target

RESULTS, REPORT = "results.jsonl", "report.html"
Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class Bench:
    """What a bench found. records: of each job the last; results: the JSON lines; report: the page made of them."""

    records: tuple[Record, ...]
    results: Path
    report: Path
    notes: tuple[str, ...] = ()

    @property
    def jobs(self) -> list[Job]:
        return [record for record in self.records if isinstance(record, Job)]

    @property
    def versus(self) -> list[Versus]:
        return [record for record in self.records if isinstance(record, Versus)]

    @property
    def packages(self) -> dict[str, PackageFacts]:
        return packages_of(self.records)

    @property
    def failures(self) -> list[Job]:
        """What did not pass, or left a promise undecided."""
        return [job for job in self.jobs if not job.kept]

    @property
    def warnings(self) -> list[str]:
        """Why figures are to be read with care, or are not compared."""
        compared = {(one.device, package) for one in self.versus for package in (one.base, one.package)}
        several = {device for device, count in Counter(job.device for job in self.jobs).items() if count > 1}
        alone = "; it is compared with no other package"
        return [
            f"{job.device}: {job.noise}{alone if job.device in several and (job.device, job.package) not in compared else ''}"
            for job in self.jobs
            if job.noise
        ]

    @property
    def advice(self) -> list[str]:
        """Where more threads do worse than one, and what the cores say that were measured one by one."""
        found = [(job, *job.handed_over) for job in self.jobs if job.handed_over]
        handed = [
            f"{job.device}: {self.packages[job.package].name} takes {worst.p50_us / alone.p50_us:.2g} times as long on {worst.threads} "
            "threads as on one: handing its work over costs more than that saves"
            for job, alone, worst in found
        ]
        return handed + [
            f"{job.device}: {self.packages[job.package].name} {advice_of(job.each_core)}" for job in self.jobs if job.each_core is not None
        ]

    @property
    def exit_code(self) -> int:
        """0; 1 when an answer or a promise was wrong, or a promise is undecided; else 5 when a board told us nothing that counts."""
        if any(job.status == "failed" or job.undecided for job in self.failures):
            return 1
        return 5 if self.failures else 0


def advice_of(found: EachCore) -> str:
    """Whether cores differ, and how threads on all of them share best."""
    by_time = [core for _, core in sorted(zip(found.alone_us, found.cores, strict=True))]
    alone = f"takes {found.apart:.2f} times as long on core {by_time[-1]} as on core {by_time[0]}"
    interval = f"{found.ratio:.2f} ({found.low:.2f} to {found.high:.2f})"
    best = "with blocks: NAME_set_shares(&model, 8, -1)" if found.blocks_win else "with one share for each: NAME_set_shares(&model, 1, -1)"
    return f"{alone}; on all {len(found.cores)}, blocks take {interval} of the time of equal shares: run it {best}"


def bench(
    what: Paths, *, devices: Sequence[str] = (), tags: Sequence[str] = (), everything: bool = False, inventory: str | Path | None = None,
    out: str | Path | None = None, seconds: float = 2.0, runs: int = 100, rounds: int = 5, threads: Sequence[int] | None = None,
    cores: Sequence[int] | None = None, isa: str | None = None, profile: bool = False, repeats: int = 2, pause: float = 5.0,
    gpu: str = "auto", accept_noise: bool = False, each_core: bool = False,
    data: Data | None = None, labels: Labels | None = None, samples: int | None = None, model: str | Path | None = None,
    max_latency: str | float | None = None, percentile: str = "p50", min_agreement: str | float | None = None,
    min_top1: str | float | None = None, max_rss: str | int | None = None, faster_than: str | Path | None = None,
    precision: str | None = None, calib: Data | None = None, config: BuildConfig | None = None,
    resume: bool = False, retries: int = 1, scheduler: str | None = None, key: str | Path | None = None,
    allow_downgrade: bool = False, progress: Progress | None = None, tell: Callable[[str], None] | None = None, **settings: Any,
) -> Bench:  # fmt: skip
    """Measure packages, or what is built from models for each board's target, on boards; several at once are compared with the first.

    devices, tags, everything: which boards of the inventory. threads: each count is measured; none for the powers of two up to the
    board's cores. gpu: whether what has shaders is measured on the GPU too: "auto" where the board can, "on" (models are then built so
    that all that can runs there), "off". each_core: each core alone too, and both ways to share on all. data, labels, samples: what
    answers are judged by on the boards, against the float `model`, known when a model is benched. max_latency ("20ms"), min_agreement,
    ... are promises, see Gates; those about speed may be undecided where a board was busy, throttled or its figures scatter, unless
    accept_noise. precision: None for int8 where there is calibration data, else fp32; settings: any further field of BuildConfig, or
    `config` with all of them. resume: keep what `out`/results.jsonl holds and do the rest. scheduler: of dask, by address; its workers
    own the boards. tell: hears in words what each board does. key: a file with the public ed25519 key that must have signed the packages
    given, of which the very bytes that travel are verified. allow_downgrade: see deploy().

    UsageError and others for what is wrong before any board is touched; what happens on boards is in the result.
    """
    chosen = choose(load_inventory(Path(inventory) if inventory is not None else None), devices, tags, everything)
    gates = make_gates(
        max_latency=max_latency, percentile=percentile, min_agreement=min_agreement, min_top1=min_top1,
        max_rss=max_rss, faster_than=faster_than,
    )  # fmt: skip
    options = Options(
        seconds, runs, rounds, tuple(threads or ()), None if cores is None else tuple(cores), isa, profile, repeats, pause,
        gpu=gpu, accept_noise=accept_noise, each_core=each_core,
    )  # fmt: skip
    configured = config or configure(calib=str(calib) if isinstance(calib, Path) else calib, precision=precision, **settings)
    given = [Path(item) for item in ([what] if isinstance(what, (str, Path)) else what)]
    paths = [path_of(item, configured) for item in given]
    _check(paths, chosen, gates, model is not None, data, labels)
    folder = _folder(None if out is None else Path(out), given[0], resume)
    read = [Path(item) for item in (*given, data, labels, model, faster_than, inventory) if isinstance(item, (str, Path))]
    check_outputs([folder / REPORT], read, force=configured.force)
    packages, notes = _packages(paths, chosen, configured, precision is not None, isa, folder, progress, gpu)
    parcels = {package.directory: open_parcel(package.directory) for several in packages.values() for package in several}
    if key is not None:
        for place in (path for path in paths if path in parcels):
            verify_files(parcels[place].files, Path(key), str(place))
    _check_parcels(parcels, packages, isa, gpu)
    known = paths if model is None else [path_of(model, configured)] * len(paths)
    floats = {package.directory: path for several in packages.values() for path, package in zip(known, several, strict=True)}
    judge = None if data is None else _judge(floats, parcels, data, labels, samples, progress, configured.operators)
    owner = f"{getpass.getuser()}@{socket.gethostname()} (edgec bench, process {os.getpid()})"
    tasks = [
        Task(device, tuple(parcels[one.directory] for one in packages[device.name]), options, gates, judge, owner, allow_downgrade)
        for device in chosen
    ]
    run = partial(run_on_cluster, scheduler) if scheduler else run_farm
    records = run(tasks, run_task, results=folder / RESULTS, resume=resume, retries=retries, tell=tell)
    write_report(records, folder / REPORT, force=configured.force)
    return Bench(tuple(records), folder / RESULTS, folder / REPORT, tuple(notes))


def _folder(out: Path | None, first: Path, resume: bool) -> Path:
    """Where results go: as asked, else a folder called after what is benched that no other bench has used, or the last one to resume."""
    if out is not None:
        if not resume and (out / RESULTS).exists():
            raise UsageError("there are results of another bench already", where=str(out), hint="give --resume, or another folder")
        return out
    stem = f"bench-{first.resolve().stem if first.is_file() else first.resolve().name}"
    names = [stem, *(f"{stem}-{number}" for number in range(2, 10000))]
    free = next(index for index, name in enumerate(names) if not (Path(name) / RESULTS).exists())
    return Path(names[max(0, free - 1)] if resume else names[free])


def _check(
    paths: Sequence[Path], devices: Sequence[Device], gates: Gates, has_model: bool, data: Data | None, labels: Labels | None
) -> None:
    """UsageError: all that is wrong with the question itself."""
    if not paths:
        raise UsageError("nothing to bench", hint="give a package directory or an ONNX file")
    packages = [path for path in paths if path.is_dir()]
    for path in paths:
        if path not in packages:
            check_file(path)
    top1 = gates.min_top1 is not None
    rules: list[tuple[object, str, str, str]] = [
        (data is None and gates.accuracy, "a promise about answers needs a data set", "--data", "give --data eval.npz"),
        (data is None and labels is not None, "labels without a data set", "--labels", "give --data eval.npz"),
        (data is not None and labels is None and top1, "a promise about top-1 needs labels", "--min-top1", "give --labels"),
        (data is not None and packages and not has_model, "the float model of a package is not known", "--data", "give it with --model"),
    ]
    if isinstance(data, (str, Path)):
        check_data(configure(calib=str(data)))
    known = {one.device for one in gates.faster_than}
    for device in devices if gates.baseline else ():
        rules.append(
            (device.name not in known, f"no steady measurement of {device.name}", gates.baseline, f"it has {', '.join(sorted(known))}")
        )
    if problems := [Problem(what, where, hint) for broken, what, where, hint in rules if broken]:
        raise UsageError("the bench cannot be judged as asked", problems)


def _packages(
    paths: Sequence[Path],
    devices: Sequence[Device],
    config: BuildConfig,
    asked: bool,
    isa: str | None,
    folder: Path,
    progress: Progress | None,
    gpu: str,
) -> tuple[dict[str, list[Package]], list[str]]:
    """The packages for each board by its name; models are built once for each target, when all of them can be."""
    notes: list[str] = []
    plans: dict[tuple[Path, str], tuple[Path, BuildConfig]] = {}
    models = [path for path in paths if not path.is_dir()]
    for index, path in enumerate(models):
        fitting, note = with_precision(path, config, asked)
        notes += [note] if note else []
        stem = path.stem if [other.stem for other in models].count(path.stem) == 1 else f"{index + 1}-{path.stem}"
        for target in dict.fromkeys(device.target for device in devices):
            place = folder / "packages" / f"{stem}-{target}-{fitting.precision}"
            if isa is not None and isa not in load_target(target).vocabularies:
                raise UsageError(
                    f"no vocabulary {isa!r} for {target}", where="--isa", hint=did_you_mean(isa, load_target(target).vocabularies)
                )
            plans[path, target] = path, replace(fitting, target=target, compile=True, out=place, **_placed(target, gpu))
    _prepare(plans)
    built = {key: build(model, config, progress) for key, (model, config) in plans.items()}
    packages = {device.name: [built.get((path, device.target)) or Package(path) for path in paths] for device in devices}
    return packages, notes


def _prepare(plans: Mapping[tuple[Path, str], tuple[Path, BuildConfig]]) -> None:
    """Every reason why one of the packages cannot be built, before any of them is."""
    errors: dict[str, EdgecError] = {}
    for model, config in plans.values():
        try:
            prepare(model, config)
        except EdgecError as error:
            errors.setdefault(error.render(), error)
    if not errors:
        return
    worst = min(errors.values(), key=lambda error: error.exit_code)
    if len(errors) == 1:
        raise worst
    problems = [item for error in errors.values() for item in (Problem(error.summary, error.where, error.hint), *error.problems)]
    raise type(worst)("packages cannot be built for all of these boards", problems, hint="bench some of them: --device NAME")


def with_precision(model: Path, config: BuildConfig, asked: bool) -> tuple[BuildConfig, str]:
    """int8 where it can be had; a note where it cannot and nobody asked for it."""
    if asked or config.precision != "int8" or config.calib is not None:
        return config, ""
    if any(node.op == "DequantizeLinear" for node in read_model(model, config).graph.nodes):
        return config, ""
    return replace(config, precision="fp32"), f"{model.name} is measured in float: give --calib DATA for int8"


def _placed(target: str, gpu: str) -> dict[str, Any]:
    """Settings of a build for a bench that asks for the GPU, which measures all that can run there."""
    return {"gpu": "on"} if gpu == "on" and load_target(target).gpu else {}


def _check_parcels(
    parcels: Mapping[Path, Parcel], packages: Mapping[str, Sequence[Package]], isa: str | None, gpu: str
) -> None:  # fmt: skip
    problems = []
    if gpu == "on" and not any(parcel.gpu_calls for parcel in parcels.values()):
        problems.append(Problem("nothing of these packages runs on a GPU", "--gpu", "build for a target with a GPU, see `edgec targets`"))
    for directory, parcel in parcels.items():
        if isa is not None and isa not in parcel.vocabularies:
            problems.append(Problem(f"no vocabulary {isa!r} in this package", str(directory), did_you_mean(isa, parcel.vocabularies)))
    for several in packages.values():
        names = [parcels[package.directory].facts.sha256 for package in several]
        if len(set(names)) < len(names):
            problems.append(Problem("the same package twice", str(several[0].directory), "give packages that differ"))
            break
    if problems:
        raise UsageError("these packages cannot be benched", problems)


def _judge(
    floats: Mapping[Path, Path], parcels: Mapping[Path, Parcel], data: Data, labels: Labels | None, samples: int | None,
    progress: Progress | None, operators: OperatorSources,
) -> Judge:  # fmt: skip
    """Each package against its float model. Reference answers are computed once for each model and way to read the data set, however
    many packages and boards there are."""
    papers, sheets = {}, {}
    for directory, model in floats.items():
        package = Package(directory)
        key = model, repr(kept_options(package))
        if key not in sheets:
            opened = open_evaluation(model, package, data, labels, samples, operators)
            sheets[key] = opened, write_sheet(opened, package, progress)
        papers[parcels[directory].facts.sha256] = paper_of(package, *sheets[key])
    return BoardJudge(papers)
