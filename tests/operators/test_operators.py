"""Every operator case on every backend: right, or refused by an error that names what is missing. Nothing is ever wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest

from edgec.targets import load_target
from tests.conftest import require
from tests.contract.examiner import WHOLE
from tests.operators.backends import FOREIGN, NATIVE, SANITIZED, Backend, target_of
from tests.operators.case import Case, Outcome
from tests.operators.composed_cases import composed_cases
from tests.operators.control_cases import control_cases
from tests.operators.counted_cases import counted_cases
from tests.operators.coverage import KEY as COVERAGE
from tests.operators.coverage import WRITTEN, Coverage, counts, coverage, line
from tests.operators.loop_cases import loop_cases
from tests.operators.onnx_cases import onnx_cases
from tests.operators.own_cases import own_cases
from tests.operators.recurrent_cases import recurrent_cases
from tests.operators.selection_cases import selection_cases
from tests.operators.suite import OK, REFUSED, WRONG, run_cases

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the onnx package, while it makes its cases
README = Path(__file__).parents[2] / "README.md"
SHARDS = 6  # of all cases; a sample is one shard
ONE_IN = 128  # the sample has a case of every operator, and one in so many of the others; Vulkan takes every other case of it

# A case whose result differs, and why: it must differ still.
EXCUSES = {
    "test_resize_downsample_scales_linear_align_corners": "ONNX's reference computes with a size of 2.4 pixels, where there are 2",
    "test_resize_downsample_scales_cubic_align_corners": "the same",
    "test_sequence_model8": "its input is empty; the package, which asks how many parts it has, takes one number",
    **dict.fromkeys(
        (f"test_operator_add{name}" for name in ("_broadcast", "_size1_right_broadcast", "_size1_singleton_broadcast", "constant")),
        "its numbers are beyond float32, in which float64 is computed",
    ),
}
# Operators of numbers that no package can compute yet.
MISSING = {"ImageDecoder", "RandomUniformLike", "TfIdfVectorizer"}
# A package holds tensors of numbers of the usual types that are not empty, sizes are known before it runs, and it does not train.
REASONS = re.compile(
    r"element type \S+ is not supported|quantizes to \S+ which is not supported|is not a tensor|is no tensor|holds nothing"
    r"|does not split into \[0|as is decided while the model runs|is computed while the model runs"
    r"|is in training mode|\((\w+\.)+\w+, opset \d+\): has no implementation"
)
NAMED = re.compile(r"(\w+), opset \d+\)[^(]*has no implementation|(\w+): there is no implementation")


@cache
def all_cases() -> tuple[Case, ...]:
    groups = (onnx_cases, own_cases, composed_cases, recurrent_cases, selection_cases, counted_cases, control_cases, loop_cases)
    return tuple(case for group in groups for case in group())


def sample(cases: Sequence[Case]) -> list[Case]:
    """The case of every operator with the least hash, and a few more; the own cases of most hashes are left out alike."""
    first: dict[str, Case] = {}
    for case in sorted(cases, key=lambda case: crc32(case.name.encode())):
        first.setdefault(case.operator, case)
    chosen = {case.name for case in first.values()}
    return [case for case in cases if case.name in chosen or crc32(case.name.encode()) % ONE_IN == 0]


def is_sound(message: str) -> bool:
    """Whether every problem of a refusal is a known lack: an operator in MISSING, or one of REASONS."""
    lines = [line for line in message.splitlines()[1:] if line.strip()] or [message]
    return all(REASONS.search(line) or {word for pair in NAMED.findall(line) for word in pair if word} & MISSING for line in lines)


def unsound(outcomes: Sequence[Outcome], cases: Sequence[Case]) -> dict[str, str]:
    """The refusals without a known lack; those of our own cases never have one."""
    fixable = {case.name for case in cases if case.fixable}
    refused = {item.case: item.message for item in outcomes if item.verdict == REFUSED}
    return {name: message for name, message in refused.items() if name not in fixable or not is_sound(message)}


def table(outcomes: Sequence[Outcome]) -> dict[str, list[int]]:
    """operator -> [right, refused]."""
    counts = Counter((outcome.operator, outcome.verdict) for outcome in outcomes)
    return {operator: [counts[operator, OK], counts[operator, REFUSED]] for operator in sorted({item.operator for item in outcomes})}


def check(cases: Sequence[Case], backend: Backend, folder: Path, record: Callable[[str, object], None]) -> list[Outcome]:
    target = target_of(backend)
    isas = backend.isas_of(target)
    assert isas, "this processor has none of the sets of instructions"
    outcomes = run_cases(cases, target, folder, isas, backend.optimize, backend.flags)
    assert len(outcomes) == len(cases)
    record("operator cases", {"backend": backend.name, "table": table(outcomes)})
    wrong = {item.case: item.message for item in outcomes if item.verdict == WRONG}
    assert {name: message for name, message in wrong.items() if name not in EXCUSES} == {}
    assert {item.case for item in outcomes if item.case in EXCUSES} <= wrong.keys(), "an excuse is no longer needed"
    assert unsound(outcomes, cases) == {}
    assert {item.operator for item in outcomes if item.verdict == OK} & MISSING == set()
    return outcomes


ALL = [(backend, shard) for backend in (*NATIVE[1:], SANITIZED) for shard in range(SHARDS)] + [(backend, None) for backend in FOREIGN]
USUAL = [(backend, None) for backend in NATIVE[1:]]


@pytest.mark.long
@pytest.mark.parametrize(("backend", "shard"), ALL if WHOLE else USUAL, ids=lambda value: getattr(value, "name", str(value)))
def test_cases(backend: Backend, shard: int | None, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """A sample of the cases (shard None) or a part of all, of which portable packages have as many right as is written."""
    require(*backend.needs)
    cases = sample(all_cases()) if shard is None else all_cases()[shard::SHARDS]
    outcomes = check(cases, backend, tmp_path, record_property)
    if shard is not None and backend is SANITIZED:
        known = {case.name for case in onnx_cases()}
        found = coverage([case for case in cases if case.name in known], outcomes)
        record_property(COVERAGE, astuple(found))
        assert found == WRITTEN[shard]


def test_the_readme_has_the_figures_that_are_counted() -> None:
    assert len(WRITTEN) == SHARDS and sum(map(counts, onnx_cases())) == sum(WRITTEN, Coverage()).cases
    assert line(sum(WRITTEN, Coverage())) in " ".join(README.read_text(encoding="utf-8").split())


def test_what_is_known_before_a_run_is_not_computed(tmp_path: Path) -> None:
    """Of three right answers one is that of the file as it is, one that of another form, and one no run's."""
    wanted = {"test_relu": (True, True), "test_center_crop_pad_crop_expanded": (False, True), "test_shape": (True, False)}
    cases = [case for case in onnx_cases() if case.name in wanted]
    outcomes = run_cases(cases, load_target("portable"), tmp_path)
    assert {item.case: (item.shipped, item.computed) for item in outcomes if item.verdict == OK} == wanted
    spoiled = [replace(item, verdict=WRONG) if item.case == "test_relu" else item for item in outcomes]
    assert (coverage(cases, outcomes), coverage(cases, spoiled)) == (Coverage(3, 1, 2, 1), Coverage(3, 0, 1, 1))


def test_a_wrong_result_is_noticed(tmp_path: Path) -> None:
    """The suite itself: a case with a wrong expectation, a crash and a refusal come out as what they are."""
    right = next(case for case in own_cases() if case.name.startswith("chain_conv"))
    spoiled = Case("spoiled", "Conv", right.model, right.inputs, [right.expected[0] + 1])
    refused = next(case for case in onnx_cases() if case.name == "test_strnorm_model_monday_casesensintive_lower")
    outcomes = run_cases([right, spoiled, refused], load_target("portable"), tmp_path)
    assert {item.case: item.verdict for item in outcomes} == {right.name: OK, "spoiled": WRONG, refused.name: REFUSED}
