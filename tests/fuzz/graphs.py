"""The fuzzer of graphs: a batch of random models through the whole compiler, in every vocabulary and on several threads, under the
sanitizers; now and then on ARM in an emulator, with shaders on lavapipe, or as packages are compiled.

A model is right in float within the bounds of graphs_errors.py of ONNX Runtime, in int8 bit for bit as the oracle says, or it is refused by
an error that graphs_refused.py expects. One model of a batch goes through `edgec build`, with its exam.
"""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import printer

from edgec.emit.gpu.shaders import floats_are_exact
from edgec.targets import load_target
from tests.contract.examiner import available
from tests.fuzz.frame import Outcome, Trial, Wrong
from tests.fuzz.graphs_check import Refused, cases_of, samples
from tests.fuzz.graphs_draft import Drawn
from tests.fuzz.graphs_draw import DRAWERS, draw
from tests.fuzz.graphs_minimize import minimized
from tests.fuzz.graphs_refused import check_refusal
from tests.operators.backends import FOREIGN, NATIVE, SANITIZE, VULKAN, Backend
from tests.operators.case import Case
from tests.operators.suite import OK, Compiled, run_programs
from tests.operators.vulkan import ON_CPU, run_programs_on_vulkan

CPU_SECONDS = 600  # of a batch, with what its finds take to become small
BATCH = 40
AMONG = "EDGEC_FUZZ_AMONG"  # the variable that names the operators which models are drawn around, all where it is not set
THREADS = (1, 3)
NATIVE_BACKENDS = tuple(Backend(item.name, item.target, item.isas, "-O0", SANITIZE) for item in NATIVE)
AS_BUILT = replace(NATIVE[1], name=f"{NATIVE[1].name} with -O3", optimize="-O3")
ELSEWHERE = {replace(FOREIGN[0], optimize="-O0"): 0.05, VULKAN: 0.05, AS_BUILT: 0.25}  # the share of batches that are taken there as well
FEW = 8  # models of such a batch
GPU_ERROR = 1e-3
SAID = (2, 3)  # exit codes of a refusal: usage, model

# how often a build has an option, and what is chosen of
ALWAYS = (
    (0.3, "--target", ("portable", "rpi4", "rpi-32bit", "android")),
    (0.2, "--io-layout", ("nhwc",)),
    (0.2, "--weights", ("c", "bin")),
)
CALIBRATED = ((0.4, "--io", ("int8", "uint8")), (0.4, "--effort", ("fast", "high")), (0.1, "--min-sqnr", ("20",)))

SAMPLES = """import numpy
def samples():
    return [dict(numpy.load(f"sample{number}.npz")) for number in range(3)]
"""


def make() -> Trial:
    return trial


def trial(g: np.random.Generator, folder: Path) -> Outcome:
    """A batch; what is wrong with its models is minimized and kept in the folder."""
    resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)  # the sanitizers' shadow is large
    places = iter(folder / f"work{number}" for number in itertools.count())
    names = list(filter(None, os.environ.get(AMONG, "").split(","))) or list(DRAWERS)
    models = {f"graph{number}": draw(g, str(g.choice(names))) for number in range(BATCH)}
    counts, finds, compiled = Counter[str](graphs=BATCH), dict[str, Wrong](), list[Compiled]()
    backends = [NATIVE_BACKENDS[int(g.integers(len(NATIVE_BACKENDS)))], *(item for item, share in ELSEWHERE.items() if g.random() < share)]
    built = str(g.choice(list(models)))
    for backend in backends:
        compiled = []
        for name, drawn in itertools.islice(models.items(), FEW if backend in ELSEWHERE else None):
            try:
                found = cases_of(name, drawn, load_target(backend.target))
                compiled += found
                counts.update(f"{item.case.operator} on {backend.name}" for item in found[::2])
            except Refused:
                counts["refused"] += 1
            except Wrong as error:
                finds.setdefault(name, error)
        finds = {**run(compiled, backend, next(places)), **finds}
    try:
        counts[f"built, exit {through_the_command_line(models[built], next(places), g)}"] += 1
    except Wrong as error:
        finds.setdefault(built, error)
    for name, error in finds.items():
        _keep(models[name], error, backends, folder / name, places)
    if finds:
        raise next(iter(finds.values()))
    return Outcome(counts, frozenset().union(*(drawn.operators for drawn in models.values())))


def run(compiled: list[Compiled], backend: Backend, folder: Path) -> dict[str, Wrong]:
    """What is wrong, by the model's name."""
    folder.mkdir()
    target = load_target(backend.target)
    if backend == VULKAN:
        compiled = [item if floats_are_exact(item.program) else replace(item, case=loosened(item.case)) for item in compiled]
        outcomes = run_programs_on_vulkan(compiled, target, folder, lambda number: VULKAN.isas[number % len(VULKAN.isas) :][:1])
    else:
        isas = [isa for isa in backend.isas if not isa or backend.foreign or available(isa)]
        threads = THREADS[:1] if backend == AS_BUILT else THREADS  # the sign of NaN differs between vectors and what is left over
        outcomes = run_programs(compiled, target, folder, isas, backend.optimize, backend.flags, threads)
    return {
        item.case.split(",")[0]: Wrong(f"{item.operator} on {backend.name}", f"{item.case}: {item.message}")
        for item in outcomes
        if item.verdict not in (OK, ON_CPU)
    }


def loosened(case: Case) -> Case:
    """With the tolerance of floats on GPUs, whose division and functions are inexact."""
    if case.bounds is None:
        return case
    pairs = zip(case.expected, case.bounds, strict=True)
    bounds = [bound + GPU_ERROR * np.nan_to_num(1 + np.abs(array)) if array.dtype.kind == "f" else bound for array, bound in pairs]
    return replace(case, bounds=bounds)


def problem(drawn: Drawn, backends: list[Backend], folder: Path) -> Wrong | None:
    """What is wrong with one model."""
    folder.mkdir()
    for backend in backends:
        try:
            cases = cases_of("graph", drawn, load_target(backend.target))
        except Wrong as error:
            return error
        except Exception:  # a part of a model may be none
            return None
        for wrong in run(cases, backend, folder / backend.name).values():
            return wrong
    return None


def _keep(drawn: Drawn, error: Wrong, backends: list[Backend], folder: Path, places: Iterator[Path]) -> None:
    """Write the smallest model that fails alike, its inputs and its text."""

    def fails(smaller: Drawn) -> bool:
        found = problem(smaller, backends, next(places))
        return found is not None and found.key == error.key

    small = minimized(drawn, fails) if not error.key.startswith("edgec build") else drawn
    last = problem(small, backends, next(places)) or error
    folder.mkdir(exist_ok=True)
    onnx.save(small.model, folder / "model.onnx")
    for place, vector in enumerate(small.vectors):
        np.savez(folder / f"input{place}.npz", **vector)
    (folder / "text.txt").write_text(f"{error}\n\n{last}\n\n{printer.to_text(small.model)}\n")
    error.args = (f"{error.key}: {sorted(small.operators)}: {last}",)


def drawn_options(g: np.random.Generator, options: tuple[tuple[float, str, tuple[str, ...]], ...]) -> list[str]:
    return [word for share, option, values in options if g.random() < share for word in (option, str(g.choice(values)))]


def through_the_command_line(drawn: Drawn, folder: Path, g: np.random.Generator) -> int:
    """The exit code of `edgec build` with its exam: 0, or that of an error about the model."""
    folder.mkdir()
    onnx.save(drawn.model, folder / "model.onnx")
    words = ["build", "model.onnx", "-o", "package", "--quiet", *drawn_options(g, ALWAYS)]
    if g.random() < 0.4 or not drawn.vectors[0]:
        words += ["--precision", "fp32"]
    else:
        for number, sample in enumerate(samples(drawn)):
            np.savez(folder / f"sample{number}.npz", **sample)
        (folder / "data.py").write_text(SAMPLES)
        words += ["--calib", "data.py:samples", *drawn_options(g, CALIBRATED)]
    done = subprocess.run([sys.executable, "-m", "edgec.cli.main", *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, *SAID) or "Warning" in done.stderr:
        raise Wrong(f"edgec build, exit {done.returncode}", f"{' '.join(words)}: {done.stderr[-1500:]}")
    if done.returncode:
        check_refusal(done.stderr, "edgec build", calibrated="--calib" in words)
    return done.returncode
