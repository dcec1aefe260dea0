"""Many packages in one executable: compiled in one go, asked one after the other over a pipe, natively or in an emulator."""

from __future__ import annotations

import math
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgec.emit import emit_sources
from edgec.emit.kernels import chosen_of, render_kernel_header, render_kernels, runtime_text
from edgec.program.expr import bound, product
from edgec.program.program import Chosen, Port, Program, Slot
from edgec.targets import Target
from edgec.toolchain.find import find_compiler

RUNNER = Path(__file__).with_name("batch.c")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
KERNEL_OWNER = "all"  # the packages of a batch use the same kernels
# What every source says to gcc, which takes a fourth longer to compile where each of many functions has options of its own
PRAGMA = re.compile(r"^#pragma GCC optimize\(\"(.*)\"\)$", re.MULTILINE)
# Functions of a package that nobody here calls, though a compiler takes a fifth of its time for them
UNCALLED = ("reset", "isa", "set_observer", "set_weights", "set_weights_unchecked", "weights_in_use", "strerror")
CALL = "const char *isa, int32_t threads, void *arena, size_t arena_bytes, unsigned char *const *tensors"
PARALLEL_FOR = "void batch_parallel_for(void *user, void (*task)(void *, int32_t, int32_t), void *argument, int32_t parts);"
PARTS = ("", "_dispatch", "_weights")
COMMON_NAMES = (
    "run",
    "step",
    "job",
    "do_block",
    "do_part",
    "pieces",
    "choice",
    "choices",
    "same",
)  # file scope names of a package's sources


@dataclass(frozen=True)
class Answer:
    """status is the package's (0: done); None where the process ended before it answered."""

    status: int | None
    outputs: list[np.ndarray]
    message: str = ""


class DoesNotCompile(Exception):
    """`guilty`: the numbers of the Programs whose sources the compiler complains of."""

    def __init__(self, words: str) -> None:
        super().__init__(words[:4000])
        self.guilty = {
            int(number) for number in re.findall(r"^(?:\./)?src/case(\d+)\w*\.[ch]:\d+:\d+: (?:fatal )?error", words, re.MULTILINE)
        }


@dataclass(frozen=True)
class Batch:
    """An executable that holds these Programs."""

    executable: Path
    programs: tuple[Program, ...]
    target: Target

    def ask(self, questions: Sequence[tuple[int, Sequence[np.ndarray]]], isa: str = "", threads: int = 1) -> list[Answer]:
        """The answers to (number of the Program, its inputs in order). A crash costs only the case that crashed."""
        answers: list[Answer] = []
        while len(answers) < len(questions):
            answers += self._until_crash(questions[len(answers) :], [isa, str(threads)])
        return answers

    def _until_crash(self, questions: Sequence[tuple[int, Sequence[np.ndarray]]], words: Sequence[str]) -> list[Answer]:
        data = b"".join(np.uint32(number).tobytes() + b"".join(array.tobytes() for array in arrays) for number, arrays in questions)
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}  # the leak checker cannot run where processes are traced
        done = subprocess.run(
            [*self.target.emulator, str(self.executable), *words], input=data, capture_output=True, check=False, env=environment
        )
        answers, start = [], 0
        for number, _ in questions:
            ports = self.programs[number].outputs
            if start + 4 + sum(port_bytes(port) for port in ports) > len(done.stdout):
                return [*answers, Answer(None, [], f"exit {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")]
            status, start = int(np.frombuffer(done.stdout, np.int32, 1, start)[0]), start + 4
            outputs = []
            for port in ports:
                shape = tuple(bound(extent) for extent in port.shape)
                outputs.append(np.frombuffer(done.stdout, port.dtype.numpy, int(np.prod(shape)), start).reshape(shape))
                start += port_bytes(port)
            answers.append(Answer(status, of_this_run(ports, outputs) if status == 0 else outputs))
        return answers


def of_this_run(ports: Sequence[Port], outputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The model's outputs, each as large as it is in that run; behind it are zeros."""
    found = {port.name: array for port, array in zip(ports, outputs, strict=True)}
    for port in ports:
        if port.shape_of:
            shape, whole = found.pop(port.name).tolist(), found[port.shape_of].reshape(-1)
            assert not whole[math.prod(shape) :].any(), "what is behind the elements is zero"
            found[port.shape_of] = whole[: math.prod(shape)].reshape(shape)
    return list(found.values())


def port_bytes(port: Port) -> int:
    return bound(product(port.shape)) * port.dtype.bytes


@dataclass(frozen=True)
class Kernels:
    """What packages of these Programs call, compiled once for any number of batches; folder: where the header lies."""

    folder: Path
    objects: tuple[Path, ...]
    names: tuple[str, ...]
    target: Target
    flags: tuple[str, ...]


def build_kernels(programs: Sequence[Program], target: Target, folder: Path, optimize: str = "-O0", flags: Sequence[str] = ()) -> Kernels:
    """An object for each vocabulary, with those kernels that the Programs use."""
    used = {isa: _all_chosen(programs, isa) for isa in target.vocabularies}
    header = render_kernel_header(KERNEL_OWNER, used[target.vocabularies[0]], target)
    (folder / f"{KERNEL_OWNER}_kernels.h").write_text(header, encoding="utf-8")
    compiler = find_compiler(target).command
    all_flags = (optimize, *_options(compiler), *target.flags, *flags)
    objects = []
    for isa, chosen in used.items():
        source = folder / f"{KERNEL_OWNER}_kernels_{isa}.c"
        source.write_text(PRAGMA.sub("", render_kernels(KERNEL_OWNER, isa, chosen, target)), encoding="utf-8")
        _compile([*compiler, *STRICT, *all_flags, "-c", source.name], folder)
        objects.append(source.with_suffix(".o"))
    names = dict.fromkeys(re.findall(rf"\b{KERNEL_OWNER}_(\w+)", header))
    return Kernels(folder, tuple(objects), tuple(names), target, all_flags)


def _options(command: Sequence[str]) -> list[str]:
    """The options of PRAGMA for a whole source, where the compiler is one that the prologue has them for."""
    found = PRAGMA.findall(runtime_text("prologue.h"))
    assert len(found) == 2, "the prologue says it otherwise now"
    macros = subprocess.run([*command, "-dM", "-E", "-x", "c", os.devnull], capture_output=True, text=True, check=True).stdout
    version = re.search(r"__GNUC__ (\d+)", macros)
    if version is None or "__clang__" in macros:
        return []
    return [f"-f{word}" for words in found[: 2 if int(version[1]) >= 11 else 1] for word in words.split(",")]


def build(programs: Sequence[Program], kernels: Kernels, folder: Path) -> Batch:
    """Compile planned Programs into one executable; each gets a name of its own. Every warning is an error."""
    target = kernels.target
    renamed = tuple(replace(program, name=f"case{number}") for number, program in enumerate(programs))
    (folder / "batch_unit.c").write_text(_unit(renamed, kernels, folder), encoding="utf-8")
    sources = ["-Iinclude", f"-I{kernels.folder}", "batch_unit.c", str(RUNNER)]
    static = ["-static"] if target.emulator else []
    command = [*find_compiler(target).command, *STRICT, *kernels.flags, *sources, *map(str, kernels.objects), "-pthread", *static]
    _compile([*command, "-o", "batch"], folder)
    return Batch(folder / "batch", renamed, target)


def _all_chosen(programs: Sequence[Program], isa: str) -> dict[Slot, Chosen]:
    """What the Programs have in their slots, which is the same wherever two have one slot: they share its kernel here."""
    found = {item for program in programs for item in chosen_of(program, isa).items()}
    held = dict(found)
    assert len(held) == len(found), "one variant in a slot, whichever Program calls it"
    return held


def _compile(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DoesNotCompile(done.stderr)


def _unit(programs: Sequence[Program], kernels: Kernels, folder: Path) -> str:
    """One C source that includes those of all packages, with their file scope names made different, and the table of cases."""
    lines = ["#include <stddef.h>", "#include <stdint.h>", "#include <string.h>", PARALLEL_FOR]
    for program in programs:
        files = dict(emit_sources(program, kernels.target, "c").files)
        name = program.name
        files[f"src/{name}_kernels.h"] = _borrowed(name, kernels)
        files[f"src/{name}_dispatch.c"] = _called(name, files[f"src/{name}_dispatch.c"].decode()).encode()
        for path, content in files.items():
            if path.endswith((".h", ".c")) and f"{name}_kernels_" not in path:
                (folder / path).parent.mkdir(exist_ok=True)
                (folder / path).write_text(PRAGMA.sub("", bytes(content).decode()), encoding="utf-8")
        clashing = [*COMMON_NAMES, *re.findall(r"^static .*\bvoid (step_\w+)\(", files[f"src/{name}.c"].decode(), re.MULTILINE)]
        lines += [f"#define {word} {name}_{word}_" for word in clashing]
        lines += [f'#include "src/{name}{part}.c"' for part in PARTS]
        lines += [f"#undef {word}" for word in clashing]
        lines += _caller(program)
    lines += ["struct batch_case {", f"    int (*run)({CALL});"]
    lines += ["    size_t tensor_bytes, scratch_bytes;", "    int inputs, outputs;", "    const size_t *bytes;", "};"]
    rows = [f"    {{call_{p.name}, {_arena(p.name.upper())}, {len(p.inputs)}, {len(p.outputs)}, bytes_{p.name}}}," for p in programs]
    return "\n".join(
        [*lines, "extern const struct batch_case batch_cases[];", "const struct batch_case batch_cases[] = {", *rows, "};", ""]
    )


def _called(name: str, text: str) -> str:
    """The source without functions that are not called."""
    kept, count = re.subn(
        rf"^\w[^\n;{{]*\b{name}_(?:{'|'.join(UNCALLED)})\([^\n;]*\) {{\n.*?^}}\n", "", text, flags=re.MULTILINE | re.DOTALL
    )
    assert count == len(UNCALLED), f"{count} functions of those"
    return kept


def _borrowed(name: str, kernels: Kernels) -> bytes:
    """In place of a package's kernels.h: those that all have, under its names."""
    lines = [f'#include "{KERNEL_OWNER}_kernels.h"', *(f"#define {name}_{word} {KERNEL_OWNER}_{word}" for word in kernels.names)]
    return "\n".join([*lines, ""]).encode()


def _arena(macros: str) -> str:
    """The bytes of its tensors, and of the scratch memory of each thread."""
    return f"{macros}_ARENA_BYTES_FOR(0), {macros}_ARENA_BYTES_FOR(1) - {macros}_ARENA_BYTES_FOR(0)"


def _caller(program: Program) -> list[str]:
    """The bytes of its tensors, and a function that runs the package on them."""
    name = program.name
    ports = (*program.inputs, *program.outputs)
    sizes = ", ".join(str(port_bytes(port)) for port in ports)
    arguments = "".join(f", (void *)tensors[{index}]" for index in range(len(ports)))
    return [
        f"static const size_t bytes_{name}[] = {{{sizes}}};",
        f"static int call_{name}({CALL}) {{",
        f"    {name}_t instance;",
        f"    int status = {name}_init(&instance, arena, arena_bytes);",
        f"    if (status == 0 && isa[0] != 0) status = {name}_force_isa(&instance, isa);",
        f"    if (status == 0 && threads > 1) status = {name}_set_parallel(&instance, batch_parallel_for, NULL, threads);",
        f"    if (status == 0) status = {name}_set_shares(&instance, threads % 2 == 0 ? 3 : 1, 0);",
        f"    return status != 0 ? status : {name}_run(&instance{arguments});",
        "}",
    ]
