"""Builds packages of a net for any variant from one quantization, and asks each run for its answers."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from edgec.emit import ExamData, emit_exam, emit_sources
from edgec.exam import write_exam
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.lower import LowerOptions, lower
from edgec.lower.plan import plan
from edgec.passes import optimize
from edgec.program.program import Program
from edgec.quant import QuantizeOptions, quantize
from edgec.targets import Target, load_target
from edgec.toolchain import Built, compile_package, run_exam
from tests.conftest import require
from tests.contract.variants import Run, Variant
from tests.nets import MODELS

SAMPLES = 4


@dataclass(frozen=True)
class Net:
    """A random net: as imported, and quantized on random samples."""

    name: str
    original: Graph
    quantized: Graph


def samples_of(graph: Graph, seed: int = 7, count: int = SAMPLES) -> list[dict[str, np.ndarray]]:
    """Standard normal inputs."""
    generator = np.random.default_rng(seed)
    return [{name: generator.standard_normal(graph.types[name].static_shape).astype(np.float32) for name in graph.inputs} for _ in range(count)]


def quantized_net(model: onnx.ModelProto, name: str, **choices: Any) -> Net:
    original = from_proto(model).graph
    graph = original.copy()
    optimize(graph)
    options = QuantizeOptions(**{"observer": "minmax", "round_weights": False, **choices})
    return Net(name, original, quantize(graph, lambda: samples_of(original), options).graph)


@cache
def random_net(family: str, seed: int) -> Net:
    return quantized_net(MODELS[family](seed), f"{family}_{seed}")


def program_of(net: Net, target: Target, **options: Any) -> Program:
    program = lower(net.quantized, target, net.name, LowerOptions(**options))
    plan(program)
    return program


@cache
def exam_of(net_name: str, family: str, seed: int) -> ExamData:
    net = random_net(family, seed)
    return write_exam(net.original, net.quantized, program_of(net, load_target("portable")), lambda: samples_of(net.original), seed)


def write_package(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def build_variant(net: Net, data: ExamData, variant: Variant, folder: Path, weights: str = "incbin") -> tuple[Built, Target]:
    target = load_target(variant.target)
    program = program_of(net, target)
    files = emit_sources(program, target, weights) | emit_exam(program, target, data)
    return compile_package(write_package(folder, files), target, variant.cc, variant.optimize, variant.flags), target


def available(isa: str) -> bool:
    """Whether this processor can run an x86 vocabulary; those it cannot go through SIMDe in tests/kernels."""
    from edgec.emit.vocabularies import VOCABULARIES

    words = VOCABULARIES[isa]
    if words.archs != ("x86_64",):
        return True
    flags = next((line.split() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")), [])
    return set(words.features) <= set(flags)


def answers(built: Built, target: Target, run: Run) -> list[str]:
    """The sha256 of every output of every vector, after checking that the exam passed on the vocabulary that was meant."""
    from dataclasses import replace

    arguments = ["--json", "--threads", str(run.threads), *(["--isa", run.isa] if run.forced else [])]
    done = run_exam(built, replace(target, emulator=run.emulator or target.emulator), arguments)
    assert done.returncode == 0, f"{run}: {done.stdout.decode()[-1500:]}{done.stderr.decode()[-500:]}"
    found = json.loads(done.stdout)
    assert found["passed"] and found["isa"] == run.isa and found["threads"] == run.threads
    return [output["sha256"] for vector in found["vectors"] for output in vector["outputs"]]


def answers_of_all_runs(net: Net, data: ExamData, variant: Variant, folder: Path) -> set[tuple[str, ...]]:
    require(*(name.split()[0] for name in variant.needs))
    built, target = build_variant(net, data, variant, folder)
    return {tuple(answers(built, target, run)) for run in variant.runs if available(run.isa)}


def whole_suite() -> bool:
    return bool(os.environ.get("EDGEC_TEST_ALL"))


def shell(*command: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)
