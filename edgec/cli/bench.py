"""measure packages or models on boards, check promises about them, and write a report"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import rich.table

import edgec
from edgec.base.errors import DeviceError, EdgecError, GateError, Problem
from edgec.boards.board.measure import GPU
from edgec.boards.farm.gates import PERCENTILES, us_text
from edgec.cli.console import Console, table
from edgec.cli.devices import declare_choice
from edgec.cli.settings import declare_key, declare_settings, resolve_key, resolve_settings, settings_table
from edgec.records.results import Gate, Job, PackageFacts, Versus

BUILD = (
    *("precision", "calib", "shape", "input", "output", "constant", "state", "operators", "observer", "effort", "exclude"),
    *("io", "io_layout", "weights", "cc", "fuse_preprocess", "seed", "force"),
)
_COLUMNS = ("board", "target", "package", "exam", "threads", "p50", "95 % interval", "p90", "p99", "cold", "memory", "verdict")


def declare(parser: argparse.ArgumentParser) -> None:
    what = "package directories, or ONNX files to build for each board; several are compared with the first"
    parser.add_argument("what", type=Path, nargs="+", help=what)
    declare_choice(parser)
    parser.add_argument("-o", "--out", type=Path, default=None, help="folder for results.jsonl, report.html and packages (bench-NAME)")
    measuring = parser.add_argument_group("how to measure")
    declare_rounds(measuring)
    measuring.add_argument("--profile", action="store_true", help="measure every layer too")
    measuring.add_argument("--gpu", default="auto", choices=GPU, help="measure on the GPU too what has shaders: auto where the board can")
    measuring.add_argument(
        "--each-core", action="store_true", help="measure every core alone too, and how threads on all of them share best"
    )
    judging = parser.add_argument_group("what to judge by")
    judging.add_argument("--data", default=None, help="judge answers on the board: .npz, .npy, a folder of images, FILE.py:FUNCTION")
    judging.add_argument("--labels", default=None, help="class indices: the name of an array in the .npz, or an .npy file")
    judging.add_argument("--samples", dest="most_samples", type=int, default=None, help="use at most this many samples of --data (all)")
    judging.add_argument("--model", dest="reference", type=Path, default=None, help="the float model of packages, for --data")
    judging.add_argument(
        "--max-latency", default=None, metavar="TIME", help="fail above it, e.g. 20ms; of the fastest number of threads, or the GPU"
    )
    judging.add_argument("--percentile", default="p50", choices=PERCENTILES, help="which latency --max-latency means (p50)")
    judging.add_argument("--min-agreement", default=None, metavar="SHARE", help="fail below this share of equal arg-max, e.g. 0.95")
    judging.add_argument("--min-top1", default=None, metavar="SHARE", help="fail below this accuracy, e.g. 0.9")
    judging.add_argument("--max-rss", default=None, metavar="SIZE", help="fail above this resident memory, e.g. 12MiB")
    judging.add_argument("--faster-than", type=Path, default=None, metavar="RESULTS", help="fail unless faster than in those results")
    judging.add_argument("--accept-noise", action="store_true", help="decide promises about speed by unsteady measurements too")
    declare_key(parser)
    parser.add_argument("--allow-downgrade", action="store_true", help="also a version below the highest that a board has accepted")
    farm = parser.add_argument_group("how to run")
    farm.add_argument("--resume", action="store_true", help="keep the results there are and do the rest")
    farm.add_argument("--retries", type=int, default=1, help="try a lost board again this often (1)")
    farm.add_argument("--scheduler", default=None, metavar="ADDRESS", help="a dask scheduler whose workers own the boards, tcp://...")
    declare_settings(parser, (*BUILD, "tuned"), {"precision": "int8 with --calib, else fp32"})


def declare_rounds(measuring: argparse._ArgumentGroup) -> None:
    """How packages are measured on a board, for every verb that does."""
    measuring.add_argument("--seconds", type=float, default=2.0, help="at least this long, over all rounds (2)")
    measuring.add_argument("--runs", type=int, default=100, help="at least this many, over all rounds (100)")
    measuring.add_argument("--rounds", type=int, default=5, help="fresh processes, whose spread gives the interval (5)")
    measuring.add_argument(
        "--threads", type=_threads, default=None, help="such as 1,2,4, of which the fastest counts (auto: up to all cores)"
    )
    measuring.add_argument("--cores", type=_counts, default=None, help="pin to these, such as 2,3 (what the inventory says)")
    measuring.add_argument("--isa", default=None, help="force a vocabulary, e.g. neon")
    measuring.add_argument("--repeats", type=int, default=2, help="measure again this often while a board throttles (2)")


def act(options: argparse.Namespace, console: Console) -> int:
    config = _config(options)
    if config is not None:
        console.remark(settings_table(config, unheard=("target", "out")))
    with console.progress() as progress:
        found = edgec.bench(
            options.what, devices=options.device, tags=options.tag, everything=options.all, inventory=options.devices,
            out=options.out, seconds=options.seconds, runs=options.runs, rounds=options.rounds, threads=options.threads,
            cores=options.cores, isa=options.isa, profile=options.profile, repeats=options.repeats, gpu=options.gpu,
            accept_noise=options.accept_noise, each_core=options.each_core,
            data=options.data, labels=options.labels, samples=options.most_samples, model=options.reference,
            max_latency=options.max_latency, percentile=options.percentile, min_agreement=options.min_agreement,
            min_top1=options.min_top1, max_rss=options.max_rss, faster_than=options.faster_than,
            precision=options.precision, config=config, force=options.force,
            resume=options.resume, retries=options.retries, scheduler=options.scheduler, key=resolve_key(options),
            allow_downgrade=options.allow_downgrade, progress=progress, tell=console.note,
        )  # fmt: skip
    for words in found.warnings:
        console.note(f"warning: {words}")
    for note in (*found.notes, *found.advice):
        console.note(f"note: {note}")
    for job in found.jobs:
        if job.gpu is not None and not job.gpu.device:
            console.note(f"note: {job.device}: not on the GPU: {job.gpu.reason}")
    packages = found.packages
    shown: list[rich.table.Table | str] = [table("", _COLUMNS, [row for job in found.jobs for row in _rows(job, packages)])]
    if found.versus:
        columns = ["board", "package", "against", "p50 ratio", "95 % interval", ""]
        shown += ["", table("", columns, [_versus_row(one, packages) for one in found.versus])]
    if gates := [(job.device, gate.name, gate.limit, gate.value, _became(gate)) for job in found.jobs for gate in job.gates]:
        shown += ["", table("", ["board", "promise", "limit", "measured", ""], gates)]
    shown += ["", f"results  {found.results}", f"report   {found.report}"]
    facts = {
        "results": str(found.results),
        "report": str(found.report),
        "exit_code": found.exit_code,
        "notes": [*found.notes, *found.advice],
    }
    console.result({**facts, "packages": [asdict(one) for one in packages.values()], "jobs": [_brief(job) for job in found.jobs],
                    "versus": [asdict(one) for one in found.versus]}, shown)  # fmt: skip
    if found.failures:
        console.failure(_failure(found.failures, found.exit_code))
    return found.exit_code


def _config(options: argparse.Namespace) -> edgec.BuildConfig | None:
    """How models are built; None where only packages are benched. Boards decide the target, and --out is the bench's."""
    models = [path for path in options.what if not path.is_dir()]
    if not models:
        return None
    chosen = (*BUILD, "tuned", "config", "trust_config")
    given = argparse.Namespace(**{name: getattr(options, name) for name in chosen}, model=models[0])
    return replace(resolve_settings(given), out=None)


def _threads(text: str) -> tuple[int, ...] | None:
    return None if text == "auto" else _counts(text)


def _counts(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"cannot use {text!r}: write numbers with commas between them, such as 1,2,4") from None


def _rows(job: Job, packages: dict[str, PackageFacts]) -> Iterator[tuple[object, ...]]:
    """One for each number of threads, and one for the GPU; one where there is no latency at all."""
    name = _name(job.package, packages)
    exam = "-" if job.exam is None else ("exact" if job.exam.exact else f"within {job.exam.difference:.1e}") if job.exam.passed else "WRONG"
    head = (job.device, job.target, name, exam)
    if not job.latencies:
        yield (*head, *["-"] * 7, job.status)
    for one in job.latencies:
        interval = f"{us_text(one.low_us)} to {us_text(one.high_us)}"
        ways = f"{one.threads}{' + GPU' if one.gpu else ''}{', fastest' if one is job.fastest and len(job.latencies) > 1 else ''}"
        times = (us_text(one.p90_us), us_text(one.p99_us), us_text(one.cold_us), f"{one.rss_bytes / 2**20:.1f} MiB")
        yield (*head, ways, us_text(one.p50_us), interval, *times, job.status)


def _versus_row(one: Versus, packages: dict[str, PackageFacts]) -> tuple[object, ...]:
    word = "faster" if one.high < 1 else "slower" if one.low > 1 else "no difference seen"
    interval = f"{one.low:.3f} to {one.high:.3f}"
    return one.device, _name(one.package, packages), _name(one.base, packages), f"{one.ratio:.3f}", interval, word


def _became(gate: Gate) -> str:
    return "kept" if gate.passed else "undecided" if gate.undecided else "BROKEN"


def _name(sha256: str, packages: dict[str, PackageFacts]) -> str:
    facts = packages.get(sha256)
    return f"{facts.name} {facts.precision} {sha256[:6]}" if facts else sha256[:6]


def _brief(job: Job) -> dict[str, object]:
    """A job without its thousands of samples, which are in the results file, and which way of running it to choose."""
    facts = asdict(job)
    best = job.fastest
    facts["fastest"] = {"threads": best.threads, "gpu": best.gpu} if best is not None else None
    for latency in facts["latencies"]:
        del latency["samples_us"]
    return facts


def _why(job: Job) -> str:
    """An undecided promise says what decides it."""
    undecided = [f"{gate.name} is {gate.value}; wait until it is quiet, or give --accept-noise" for gate in job.gates if gate.undecided]
    return "; ".join([f"{job.status}: {job.reason}", *undecided])


def _failure(jobs: list[Job], exit_code: int) -> EdgecError:
    kind = GateError if exit_code == 1 else DeviceError
    problems = [Problem(line) for job in jobs for line in _why(job).splitlines()]
    return kind(f"{len(jobs)} job{'s' if len(jobs) > 1 else ''} did not pass", problems)
