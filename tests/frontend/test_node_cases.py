"""ONNX's own test cases of every operator: imported, verified, written as text, exported, run in ONNX Runtime, compared.

The expected values are those of ONNX's reference. What edgec does not support must say so, never give a wrong result.
"""

from __future__ import annotations

import collections
import functools
import re
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

from edgec.base.errors import EdgecError
from edgec.export import to_onnx
from edgec.frontend import Imported, from_proto
from edgec.frontend.arithmetic.reduction import COMPOSITE
from edgec.frontend.arithmetic.trigonometry import FUNCTIONS
from edgec.ir.text import dumps, loads
from edgec.ir.verify import verify
from edgec.ops import OPERATORS

# ONNX Runtime has no kernel for these types, or differs from ONNX in the align_corners of downsampling by a fraction
EXCUSES = (
    "test_bitshift_right_uint16", "test_bitshift_left_uint16", "test_bitshift_right_int", "test_bitshift_left_int",
    "test_max_int16", "test_max_uint16", "test_min_int16", "test_min_uint16", "test_pow_types_float32_uint",
    "test_top_k_uint64", "test_resize_downsample_scales_linear_align_corners", "test_resize_downsample_scales_cubic_align_corners",
)  # fmt: skip
# why a case of a supported operator may be refused: every other reason is a fault of the import
REASONS = re.compile("is in training mode|is computed while the model runs|holds nothing")
EXPANDED = (
    "Celu",
    "CastLike",
    "GroupNormalization",
    "MeanVarianceNormalization",
    "ThresholdedRelu",
    "Shrink",
    "RMSNormalization",
    "RotaryEmbedding",
    "QLinearConv",
    "QLinearMatMul",
    "Upsample",
    "Sum",
    "Mean",
    "Dropout",
    "ReduceLogSumExp",
    "CumProd",
    "EyeLike",
    "Hardmax",
    "LpNormalization",
    "LpPool",
    "OneHot",
    *FUNCTIONS,
    *COMPOSITE,
)


@functools.cache
def cases() -> dict[str, list[Any]]:
    """Cases by the operator of their first node."""
    result = collections.defaultdict(list)
    for case in collect_testcases(None):
        if isinstance(case.model, onnx.ModelProto):
            result[case.model.graph.node[0].op_type].append(case)
    return result


def load(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> Imported:
    """Shape-like operands are graph inputs in these cases: when that is refused, all inputs but the first become constants."""
    try:
        return from_proto(model)
    except EdgecError:
        fixed = onnx.ModelProto()
        fixed.CopyFrom(model)
        fixed.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in list(feeds.items())[1:])
        return from_proto(fixed)


def check(case: Any) -> str:
    """Import, export and run one case; the message, when it is refused."""
    inputs, expected = case.data_sets[0]
    names = [value.name for value in case.model.graph.input]
    feeds = {name: np.asarray(array) for name, array in zip(names, inputs, strict=False)}
    try:
        graph = load(case.model, feeds).graph
    except EdgecError as error:
        return str(error)
    verify(graph)
    verify(loads(dumps(graph)))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(to_onnx(graph, held=True).SerializeToString(), options)
    told = graph.told_shapes()  # which the case does not know
    results = session.run(
        [name for name in graph.outputs if name not in told], {name: array for name, array in feeds.items() if name in graph.inputs}
    )
    for result, wanted in zip(results, expected, strict=False):
        wanted = numpy_helper.to_array(wanted) if isinstance(wanted, onnx.TensorProto) else wanted
        assert (result.shape, result.dtype) == (np.shape(wanted), np.asarray(wanted).dtype), case.name
        loose = result.dtype == np.float16
        np.testing.assert_allclose(
            result.astype(np.float64), np.asarray(wanted, np.float64), rtol=1e-3, atol=2e-3 if loose else 1e-4, err_msg=case.name
        )
    return ""


def is_foreign(case: Any) -> bool:
    """Cases whose inputs are no tensors of numbers: strings, sequences, and casts that are fed as text."""
    kinds = [type(array) for array in case.data_sets[0][0]]
    return any(kind is list for kind in kinds) or any(np.asarray(array).dtype.kind in "OSUV" for array in case.data_sets[0][0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", sorted({*OPERATORS, *EXPANDED} - {"Loop"}))  # whose one case computes how many turns it has
def test_operator(op: str) -> None:
    mine = [case for case in cases()[op] if not case.name.startswith(EXCUSES) and not is_foreign(case)]
    refusals = {case.name: message for case in mine if (message := check(case))}
    assert {name: message for name, message in refusals.items() if not REASONS.search(message)} == {}
    assert len(refusals) < len(mine) or not mine
