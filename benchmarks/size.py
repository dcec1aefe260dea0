"""How large is what an application carries? `python benchmarks/size.py FOLDER [MODEL ...]`, where FOLDER holds ONNX files.

Builds each model in INT8 as one tree of sources for all phones, links the shared library that needs no other one for each of Android's
ABIs, and prints its bytes, those of the weights, and the rest: code, tables and what loaders read. Exit code 1 when a rest for
arm64-v8a is larger than 250 KB. Calibration data are random, as sizes don't depend on them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

import edgec
from edgec.toolchain.freestanding import find_freestanding, link_freestanding

MODELS = ("mobilenetv2-1.0.onnx", "yolox_nano_416.onnx")
ABIS = ("arm64-v8a", "armeabi-v7a", "x86_64")
MOST = 250_000


def samples(model: Path, folder: Path) -> Path:
    """Two random samples; an extent that is left open is 1."""
    (port,) = onnx.load(model).graph.input
    shape = [extent.dim_value or 1 for extent in port.type.tensor_type.shape.dim]
    path = folder / f"{model.stem}.npz"
    np.savez(path, **{port.name: np.random.default_rng(1).standard_normal((2, *shape[1:])).astype(np.float32)})
    return path


def show(model: Path, folder: Path) -> bool:
    """Prints a row for each ABI; tells whether arm64-v8a keeps to the limit."""
    out = folder / model.stem
    edgec.build(model, target="universal", calib=samples(model, folder), out=out, name="model", compile=False)
    weights = json.loads((out / "manifest.json").read_text())["weights_bytes"]
    rests = {}
    for abi in ABIS:
        size = link_freestanding(out, abi).stat().st_size
        rests[abi] = size - weights
        print(f"| {model.stem} | {abi} | {find_freestanding(abi).origin} | {size:,} | {weights:,} | {rests[abi]:,} |", flush=True)
    return rests["arm64-v8a"] <= MOST


def main() -> int:
    models = [Path(sys.argv[1]) / name for name in sys.argv[2:] or MODELS]
    print("| model | ABI | compiler | library | weights | rest |\n|---|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        kept = [show(model, Path(folder)) for model in models]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
