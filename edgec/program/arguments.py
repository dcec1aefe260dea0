"""What the arguments of all template kernels are made of: the types of their fields, and what every kernel's layout counts in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from edgec.program.expr import Expr

LANES = 16  # output channels of one weight panel, for every vocabulary
PIXEL_BLOCK = 56  # output pixels whose tap pointers a convolution computes at once
CHANNEL_BLOCK = 16  # channels of one weight block of a depthwise kernel


def pointer(c_type: str) -> Any:
    return field(metadata={"c": f"{c_type} *"})


def size() -> Any:
    return field(metadata={"c": "int32_t"})


def real() -> Any:
    return field(metadata={"c": "float"})


Size = Expr | int


@dataclass(frozen=True)
class Window:
    """Geometry of a sliding window over channels-last images; a matrix product is a 1x1 window over rows of pixels."""

    batch: Size = size()
    in_height: Size = size()
    in_width: Size = size()
    in_pixel_stride: Size = size()  # elements from one input pixel to the next
    out_height: Size = size()
    out_width: Size = size()
    out_pixel_stride: Size = size()
    kernel_height: int = size()
    kernel_width: int = size()
    stride_height: int = size()
    stride_width: int = size()
    dilation_height: int = size()
    dilation_width: int = size()
    pad_top: int = size()
    pad_left: int = size()
