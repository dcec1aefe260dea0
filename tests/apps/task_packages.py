"""Packages with a task, as C: every head and element type, compiled together into one library or program."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgec.apps.app import Task
from edgec.apps.tasks import task_files
from edgec.emit import emit_sources
from edgec.ir.types import DType
from edgec.lower.plan import plan
from edgec.program.expr import FLOAT, const, load, var
from edgec.program.program import For, Kind, Program, Store
from edgec.targets import load_target
from tests.emit.programs import loop, port

F32, I8, U8 = DType.FLOAT32, DType.INT8, DType.UINT8


@dataclass(frozen=True)
class Output:
    """An output of a package; codes where there is a scale."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    scale: float | None = None
    zero: int = 0

    def reals(self, array: np.ndarray) -> np.ndarray:
        """The numbers that an array of the output stands for, as float32."""
        if self.scale is None:
            return array.astype(np.float32)
        return (array.astype(np.int32) - self.zero).astype(np.float32) * np.float32(self.scale)


@dataclass(frozen=True)
class Case:
    task: Task
    outputs: tuple[Output, ...]
    labels: tuple[str, ...] = ()


def _classes(count: int, activation: str, *output: object, kind: str = "classify", labels: tuple[str, ...] = ()) -> Case:
    return Case(Task(kind, "scores", ("y",), count, activation=activation), (Output("y", *output),), labels)


def _boxes(head: str, classes: int, activation: str, *outputs: Output) -> Case:
    return Case(Task("detect", head, tuple(output.name for output in outputs), classes, HEIGHT, WIDTH, activation), outputs)


def _mask(head: str, classes: int, *output: object, activation: str = "none") -> Case:
    height, width = (20, 17) if head == "nchw" else (6, 5)
    return Case(Task("segment", head, ("y",), classes, height, width, activation), (Output("y", *output),))


HEIGHT, WIDTH = 64, 96  # 8 * 12 + 4 * 6 + 2 * 3 = 126 cells
HOSTILE = '*/ int x; /* ??/\n\u202e \\ "'  # what a model may call its output
ODD = ('"quotes" and \\', "??/ trigraph", "%s %n", "größe", "日本語", "*/ end", "$HOME`ls`", "a'b")
CASES = {
    "classes": _classes(10, "softmax", F32, (1, 10)),
    "codes": _classes(8, "softmax", I8, (1, 8), 0.11, -5, labels=ODD),
    "probabilities": Case(Task("classify", "scores", (HOSTILE,), 6), (Output("y", F32, (1, 6, 1, 1)),)),
    "single": _classes(1, "sigmoid", DType.FLOAT64, (1, 1)),
    "words": _classes(5, "softmax", F32, (1, 5), kind="keyword"),
    "wake": _classes(4, "none", U8, (4,), 1 / 256, 0, kind="keyword"),
    "raw": _boxes("yolox", 3, "none", Output("y", F32, (1, 126, 8))),
    "raw_logits": _boxes("yolox", 2, "sigmoid", Output("y", I8, (1, 126, 7), 0.04, 3)),
    "rows": _boxes("rows", 2, "none", Output("y", F32, (1, 378, 7))),
    "columns": _boxes("columns", 3, "sigmoid", Output("y", F32, (1, 7, 126))),
    "pairs": _boxes("ssd", 2, "none", Output("boxes", F32, (1, 40, 3)), Output("found", F32, (1, 40, 4))),
    "pair_codes": _boxes("ssd", 1, "softmax", Output("scores", U8, (1, 30, 2), 0.05, 128), Output("places", U8, (1, 30, 4), 0.005, 20)),
    "planes": _mask("nchw", 4, F32, (1, 4, 20, 17)),
    "last": _mask("nhwc", 4, I8, (1, 6, 5, 4), 0.1, 7),
    "thing": _mask("threshold", 2, DType.FLOAT16, (1, 1, 6, 5), activation="sigmoid"),
    "sure": _mask("threshold", 2, U8, (1, 6, 5), 1 / 256, 0),
    "numbers": _mask("numbers", 9, DType.INT64, (1, 6, 5)),
}


def program_of(name: str, case: Case) -> Program:
    """A program with the case's outputs, which computes something."""
    program = Program(name, "host")
    port(program, "x", F32, (4,), Kind.INPUT)
    port(program, "z", F32, (4,), Kind.OUTPUT)
    for output in case.outputs:
        port(program, output.name, output.dtype, output.shape, Kind.OUTPUT, output.scale, output.zero)
    if HOSTILE in case.task.outputs:
        program.outputs[-1] = replace(program.outputs[-1], name=HOSTILE)
    i = var("i")
    loop(program, "copy", (For(i, const(4), (Store("z", i, load("x", i, FLOAT) + 1.0),)),), ("x",), ("z",))
    plan(program)
    return program


def write_sources(folder: Path) -> list[Path]:
    """The sources of every case's task, beside the headers that they include."""
    target, sources = load_target("portable"), []
    for name, case in CASES.items():
        program = program_of(name, case)
        files = emit_sources(program, target, "c", parts=["task"]).files | task_files(program, case.task, case.labels)
        assert f"{name}_task" in files["Makefile"].decode() and f"src/{name}_task.c" in files["CMakeLists.txt"].decode()
        for path in (f"include/{name}.h", f"include/{name}_task.h", f"src/{name}_task.c", f"src/{name}_scalar.h", f"src/{name}_math.h"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(files[path])
        sources.append(folder / f"src/{name}_task.c")
    return sources


def compile_c(command: list[str], folder: Path, out: str, *sources: Path) -> Path:
    result = folder / out
    words = [*command, f"-I{folder}/include", f"-I{folder}/src", "-o", str(result), *map(str, sources)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return result


class Class(ctypes.Structure):
    _fields_ = (("index", ctypes.c_int32), ("score", ctypes.c_float))


class Box(ctypes.Structure):
    _fields_ = (*((side, ctypes.c_float) for side in ("left", "top", "right", "bottom", "score")), ("index", ctypes.c_int32))


class Library:
    """The functions of all cases, over numpy arrays of the outputs' element types."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))

    def call(self, name: str, *arguments: object) -> int:
        function = getattr(self.library, name)
        function.restype = ctypes.c_int
        return int(function(*(item.ctypes.data_as(ctypes.c_void_p) if isinstance(item, np.ndarray) else item for item in arguments)))

    def label(self, case: str, index: int) -> str:
        function = getattr(self.library, f"{case}_label")
        function.restype = ctypes.c_char_p
        return bytes(function(index)).decode()

    def classify(self, case: str, answer: np.ndarray, most: int) -> list[tuple[int, float]]:
        best = (Class * (most + 1))(*[Class(-7, -7.0)] * (most + 1))
        assert self.call(f"{case}_classify", answer, most, best) == 0
        assert best[most].index == -7, "nothing is written behind the end"
        return [(item.index, item.score) for item in best if item.index != -7]

    def detect(self, case: str, outputs: list[np.ndarray], score: float, overlap: float, most: int) -> np.ndarray:
        """Rows left, top, right, bottom, score, class."""
        boxes, found = (Box * (most + 1))(), ctypes.c_int32(-1)
        boxes[most].index = -7
        limits = (ctypes.c_float(score), ctypes.c_float(overlap))
        assert self.call(f"{case}_detect", *outputs, *limits, most, boxes, ctypes.byref(found)) == 0
        assert boxes[most].index == -7, "nothing is written behind the end"
        fields = ("left", "top", "right", "bottom", "score", "index")
        return np.array([[getattr(box, field) for field in fields] for box in boxes[: found.value]], np.float32).reshape(-1, 6)

    def segment(self, case: str, answer: np.ndarray) -> np.ndarray:
        task = CASES[case].task
        mask = np.full(task.height * task.width + 1, 99, np.uint8)
        assert self.call(f"{case}_segment", answer, mask) == 0
        assert mask[-1] == 99, "nothing is written behind the end"
        return mask[:-1].reshape(task.height, task.width)
