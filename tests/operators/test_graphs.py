"""Random graphs on every backend: quantized ones give the evaluator's bytes, float ones ONNX Runtime's numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import require
from tests.contract.examiner import WHOLE
from tests.operators.backends import FOREIGN, NATIVE, SANITIZED, Backend, target_of
from tests.operators.case import Case
from tests.operators.float_cases import float_case
from tests.operators.int8_cases import KINDS, int8_case, int16_case
from tests.operators.suite import OK, run_cases

COUNT = 180 if WHOLE else 24  # which share their kernels
BACKENDS = (SANITIZED, *NATIVE[1:], *FOREIGN) if WHOLE else NATIVE
MAKERS: dict[str, Callable[[int], Case]] = {"int8": int8_case, "int16": int16_case, "float": float_case}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_random_graphs(backend: Backend, kind: str, tmp_path: Path) -> None:
    """Every graph is supported and right; a seed that fails names itself."""
    require(*backend.needs)
    target = target_of(backend)
    isas = backend.isas_of(target)
    cases = [MAKERS[kind](seed) for seed in range(COUNT)]
    outcomes = run_cases(cases, target, tmp_path, isas, backend.optimize, backend.flags)
    assert len(outcomes) == COUNT
    assert {item.case: f"{item.operator}: {item.message}" for item in outcomes if item.verdict != OK} == {}


@pytest.mark.sampled
def test_the_quantized_graphs_are_exact_by_contract() -> None:
    """The evaluator promises every byte of them, so none is compared with a tolerance."""
    cases = [int8_case(seed) for seed in range(COUNT)]
    assert {case.operator for case in cases} == {maker.__name__ for maker in KINDS}
    assert [case.name for case in cases if case.rtol] == []
