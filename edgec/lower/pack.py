"""Weights in the order that the kernels of program/kernels.py read them. Canonical form: [group][out channel][tap][in channel]."""

from __future__ import annotations

import numpy as np

from edgec.program.arguments import CHANNEL_BLOCK, LANES


def round_up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def pack_float(weights: np.ndarray) -> np.ndarray:
    """[group][panel][tap][in][16] float32, missing output channels zero."""
    groups, outputs, taps, inputs = weights.shape
    padded = np.zeros((groups, round_up(outputs, LANES), taps, inputs), np.float32)
    padded[:, :outputs] = weights
    return np.ascontiguousarray(padded.reshape(groups, -1, LANES, taps, inputs).transpose(0, 1, 3, 4, 2)).reshape(-1)


def pack_int8(weights: np.ndarray, k_multiple: int) -> np.ndarray:
    """[group][panel][tap][in / 4][16][4] int8, in channels padded to k_multiple with zeros."""
    groups, outputs, taps, inputs = weights.shape
    padded = np.zeros((groups, round_up(outputs, LANES), taps, round_up(inputs, k_multiple)), np.int8)
    padded[:, :outputs, :, :inputs] = weights
    blocks = padded.reshape(groups, -1, LANES, taps, padded.shape[3] // 4, 4)
    return np.ascontiguousarray(blocks.transpose(0, 1, 3, 4, 2, 5)).reshape(-1)


def pack_pairs(weights: np.ndarray) -> np.ndarray:
    """[group][panel][tap][in / 2][16][2] int8, an odd last input's pair filled with zero."""
    groups, outputs, taps, inputs = weights.shape
    padded = np.zeros((groups, round_up(outputs, LANES), taps, round_up(inputs, 2)), np.int8)
    padded[:, :outputs, :, :inputs] = weights
    return np.ascontiguousarray(padded.reshape(groups, -1, LANES, taps, padded.shape[3] // 2, 2).transpose(0, 1, 3, 4, 2, 5)).reshape(-1)


def pack_codes8(codes: np.ndarray) -> np.ndarray:
    """[out channel][in] -> [panel][in][16] int8."""
    outputs, inputs = codes.shape
    padded = np.zeros((round_up(outputs, LANES), inputs), np.int8)
    padded[:outputs] = codes
    return np.ascontiguousarray(padded.reshape(-1, LANES, inputs).transpose(0, 2, 1)).reshape(-1)


def pack_codes4(codes: np.ndarray, group: int) -> np.ndarray:
    """[out channel][in], from -8 to 7 -> [panel][pairs of inputs][16] bytes, the first of a pair low; pairs do not span groups."""
    panels = pack_codes8(codes).reshape(-1, codes.shape[1], LANES)
    parts = []
    for start in range(0, codes.shape[1], group):
        part = panels[:, start : start + group]
        even = np.pad(part, ((0, 0), (0, part.shape[1] % 2), (0, 0))).view(np.uint8)
        parts.append(even[:, 0::2] & 15 | even[:, 1::2] << 4)
    return np.ascontiguousarray(np.concatenate(parts, 1)).view(np.int8).reshape(-1)


def pack_groups(values: np.ndarray) -> np.ndarray:
    """[out channel][group] -> [panel][group][16] float32, zero padded; for scales and offsets of codes."""
    outputs, groups = values.shape
    padded = np.zeros((round_up(outputs, LANES), groups), np.float32)
    padded[:outputs] = values
    return np.ascontiguousarray(padded.reshape(-1, LANES, groups).transpose(0, 2, 1)).reshape(-1)


def pack_any(weights: np.ndarray) -> np.ndarray:
    """[out channel of all groups][tap][in] int16."""
    return np.ascontiguousarray(weights, dtype=np.int16).reshape(-1)


def pack_panels(values: np.ndarray) -> np.ndarray:
    """[group][out channel] -> [group][panels * 16], zero padded; for biases and scales."""
    groups, outputs = values.shape
    padded = np.zeros((groups, round_up(outputs, LANES)), values.dtype)
    padded[:, :outputs] = values
    return padded.reshape(-1)


def pack_depthwise(weights: np.ndarray) -> np.ndarray:
    """[channel][1][tap][1] -> [tap][channels rounded up to 16]."""
    channels, _, taps, _ = weights.shape
    padded = np.zeros((taps, round_up(channels, CHANNEL_BLOCK)), weights.dtype)
    padded[:, :channels] = weights[:, 0, :, 0].T
    return padded.reshape(-1)


def pack_channels(values: np.ndarray) -> np.ndarray:
    """[channel] -> [channels rounded up to 16], zero padded."""
    padded = np.zeros(round_up(values.size, CHANNEL_BLOCK), values.dtype)
    padded[: values.size] = values.reshape(-1)
    return padded
