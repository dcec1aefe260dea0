"""How a package shows a tensor of the model: in the model's own type and layout, as 8-bit codes, or with its channels last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Face:
    """One input or output. Codes q stand for (q - zero_point) * scale where the package's element type is not the model's."""

    name: str
    dtype: np.dtype[Any]
    scale: float | None = None
    zero_point: int = 0
    channels_last: bool = False

    def of_model(self, array: np.ndarray) -> np.ndarray:
        """A tensor of the model as the package takes or gives it; codes by clause 2 of docs/int8.md."""
        if self.channels_last and array.ndim == 4:
            array = array.transpose(0, 2, 3, 1)
        if array.dtype != self.dtype and self.scale is not None:
            limits = np.iinfo(self.dtype)
            with np.errstate(over="ignore"):  # what overflows saturates
                steps = np.rint(np.nan_to_num(array, nan=0.0, posinf=np.inf, neginf=-np.inf) * (np.float32(1) / np.float32(self.scale)))
            array = np.clip(steps, limits.min - self.zero_point, limits.max - self.zero_point) + self.zero_point
        return _of_type(array, self.dtype)

    def to_model(self, array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
        """A tensor of the package as the model's own, of element type `dtype`; codes by clause 3 of docs/int8.md."""
        if array.dtype != dtype and self.scale is not None:
            array = (array.astype(np.int32) - self.zero_point).astype(np.float32) * np.float32(self.scale)
        if self.channels_last and array.ndim == 4:
            array = array.transpose(0, 3, 1, 2)
        return _of_type(array, dtype)


def _of_type(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """What a smaller type of floats cannot hold is infinite there."""
    with np.errstate(over="ignore"):
        return np.asarray(array, dtype, order="C")
