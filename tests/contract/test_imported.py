"""Models that come quantized are taken as they are: every processor gives the bytes that the evaluator reads from the import."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from edgec.emit import ExamData
from edgec.export import to_onnx
from edgec.integer import match
from edgec.integer.operators import DotProduct
from edgec.oracle import Evaluator
from edgec.program.functions import FUNCTIONS
from tests.contract.examiner import WHOLE, answers_of_all_runs, expected_hashes, quick
from tests.contract.imported import HAND_MADE, RECIPES, Recipe, hand_made, quantized_by_onnxruntime
from tests.contract.subjects import Net, exact_exam, quantized_net, samples_of
from tests.contract.variants import UNUSUAL, USUAL, Variant, in_turns, name_of

RECIPES_HERE = RECIPES if WHOLE else RECIPES[:5]
_SMALLEST = [variant for variant in UNUSUAL if variant.name.startswith("cortex")]
SHAPING = [*USUAL[1:], *_SMALLEST] if WHOLE else [variant for variant in USUAL if variant.name == "arm64-gcc"]


@cache
def by_onnxruntime(recipe: Recipe) -> tuple[Net, ExamData]:
    with TemporaryDirectory() as folder:
        net = quantized_net(quantized_by_onnxruntime(recipe, Path(folder)), recipe.name)
    return net, exact_exam(net, samples_of(net.original, 3, 2))


@cache
def by_hand(name: str) -> tuple[Net, ExamData]:
    net, vectors = hand_made(name)
    return net, exact_exam(net, vectors)


def check(net: Net, data: ExamData, variant: Variant, shared: Path) -> None:
    assert answers_of_all_runs(net, data, quick(variant), shared) == expected_hashes(data, net.original.outputs)


@pytest.mark.sampled
@pytest.mark.parametrize(("recipe", "variant"), in_turns(RECIPES_HERE, *((len(RECIPES_HERE), 2) if WHOLE else (0, 1))), ids=name_of)
def test_onnxruntimes_own_quantization(recipe: Recipe, variant: Variant, shared: Path) -> None:
    check(*by_onnxruntime(recipe), variant, shared)


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "variant"), in_turns(list(HAND_MADE), *((len(HAND_MADE), 2) if WHOLE else (1, 1))), ids=name_of)
def test_extremes_ties_nan_and_infinities(name: str, variant: Variant, shared: Path) -> None:
    check(*by_hand(name), variant, shared)


@pytest.mark.sampled
@pytest.mark.parametrize("variant", SHAPING, ids=name_of)
def test_functions_of_sums_of_every_processor(variant: Variant, shared: Path) -> None:
    check(*by_hand("functions_s8"), variant, shared)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda item: item.name)
def test_passes_keep_the_codes_of_a_quantized_model(recipe: Recipe) -> None:
    """The evaluator gives the same bytes before and after optimization."""
    net, data = by_onnxruntime(recipe)
    after = Evaluator(to_onnx(net.graph))
    for inputs, expected in zip(data.inputs, data.outputs, strict=True):
        for name, value in after.run(dict(inputs)).items():
            assert value.tobytes() == expected[name].tobytes(), name


@pytest.mark.parametrize("name", HAND_MADE)
def test_the_hand_made_cases_are_what_they_claim(name: str) -> None:
    net, data = by_hand(name)
    constants = net.original.constants.values()
    if name.startswith("extremes"):
        assert any((array == -128).sum() > array.size // 3 for array in constants if array.dtype == np.int8 and array.ndim == 4)
    elif name.startswith("ties"):
        assert all((np.frexp(array)[0] == 0.5).all() for array in constants if array.dtype == np.float32), "no powers of two"
    elif name.startswith("functions"):
        found = [operator for operator in match(net.graph).operators if isinstance(operator, DotProduct)]
        assert {operator.function.name for operator in found if operator.function} == FUNCTIONS.keys() and all(
            one.function for one in found
        )
        assert sum(len(np.unique(one.behind)) > 1 for one in found if one.behind is not None) > len(found) / 2
    assert all(data.exact.values())
    assert any(np.isnan(inputs["x"]).any() and np.isinf(inputs["x"]).any() for inputs in data.inputs)
    assert all(np.isfinite(value).all() for answer in data.outputs for value in answer.values()), "a NaN is the zero point"
    assert all(len(np.unique(data.outputs[0][output])) >= 3 for output in net.original.outputs), "an output that says nothing"
