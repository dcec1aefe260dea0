"""Which values the attributes of a canonical node may have. Checked once, when a node is imported; everything behind relies on it.

One table for all operators, because an attribute of one name means the same everywhere: what is not in it may be any number that is
finite, or fits into 32 bits. Ranks and extents are the business of the shape rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from edgec.ops.rules import refuse

LARGEST = 2**31 - 1  # C indices are int32_t

LEAST: dict[str, float] = {
    "group": 1, "kernel_shape": 1, "strides": 1, "dilations": 1, "pads": 0, "output_padding": 0, "blocksize": 1, "size": 1, "epsilon": 0,
}  # fmt: skip
CHOICES: dict[str, tuple[object, ...]] = {
    "keepdims": (0, 1), "transA": (0, 1), "transB": (0, 1), "allowzero": (0, 1), "ceil_mode": (0, 1), "count_include_pad": (0, 1),
    "upper": (0, 1), "fmod": (0, 1), "exclusive": (0, 1), "reverse": (0, 1), "select_last_index": (0, 1), "largest": (0, 1),
    "sorted": (0, 1), "detect_negative": (0, 1), "detect_positive": (0, 1), "antialias": (0, 1), "exclude_outside": (0, 1),
    "approximate": ("none", "tanh"), "direction": ("LEFT", "RIGHT"),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "coordinate_transformation_mode": (
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
    ),
}  # fmt: skip
UNBOUNDED = ("start", "end")  # of Shape: cut to the rank, whatever they are
MODES: dict[str, tuple[str, ...]] = {
    "Pad": ("constant", "reflect", "edge", "wrap"), "Resize": ("nearest", "linear", "cubic"), "DepthToSpace": ("DCR", "CRD"),
}  # fmt: skip


def check_attributes(op: str, attributes: Mapping[str, Any]) -> None:
    """ModelError for a value that no node of this operator can have."""
    for name, value in attributes.items():
        choices = MODES.get(op, ()) if name == "mode" else CHOICES.get(name, ())
        if choices and value not in choices:
            raise refuse(f"{name} is {_shown(value)}", f"it may be {', '.join(map(str, choices))}")
        if name in UNBOUNDED:
            continue
        for item in value if isinstance(value, list) else [value]:
            _check_number(name, item)


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise refuse(f"{name} is {value}", "it must be a finite number")
    if isinstance(value, int) and not -LARGEST <= value <= LARGEST:
        raise refuse(f"{name} is {value}", "it must fit into 32 bits")
    if isinstance(value, (int, float)) and value < LEAST.get(name, -math.inf):
        raise refuse(f"{name} is {value}", f"it must be at least {LEAST[name]}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:60]}..."
