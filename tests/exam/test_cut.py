"""Integers that floats were cut to may be the next ones, where rounding moves them; no others, and none that it does not move."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import parser

from edgec.exam.cut import is_cut
from edgec.exam.expected import ask, write_exam
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.passes import optimize
from edgec.schedule import schedule
from edgec.toolchain import compile_package
from tests.conftest import require
from tests.contract.examiner import STRICT
from tests.emit.packages import HOST, write_package

KINDS = {"uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7}


def picture(kind: str) -> Graph:
    """As networks that paint end: sums of products from the least to the largest, times 127, as integers; and one that is 3 anyway."""
    return from_proto(
        parser.parse_model(f"""<ir_version: 9, opset_import: ["": 21]>
        painter (float[64,64] x, float[64,512] w, float[1] n) => ({kind}[512,64] y, {kind}[1] count, bool[64,512] bright)
        <float most = {{127}}, float half = {{0.5}}, float least = {{3.2}}, float largest = {{3.6}}>
        {{ sums = MatMul(x, w) low = ReduceMin<keepdims = 0>(sums) high = ReduceMax<keepdims = 0>(sums) above = Sub(sums, low)
           width = Sub(high, low) share = Div(above, width) scaled = Mul(share, most) whole = Cast<to = {KINDS[kind]}>(scaled)
           y = Transpose<perm = [1, 0]>(whole) m = Clip(n, least, largest) count = Cast<to = {KINDS[kind]}>(m)
           bright = Less(half, share) }}""")
    ).graph


def test_what_is_cut() -> None:
    graph = picture("uint8")
    assert [is_cut(graph, name) for name in graph.outputs] == [True, True, False]


@pytest.mark.parametrize(("kind", "steps"), [*((kind, 1) for kind in KINDS), ("uint8", 2)])
def test_the_next_integer_may_come_out(kind: str, steps: int, tmp_path: Path) -> None:
    require("gcc")
    original, graph = picture(kind), picture(kind)
    optimize(graph)
    program = schedule(lower(graph, HOST, "painter"), HOST)
    plan(program)
    asked = ask(original, None, 0)
    assert asked.cut == {"y"}, "a number that rounding leaves alone is exact"
    right = write_exam(original, graph, program, None, 0, asked=asked)
    assert [right.is_exact(port.name, port.dtype) for port in program.outputs] == [False, True, True]
    moved = [{**answer, "y": np.where(answer["y"] > 100, answer["y"] - np.array(steps, kind), answer["y"])} for answer in right.outputs]
    package = write_package(tmp_path, program, HOST, replace(right, outputs=moved))
    built = compile_package(package, HOST, "gcc", "-O0", STRICT)
    assert built.exam is not None
    assert subprocess.run([built.exam], check=False, capture_output=True).returncode == (0 if steps == 1 else 1)
