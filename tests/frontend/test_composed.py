"""Operators that the import writes as a few others, where ONNX's own cases are of types that no package has, or say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.base.errors import ModelError
from edgec.export import to_onnx
from edgec.frontend import from_proto

from .models import model, node, run, same_results


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("extent", [1, 2, 5, 8])
def test_running_sums(extent: int, exclusive: int, reverse: int) -> None:
    call = node("CumSum", "x axis", "y", exclusive=exclusive, reverse=reverse)
    same_results(model([call], {"x": [2, extent, 3]}, ["y"], {"axis": np.array(1)}))


def test_an_infinity_reaches_only_what_follows_it() -> None:
    proto = model([node("CumSum", "x axis", "y")], {"x": [4]}, ["y"], {"axis": np.array(0)})
    x = np.array([1, 2, np.inf, 3], np.float32)
    assert run(to_onnx(from_proto(proto).graph), {"x": x})[0].tolist() == [1, 3, np.inf, np.inf]


def test_an_axis_that_is_computed_is_refused() -> None:
    with pytest.raises(ModelError, match="the axis is computed while the model runs"):
        from_proto(model([node("Cast", "a", "axis", to=7), node("CumSum", "x axis", "y")], {"x": [4], "a": [1]}, ["y"]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_hardmax_before_opset_13_takes_all_axes_from_its_own_on(axis: int) -> None:
    same_results(model([node("Hardmax", "x", "y", axis=axis)], {"x": [2, 3, 4]}, ["y"], opset=12))


@pytest.mark.parametrize("p", [1, 2])
def test_norms(p: int) -> None:
    nodes = [node("LpNormalization", "x", "a", axis=1, p=p), node("GlobalLpPool", "a", "b", p=3), node("Add", "a b", "y")]
    same_results(model(nodes, {"x": [2, 3, 4, 5]}, ["y"]))


@pytest.mark.parametrize("p", [1, 2, 3])
def test_lp_pool(p: int) -> None:
    call = node("LpPool", "x", "y", p=p, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    same_results(model([call], {"x": [1, 2, 7, 6]}, ["y"]))
    same_results(model([node("LpPool", "x", "y", kernel_shape=[3], strides=[2], ceil_mode=1, p=p)], {"x": [1, 2, 8]}, ["y"], opset=18))


def test_one_hot_of_floats() -> None:
    constants = {"depth": np.array([5], np.float32), "values": np.array([-1, 2], np.float32)}
    same_results(model([node("Round", "x", "i"), node("OneHot", "i depth values", "y", axis=1)], {"x": [3, 4]}, ["y"], constants))


def test_the_identity_is_of_a_matrix() -> None:
    same_results(model([node("EyeLike", "x", "e", k=-1), node("Add", "x e", "y")], {"x": [3, 4]}, ["y"]))
    with pytest.raises(ModelError, match="needs a matrix, has 3 axes"):
        from_proto(model([node("EyeLike", "x", "y")], {"x": [3, 4, 5]}, ["y"]))
