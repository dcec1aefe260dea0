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
    "block_size": 0, "hidden_size": 1, "clip": 0,
}  # fmt: skip
FLAGS = frozenset({
    "keepdims", "transA", "transB", "allowzero", "ceil_mode", "count_include_pad", "upper", "fmod", "exclusive", "reverse",
    "select_last_index", "largest", "sorted", "detect_negative", "detect_positive", "antialias", "exclude_outside",
    "noop_with_empty_axes", "storage_order", "training_mode", "saturate", "is_causal",
    "layout", "linear_before_reset", "input_forget",
})  # fmt: skip
CHOICES: dict[str, tuple[str, ...]] = {
    "reduction": ("none", "add", "mul", "min", "max"), "approximate": ("none", "tanh"), "direction": ("LEFT", "RIGHT"),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "coordinate_transformation_mode": (
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
    ),
}  # fmt: skip
UNBOUNDED = ("start", "end")  # of Shape: cut to the rank, whatever they are
# of one operator alone
OWN_CHOICES: dict[tuple[str, str], tuple[str, ...]] = {
    ("Pad", "mode"): ("constant", "reflect", "edge", "wrap"), ("Resize", "mode"): ("nearest", "linear", "cubic"),
    ("DepthToSpace", "mode"): ("DCR", "CRD"), **dict.fromkeys(((op, "direction") for op in ("RNN", "GRU", "LSTM")), ("forward", "reverse")),
}  # fmt: skip

# Operands whose elements are places on an axis: where they are computed while a model runs, one out of range ends the run.
CHECKED: dict[str, int] = {"Gather": 1, "ScatterND": 1}


def check_flags(attributes: Mapping[str, Any]) -> None:
    """ModelError for a flag, of any operator, that is neither 0 nor 1: engines read it differently."""
    wrong = [name for name, value in attributes.items() if name in FLAGS and value not in (0, 1)]
    if wrong:
        raise refuse(f"{wrong[0]} is {attributes[wrong[0]]}", "it may be 0 or 1")


def check_attributes(op: str, attributes: Mapping[str, Any]) -> None:
    """ModelError for a value that no canonical node of this operator can have."""
    check_flags(attributes)
    for name, value in attributes.items():
        choices = OWN_CHOICES.get((op, name), CHOICES.get(name, ()))
        if choices and value not in choices:
            raise refuse(f"{name} is {_shown(value)}", f"it may be {', '.join(choices)}")
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
