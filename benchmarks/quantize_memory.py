"""How much memory quantizing large pictures takes: the most that the process held, at each stage, in MB.

    python benchmarks/quantize_memory.py MODEL [--side 1024] [--samples 8] [--observer mse percentile ...]

MODEL takes one picture, whose size is changed to SIDE x SIDE, so it must allow that: a fully convolutional one, or one that pools globally.
The pictures are noise that is made anew for each pass, as a folder's would be read. Each observer has a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx

from edgec.frontend import from_proto
from edgec.passes import optimize
from edgec.quant import QuantizeOptions, quantize
from edgec.quant.given.options import OBSERVERS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--side", type=int, default=1024)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--observer", nargs="+", default=list(OBSERVERS), choices=OBSERVERS)
    options = parser.parse_args()
    if len(options.observer) == 1:
        measure(options.model, options.side, options.samples, options.observer[0])
        return 0
    words = [sys.executable, __file__, str(options.model), "--side", str(options.side), "--samples", str(options.samples)]
    return max(subprocess.run([*words, "--observer", observer], check=False).returncode for observer in options.observer)


def measure(model: Path, side: int, count: int, observer: str) -> None:
    """Print the most memory held up to the end of each stage."""
    graph = from_proto(resized(onnx.load(model), side)).graph
    optimize(graph)
    image = graph.inputs[0]
    shape = graph.types[image].static_shape

    def samples() -> Iterator[dict[str, np.ndarray]]:
        generator = np.random.default_rng(0)
        for _ in range(count):
            yield {image: generator.standard_normal(shape).astype(np.float32)}

    stages: dict[str, int] = {}
    before, start = held(), time.monotonic()
    quantize(graph, samples, QuantizeOptions(observer), progress=lambda stage, done, total: stages.update({stage: held()}))
    told = ", ".join(f"{stage} {size}" for stage, size in stages.items())
    print(f"{observer}: {held()} MB, {before} before it ({told}); {time.monotonic() - start:.0f} s", flush=True)


def resized(model: onnx.ModelProto, side: int) -> onnx.ModelProto:
    """The model for pictures [1, C, side, side]."""
    constants = {tensor.name for tensor in model.graph.initializer}
    (image,) = (value for value in model.graph.input if value.name not in constants)
    batch, _, *sides = image.type.tensor_type.shape.dim
    for extent, wanted in zip((batch, *sides), (1, side, side), strict=True):
        extent.dim_value = wanted
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


def held() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    sys.exit(main())
