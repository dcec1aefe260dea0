"""Builds packages of a net for any variant and asks every run of them for its answers."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgec.emit import ExamData, emit_exam
from edgec.emit.vocabularies import VOCABULARIES
from edgec.targets import Target, load_target
from edgec.toolchain import Built, compile_package, run_exam
from tests.conftest import once, require
from tests.contract.subjects import Net, program_of
from tests.contract.variants import Run, Variant
from tests.emit.drafts import drafted, whole

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
# Of unoptimized kernels whose small functions stay functions: a compiler is done with them in a fifth of the time, or a tenth. Those for
# ARM cannot run so, since gcc has their sums in registers by name, which a call may overwrite.
NOT_INLINED = "-Dalways_inline=unused"
WHOLE = bool(os.environ.get("EDGEC_TEST_ALL"))  # every combination, instead of a selection that touches every law


def write_package(folder: Path, net: Net, target: Target, data: ExamData, weights: str = "incbin", **options: Any) -> Path:
    """The package of `net` with its exam, in `folder`."""
    program = program_of(net, target, **options)
    draft = whole(drafted(program, target, weights).plus(emit_exam(program, target, data)), program, target)
    for name, content in draft.complete().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def build_variant(net: Net, data: ExamData, variant: Variant, shared: Path) -> tuple[Built, Target]:
    """The package, compiled with every warning an error: once for all tests of a run. No two nets may have the same name."""
    target = able(load_target(variant.target))
    words = (target.name, variant.cc, variant.optimize, *variant.flags)
    record = "built.pickle"

    def build(folder: Path) -> None:
        write_package(folder, net, target, data)
        built = compile_package(folder, target, variant.cc, variant.optimize, (*STRICT, *variant.flags))
        (folder / record).write_bytes(pickle.dumps(built))

    folder = once(shared / "contract" / net.name / re.sub(r"[^\w=-]+", "_", "_".join(words)), build)
    built: Built = pickle.loads((folder / record).read_bytes())
    return built, target


def quick(variant: Variant) -> Variant:
    """What takes its place where it is no matter of the test what a compiler makes better."""
    if load_target(variant.target).arch in ("aarch64", "armv7"):
        return replace(variant, optimize="-O1")
    return replace(variant, optimize="-O0", flags=(*variant.flags, NOT_INLINED))


def available(isa: str) -> bool:
    """Whether this processor can run an x86 vocabulary; those it cannot go through SIMDe in tests/kernels."""
    words = VOCABULARIES[isa]
    if "x86_64" not in words.archs:
        return True
    flags = next((line.split() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")), [])
    return set(words.features) <= set(flags)


def able(target: Target) -> Target:
    """The target, whose packages without EDGEC_TEST_ALL leave out what this processor cannot run."""
    return target if WHOLE else replace(target, vocabularies=tuple(filter(available, target.vocabularies)))


def examine(built: Built, target: Target, run: Run) -> dict[str, Any]:
    """The exam's findings, after checking that it passed on the vocabulary that was meant."""
    arguments = ["--json", "--threads", str(run.threads), *(["--isa", run.isa] if run.forced else [])]
    done = run_exam(built, replace(target, emulator=run.emulator or target.emulator), arguments)
    assert done.returncode == 0, f"{run}: {done.stdout.decode()[-1500:]}{done.stderr.decode()[-1500:]}"
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["passed"] and found["isa"] == run.isa and found["threads"] == run.threads
    return found


def answers_of_all_runs(net: Net, data: ExamData, variant: Variant, shared: Path) -> set[tuple[str, ...]]:
    """The sha256 of every output of every vector, one tuple for each run that differs from the others."""
    require(*variant.needs)
    built, target = build_variant(net, data, variant, shared)
    runs = [run for run in variant.runs if available(run.isa)]
    assert runs, "no run of this variant is possible here"
    return {tuple(hashes(examine(built, target, run))) for run in runs}


def hashes(found: dict[str, Any]) -> list[str]:
    return [output["sha256"] for vector in found["vectors"] for output in vector["outputs"]]


def expected_hashes(data: ExamData, outputs: list[str]) -> set[tuple[str, ...]]:
    """What answers_of_all_runs must give for an exam whose outputs are all exact."""
    assert all(data.exact[name] for name in outputs), data.exact
    return {tuple(hashlib.sha256(answer[name].tobytes()).hexdigest() for answer in data.outputs for name in outputs)}
