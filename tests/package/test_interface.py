"""Tensors as a package shows them, where its type is narrower than the model's."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.package.interface import Face


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_half_precision_cannot_hold_is_infinite() -> None:
    face = Face("x", np.dtype(np.float16))
    shown = face.of_model(np.array([1e28, -1e28, 0.5], np.float32))
    assert shown.dtype == np.float16 and shown.tolist() == [np.inf, -np.inf, 0.5]
    assert face.to_model(np.array([1e28], np.float64), np.dtype(np.float32)).tolist() == [np.float32(1e28)]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_codes_cannot_hold_saturates() -> None:
    face = Face("x", np.dtype(np.uint8), np.float32(1e-30).item(), 7)
    assert face.of_model(np.array([3e38, -3e38, np.nan, 1e-30], np.float32)).tolist() == [255, 0, 7, 8]
