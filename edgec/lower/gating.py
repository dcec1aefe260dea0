"""Clause 6: products of codes, those of images by one number for each channel by a kernel."""

from __future__ import annotations

from edgec.integer.operators import Multiplication
from edgec.kernels import MultiplyInt8
from edgec.lower.builder import Lowering
from edgec.lower.comment import quantization, tensor
from edgec.lower.convolution import labelled
from edgec.lower.placed import placed_operand, placed_result
from edgec.lower.quantized import codes_of, ending, finish, multiply, params_of
from edgec.lower.values import Extents, fixed, is_one
from edgec.program.expr import Const, product


def multiply_codes(lowering: Lowering, operator: Multiplication) -> None:
    """Clause 6."""
    shapes = [codes_of(lowering, operand).shape for operand in operator.operands]
    whole = lowering.shape(operator.node.outputs[0])
    for image, gate in ((0, 1), (1, 0)):
        if shapes[image] == whole and _is_gate(shapes[gate], whole) and not lowering.target.gpu:
            _gated(lowering, operator, image, gate)
            return
    multiply(lowering, operator)


def _is_gate(shape: Extents, whole: Extents) -> bool:
    """Whether it has a number for each channel of every image of `whole`, which have several pixels."""
    if len(whole) < 3 or len(shape) != len(whole) or not isinstance(whole[1], Const) or is_one(whole[1]):
        return False
    return shape[:2] == whole[:2] and all(map(is_one, shape[2:])) and not all(map(is_one, whole[2:]))


def _gated(lowering: Lowering, operator: Multiplication, image: int, gate: int) -> None:
    codes = [codes_of(lowering, operand) for operand in operator.operands]
    names = [operand.name for operand in operator.operands]
    shape, end = codes[image].shape, ending(lowering, operator.end)
    x, source = placed_operand(lowering, names[image], codes[image])
    by, gates = placed_operand(lowering, names[gate], codes[gate])
    y, target = placed_result(lowering, operator.end.name, lowering.activation, shape)
    p, q = (params_of(lowering, operator.operands[place].grid) for place in (image, gate))
    arguments = MultiplyInt8(
        source.view.pointer, gates.view.pointer, target.view.pointer, shape[0], product(shape[2:]), fixed(shape[1]),
        source.stride, gates.stride, target.stride, p.zero, q.zero, end.params.zero, end.low, end.high, float(operator.multiplier),
    )  # fmt: skip
    line = f"{quantization('x', float(p.scale), p.zero)}   {quantization('y', float(end.params.scale), end.params.zero)}"
    about = f"{tensor(x.dtype, x.shape)} * {tensor(by.dtype, by.shape)}"
    lowering.template(arguments, operator.end.name, labelled(y, operator.nodes), 0, about, (line,))
    finish(lowering, operator.end, y)
