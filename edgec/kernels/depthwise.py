"""What the depthwise kernels share: one filter per channel, in blocks of 16 channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgec.kernels.variants import Packing
from edgec.kernels.windows import taps, window_reach
from edgec.program.arguments import CHANNEL_BLOCK
from edgec.program.expr import Number


def channel_blocks(channels: int) -> int:
    """Channels rounded up to whole blocks."""
    return -(-channels // CHANNEL_BLOCK) * CHANNEL_BLOCK


def depthwise_reach(arguments: Any, scaled: bool) -> dict[str, Number]:
    lanes = channel_blocks(arguments.channels)
    sizes: dict[str, Number] = {"weights": lanes * taps(arguments.window), "bias": lanes, **({"scale": lanes} if scaled else {})}
    return window_reach(arguments.window, arguments.channels, arguments.channels) | sizes


def pack_depthwise(weights: np.ndarray) -> np.ndarray:
    """[channel][1][tap][1] -> [tap][channels rounded up to 16]."""
    channels, _, window, _ = weights.shape
    padded = np.zeros((window, channel_blocks(channels)), weights.dtype)
    padded[:, :channels] = weights[:, 0, :, 0].T
    return padded.reshape(-1)


def pack_channels(values: np.ndarray) -> np.ndarray:
    """[channel] -> [channels rounded up to 16], zero padded."""
    padded = np.zeros(channel_blocks(values.size), values.dtype)
    padded[: values.size] = values.reshape(-1)
    return padded


def _by_blocks(arguments: Any, plain: np.ndarray, _: int) -> np.ndarray:
    """Of one array or of several behind one another."""
    return np.concatenate([pack_channels(values) for values in plain.reshape(-1, arguments.channels)])


FLOATS = Packing(
    "blocks of 16",
    {"weights": lambda arguments, plain, _: pack_depthwise(plain.reshape(arguments.channels, 1, -1, 1)), "bias": _by_blocks},
)
CODES = Packing(FLOATS.name, {**FLOATS.pack, "scale": _by_blocks})
