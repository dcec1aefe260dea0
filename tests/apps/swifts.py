"""Swift packages for tests: the example model built once, models with every task and with names that nobody should have, and a parser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import tree_sitter_swift
from tree_sitter import Language, Node, Parser

import edgec
from edgec.apps.app import App, Picture, tensors
from edgec.apps.swift import swift_files
from edgec.apps.tasks import add_task
from edgec.emit import emit_exam, emit_sources
from edgec.ir.types import DType
from edgec.lower.plan import plan
from edgec.program.expr import FLOAT, const, load, var
from edgec.program.program import For, Kind, Program, Store
from edgec.targets import load_target
from tests.apps.task_packages import CASES
from tests.apps.task_packages import program_of as program_of_task
from tests.contract.shaped import LENGTHS, SETS, encoder, rows, scene_settings, scenes, stream, stream_settings
from tests.emit.programs import exam_of, loop, port, small_program

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
SEVERAL = Path(__file__).parent / "several"
MANUAL = DIGITS.parents[1] / "docs" / "ios.md"
NAMES = (
    "self", "init", "class", "a b", "a-b", "a_b", "größe", "日本", "*/ evil /*", '"\\(exit(1))"', "x\n// y\r\u2028z", "1", "", "Type",
    "\u202e", "default", "_size", "size", "index", "app", "`quoted`", "#if 0", "input", "format", "width",
)  # fmt: skip
PACKAGES = ("String", "x1", "xCTest", "self", "f_32", "Model", "result")  # names of packages
_PARSER = Parser(Language(tree_sitter_swift.language()))


@cache
def digits() -> Path:
    """What the manual's commands make of the example model, with labels and pictures; nothing is compiled."""
    folder = Path(mkdtemp(prefix="edgec-swift-"))
    (folder / "examples").symlink_to(DIGITS.parent)
    (commands,) = re.findall(r"```sh\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    settings = os.environ | {"PATH": path, "EDGEC_COMPILE": "false", "EDGEC_SAMPLES": "16"}
    done = subprocess.run(["bash", "-ec", commands], cwd=folder, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "DigitsModel"


@cache
def several(name: str) -> Path:
    """A package of tests.contract.shaped that takes several sets of shapes; nothing is compiled."""
    folder = Path(mkdtemp(prefix="edgec-swift-"))
    model, settings = {
        "rows": (rows, {"shape": SETS[0], "also_shape": SETS[1:], "precision": "fp32"}),
        "encoder": (encoder, {"shape": LENGTHS[0], "also_shape": LENGTHS[1:], "precision": "fp32"}),
        "scenes": (scenes, scene_settings(folder)),
        "stream": (stream, stream_settings()),
    }[name]
    out = folder / f"several_{name}"
    edgec.build(model(folder), target="ios", compile=False, out=out, **settings)
    return out


def snippets() -> list[str]:
    """The programs of the manual and of the README."""
    pages = MANUAL, DIGITS.parents[1] / "README.md"
    return [code for page in pages for code in re.findall(r"```swift\n(import.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)]


def with_task(name: str) -> dict[str, bytes]:
    """A package of tests.apps.task_packages."""
    case = CASES[name]
    program = program_of_task(name, case)
    ports = (tensors(program.inputs), tensors(program.outputs))
    keeps = case.task.kind == "keyword"  # what it heard, and states
    return _files(program, App(name, "int8", *ports, 0, 0, 0, None, case.task, case.labels, stateful=keeps))


def with_names(name: str) -> dict[str, bytes]:
    """A package called `name` of a model that takes a picture and every type of element, under NAMES."""
    types, shape = [dtype for dtype in DType if dtype is not DType.FLOAT16 or name == PACKAGES[0]], (1, 3, 4, 5)
    program = Program(name, "host")
    port(program, "picture", DType.FLOAT32, shape, Kind.INPUT)
    for number in range(len(NAMES)):
        port(program, f"in{number}", types[number % len(types)] if number else DType.FLOAT32, (4,), Kind.INPUT)
        port(program, f"out{number}", types[number % len(types)] if number else DType.FLOAT32, (4,), Kind.OUTPUT)
    i = var("i")
    loop(program, "copy", (For(i, const(4), (Store("out0", i, load("in0", i, FLOAT) + 1.0),)),), ("in0",), ("out0",))
    plan(program)
    given = [replace(item, name=name) for item, name in zip(tensors(program.inputs)[1:], NAMES, strict=True)]
    answers = [replace(item, name=name) for item, name in zip(tensors(program.outputs), NAMES, strict=True)]
    picture = Picture("picture", 4, 5, 3, "nchw", False, "rgb", "crop", 4, "center", 0, (1.0, 0.5, 2.0), (0.0, -1.0, 0.1))
    return _files(program, App(name, "fp32", (tensors(program.inputs)[0], *given), tuple(answers), 0, 0, 0, picture))


def _files(program: Program, app: App) -> dict[str, bytes]:
    draft = emit_sources(program, load_target("universal"), "c", parts=["task"] if app.task else [])
    if app.task is not None:
        draft = add_task(draft, program, app.task, app.labels)
    return swift_files(app, draft).complete()


def small(folder: Path) -> Path:
    """A package that is emitted in a moment, with an exam, in `folder`."""
    program, target = small_program(), load_target("universal")
    draft = emit_sources(program, target, "c").plus(emit_exam(program, target, exam_of(program, vectors=1)))
    ports = (tensors(program.inputs), tensors(program.outputs))
    for path, content in swift_files(App(program.name, "fp32", *ports, 0, 0, 0), draft).complete().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def sources(files: dict[str, bytes]) -> dict[str, bytes]:
    return {path: text for path, text in files.items() if path.endswith(".swift")}


def parse(text: bytes) -> Node:
    return _PARSER.parse(text).root_node


def walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from walk(child)


def mistakes(text: bytes) -> list[str]:
    """Where the parser finds no Swift."""
    lines = text.decode().splitlines()
    return [f"{node.type} {lines[node.start_point[0]]!r}" for node in walk(parse(text)) if node.is_error or node.is_missing]


def lists(text: str) -> list[dict[str, list[str]]]:
    """`sources` and `exclude` of the two C targets in a Package.swift, as they are on a system that is not Apple's."""
    elsewhere = text.split("#else")[1].split("#endif")[0]
    hosts = dict(re.findall(r'\b(host|other) = "([^"]+)"', elsewhere))
    targets = []
    for target in re.split(r"\.target\(\s", text)[1:]:
        found = {key: re.search(rf"{key}: \[(.*?)\]", target, re.DOTALL) for key in ("exclude", "sources")}
        if all(found.values()):
            words = {key: re.findall(r'"([^"]+)"|\b(host|other)\b', match.group(1)) for key, match in found.items() if match}
            targets.append({key: [file or hosts[word] for file, word in pairs] for key, pairs in words.items()})
    return targets
