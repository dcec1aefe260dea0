"""What the arguments of all template kernels are made of: the types of their fields, and what every kernel's layout counts in.

The kernels themselves are in edgec/kernels. The metadata key `c` is the field's C type; `activation` stands for the target's 8-bit
activation type (uint8_t or int8_t), a size is int32_t, a real is float, and what the compiler alone knows has none. All tensors are
channels-last; a "pixel" is one position (batch, y, x), and consecutive pixels lie `*_pixel_stride` elements apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar

from edgec.program.expr import Expr, Number

LANES = 16  # output channels of one weight panel, for every vocabulary
PIXEL_BLOCK = 56  # output pixels whose tap pointers a convolution computes at once
CHANNEL_BLOCK = 16  # channels of one weight block of a depthwise kernel


def pointer(c_type: str) -> Any:
    return field(metadata={"c": f"{c_type} *"})


def size(default: Any = MISSING) -> Any:
    return field(default=default, metadata={"c": "int32_t"})


def real() -> Any:
    return field(metadata={"c": "float"})


def known() -> Any:
    """Of what a compiler knows of a layer and its kernel need not: no member of the C struct."""
    return field(metadata={"c": ""})


def in_struct(kind: Any) -> Iterator[Field[Any]]:
    """The fields of arguments, or of their class, that are members of the C struct, in order."""
    return (member for member in fields(kind) if member.metadata.get("c") != "")


def is_pointer(member: Field[Any]) -> bool:
    """Whether a kernel's argument says where data lies, which every run decides anew, and not what the layer is."""
    return str(member.metadata.get("c", "")).endswith("*")


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


@dataclass(frozen=True)
class Arguments(ABC):
    """What a template kernel is called with. Each kernel's is a frozen dataclass, and a C struct of the same field names."""

    kernel: ClassVar[str]  # its name in C
    template: ClassVar[str]  # what it is written in: KERNEL/VARIANT of templates/c/KERNEL/VARIANT.c.j2
    effort: ClassVar[int] = 0  # of a multiply-accumulate, or where it has none of an element that it reads; 0: as program/effort.py has it

    @abstractmethod
    def reach(self) -> dict[str, Number]:
        """How many elements from its pointer on the kernel may touch, by argument."""

    def in_place(self) -> tuple[str, ...]:
        """The buffers whose memory y may take: each element of them is read where y has its own, before that is written."""
        return ()

    def reads_past(self, size_of: Callable[[str], int]) -> bool:
        """Whether it reads a few bytes past x, which only the arena tolerates. size_of: the bytes of a buffer."""
        return False
