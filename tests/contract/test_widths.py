"""Clauses 14 and 15 of the contract: codes of 16 bits, and weights of 8 and 4, on every processor, vocabulary and number of threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgec.integer import match
from edgec.integer.operators import WideDotProduct
from edgec.kernels import ConvInt16, DepthwiseInt16, RowsCodes4, RowsCodes8
from edgec.program.program import TemplateCall
from edgec.targets import load_target
from tests.contract.examiner import WHOLE, answers_of_all_runs, expected_hashes, quick
from tests.contract.subjects import Net, exam_of, program_of
from tests.contract.variants import UNUSUAL, Variant, in_turns, name_of
from tests.contract.widths import CODED, WIDE, coded_net, wide_net

# Every flag and compiler with one of the nets: sums of 16-bit codes are whole numbers in binary64, which no contraction may touch.
STRANGE = [(variant, [*WIDE][number % len(WIDE)]) for number, variant in enumerate(UNUSUAL)]


def kernels_of(net: Net) -> set[type]:
    calls = program_of(net, load_target("portable")).calls
    return {type(call.arguments) for call in calls if isinstance(call, TemplateCall)}


def check_wide(name: str, variant: Variant, shared: Path) -> None:
    net = wide_net(name)
    data = exam_of(net)
    assert answers_of_all_runs(net, data, variant, shared) == expected_hashes(data, net.graph.outputs)


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "variant"), in_turns([*WIDE], *((len(WIDE), 2) if WHOLE else (1, 0))), ids=name_of)
def test_codes_of_16_bits_are_the_evaluators_bytes(name: str, variant: Variant, shared: Path) -> None:
    check_wide(name, quick(variant), shared)


@pytest.mark.thorough
@pytest.mark.parametrize(("variant", "name"), STRANGE, ids=name_of)
def test_no_compiler_flag_or_thread_changes_16_bits(variant: Variant, name: str, shared: Path) -> None:
    check_wide(name, variant, shared)


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "variant"), in_turns([*CODED], *((len(CODED), 1) if WHOLE else (1, 0))), ids=name_of)
def test_coded_weights_agree_with_onnxruntime(name: str, variant: Variant, shared: Path) -> None:
    """Within the bound of float products; threads change nothing within a vocabulary."""
    net = coded_net(name)
    data = exam_of(net)
    assert data.tolerance <= 1e-4
    runs = len({(run.isa, run.emulator) for run in variant.runs})
    assert 1 <= len(answers_of_all_runs(net, data, quick(variant), shared)) <= runs


@pytest.mark.sampled
def test_the_nets_hold_what_they_are_named_for() -> None:
    for name in WIDE if WHOLE else [*WIDE][:1]:
        assert any(isinstance(item, WideDotProduct) for item in match(wide_net(name).graph).operators)
        assert ConvInt16 in kernels_of(wide_net(name))
    assert DepthwiseInt16 in kernels_of(wide_net("wide_mobilenet"))
    assert [kernels_of(coded_net(name)) for name in CODED] == [{RowsCodes4}, {RowsCodes8}]
