"""A built package: its manifest, its exam, and a way to run it over numpy arrays, here or through an emulator."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from edgec.base.errors import DeviceError, GateError, Problem, UsageError, did_you_mean
from edgec.package.manifest import SCHEMA_VERSION, Manifest, read_manifest
from edgec.package.runner import Runner, Tensor, tensors_of
from edgec.package.running import DAMAGED, Session, ending, exam_program, run
from edgec.targets import Target, load_target

GPU = "gpu"  # stands among vocabularies for what ran on a GPU
WRONG = 1  # status of an exam program whose answers are not the expected ones
MOST_THREADS = 1024
MOST_RUNS = 1_000_000
MOST_SECONDS = 86_400
_MADE = ("android", "apple", "micro", "web")  # systems that toolchain.made tells of


@dataclass(frozen=True)
class Package:
    """A package directory that build() wrote. examined: the vocabularies, and `gpu`, in which the build that gave it examined it."""

    directory: Path
    examined: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "directory", Path(self.directory))

    @property
    def manifest(self) -> Manifest:
        """As it is now. UsageError: no package, or a manifest that lies."""
        return read_manifest(self.directory)[0]

    @property
    def notes(self) -> list[str]:
        """Of the build, and of what it could not make here."""
        made = [line for system in _MADE for line in self._made(system)]
        return [*self.manifest.notes, *(line for line in made if not os.path.exists(self.directory / line))]

    def _made(self, system: str) -> list[str]:
        """What the form's compilation wrote down, behind a title; nothing where there was none."""
        try:
            return (self.directory / "build" / system / "README.txt").read_text(encoding="utf-8", errors="replace").splitlines()[1:]
        except OSError:
            return []

    @property
    def target(self) -> Target:
        """UsageError also for one that this edgec does not know."""
        try:
            return load_target(self.manifest.target)
        except UsageError as error:
            raise UsageError(error.summary, error.problems, where=error.where or str(self.directory), hint=error.hint) from error

    @property
    def inputs(self) -> list[Tensor]:
        manifest = self.manifest
        return tensors_of(manifest.inputs, manifest.options)

    @property
    def outputs(self) -> list[Tensor]:
        manifest = self.manifest
        return tensors_of(manifest.outputs, manifest.options)

    @property
    def can_run(self) -> bool:
        """Whether the package was compiled and this machine, or an installed emulator, can run it."""
        try:
            command = exam_program(self.directory, self.target)
        except DeviceError:
            return False
        return shutil.which(command[0]) is not None

    @property
    def has_gpu(self) -> bool:
        """Whether some of the package's calls can run on a GPU."""
        gpu = self.manifest.gpu
        return gpu is not None and gpu.shaders > 0

    def finds_gpu(self) -> bool:
        """Whether the package's exam program can start and finds a GPU here (a driver in software is one too)."""
        if not (self.has_gpu and self.can_run):
            return False
        done = run(exam_program(self.directory, self.target, "--gpu", "--gpu-name"))
        return done.status == 0

    def isas(self) -> list[str]:
        """The vocabularies of the package that this machine, or the emulator, can run."""
        done = run(exam_program(self.directory, self.target, "--isas"))
        if done.status != 0:
            problems = [Problem(line) for line in done.errors.splitlines()[-8:]]
            raise GateError(f"the exam program ended {ending(done.status)}", problems, where=str(self.directory), hint=DAMAGED)
        known = self.manifest.vocabularies
        found = [word for word in done.output.decode("ascii", errors="replace").split() if word in known]
        if not found:
            raise DeviceError("the exam program names no vocabulary of the manifest", where=str(self.directory), hint=DAMAGED)
        return found

    def examine(self, *, isa: str | None = None, threads: int = 1, gpu: bool = False) -> dict[str, Any]:
        """Run the exam and return its findings; GateError when an answer is not the expected one. gpu: what can runs there."""
        return self._ask("exam", [], isa, threads, gpu)

    def benchmark(
        self,
        seconds: float = 1.0,
        *,
        isa: str | None = None,
        threads: int = 1,
        runs: int = 1,
        samples: int = 0,
        cores: Sequence[int] = (),
        gpu: bool = False,
    ) -> dict[str, Any]:
        """Time whole runs, for `seconds` and for `runs` runs at least, on `cores` alone where some are named (Linux).

        What the exam program prints: min_us, mean_us, p50_us, p90_us, p95_us, p99_us and std_us of a run, cold_us (from the start of the
        program to its first answer), rss_bytes, arena_bytes, frequencies_khz (at the start and the end of the measurement), and samples_us:
        at most `samples` of the runs, evenly taken in the order of time.
        """
        arguments = ["--bench", _seconds(seconds), "--runs", str(_count("runs", runs, 1)), "--samples", str(_count("samples", samples, 0))]
        if cores:
            arguments += ["--cores", ",".join(str(_count("cores", core, 0)) for core in cores)]
        return self._ask("benchmark", arguments, isa, threads, gpu)

    def profile(
        self, seconds: float = 1.0, *, isa: str | None = None, threads: int = 1, gpu: bool = False
    ) -> list[tuple[str, tuple[str, ...], float]]:
        """(name, ONNX nodes, median microseconds) of every kernel call of a run, in their order.

        gpu: calls that go to the GPU together are timed together, as the first of them.
        """
        times, calls = self._ask("profile", ["--profile", _seconds(seconds)], isa, threads, gpu).get("calls_us"), self.manifest.calls
        if not isinstance(times, list) or len(times) != len(calls) or not all(isinstance(us, int | float) for us in times):
            raise DeviceError("the exam program is not that of the manifest", where=str(self.directory), hint=DAMAGED)
        return [(call.name, call.nodes, us) for call, us in zip(calls, times, strict=True)]

    def load(self, *, isa: str | None = None, threads: int = 1, gpu: bool = False, whole: bool = False) -> Runner:
        """A callable over numpy arrays, which keeps one process of the exam program open until it is closed or forgotten.

        whole: it gives all outputs of the package in their largest shapes, else the model's, each as large as it is in that run.
        """
        choices = self._choices(isa, threads, gpu)

        def start(number: int) -> Session:
            sizes = ["--sizes", str(number)] if number else []
            return Session(exam_program(self.directory, self.target, "--run", *choices, *sizes))

        return Runner(self.inputs, self.outputs, start, whole, bool(self.manifest.states))

    def _ask(self, what: str, arguments: Sequence[str], isa: str | None, threads: int, gpu: bool) -> dict[str, Any]:
        choices, program = self._choices(isa, threads, gpu), partial(exam_program, self.directory, self.target)
        done = run(program("--json", *arguments, *choices))
        if done.status == WRONG and not arguments:  # asked again for words: the answers are the same
            done = run(program(*choices))
        if done.status != 0:
            problems = [Problem(line) for line in (done.errors or done.output.decode(errors="replace")).splitlines()[-8:]]
            hint = "" if done.status == WRONG else DAMAGED
            raise GateError(f"the {what} failed {ending(done.status)}", problems, where=str(self.directory), hint=hint)
        try:
            facts = json.loads(done.output)
        except (ValueError, RecursionError):
            facts = None
        if not isinstance(facts, dict) or facts.get("schema_version") != SCHEMA_VERSION:
            raise DeviceError(f"the {what} did not answer in JSON of version {SCHEMA_VERSION}", where=str(self.directory), hint=DAMAGED)
        return facts

    def _choices(self, isa: str | None, threads: int, gpu: bool) -> list[str]:
        """Arguments of the exam program; UsageError for what this package cannot do on any machine."""
        known = self.manifest.vocabularies
        if isa is not None and isa not in known:
            raise UsageError(f"no vocabulary {isa!r} in this package", where=str(self.directory), hint=did_you_mean(isa, known))
        if not 1 <= threads <= MOST_THREADS:
            raise UsageError(f"{threads} threads asked for", hint=f"give a number from 1 to {MOST_THREADS}")
        if gpu and not self.has_gpu:
            raise UsageError("nothing of this package runs on a GPU", where=str(self.directory), hint=_gpu_hint(self.manifest))
        return ["--threads", str(threads), *(["--isa", isa] if isa else []), *(["--gpu"] if gpu else [])]


def as_package(package: Package | str | Path) -> Package:
    """A package, or the one in a folder."""
    return package if isinstance(package, Package) else Package(Path(package))


def _gpu_hint(manifest: Manifest) -> str:
    return "manifest.json says why, call by call" if manifest.gpu else "build it for a target with a GPU, see `edgec targets`"


def _seconds(seconds: float) -> str:
    if not 0 < seconds <= MOST_SECONDS:
        raise UsageError(f"{seconds} seconds asked for", hint=f"give more than 0, and at most {MOST_SECONDS}")
    return str(seconds)


def _count(what: str, number: int, least: int) -> int:
    if not least <= number <= MOST_RUNS:
        raise UsageError(f"{what}: {number}", hint=f"give a number from {least} to {MOST_RUNS}")
    return number
