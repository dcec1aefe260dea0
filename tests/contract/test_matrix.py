"""Clause 0 of the contract: one model, the same bytes from every processor, vocabulary, compiler, flag and number of threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.examiner import WHOLE, answers_of_all_runs, expected_hashes, quick
from tests.contract.subjects import SEED, exam_of, random_float_net, random_net
from tests.contract.variants import OFTEN, UNUSUAL, Variant, name_of, turn, usual

# Other weights bring no other kernels, and what is made of these without optimization tells a wrong number too.
USUALLY = [(*item, SEED) for item in usual("int8", WHOLE)] + [(net, quick(variant), 2) for net, variant in usual("int8", False) if WHOLE]
STRANGE = [
    (variant, turn(variant, n)) for variant in (UNUSUAL if WHOLE else OFTEN) for n in range(2 if WHOLE and variant.optimize != "-O0" else 1)
]


@pytest.mark.parametrize(("family", "variant", "seed"), USUALLY, ids=name_of)
def test_every_processor_gives_the_evaluators_bytes(family: str, variant: Variant, seed: int, shared: Path) -> None:
    net = random_net(family, seed)
    data = exam_of(net)
    assert answers_of_all_runs(net, data, variant, shared) == expected_hashes(data, net.graph.outputs)


@pytest.mark.parametrize(("variant", "family"), STRANGE, ids=name_of)
def test_no_compiler_flag_or_thread_changes_a_byte(family: str, variant: Variant, shared: Path) -> None:
    net = random_net(family)
    data = exam_of(net)
    assert answers_of_all_runs(net, data, variant, shared) == expected_hashes(data, net.graph.outputs)


@pytest.mark.sampled
@pytest.mark.parametrize(("family", "variant"), usual("float", WHOLE), ids=name_of)
def test_float_packages_agree_with_onnxruntime(family: str, variant: Variant, shared: Path) -> None:
    """max|a - b| <= 1e-4 * max|b| for every output: the exam's own bound. Threads change nothing within a vocabulary."""
    net = random_float_net(family)
    data = exam_of(net)
    assert data.tolerance <= 1e-4
    runs = len({(run.isa, run.emulator) for run in variant.runs})
    assert 1 <= len(answers_of_all_runs(net, data, variant if WHOLE else quick(variant), shared)) <= runs
