"""The harness itself: what it must not overlook."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from edgec.emit.gpu.dialect import Glsl
from tests.gpu import lavapipe
from tests.gpu.lavapipe import Step, run_shader, run_steps

GROUP = (64, 1, 1)


def source(body: str) -> str:
    dialect = Glsl(True)
    return f"{dialect.begin('test', GROUP)}\n    {body}\n{dialect.end()}\n"


def test_a_word_behind_the_end_of_a_region_is_noticed() -> None:
    with pytest.raises(AssertionError, match="behind the end"):
        run_shader(source("store_word(arena, global_x(), 1u);"), GROUP, (1, 1, 1), bytes(63 * 4), b"", b"")


def test_a_missing_barrier_is_noticed() -> None:
    write, read = source("store_word(arena, global_x(), 7u);"), source("store_word(io, global_x(), load_word(arena, global_x() ^ 1));")
    steps = [Step(write, (1, 1, 1)), Step(read, (1, 1, 1))]
    _, io = run_steps(steps, bytes(256), b"", bytes(256))
    assert set(np.frombuffer(io, np.uint32)) == {7}
    with pytest.raises(AssertionError, match="SYNC-HAZARD-READ-AFTER-WRITE"):
        run_steps([steps[0], Step(read, (1, 1, 1), wait=False)], bytes(256), b"", bytes(256))


def test_spirv_that_is_not_valid_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = source("store_word(arena, global_x(), 7u);")
    code, offset = lavapipe.compile_shader(text, "base"), struct.pack("<III", 0, 35, 0)  # of the first member of a block
    wrong = code.replace(offset, struct.pack("<III", 0, 35, 2), 1)  # where no uint may lie
    assert wrong != code
    monkeypatch.setattr(lavapipe, "compile_shader", lambda *_: wrong)
    with pytest.raises(AssertionError, match="SPIR-V module not valid"):
        run_shader(text, GROUP, (1, 1, 1), bytes(256), b"", b"")


def test_a_shader_that_is_no_glsl_is_shown_with_its_lines() -> None:
    with pytest.raises(AssertionError, match=r"undeclared identifier[\s\S]* store_word\(arena, 0, nothing\);"):
        run_shader(source("store_word(arena, 0, nothing);"), GROUP, (1, 1, 1), bytes(4), b"", b"")
