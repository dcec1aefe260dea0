"""What calibration decides, as plain data: with it and the model the quantized graph follows, bit by bit, on any machine."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgec.ir.graph import Graph
from edgec.quant.ranges.parameters import Parameters

VERSION = 1


@dataclass(frozen=True)
class LayerWeights:
    """Decisions for one matrix operator.

    scales: of each output channel (float32); steps: how far each integer weight lies from the nearest one (int8, in the model's layout);
    shift: what the bias gains per output channel (float32; None: nothing).
    """

    scales: np.ndarray
    steps: np.ndarray
    shift: np.ndarray | None


@dataclass(frozen=True)
class Calibration:
    """splits: groups of channels per value; factors: equalization per value and channel; parameters: per value;

    weights: by the matrix operator's output; effort: how much was tried for them; centres: see edgec/quant/channels/centre.py;

    codes_out: see QuantizeOptions; wide: the values that are stored in 16 bits; shaped: the results of products that are not stored, since
    the function behind them is computed of their sums, see edgec/quant/fits/shaped.py; joined: the results of additions that are one
    convolution with the multiplication before them, see edgec/quant/channels/joined.py.
    """

    model: str  # fingerprint of the float graph
    samples: int
    observer: str
    exclude: tuple[str, ...] = ()
    splits: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict)
    factors: Mapping[str, np.ndarray] = field(default_factory=dict)
    parameters: Mapping[str, Parameters] = field(default_factory=dict)
    weights: Mapping[str, LayerWeights] = field(default_factory=dict)
    effort: str = "normal"
    codes_out: bool = False
    wide: tuple[str, ...] = ()
    centres: Mapping[str, np.ndarray] = field(default_factory=dict)
    shaped: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()

    @property
    def stored(self) -> dict[str, Parameters]:
        """How each value is stored."""
        return {value: kept.widened if value in self.wide else kept for value, kept in self.parameters.items()}

    def to_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "model": self.model,
            "samples": self.samples,
            "observer": self.observer,
            **({"effort": self.effort} if self.effort != "normal" else {}),  # left out where nobody chose one
            **({"wide": list(self.wide)} if self.wide else {}),
            **({"shaped": list(self.shaped)} if self.shaped else {}),
            **({"joined": list(self.joined)} if self.joined else {}),
            **({"centres": {value: packed(array) for value, array in self.centres.items()}} if self.centres else {}),
            "exclude": list(self.exclude),
            "codes_out": self.codes_out,
            "splits": {value: [list(group) for group in groups] for value, groups in self.splits.items()},
            "factors": {value: packed(array) for value, array in self.factors.items()},
            "parameters": {value: {"scale": kept.scale, "zero_point": kept.zero_point} for value, kept in self.parameters.items()},
            "weights": {
                output: {
                    "scales": packed(kept.scales),
                    "steps": packed(kept.steps),
                    "shift": None if kept.shift is None else packed(kept.shift),
                }
                for output, kept in self.weights.items()
            },
        }


def fingerprint(graph: Graph) -> str:
    """sha256 over nodes and constants: what a calibration belongs to."""
    digest = hashlib.sha256()
    for node in graph.nodes:
        attributes = sorted((key, _told(value)) for key, value in node.attributes.items())
        digest.update(repr((node.op, node.name, node.inputs, node.outputs, attributes)).encode())
    for name in sorted(graph.constants):
        array = graph.constants[name]
        digest.update(repr((name, array.dtype.name, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _told(value: Any) -> Any:
    """An attribute as plain numbers and text."""
    return [value.inputs, value.outputs, fingerprint(value)] if isinstance(value, Graph) else np.asarray(value).tolist()


def packed(array: np.ndarray) -> str:
    """`dtype shape base64(zlib(little-endian bytes))`; edgec/quant/decisions/calibration_file.py reads it."""
    little = array.astype(array.dtype.newbyteorder("<"))
    text = base64.b64encode(zlib.compress(little.tobytes(), 6)).decode()
    return f"{array.dtype.name} {','.join(map(str, array.shape))} {text}"
