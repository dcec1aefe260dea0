"""Fourier transforms: short ones are products with a constant matrix, long ones two shorter ones with a rotation between them.

Signals lie in columns, [parts, length, columns], where a part is the real or the imaginary one; the matrix is the first operand of a
product, which no quantization takes: a spectrum has more range than eight bits.
"""

from __future__ import annotations

from math import isqrt, prod

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ops.rules import axis_of

WORTH = 4  # times as many products as two steps take, that a transform in one step may have


def transform(x: Value, inverse: bool, count: int | None = None) -> Value:
    """Signals [1 or 2, length, columns] -> the first `count` places of their spectra, [2, count, columns]; the inverse is the mean."""
    parts, length, columns = x.shape
    wanted = length if count is None else count
    step = next((n for n in range(isqrt(length), 1, -1) if length % n == 0), 1)
    if 2 * wanted * parts * length <= WORTH * 4 * length * (step + length // step) or step == 1:
        return _in_one(x, inverse, wanted)
    other = length // step
    # place other * i + j of the signal, place p + step * q of the spectrum
    first = _in_one(x.reshaped(parts, step, other * columns), inverse, step).reshaped(2, step, other, columns)
    angles = np.outer(np.arange(step), np.arange(other)) * (2 * np.pi / length)
    turns = np.sin(angles) * (1 if inverse else -1)
    cosines, sines = (x.numbers(array[..., None]) for array in (np.cos(angles), np.stack([-turns, turns])))
    turned = first * cosines + first.taken(np.array([1, 0]), 0) * sines
    second = transform(turned.turned(0, 2, 1, 3).reshaped(2, other, step * columns), inverse)
    return second.reshaped(2, length, columns).cut(1, 0, wanted)


def _in_one(x: Value, inverse: bool, count: int) -> Value:
    parts, length, columns = x.shape
    spend_constant(4 * count * length * 8, x.s.where)
    angles = np.outer(np.arange(count), np.arange(length)) % length * (2 * np.pi / length)
    cosines, sines = np.cos(angles), np.sin(angles) * (1 if inverse else -1)
    matrix = np.block([[cosines, -sines], [sines, cosines]])[:, : parts * length] / (length if inverse else 1)
    y = x.numbers(matrix).of("MatMul", x.reshaped(parts * length, columns))
    return y.reshaped(2, count, columns)


def fitted(x: Value, length: int) -> Value:
    """Signals cut to the length, or with zeros behind them."""
    have = x.shape[1]
    return x.cut(1, 0, length) if have > length else x.padded(1, 0, length - have)


def _one_number(b: Builder, s: Source, index: int, what: str) -> int:
    known = b.known(s, index, what)
    if len(known) != 1:
        raise ModelError(f"{what} is {known}, must be one number")
    return known[0]


@rule("DFT")
def dft(b: Builder, s: Source) -> None:
    """Along one axis; the last axis has the parts. Before opset 20 the axis is an attribute."""
    x = operand(b, s, 0)
    *extents, parts = x.shape
    axis = s.get("axis", 1) if s.version < 20 else _one_number(b, s, 2, "the axis") if s.input(2) else -2
    axis = axis_of(axis, len(extents) + 1)
    if parts not in (1, 2) or axis >= len(extents):
        raise ModelError(f"data {list(x.shape)} has no axis {axis} of numbers with 1 or 2 parts")
    inverse, onesided = bool(s.get("inverse", 0)), bool(s.get("onesided", 0))
    length = _one_number(b, s, 1, "dft_length") if s.input(1) else 0
    length = length if s.input(1) else 2 * (extents[axis] - 1) if inverse and onesided else extents[axis]
    if length < 1 or (onesided and not inverse and parts == 2):
        raise ModelError(f"a {'onesided ' * onesided}transform of length {length} and {parts} parts is not possible")
    front, back = extents[:axis], extents[axis + 1 :]
    signal = x.reshaped(prod(front), extents[axis], prod(back), parts).turned(3, 1, 0, 2)
    signal = signal.reshaped(parts, extents[axis], prod((*front, *back)))
    if inverse and onesided:
        spectrum = _whole(fitted(signal, length // 2 + 1), length)
        y = transform(spectrum, True).cut(0, 0, 1)
    else:
        y = transform(fitted(signal, length), inverse, length // 2 + 1 if onesided else None)
    made = y.shape[:2]
    ordered = y.reshaped(*made, prod(front), prod(back)).turned(2, 1, 3, 0)
    ordered.reshaped(*front, made[1], *back, made[0]).end()


def _whole(half: Value, length: int) -> Value:
    """Both sides of a real signal's spectrum: the upper one mirrors the lower, with imaginary parts of the other sign."""
    if half.shape[0] == 1:
        half = half.joined([half.numbers(np.zeros(half.shape))], 0)
    spend_constant(4 * length * 8, half.s.where)
    places = np.arange(length)
    mirrored = places > length // 2
    signs = np.stack([np.ones(length), np.where(mirrored, -1, 1)])[..., None]
    return half.taken(np.where(mirrored, length - places, places), 1) * half.numbers(signs)


@rule("STFT")
def stft(b: Builder, s: Source) -> None:
    """[batch, length, parts] -> [batch, frames, places, 2]"""
    x, step = operand(b, s, 0), _one_number(b, s, 1, "frame_step")
    x = x if len(x.shape) == 3 else x.spread(2)
    window = Value(b, s, s.inputs[2]) if s.input(2) else None
    given = window.shape[0] if window is not None else x.shape[1]
    length = _one_number(b, s, 3, "frame_length") if s.input(3) else given
    batch, extent, parts = x.shape
    onesided, size = bool(s.get("onesided", 1)), min(given, length) if window is not None else length
    if step < 1 or not 0 < length <= extent or (onesided and parts == 2):
        raise ModelError(f"frames of {length} every {step} of a signal {list(x.shape)} are not possible")
    frames = (extent - length) // step + 1
    spend_constant(size * frames * 8, s.where)
    places = np.arange(size)[:, None] + np.arange(frames) * step
    taken = x.taken(places, 1).turned(3, 1, 0, 2)  # [parts, size, batch, frames]
    if window is not None:
        taken = taken * window.cut(0, 0, size).reshaped(size, 1, 1)
    y = transform(fitted(taken.reshaped(parts, size, batch * frames), length), False, length // 2 + 1 if onesided else None)
    y.reshaped(*y.shape[:2], batch, frames).turned(2, 3, 1, 0).end()
