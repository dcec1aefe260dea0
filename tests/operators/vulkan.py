"""Runs cases on lavapipe: what has a shader for every call on the device of tests/gpu, the rest as real packages with their host."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgec.base.errors import EdgecError
from edgec.emit import ExamData, emit_exam
from edgec.emit.constants import layout_constants
from edgec.emit.gpu.dialect import Glsl
from edgec.emit.gpu.shader import Shader
from edgec.emit.gpu.shaders import shaders_or_reasons
from edgec.emit.gpu.variants import BASE, variants_of
from edgec.emit.gpu.vulkan import spirv_file, spirv_jobs
from edgec.package.running import Session, exam_program
from edgec.program.expr import bound
from edgec.program.program import Program
from edgec.targets import Target
from edgec.toolchain import compile_shaders
from edgec.toolchain.find import find_compiler
from tests.emit.drafts import drafted
from tests.gpu.glsl import compile_glsl
from tests.gpu.packages import lavapipe
from tests.gpu.programs import run_shaders
from tests.operators.batch import Answer, of_this_run, port_bytes
from tests.operators.case import Case, Outcome
from tests.operators.suite import OK, WRONG, Compiled, compile_case, problem_of

ON_CPU = "on the CPU"  # the package has no shader at all; the message says why
CLASHING = {"net_vulkan_host": ("run_steps",), "net_exam": ("allocate",)}  # source -> names at its file scope that others have
Variants = Callable[[int], Sequence[str]]  # number of the case -> those that it runs in


@dataclass(frozen=True)
class Placed:
    """calls: for each one its shader, or why it has none. variants: those that are wanted."""

    item: Compiled
    calls: tuple[Shader | str, ...]
    variants: Sequence[str]

    @property
    def own(self) -> list[str]:
        """Those in which a shader differs, or the base: in all others the same ones would run again."""
        known = {variant.name for shader in self.shaders for variant in variants_of(shader)}
        return [name for name in self.variants if name in known] or [BASE.name]

    @property
    def shaders(self) -> list[Shader]:
        return [call for call in self.calls if isinstance(call, Shader)]

    @property
    def reasons(self) -> list[str]:
        return [call for call in self.calls if isinstance(call, str)]


def run_on_vulkan(cases: Sequence[Case], target: Target, folder: Path, variants: Variants) -> list[Outcome]:
    """What became of every case, in the order of `cases`."""
    return run_programs_on_vulkan([compile_case(case, target) for case in cases], target, folder, variants)


def run_programs_on_vulkan(compiled: Sequence[Compiled | Outcome], target: Target, folder: Path, variants: Variants) -> list[Outcome]:
    """The same of Programs; outcomes stay what they are."""
    found = [item if isinstance(item, Outcome) else _place(item, target, variants(number)) for number, item in enumerate(compiled)]
    return [item if isinstance(item, Outcome) else _run(item, target, folder / f"case{number}") for number, item in enumerate(found)]


def _place(item: Compiled, target: Target, variants: Sequence[str]) -> Placed | Outcome:
    try:
        layout_constants(item.program)
        return Placed(item, shaders_or_reasons(item.program, target, Glsl(target.signed_activations)), variants)
    except Exception as error:  # whatever it is, it must be reported as the compiler's fault
        return Outcome(item.case.name, item.case.operator, WRONG, f"{type(error).__name__}: {error}")


def _run(placed: Placed, target: Target, folder: Path) -> Outcome:
    case = placed.item.case
    if not placed.shaders:
        return Outcome(case.name, case.operator, ON_CPU, "; ".join(sorted(set(placed.reasons))))
    answers = _by_itself(placed) if not placed.reasons else _as_package(placed, target, folder)
    problems = [f"{variant}: {words}" for variant, answer in answers if (words := problem_of(case, answer))]
    return Outcome(case.name, case.operator, WRONG if problems else OK, "; ".join(problems))


def _by_itself(placed: Placed) -> Iterable[tuple[str, Answer]]:
    """The shaders, one after the other, on the device that all cases share."""
    for variant in placed.own:
        try:
            yield variant, Answer(0, run_shaders(placed.item.program, placed.shaders, placed.item.inputs(), variant))
        except AssertionError as error:  # a message of the validation layers, among others
            yield variant, Answer(None, [], str(error))


def _as_package(placed: Placed, target: Target, folder: Path) -> Iterable[tuple[str, Answer]]:
    """The package with its own host, which changes between the GPU and the CPU within a run."""
    program, inputs = placed.item.program, placed.item.inputs()
    data = b"".join(array.tobytes() for array in inputs)
    try:
        _build(folder, replace(program, name="net"), target, placed.own)
    except (EdgecError, AssertionError) as error:
        yield "build", Answer(None, [], str(error))
        return
    environment = [f"{name}={value}" for name, value in lavapipe("core").items()]
    for variant in placed.own:
        command = ["env", *environment, *exam_program(folder, target), "--run", "--gpu", "--gpu-variant", variant]
        session = Session(command, seconds=60)
        try:
            yield variant, Answer(0, _outputs(program, session.exchange(data, sum(map(port_bytes, program.outputs)))))
        except EdgecError as error:
            yield variant, Answer(None, [], str(error))
        finally:
            session.close()


def _outputs(program: Program, answer: bytes) -> list[np.ndarray]:
    found, start = [], 0
    for port in program.outputs:
        size = port_bytes(port)
        shape = [bound(extent) for extent in port.shape]
        found.append(np.frombuffer(answer[start : start + size], port.dtype.numpy).reshape(shape))
        start += size
    return of_this_run(program.outputs, found)


def _build(folder: Path, program: Program, target: Target, variants: Sequence[str]) -> None:
    """The program of the package's exam, of its own sources and the SPIR-V that these variants run, in one call of the compiler."""
    draft = drafted(program, target, "c").plus(emit_exam(program, target, ExamData([], [], {})))
    gpu = draft.manifest.gpu
    assert gpu is not None and gpu.glsl is not None
    wanted = {file: tuple(name for name in names if name in {BASE.name, *variants}) for file, names in gpu.glsl.items()}
    draft = replace(draft, manifest=replace(draft.manifest, gpu=replace(gpu, glsl=wanted)))
    codes = [(job, compile_glsl(job.text, job.environment, job.switches)) for job in spirv_jobs(draft)]
    files = draft.plus(spirv_file(draft, codes)).files
    sources = [name for name in files if name.endswith(".c")]
    for name in sources + [name for name in files if name.endswith(".h")]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[name])
    (folder / "build").mkdir()
    lines = ["#define _GNU_SOURCE"]
    kernels = [name for name in sources if "_kernels_" in name]  # the names of which are many
    for name in [name for name in sources if name not in kernels]:
        clashing = CLASHING.get(Path(name).stem, ())
        lines += [*(f"#define {word} {Path(name).stem}_{word}" for word in clashing), f'#include "{name}"']
        lines += [f"#undef {word}" for word in clashing]
    (folder / "whole.c").write_text("\n".join([*lines, ""]), encoding="utf-8")
    command = [*find_compiler(target).command, "-std=c99", "-O0", *target.flags, "-Iinclude", "-Isrc", "-Iexam", "whole.c", *kernels]
    done = subprocess.run([*command, "-o", "build/net_exam", "-pthread", "-ldl"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


def write_package(folder: Path, program: Program, target: Target, data: ExamData) -> None:
    """The package of a planned Program, shaders compiled."""
    draft = drafted(program, target).plus(emit_exam(program, target, data))
    draft = draft.plus(spirv_file(draft, compile_shaders(spirv_jobs(draft))))
    for name, content in draft.complete().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
