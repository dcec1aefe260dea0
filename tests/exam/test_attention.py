"""The exam where products of two computed matrices stay in float: what rounding may change passes, what is wrong does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from edgec.emit import ExamData
from edgec.exam.expected import FLIP_FACTOR, FLIPS, TRIED
from edgec.ir.graph import Graph
from edgec.oracle.disturbance import APART
from edgec.toolchain import run_exam
from tests.attention import vit
from tests.conftest import require
from tests.contract.examiner import available, build_variant, quick
from tests.contract.imported import Quantizing
from tests.contract.subjects import Net, exam_of, quantized_net
from tests.contract.variants import USUAL, Variant

ROOT = Path(__file__).parents[2]
X86, PORTABLE = quick(USUAL[0]), quick(USUAL[1])
FLAT = 1e-4
SCALE = 0.0371


def ties_of_products() -> onnx.ModelProto:
    """x times its transpose, whose exact values are whole numbers of half codes: at every other one rounding decides."""
    b = Quantizing(np.array(128, np.uint8))
    x = b.quantized("x", SCALE)
    floats = b.op("Neg", x)
    b.give("y", b.quantized(b.op("MatMul", floats, b.op("Transpose", floats, perm=[0, 2, 1])), 80 * SCALE**2))
    return b.finish((1, 40, 24))


def verdicts(net: Net, data: ExamData, shared: Path, variant: Variant = X86) -> set[bool]:
    """Whether each vocabulary that can run here passes."""
    require(*variant.needs)
    built, target = build_variant(net, data, variant, shared)
    runs = [run for run in variant.runs if run.forced and run.threads == 1 and available(run.isa)]
    return {run_exam(built, target, ["--isa", run.isa]).returncode == 0 for run in runs}


def changed(net: Net, name: str, constant: str, array: np.ndarray) -> Net:
    graph: Graph = net.graph.copy()
    graph.constants[constant] = array
    return Net(name, net.original, graph)


def test_codes_that_may_flip_do_not_fail_the_exam(shared: Path) -> None:
    net = quantized_net(ties_of_products(), "ties_of_products")
    data = exam_of(net)
    assert data.exact == {"y": False} and all(1 / 256 < tolerance < 0.05 for tolerance in data.on_cpu)
    assert verdicts(net, data, shared) == {True}
    flat = ExamData(data.inputs, data.outputs, data.exact, FLAT)
    assert False in verdicts(Net("ties_of_products_flat", net.original, net.graph), flat, shared)  # of those that add in another order


def test_a_wrong_scale_fails_it(shared: Path) -> None:
    net = quantized_net(ties_of_products(), "ties_of_products")
    scale = next(name for name, array in net.graph.constants.items() if array.dtype == np.float32 and array > 80 * SCALE**2 * 0.99)
    wrong = changed(net, "ties_of_products_wrong", scale, net.graph.constants[scale] * np.float32(1.07))
    assert verdicts(wrong, exam_of(net), shared) == {False}


@pytest.mark.thorough
def test_questions_without_such_codes_are_preferred(shared: Path) -> None:
    """A transformer's exam then tells whatever any other tells: one wrong weight."""
    net = quantized_net(vit(1), "vit", exclude=tuple(f"/vit/MatMul_{number}" for number in (17, 20, 50, 53)))
    data = exam_of(net)
    assert set(data.exact.values()) == {False} and data.on_cpu == [FLAT] * 3
    assert verdicts(net, data, shared, PORTABLE) == {True}
    matrices = [name for name, array in net.graph.constants.items() if array.dtype == np.int8 and array.ndim == 2]
    assert len(matrices) == 13
    for number, name in enumerate((matrices[0], matrices[6], matrices[-1])):
        weights = net.graph.constants[name].copy()
        weights[3, 2] ^= 64
        assert verdicts(changed(net, f"vit_wrong_{number}", name, weights), data, shared, PORTABLE) == {False}, name


def test_the_contract_says_how_it_is_tried() -> None:
    page = (ROOT / "docs" / "int8.md").read_text()
    clause = page.split("\n10.2 ")[1].split("\n##")[0]
    assert (FLIP_FACTOR, 2 * FLIPS, TRIED, APART) == (2, 8, 4, 2)
    for words in ("at most `2 * 2^-24", "eight\ntimes (four pairs", "Twice what an answer moved by, at least 1e-4", "Of four samples"):
        assert words in clause
