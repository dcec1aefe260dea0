"""Single kernel calls as Programs: cases with arrays for pointers, laid out in the three regions that shaders see."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from edgec.ir.types import DType
from edgec.program.expr import const
from edgec.program.program import Buffer, Call, Kind, Pointer, Program, Shading, TemplateCall
from edgec.program.regions import ALIGNMENT, places
from edgec.schedule.core import shaded
from edgec.targets import Target, load_target

_KINDS = {"weights": Kind.CONSTANT, "bias": Kind.CONSTANT, "scale": Kind.CONSTANT}
_DTYPES = {np.dtype(dtype.numpy): dtype for dtype in (DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.INT32)}


@dataclass(frozen=True)
class Layout:
    """One call of a kernel, and the regions' bytes before it."""

    program: Program
    arena: bytes
    weights: bytes

    @property
    def call(self) -> TemplateCall:
        call = self.program.calls[0]
        assert isinstance(call, TemplateCall)
        return call

    def read(self, arena: bytes, name: str, like: np.ndarray) -> np.ndarray:
        """The buffer `name` in the arena's bytes."""
        place = places(self.program)[name]
        return np.frombuffer(arena, like.dtype, like.size, place.offset).reshape(like.shape)


def target_with_gpu(name: str, gpu: str = "vulkan") -> Target:
    return replace(load_target(name), gpu=gpu)


def with_shading(layout: Layout, shading: Shading) -> Layout:
    return replace(layout, program=replace(layout.program, calls=[replace(layout.call, shading=shading)]))


def lay_out(arguments: object, name: str = "kernel") -> Layout:
    """The call of a case: constants in the weights, everything else in the arena, at least 64 bytes of 0xA5 around each."""
    program = Program("test", "test")
    regions = {Kind.ARENA: bytearray(b"\xa5" * ALIGNMENT), Kind.CONSTANT: bytearray(b"\xa5" * ALIGNMENT)}
    values: dict[str, object] = {}  # sizes as lowering gives them: expressions
    for field in fields(arguments):  # type: ignore[arg-type]
        array = getattr(arguments, field.name)
        if field.name == "window":
            values["window"] = replace(array, **{size.name: const(getattr(array, size.name)) for size in fields(array)})
        elif field.name == "residual_pixel_stride":
            values[field.name] = const(array)
        if not isinstance(array, np.ndarray):
            continue
        kind, content = _KINDS.get(field.name, Kind.ARENA), np.ascontiguousarray(array).reshape(-1)
        region = regions[kind]
        data = content if kind is Kind.CONSTANT else None
        program.buffers[field.name] = Buffer(field.name, _DTYPES[content.dtype], const(content.size), kind, data, address=len(region))
        region += content.tobytes() + b"\xa5" * (ALIGNMENT + -content.nbytes % ALIGNMENT)
        values[field.name] = Pointer(field.name, const(0))
    call = Call(name, (), (), tuple(name for name in program.buffers if name != "y"), ("y",), 0)
    program.calls.append(shaded(TemplateCall(call, replace(arguments, **values))))  # type: ignore[type-var]
    program.arena_bytes = len(regions[Kind.ARENA])
    return Layout(program, bytes(regions[Kind.ARENA]), bytes(regions[Kind.CONSTANT]))
