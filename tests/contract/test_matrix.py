"""Clause 0 of the contract: one model, the same bytes from every processor, vocabulary, compiler, flag and number of threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.contract.examiner import WHOLE, answers_of_all_runs, expected_hashes
from tests.contract.subjects import FAMILIES, SEED, exam_of, random_float_net, random_net
from tests.contract.variants import UNUSUAL, USUAL, Variant

SEEDS = (SEED, 2) if WHOLE else (SEED,)
# Without EDGEC_TEST_ALL every unusual variant has one net, and the nets take turns.
STRANGE = [
    (variant, family) for n, variant in enumerate(UNUSUAL) for m, family in enumerate(FAMILIES) if WHOLE or (n + m) % len(FAMILIES) == 0
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("variant", USUAL, ids=lambda item: item.name)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_processor_gives_the_evaluators_bytes(family: str, variant: Variant, seed: int, tmp_path: Path) -> None:
    net = random_net(family, seed)
    data = exam_of(net)
    assert answers_of_all_runs(net, data, variant, tmp_path) == expected_hashes(data, net.graph.outputs)


@pytest.mark.parametrize(("variant", "family"), STRANGE, ids=lambda item: item if isinstance(item, str) else item.name)
def test_no_compiler_flag_or_thread_changes_a_byte(family: str, variant: Variant, tmp_path: Path) -> None:
    net = random_net(family)
    data = exam_of(net)
    assert answers_of_all_runs(net, data, variant, tmp_path) == expected_hashes(data, net.graph.outputs)


@pytest.mark.parametrize("variant", USUAL, ids=lambda item: item.name)
@pytest.mark.parametrize("family", FAMILIES)
def test_float_packages_agree_with_onnxruntime(family: str, variant: Variant, tmp_path: Path) -> None:
    """max|a - b| <= 1e-4 * max|b| for every output: the exam's own bound. Threads change nothing within a vocabulary."""
    net = random_float_net(family)
    data = exam_of(net)
    assert data.tolerance <= 1e-4
    quick = replace(variant, optimize="-O3" if WHOLE else "-O1")
    runs = len({(run.isa, run.emulator) for run in quick.runs})
    assert 1 <= len(answers_of_all_runs(net, data, quick, tmp_path)) <= runs
