"""Dense layers with few rows: latency and bytes of packages in float32, with weights of 8 and 4 bits, and in int8, interleaved.

    python benchmarks/weight_only.py [--model mlp encoder] [--rounds 7] [--seconds 0.5] [--isa avx2] [--threads 1] [--out FOLDER]

`mlp` is two layers of 4096 x 4096, `encoder` six layers of a transformer of width 768 with one token. Each round measures every package
once, one after the other; a package's latency is that of its quickest run in all rounds, since the median of a busy machine is its
scheduler's. SQNR is against ONNX Runtime on the float model, over ten inputs. --json FILE keeps the table.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import onnx
from drafts import Draft

import edgec
from edgec.package import Package

KINDS: dict[str, dict[str, object]] = {
    "float32": {"precision": "fp32"},
    "weights of 8 bits": {"precision": "fp32", "weight_bits": 8},
    "weights of 4 bits": {"precision": "fp32", "weight_bits": 4},
    "int8": {"precision": "int8"},
}
SAMPLES = 16


def mlp() -> onnx.ModelProto:
    draft = Draft()
    draft.dense(draft.add("Relu", draft.dense("x", 4096, 4096)), 4096, 4096)
    return draft.model([1, 4096], [1, 4096])


def encoder() -> onnx.ModelProto:
    """With one token attention gives its value: the products are what is left."""
    draft, value = Draft(), "x"
    for _ in range(6):
        attended = draft.dense(draft.dense(draft.normalized(value, 768), 768, 768), 768, 768)
        value = draft.add("Add", value, attended)
        hidden = draft.add("Gelu", draft.dense(draft.normalized(value, 768), 768, 3072))
        value = draft.add("Add", value, draft.dense(hidden, 3072, 768))
    draft.normalized(value, 768)
    return draft.model([1, 768], [1, 768])


MODELS = {"mlp": mlp, "encoder": encoder}


def packages(name: str, folder: Path) -> dict[str, Package]:
    file, found = folder / f"{name}.onnx", {}
    proto = MODELS[name]()
    onnx.save(proto, file)
    width = proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value
    samples = {"x": np.random.default_rng(1).standard_normal((SAMPLES, width)).astype(np.float32)}
    for kind, settings in KINDS.items():
        place = folder / f"{name}-{kind.replace(' ', '-')}"
        given = {"calib": samples} if settings["precision"] == "int8" or "weight_bits" in settings else {}
        found[kind] = edgec.build(file, out=place, force=True, **settings, **given)  # type: ignore[arg-type]
    return found


def measure(found: dict[str, Package], options: argparse.Namespace) -> dict[str, list[float]]:
    """Of each round the microseconds of the quickest run, by kind."""
    times: dict[str, list[float]] = {kind: [] for kind in found}
    for _ in range(options.rounds):
        for kind, package in found.items():
            times[kind].append(package.benchmark(options.seconds, isa=options.isa, threads=options.threads)["min_us"])
    return times


def rows(name: str, found: dict[str, Package], times: dict[str, list[float]]) -> list[dict[str, object]]:
    base = min(times["float32"])
    return [
        {
            "model": name, "package": kind, "weights_bytes": package.manifest.weights.bytes, "us": min(times[kind]),
            "ratio": min(times[kind]) / base,
            "sqnr_db": min(package.manifest.sqnr_db.values(), default=None),
        }
        for kind, package in found.items()
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--isa")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    table = []
    with tempfile.TemporaryDirectory(prefix="edgec-weight-only-") as temporary:
        folder = options.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.model:
            found = packages(name, folder)
            table += rows(name, found, measure(found, options))
    print("| model | package | weights | latency | of float32's | SQNR |\n|---|---|---|---|---|---|")
    for row in table:
        sqnr = "" if row["sqnr_db"] is None else f"{row['sqnr_db']:.1f} dB"
        size, time = f"{row['weights_bytes'] / 2**20:.1f} MiB", f"{row['us'] / 1000:.2f} ms"  # type: ignore[operator]
        print(f"| {row['model']} | {row['package']} | {size} | {time} | {row['ratio']:.2f} | {sqnr} |")
    if options.json:
        options.json.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
