"""The Metal host's choice between its two forms of kernels, by the device's family: a float package on the fake Metal."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec.emit.gpu.dialect import Metal
from edgec.exam.expected import half_tolerance
from tests.conftest import once
from tests.contract.subjects import float_net, program_of, samples_of
from tests.gpu.fake_metal import link
from tests.gpu.msl.run import SIMDGROUPS, in_its_form
from tests.gpu.test_half import TARGET, differences, run_on_metal, with_halves
from tests.gpu.test_metal_host import package_of

ORDERS = {"FAKE_BACKWARDS": "1", "FAKE_ORDER": "7"}


def model() -> onnx.ModelProto:
    """A product that matrices are worth for, and rows."""
    rng = np.random.default_rng(0)
    weights = numpy_helper.from_array(rng.normal(0, 0.2, (40, 24, 1, 1)).astype(np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Softmax", ["c"], ["y"], axis=3)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 24, 4, 64))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "simdgroups", [x], [y], [weights])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return onnx.shape_inference.infer_shapes(made)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return package_of(float_net(model(), "simdgroups"), tmp_path_factory.mktemp("simdgroups") / "package")


@pytest.fixture(scope="module")
def exam(package: Path, shared: Path) -> Path:
    def make(folder: Path) -> None:
        link(package, "arc", sorted(package.glob("exam/*.c")), folder / "exam", simdgroups=True)

    return once(shared / "metal" / "simdgroups", make) / "exam"


def give(exam: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    changed = {**os.environ, "FAKE_TELL": "1", **environment}
    return subprocess.run([exam, "--gpu", *words], capture_output=True, text=True, env=changed, check=False)


def test_the_package_has_matrices_and_rows_in_both_forms(package: Path) -> None:
    calls = json.loads((package / "manifest.json").read_text())["gpu"]["calls"]
    assert any("matrices" in call for call in calls) and any("matrices" not in call and call["shared_bytes"] for call in calls)
    (text,) = (path.read_text() for path in package.glob("metal/*.metal"))
    assert "simdgroup_load" in text and "simdgroup_load" not in in_its_form(text) and in_its_form(SIMDGROUPS + text) == SIMDGROUPS + text


def ran(given: subprocess.CompletedProcess[str]) -> tuple[int, int]:
    """Kernels that ran with simdgroups, and all."""
    assert given.returncode == 0, given.stdout + given.stderr
    (found,) = re.findall(r"with simdgroups: (\d+) of (\d+)", given.stderr)
    return int(found[0]), int(found[1])


@pytest.mark.parametrize("orders", [{}, ORDERS], ids=["in order", "in another"])
def test_devices_of_family_7_run_everything_with_simdgroups(exam: Path, orders: dict[str, str]) -> None:
    with_simdgroups, all_of_them = ran(give(exam, "--gpu-verify", FAKE_FAMILY="7", **orders))
    assert with_simdgroups == all_of_them > 0


@pytest.mark.parametrize(
    ("words", "environment"),
    [
        ((), {"FAKE_FAMILY": "6"}),
        ((), {}),
        (("--gpu-variant", "metal"), {"FAKE_FAMILY": "9"}),
        ((), {"FAKE_FAMILY": "7", "FAKE_BAD_SIMDGROUPS": "1"}),
        ((), {"FAKE_FAMILY": "7", "FAKE_THREADS_OF_SIMDGROUP": "16"}),
    ],
    ids=["older", "not Apple's", "not wanted", "refused by the compiler", "other simdgroups"],
)
def test_others_run_the_kernels_for_any_device(exam: Path, words: tuple[str, ...], environment: dict[str, str]) -> None:
    with_simdgroups, all_of_them = ran(give(exam, *words, **environment))
    assert with_simdgroups == 0 < all_of_them


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"FAKE_FAMILY": "6"}, "simdgroups: "),
        ({"FAKE_FAMILY": "7", "FAKE_BAD_SIMDGROUPS": "1"}, "shaders: fake error"),
        ({"FAKE_FAMILY": "7", "FAKE_THREADS_OF_SIMDGROUP": "16"}, "needs simdgroups of 32 threads"),
    ],
    ids=["older", "refused by the compiler", "other simdgroups"],
)
def test_simdgroups_that_are_asked_for_are_there_or_the_start_fails(exam: Path, environment: dict[str, str], said: str) -> None:
    given = give(exam, "--gpu-variant", "simdgroups", **environment)
    assert given.returncode != 0 and said in given.stderr


def test_matrices_of_halves_answer_as_well_as_halves_can() -> None:
    net = float_net(model(), "halves")
    inputs = samples_of(net.original)[0]
    program = program_of(net, TARGET)
    sources = [
        shader.matrices.source for shader in with_halves(program, Metal(TARGET.signed_activations))[2] if shader.matrices is not None
    ]
    assert len(sources) == 1 and "simdgroup_matrix<half, 8, 8> a" in sources[0]
    for apart in differences(net, inputs, run_on_metal(program, inputs, simdgroups=True)):
        assert 1e-6 < apart < half_tolerance(net.graph, inputs)


def test_simdgroups_that_are_asked_for_run(exam: Path) -> None:
    with_simdgroups, all_of_them = ran(give(exam, "--gpu-variant", "simdgroups", FAKE_FAMILY="8"))
    assert with_simdgroups == all_of_them > 0
