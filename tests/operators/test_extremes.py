"""Whole-range integers, NaN, infinities and denormals through every operator, on every backend: what docs/int8.md, clause 13 says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgec.frontend import from_proto
from edgec.passes import optimize
from tests.conftest import require
from tests.contract.examiner import WHOLE
from tests.gpu.cases import target_with_gpu
from tests.gpu.test_msl import run_program as run_metal_program
from tests.operators.backends import FOREIGN, NATIVE, VULKAN, Backend, target_of
from tests.operators.case import Case, difference
from tests.operators.extreme_cases import BINARY, extreme_cases, extremes, graph_of, run_onnxruntime, wrapped
from tests.operators.suite import OK, Compiled, compile_case, run_cases, with_constants
from tests.operators.test_vulkan import TARGET
from tests.operators.vulkan import ON_CPU, run_on_vulkan

UNDEFINED = Backend(
    "undefined", "portable", optimize="-O1", flags=("-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all")
)


@pytest.mark.sampled
@pytest.mark.parametrize("backend", (UNDEFINED, *NATIVE[1:], *(FOREIGN if WHOLE else ())), ids=lambda backend: backend.name)
def test_operators_at_the_ends_of_their_operands(backend: Backend, tmp_path: Path) -> None:
    require(*backend.needs)
    target = target_of(backend)
    cases = chosen(ENDS if backend is UNDEFINED else FLOATS)  # integers are C's on every processor
    outcomes = run_cases(cases, target, tmp_path, backend.isas_of(target), backend.optimize, backend.flags)
    assert {item.case: f"{item.message} of {item.operator}" for item in outcomes if item.verdict != OK} == {}


SHADERS = ("integers_int32", "integers_int64", "floats", "extremes_of_rows")
ENDS = ("integers_int32", "floats")
FLOATS = ("floats", "extremes_of_rows", "fused")


def chosen(names: tuple[str, ...]) -> list[Case]:
    return [case for case in extreme_cases() if WHOLE or case.name in names]


@pytest.mark.sampled
def test_shaders_give_the_same_on_vulkan(tmp_path: Path) -> None:
    require(*VULKAN.needs)
    outcomes = run_on_vulkan(chosen(SHADERS), TARGET, tmp_path, lambda number: VULKAN.isas if WHOLE else VULKAN.isas[number % 3 :][:1])
    assert {item.case: f"{item.message} of {item.operator}" for item in outcomes if item.verdict != OK} == {}
    assert not any(item.verdict == ON_CPU for item in outcomes)


@pytest.mark.parametrize("case", chosen(("integers_int32", "floats", "extremes_of_rows")), ids=lambda case: case.name)
def test_kernels_give_the_same_in_metals_language(case: Case) -> None:
    target = target_with_gpu("host", "metal")
    item = compile_case(case, target)
    assert isinstance(item, Compiled), item
    found = run_metal_program(item.program, target, case.inputs, order=0)
    assert difference(case, [found[port.name] for port in item.program.outputs]) == "", case.operator


# What is written down is what ONNX Runtime gives, where its answer does not depend on the length of a tensor, and where it gives one


@pytest.mark.parametrize("dtype", [np.dtype(np.int32), np.dtype(np.int64)], ids=str)
def test_the_meaning_is_that_of_onnxruntime(dtype: np.dtype[Any]) -> None:
    a, b = (np.ascontiguousarray(grid.ravel()) for grid in np.meshgrid(*[extremes(dtype)] * 2))
    answers = (b != 0) & ~((b == -1) & (a == np.iinfo(dtype).min))  # of others ONNX Runtime's process dies
    a, b = a[answers], b[answers]
    names = ("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max")
    model = graph_of("meaning", {"a": a, "b": b}, [(name, ["a", "b"], name, {}) for name in names], names)
    for name, found in zip(names, run_onnxruntime(model, {"a": a, "b": b}), strict=True):
        wanted = [BINARY[name](x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        np.testing.assert_array_equal(found, wrapped(wanted, dtype), err_msg=name)


def test_constants_are_folded_to_what_the_package_would_give() -> None:
    """The same models with all their inputs known: no operator is left, and the constants are the outputs expected."""
    for case in extreme_cases():
        if case.name not in ("fused", "floats", "extremes_of_rows"):
            graph = from_proto(with_constants(case.model, case.inputs)).graph
            optimize(graph)
            assert {node.op for node in graph.nodes} <= {"Identity"}
            names = [node.inputs[0] if (node := graph.producer(name)) is not None else name for name in graph.outputs]
            assert difference(case, [graph.constants[name] for name in names]) == "", case.operator
