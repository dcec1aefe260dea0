"""Real models in Metal's language on the CPU: every kernel of each, executed call by call through the tests' `metal_stdlib`.

    python benchmarks/gpu_msl.py FOLDER [--only mobilenet ...] [--precision fp32 int8] [--order 7] [--simdgroups]

FOLDER holds models (see benchmarks/models.py). Kernels run as fibers over checked memory: a race, a divergent barrier or a stray access
ends the model with its reason. int8 outputs must be the integer evaluator's bytes, where the contract has them exact on every processor;
float ones lie within 1e-3 of ONNX Runtime's. The largest takes a minute. Exit code 1 when a model fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from models import SUBJECTS, Subject, feed, find, photographs

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.dialect import Metal
from edgec.emit.gpu.shaders import shaders
from edgec.exam.reference import FloatModel
from edgec.export import to_onnx
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.oracle import Evaluator
from edgec.pipeline.models import read_model
from edgec.program.program import Program
from edgec.quant import QuantizeOptions, quantize
from edgec.schedule import schedule
from edgec.settings.config import BuildConfig
from edgec.targets import load_target
from tests.gpu.msl.run import Wrong
from tests.gpu.test_msl import run_program

NAMES = ("mobilenetv2", "squeezenet", "ultraface", "yolox_nano", "resnet8", "sed_unet", "superres", "kws_dscnn")
TARGET = load_target("linux-arm64")
TOLERANCE = 1e-3
ISLANDS = 1e-6  # where a call stays on the CPU numpy stands for it, whose exp is not the contract's


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=NAMES)
    parser.add_argument("--precision", nargs="+", default=["fp32", "int8"], choices=("fp32", "int8"))
    parser.add_argument("--order", type=int, default=7, help="of threads: 0 as numbered, 1 backwards, else shuffled by this seed")
    parser.add_argument("--simdgroups", action="store_true", help="the kernels for devices whose simdgroups multiply matrices")
    options = parser.parse_args()
    failed = False
    print(f"{'model':<20}{'precision':>10}{'kernels':>9}{'on CPU':>8}{'M MAC':>8}{'seconds':>9}  differs")
    for subject in SUBJECTS:
        if any(word in subject.name for word in options.only):
            for precision in options.precision:
                failed |= not check(subject, options.folder, precision, options.order, options.simdgroups)
    return int(failed)


def check(subject: Subject, folder: Path, precision: str, order: int, simdgroups: bool) -> bool:
    """Prints a line; whether all answers are right."""
    path = find(subject, folder)
    if path is None:
        print(f"{subject.name:<20} missing")
        return False
    inputs = feed(subject, path, photographs(subject, folder)[0])
    loaded = read_model(path, BuildConfig(precision=precision, shape={name: array.shape for name, array in inputs.items()}))
    graph = loaded.graph
    if precision == "int8":
        graph = quantize(graph, lambda: iter([inputs]), QuantizeOptions()).graph
        want = Evaluator(to_onnx(graph)).run(inputs)
    else:
        want = dict(zip(loaded.original.outputs, FloatModel(loaded.original)(inputs), strict=True))
    program = schedule(lower(graph, TARGET, loaded.name), TARGET)
    plan(program)
    on_cpu = counted(program)
    clock = time.monotonic()
    try:
        got = run_program(program, TARGET, inputs, order, simdgroups)
    except Wrong as error:
        print(f"{subject.name:<20}{precision:>10}  {error}")
        return False
    worst = max(float(np.abs(got[name] - want[name]).max() / max(np.abs(want[name]).max(), 1e-30)) for name in want)
    limit = TOLERANCE if precision == "fp32" else ISLANDS if on_cpu else 0.0
    macs = sum(call.call.macs for call in program.calls) / 1e6
    kernels, seconds = len(program.calls) - on_cpu, time.monotonic() - clock
    words = f"{worst:.2g}" + ("" if worst <= limit else f", more than {limit:g}")
    print(f"{subject.name:<20}{precision:>10}{kernels:>9}{on_cpu:>8}{macs:>8.0f}{seconds:>9.0f}  {words}", flush=True)
    return worst <= limit


def counted(program: Program) -> int:
    """Calls that stay on the CPU."""
    layout_constants(program)
    return sum(shader is None for shader in shaders(program, TARGET, Metal(TARGET.signed_activations)))


if __name__ == "__main__":
    sys.exit(main())
