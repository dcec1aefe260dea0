"""A model in WebAssembly beside the same model in native C, on this machine: sizes, equal answers, latencies.

    python benchmarks/web.py FOLDER [--rounds 5] [--seconds 2]

FOLDER has mobilenetv2-1.0.onnx and yolox_nano_416.onnx, with imagenet_calib.npz for the first one. Both are built in INT8 for this
machine and for `wasm`; every vocabulary answers the same pictures and the bytes are compared. Native runs and runs in Node, on one thread
and on two, take turns; of each the fastest run counts, which other work on the machine disturbs the least. Exit code 1 when bytes differ.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

import edgec
from edgec.package import Package

MODELS = ("mobilenetv2-1.0", "yolox_nano_416")
HEAD = f"{'model':<18}{'vocabulary':<12}{'threads':>8}{'best ms':>9}{'median ms':>11}{'/ wasm128':>11}   answers"
SAMPLES = 16


def samples(model: Path, folder: Path) -> dict[str, np.ndarray]:
    """Calibration data: pictures where there are some, noise in the range of pixels elsewhere."""
    port = onnx.load(model, load_external_data=False).graph.input[0]
    shape = [extent.dim_value or 1 for extent in port.type.tensor_type.shape.dim]
    file = folder / "imagenet_calib.npz"
    if shape[2:] == [224, 224] and file.exists():
        pixels = np.load(file)["x"][:SAMPLES] / 255
        return {port.name: ((pixels - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).astype(np.float32).transpose(0, 3, 1, 2)}
    return {port.name: np.random.default_rng(0).uniform(0, 255, (4, *shape[1:])).astype(np.float32)}


def answers(package: Package, isa: str, threads: int, data: dict[str, np.ndarray]) -> bytes:
    """Of two pictures."""
    with package.load(isa=isa, threads=threads) as run:
        return b"".join(
            output.tobytes() for place in (0, 1) for output in run({name: array[place : place + 1] for name, array in data.items()})
        )


def compare(model: Path, folder: Path, scratch: Path, rounds: int, seconds: float) -> bool:
    """Print a model's lines; whether all answers are the same bytes."""
    data = samples(model, folder)
    np.savez(scratch / "calib.npz", **data)
    shape = {name: (1, *array.shape[1:]) for name, array in data.items()}
    packages = {
        target: edgec.build(model, target=target, calib=scratch / "calib.npz", shape=shape, out=scratch / f"{model.stem}-{target}")
        for target in ("host", "wasm")
    }
    native = [isa for isa in packages["host"].manifest.vocabularies if isa in ("sse41", "avx2", "neon", "dotprod")]
    *others, best_isa = packages["wasm"].isas()
    ways = [("wasm", best_isa, 1), ("wasm", best_isa, 2), *(("wasm", isa, 1) for isa in others), *(("host", isa, 1) for isa in native)]
    times: dict[tuple[str, str, int], list[dict[str, float]]] = {way: [] for way in ways}
    for _ in range(rounds):
        for target, isa, threads in ways:
            times[target, isa, threads].append(packages[target].benchmark(seconds / rounds, isa=isa, threads=threads))
    expected, same = answers(packages["host"], native[0], 1, data), True
    best = {way: min(time["min_us"] for time in found) for way, found in times.items()}
    for (target, isa, threads), found in times.items():
        alike = answers(packages[target], isa, threads, data) == expected
        median = float(np.median([time["p50_us"] for time in found]))
        fastest = best[target, isa, threads]
        ratio = fastest / best["wasm", "wasm128", 1]
        words = f"{threads:>8}{fastest / 1e3:>9.2f}{median / 1e3:>11.2f}{ratio:>11.2f}   {'the same bytes' if alike else 'OTHER BYTES'}"
        print(f"{model.stem:<18}{isa:<12}{words}", flush=True)
        same = same and alike
    for path in sorted((packages["wasm"].directory / "web").glob("*.wasm")):
        content = path.read_bytes()
        print(f"{model.stem:<18}{path.name}: {len(content):,} bytes, {len(gzip.compress(content)):,} with gzip")
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each way, over all rounds")
    given = parser.parse_args()
    print(HEAD)
    with tempfile.TemporaryDirectory(prefix="edgec-web-") as scratch:
        models = [given.folder / f"{stem}.onnx" for stem in MODELS]
        same = [compare(model, given.folder, Path(scratch), given.rounds, given.seconds) for model in models]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
