"""Every operator case on Vulkan: right on the GPU, or on the CPU for a reason; in every variant of the shaders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from edgec.emit.gpu.placement import place
from edgec.emit.gpu.shaders import shaders_or_reasons
from tests.conftest import require
from tests.contract.examiner import WHOLE
from tests.emit import drafts
from tests.operators import vulkan
from tests.operators.backends import VULKAN, target_of
from tests.operators.case import Case, Outcome
from tests.operators.suite import OK, WRONG
from tests.operators.test_graphs import COUNT, MAKERS
from tests.operators.test_operators import EXCUSES, SHARDS, all_cases, sample, table, unsound
from tests.operators.vulkan import ON_CPU, run_on_vulkan

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the onnx package, while it makes its cases
T = TypeVar("T")
BLOCKS = 3 if WHOLE else 1  # of the random graphs
WIDE = target_of(VULKAN)
TARGET = replace(WIDE, vocabularies=WIDE.vocabularies[:1])  # test_operators has these cases in all; here hundreds of packages are compiled
COUNTING = {"Compress", "Gather", "NonMaxSuppression", "NonZero", "TopK"}
DOUBLE = {"(operator)", "(reduce)", "(sequence)", "Add", "Cast", "CastLike", "Einsum", "Max", "Min", "Mod", "Neg"}  # cases of float64
# Why a case has no shader at all: a reason -> the operators whose cases may have it
LEFT_TO_CPU = {
    "counts what it finds": COUNTING,
    "has symbolic sizes": COUNTING,
    "tells of indices out of range": {"Gather", "NonMaxSuppression", "NonZero"},
    "converts float32 to float64": DOUBLE,
    "converts float64 to float32": DOUBLE,
    "converts float64 to float16": DOUBLE,
    **{f"takes the bits of {kind}": {"BitCast"} for kind in ("float32", "float64", "int32", "int64")},
    "has pow of int32": {"Pow"},
    "computes with int64": {"Pow"},
    "converts float32 to int64": {"Pow"},
    "has mod of float32": {"Mod"},
    "has the bits of a float div to give, which GPUs round as they like": {"QuantizeLinear"},
}


def variants(number: int) -> Sequence[str]:
    """All of them, or one after the other."""
    return VULKAN.isas if WHOLE else VULKAN.isas[number % len(VULKAN.isas) :][:1]


def run(cases: Sequence[Case], folder: Path) -> list[Outcome]:
    require(*VULKAN.needs)
    outcomes = run_on_vulkan(cases, TARGET, folder, variants)
    assert len(outcomes) == len(cases)
    return outcomes


@pytest.mark.long
@pytest.mark.parametrize("shard", range(SHARDS) if WHOLE else [None])
def test_cases(shard: int | None, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Every other case of the sample (shard None) or a part of all."""
    cases = sample(all_cases())[::2] if shard is None else all_cases()[shard::SHARDS]
    outcomes = run(cases, tmp_path)
    counts = {
        operator: [*counts, sum(item.operator == operator for item in outcomes if item.verdict == ON_CPU)]
        for operator, counts in table(outcomes).items()
    }
    record_property("operator cases", {"backend": VULKAN.name, "table": counts})
    wrong = {item.case: item.message for item in outcomes if item.verdict == WRONG}
    assert {name: message for name, message in wrong.items() if name not in EXCUSES} == {}
    assert {item.case for item in outcomes if item.case in EXCUSES and item.verdict != ON_CPU} <= wrong.keys(), (
        "an excuse is no longer needed"
    )
    assert unsound(outcomes, cases) == {}
    left = {(item.operator, reason) for item in outcomes if item.verdict == ON_CPU for reason in item.message.split("; ")}
    assert {(operator, reason) for operator, reason in left if operator not in LEFT_TO_CPU.get(reason, ())} == set()


@pytest.mark.sampled
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("kind", [kind for kind in MAKERS if WHOLE or kind != "int16"])  # those run on the CPU
def test_random_graphs(kind: str, block: int, tmp_path: Path) -> None:
    """The graphs of test_graphs.py: none is refused, and a seed that fails names itself."""
    outcomes = run([MAKERS[kind](seed) for seed in range(COUNT)[block::BLOCKS]], tmp_path)
    assert {item.case: f"{item.operator}: {item.message}" for item in outcomes if item.verdict not in (OK, ON_CPU)} == {}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", MAKERS)
def test_calls_take_turns_on_the_gpu_and_the_cpu(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package's own host changes between the two within a run: here every second call has no shader."""

    def every_second(found: Sequence[T | str]) -> tuple[T | str, ...]:
        return tuple(item if index % 2 else "is not wanted" for index, item in enumerate(found))

    monkeypatch.setattr(vulkan, "shaders_or_reasons", lambda *arguments: every_second(shaders_or_reasons(*arguments)))
    monkeypatch.setattr(drafts, "place", lambda *arguments: every_second(place(*arguments)))
    cases = [MAKERS[kind](seed) for seed in range(4 if WHOLE else len(VULKAN.isas))]
    outcomes = run(cases, tmp_path)
    assert {item.case: f"{item.operator}: {item.message}" for item in outcomes if item.verdict not in (OK, ON_CPU)} == {}
    assert OK in {item.verdict for item in outcomes}
