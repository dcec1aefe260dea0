"""Asks packages whatever bytes one likes, where every byte outside of their memory is forbidden."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from edgec.emit import ExamData, emit_exam, emit_sources
from edgec.emit.package import STATUSES
from edgec.frontend import from_proto
from edgec.ir.types import Dim
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.passes import optimize
from edgec.program.program import Port, Program
from edgec.schedule import schedule
from edgec.targets import Target
from edgec.toolchain import compile_package

ASK = Path(__file__).parent / "ask.c"
SANITIZE = ("-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
STATUS = {name: number for number, (name, _) in enumerate(STATUSES)}

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Asked:
    """A program of ask.c, with which one may have a package answer."""

    program: Program
    target: Target
    path: Path

    def __call__(self, sets: Sequence[Arrays], isa: str, threads: int = 1, sizes: Sequence[Sequence[int]] = ()) -> list[tuple[int, Arrays]]:
        """Status and outputs of every set of inputs. An access out of memory ends the program, and this with an AssertionError."""
        given = b""
        for number, arrays in enumerate(sets):
            given += np.array(sizes[number] if sizes else [], np.int32).tobytes()
            given += b"".join(np.asarray(arrays[port.name], port.dtype.numpy).tobytes() for port in self.program.inputs)
        command = [*self.target.emulator, str(self.path), isa, str(threads)]
        done = subprocess.run(command, input=given, capture_output=True, check=False)
        assert done.returncode == 0, f"{isa}, {threads} threads: status {done.returncode} {done.stderr.decode()[-3000:]}"
        answers, at = [], 0
        for number in range(len(sets)):
            values = dict(zip([size.name for size in self.program.sizes], sizes[number] if sizes else (), strict=True))
            status = int(np.frombuffer(done.stdout, np.int32, 1, at)[0])
            at += 4
            outputs = {}
            for port in self.program.outputs:
                shape = _shape(port, values)
                outputs[port.name] = np.frombuffer(done.stdout, port.dtype.numpy, int(np.prod(shape)), at).reshape(shape)
                at += outputs[port.name].nbytes
            answers.append((status, outputs))
        assert at == len(done.stdout)
        return answers


def _shape(port: Port, values: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(int(getattr(extent, "value", 0)) or values[extent.name] for extent in port.shape)  # type: ignore[attr-defined]


def ask(
    model: onnx.ModelProto, name: str, target: Target, folder: Path, cc: str = "gcc", shapes: Mapping[str, Sequence[Dim]] | None = None
) -> Asked:
    """The package of `model`, with the sanitizers where it runs without an emulator."""
    graph = from_proto(model, {key: tuple(value) for key, value in (shapes or {}).items()}).graph
    optimize(graph)
    program = schedule(lower(graph, target, name), target)
    plan(program)
    files = emit_sources(program, target, "c").plus(emit_exam(program, target, ExamData([], [], {}))).complete()
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    flags = () if target.emulator else SANITIZE
    built = compile_package(folder, target, cc, "-O1", flags)
    (folder / "ask.c").write_text(ASK.read_text().replace("NAME", name).replace("MACRO", name.upper()))
    static = ["-static"] if target.emulator else []
    sources = ["ask.c", f"exam/{name}_vectors.c", f"build/lib{name}.a"]
    command = [
        *built.compiler.command,
        "-std=gnu99",
        *flags,
        *target.flags,
        *static,
        "-Iinclude",
        "-Iexam",
        "-o",
        "ask",
        *sources,
        "-pthread",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return Asked(program, target, folder / "ask")
