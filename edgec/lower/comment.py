"""The comment above a kernel call: operators, ONNX node, types and work, as a reader of the emitted C sees them."""

from __future__ import annotations

from collections.abc import Sequence

from edgec.ir.types import DType
from edgec.lower.values import Value
from edgec.program.expr import Const, Expr, Size

_SHORT = {
    DType.FLOAT32: "f32", DType.FLOAT64: "f64", DType.FLOAT16: "f16", DType.BFLOAT16: "bf16",
    DType.INT8: "s8", DType.UINT8: "u8", DType.INT16: "s16",
    DType.UINT16: "u16", DType.INT32: "s32", DType.UINT32: "u32", DType.INT64: "s64", DType.UINT64: "u64", DType.BOOL: "bool",
}  # fmt: skip


def describe(serial: int, about: Value, macs: int, operands: str = "") -> str:
    """`%12 = Conv+Relu  ONNX "/features/1/conv"  u8[1,16,112,112] * s8[96,1,1,16] -> u8[1,96,112,112]  1.2 M MAC`"""
    ops = "+".join(about.ops) or "copy"
    names = ", ".join(f'"{name}"' for name in about.nodes if name)
    source = f"  ONNX {names}" if names else ""
    work = f"  {amount(macs)} MAC" if macs else ""
    return f"%{serial} = {ops}{source}  {f'{operands} ' if operands else ''}-> {tensor(about.dtype, about.shape)}{work}"


def tensor(dtype: DType, shape: Sequence[Expr]) -> str:
    return f"{_SHORT[dtype]}[{','.join(map(_extent, shape))}]"


def _extent(size: Expr) -> str:
    if isinstance(size, Const):
        return str(size.value)
    return size.name if isinstance(size, Size) else "?"


def amount(count: int) -> str:
    """1234567 -> `1.2 M`"""
    for unit, name in ((10**9, " G"), (10**6, " M"), (10**3, " k")):
        if count >= unit:
            return f"{count / unit:.1f}{name}"
    return str(count)


def quantization(name: str, scale: float, zero: int) -> str:
    return f"{name}: scale {scale:.6g} zero {zero}"
