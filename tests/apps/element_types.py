"""A model of halves, bfloats, doubles, an output of which only a run knows the size and a state: its package, built once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import parser

from tests.apps import wheels
from tests.conftest import once

FIRST = 3
MODEL = """<ir_version: 10, opset_import: ["": 21]>
mixed (float16[2,3] half, bfloat16[4] bfloat, double[3] wide, int64[1] before) => (halves, bfloats, wides, places, turn, after)
<int64[1] one = {1}> {
  halves = Mul(half, half) bfloats = Mul(bfloat, bfloat) wides = Mul(wide, wide) places = NonZero(half)
  turn = Add(before, one) after = Mul(turn, one)
}"""
STATE = {"before": ["after", FIRST - 1]}  # so many turns were before the first
# With numbers whose squares round, tie, vanish among the subnormal ones, and are infinite
INPUTS: dict[str, np.ndarray] = {
    "half": np.array([[1.001, -2.5, 0], [300, 6e-4, -0.333]], np.float16),
    "bfloat": np.array([1.0078125, -3.140625, 1e20, 0.1], ml_dtypes.bfloat16),
    "wide": np.array([0.1, -3, 1e30], np.float64),
}
OUTPUTS: dict[str, Any] = {
    "halves": np.float16, "bfloats": ml_dtypes.bfloat16, "wides": np.float64, "places": np.int64, "places_shape": np.int64,
    "turn": np.int64,
}  # fmt: skip


def squared(array: np.ndarray) -> np.ndarray:
    """In float32, which is rounded once to the array's own type."""
    with np.errstate(over="ignore"):
        return (array.astype(np.float32) ** 2).astype(array.dtype)


def expected() -> dict[str, np.ndarray]:
    places = np.array(np.nonzero(INPUTS["half"]))
    whole = np.zeros(12, np.int64)
    whole[: places.size] = places.reshape(-1)
    squares = zip(("halves", "bfloats", "wides"), map(squared, INPUTS.values()), strict=True)
    return {**dict(squares), "places": whole.reshape(2, 6), "places_shape": np.array(places.shape), "turn": np.array([FIRST])}


def check(found: Mapping[str, np.ndarray]) -> None:
    for name, right in expected().items():
        assert found[name].dtype == right.dtype and found[name].tobytes() == right.tobytes(), name


def model(folder: Path) -> Path:
    onnx.save(parser.parse_model(MODEL), folder / "mixed.onnx")
    return folder / "mixed.onnx"


def packaged(shared: Path) -> Path:
    """In C as one source, and as a wheel."""

    def build(folder: Path) -> None:
        wheels.built(model(folder), folder / "mixed", precision="fp32", state=STATE, single_file=True)

    return once(shared / "mixed", build) / "mixed"


def answers(package: Path) -> list[bytes]:
    """What the exam expects of its first vector, one output behind the other."""
    folder = package / "python/mixed"
    data, (first, *_) = (folder / "exam.bin").read_bytes(), json.loads((folder / "exam.json").read_text())["vectors"]
    sizes = (right.nbytes for right in expected().values())
    found = [data[item["offset"] :][:size] for item, size in zip(first["outputs"], sizes, strict=True) if "offset" in item]
    half = np.frombuffer(data, np.float16, 6, first["inputs"][0]).reshape(2, 3)
    assert half.all()
    return [*found, np.array(np.nonzero(half)).tobytes(), np.array([2, 6]).tobytes(), np.array([FIRST]).tobytes()]


# Where from an answer's end a byte is, and what of it becomes another
FAR = ((1, 0x40),) * len(OUTPUTS)
NEAR = ((2, 1), (2, 1), (3, 0x10))  # the next half and the next bfloat; and 1/256 of a double, which float32 does not make


def spoil(path: Path, spoiled: list[bytes], flips: Sequence[tuple[int, int]] = FAR) -> None:
    """Another last number in each of these answers, which the file holds in this order."""
    data, place = bytearray(path.read_bytes()), 0
    for answer, (byte, bits) in zip(spoiled, flips, strict=False):
        place = data.index(answer, place) + len(answer)
        data[place - byte] ^= bits
    path.write_bytes(data)
