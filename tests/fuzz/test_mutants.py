"""What the mutator found stays found: an error with place and reason in float and in int8; and a short sample finds nothing new."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import edgec
from edgec.base.errors import ModelError
from tests.fuzz.cases import CASES, Case
from tests.fuzz.frame import FUZZED, fuzz
from tests.fuzz.mutate_tensors import MOST_AXES, change_numbers

WHOLE = bool(os.environ.get("EDGEC_TEST_ALL"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_find_is_refused_with_place_and_reason(tmp_path: Path, case: Case, precision: str) -> None:
    model = case.model()
    onnx.save(model, tmp_path / "model.onnx")
    inputs = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in model.graph.input}
    calib = {name: np.ones((2 * shape[0], *shape[1:]), np.float32) for name, shape in inputs.items()}
    with pytest.raises(ModelError) as caught:
        edgec.build(tmp_path / "model.onnx", target="portable", precision=precision, calib=calib, out=tmp_path / "out", compile=False)
    for word in case.words:
        assert word in str(caught.value)
    assert "bug of edgec" not in str(caught.value) and not (tmp_path / "out").exists()


@pytest.mark.long
@pytest.mark.sampled
def test_mutants_become_packages_or_clear_errors(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """A few seconds of a fixed seed; with EDGEC_TEST_ALL forty seconds of a fresh one."""
    seed = secrets.randbelow(2**32) if WHOLE else 10
    name, seconds, count = ("mutants", 40, 1 << 60) if WHOLE else ("few_mutants", 600, 100)
    tally = fuzz(name, seed, seconds=seconds, count=count, finds=tmp_path)
    said = "\n".join([f"{name}, seed {seed}:", *tally.lines()])
    record_property(FUZZED, said)
    assert not tally.finds, said
    assert len(tally.operators) > (40 if WHOLE else 15)  # enough to see that mutants get far, on a busy machine too


def test_numbers_with_as_many_axes_as_numpy_has_are_damaged_too() -> None:
    tensor = numpy_helper.from_array(np.zeros([1] * MOST_AXES, np.float32), "c")
    for seed in range(20):
        change_numbers(tensor, np.random.default_rng(seed))
        assert len(tensor.dims) <= MOST_AXES
        tensor = numpy_helper.from_array(np.zeros([1] * MOST_AXES, np.float32), "c")
