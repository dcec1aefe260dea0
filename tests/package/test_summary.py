"""What reports read of a package: who lies where in the arena, and when."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import onnx
import pytest

from edgec.emit import emit_sources
from edgec.frontend import from_proto
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.package.summary import summarize
from edgec.schedule import schedule
from edgec.targets import load_target
from edgec.verbs.inspect import inspect
from tests.operators.case import Case
from tests.operators.loop_cases import loop_cases


@pytest.mark.parametrize("case", [case for case in loop_cases() if "_True" not in case.name], ids=lambda case: case.name)
def test_blocks_that_the_turns_of_a_loop_need_lie_apart(case: Case) -> None:
    target = load_target("portable")
    program = schedule(lower(from_proto(case.model).graph, target, "turning"), target)
    plan(program)
    manifest = emit_sources(program, target).manifest
    blocks = [block for block in summarize(manifest, b"").blocks if block.name != "scratch"]
    assert {call.within for call in manifest.calls} - {None} or not program.repeats
    meeting = [
        (a.name, b.name) for a, b in combinations(blocks, 2) if a.first < b.last and b.first < a.last and overlap(a.address, a.bytes, b)
    ]
    assert meeting == []


def overlap(address: int, count: int, other: object) -> bool:
    first, last = other.address, other.address + other.bytes  # type: ignore[attr-defined]
    return bool(address < last and first < address + count)


def test_what_a_body_holds_is_counted(tmp_path: Path) -> None:
    case = next(case for case in loop_cases() if case.name == "long_scan_of_a_cell")
    onnx.save(case.model, tmp_path / "cell.onnx")
    found = inspect(tmp_path / "cell.onnx")
    assert (found.operators["Loop"], found.operators["MatMul"]) == (1, 2)
    assert found.parameters >= 3 * 6 + 6 * 6 + 6 and found.macs == 20 * 2 * (3 * 6 + 6 * 6)
