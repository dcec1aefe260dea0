"""A vision transformer of 197 tokens, width 192 and 3 heads: int8 with attention and normalizations in integers or float, interleaved.

    python benchmarks/attention.py [--blocks 4] [--rounds 5] [--seconds 1] [--isa avx2] [--threads 1] [--out FOLDER]

Weights are random and the samples smooth noise, so SQNR says what 8 bits cost and nothing of what trained attention loses. Each round
measures all packages, one after the other; the quickest run counts, since the median of a busy machine is its scheduler's.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnx
from drafts import Draft

import edgec
from edgec.package import Package

TOKENS, WIDTH, HEADS = 197, 192, 3
SAMPLES = 16


def transformer(blocks: int) -> onnx.ModelProto:
    draft, value = Draft(), "x"
    for _ in range(blocks):
        value = draft.add("Add", value, draft.attended(draft.normalized(value, WIDTH), TOKENS, WIDTH, HEADS))
        hidden = draft.add("Gelu", draft.dense(draft.normalized(value, WIDTH), WIDTH, 4 * WIDTH))
        value = draft.add("Add", value, draft.dense(hidden, 4 * WIDTH, WIDTH))
    draft.normalized(value, WIDTH)
    return draft.model([1, TOKENS, WIDTH], [1, TOKENS, WIDTH])


def packages(blocks: int, folder: Path) -> dict[str, Package]:
    proto, file = transformer(blocks), folder / "transformer.onnx"
    onnx.save(proto, file)
    known = {item.name for item in proto.graph.initializer}
    inner = [node.name for node in proto.graph.node if node.op_type in ("MatMul", "Softmax") and not known & set(node.input)]
    norms = [node.name for node in proto.graph.node if node.op_type == "LayerNormalization"]
    samples = {"x": np.random.default_rng(1).standard_normal((SAMPLES, TOKENS, WIDTH)).astype(np.float32)}
    return {
        kind: edgec.build(file, out=folder / kind, calib=samples, exclude=exclude, effort="fast", force=True)
        for kind, exclude in (("float", inner + norms), ("integers", norms), ("integers, and normalizations", []))
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--isa")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="edgec-attention-") as temporary:
        folder = options.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        found = packages(options.blocks, folder)
        times: dict[str, list[float]] = {kind: [] for kind in found}
        for _ in range(options.rounds):
            for kind, package in found.items():
                times[kind].append(package.benchmark(options.seconds, isa=options.isa, threads=options.threads)["min_us"])
        print("| attention | its layers in integers | latency | SQNR | arena |\n|---|---|---|---|---|")
        for kind, package in found.items():
            facts = package.manifest
            codes = sum(call.kernel in ("product_int8", "product_int8_float", "softmax_int8", "layer_norm_int8") for call in facts.calls)
            latency, sqnr = f"{min(times[kind]) / 1000:.2f} ms", f"{min(facts.sqnr_db.values()):.1f} dB"
            print(f"| {kind} | {codes} | {latency} | {sqnr} | {facts.arena_bytes:,} |")


if __name__ == "__main__":
    main()
