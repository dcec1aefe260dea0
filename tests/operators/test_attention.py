"""Products of two computed matrices: the evaluator's bytes on every backend, with one thread and with several."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import require
from tests.contract.examiner import WHOLE
from tests.operators.attention_cases import attention_case
from tests.operators.backends import FOREIGN, NATIVE, SANITIZED, Backend, target_of
from tests.operators.suite import Compiled, compile_case, run_programs

COUNT = 300 if WHOLE else 5


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("backend", [SANITIZED if WHOLE else NATIVE[0], *NATIVE[1:], *FOREIGN], ids=lambda backend: backend.name)
def test_attention(backend: Backend, tmp_path: Path) -> None:
    require(*backend.needs)
    target = target_of(backend)
    found = [compile_case(attention_case(seed), target) for seed in range(COUNT if not backend.foreign else COUNT // 2)]
    compiled = [item for item in found if isinstance(item, Compiled)]
    assert len(compiled) == len(found), [item for item in found if item not in compiled]
    outcomes = run_programs(compiled, target, tmp_path, backend.isas_of(target), backend.optimize, backend.flags, threads=(1, 3))
    assert {item.case: item.message for item in outcomes if item.verdict != "ok"} == {}
