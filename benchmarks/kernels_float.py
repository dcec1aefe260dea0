"""GMAC/s of the float convolutions on MobileNetV2's layers, one thread.

python benchmarks/kernels_float.py [--vocabulary avx2 ...] [--compiler gcc] [--seconds 0.1]
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
import time
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from edgec.emit.kernels import render_kernel_header, render_kernels
from edgec.emit.vocabularies import VOCABULARIES
from edgec.kernels import ConvFloat, DepthwiseFloat
from edgec.program.arguments import LANES, Window
from edgec.program.expr import bound
from edgec.schedule import choose_all
from edgec.schedule.choice import variant_of
from edgec.targets import Target


@dataclass(frozen=True)
class Layer:
    """A square convolution; groups 0 means depthwise."""

    name: str
    size: int
    inputs: int
    outputs: int
    kernel: int = 1
    stride: int = 1
    depthwise: bool = False


LAYERS = (
    Layer("first 3x3/2", 224, 3, 32, 3, 2),
    Layer("1x1 112 32-16", 112, 32, 16),
    Layer("1x1 112 16-96", 112, 16, 96),
    Layer("1x1 56 24-144", 56, 24, 144),
    Layer("1x1 56 144-24", 56, 144, 24),
    Layer("1x1 28 32-192", 28, 32, 192),
    Layer("1x1 14 384-64", 14, 384, 64),
    Layer("1x1 14 96-576", 14, 96, 576),
    Layer("1x1 7 160-960", 7, 160, 960),
    Layer("1x1 7 320-1280", 7, 320, 1280),
    Layer("fc 1280-1000", 1, 1280, 1000),
    Layer("3x3 56 64-64", 56, 64, 64, 3),
    Layer("dw 112 32", 112, 32, 32, 3, 1, True),
    Layer("dw 112/2 96", 112, 96, 96, 3, 2, True),
    Layer("dw 56 144", 56, 144, 144, 3, 1, True),
    Layer("dw 14 384", 14, 384, 384, 3, 1, True),
    Layer("dw 7 960", 7, 960, 960, 3, 1, True),
)
KINDS = frozenset({ConvFloat, DepthwiseFloat})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", nargs="+", default=["portable", "sse41", "avx2", "avx512vnni"], choices=VOCABULARIES)
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--flags", default="-O2", help="compiler flags, separated by blanks")
    parser.add_argument("--seconds", type=float, default=0.05, help="time spent on each number")
    options = parser.parse_args()
    libraries = [load(name, [options.compiler, *options.flags.split()]) for name in options.vocabulary]
    print(f"{'GMAC/s':<16}" + "".join(f"{name:>12}" for name in options.vocabulary))
    for layer in LAYERS:
        arguments = make(layer)
        print(f"{layer.name:<16}" + "".join(f"{rate(library, arguments, macs(layer), options.seconds):12.1f}" for library in libraries))


def macs(layer: Layer) -> int:
    pixels = (-(-layer.size // layer.stride)) ** 2
    return pixels * layer.outputs * layer.kernel**2 * (1 if layer.depthwise else layer.inputs)


def make(layer: Layer) -> ConvFloat | DepthwiseFloat:
    out, pad = -(-layer.size // layer.stride), layer.kernel // 2
    window = Window(1, layer.size, layer.size, layer.inputs, out, out, layer.outputs, layer.kernel, layer.kernel,
                    layer.stride, layer.stride, 1, 1, pad, pad)  # fmt: skip
    rng = np.random.default_rng(0)
    padded = -(-layer.outputs // LANES) * LANES
    depth = layer.kernel**2 * (1 if layer.depthwise else layer.inputs)
    sizes = layer.size**2 * layer.inputs, out**2 * layer.outputs, padded, depth * padded
    x, y, bias, weights = (aligned(rng.standard_normal(n, np.float32)) for n in sizes)
    if layer.depthwise:
        return DepthwiseFloat(window, x, weights, bias, y, layer.outputs, 0.0, 6.0)
    return ConvFloat(window, x, weights, bias, y, None, 0, 1, layer.inputs, layer.outputs, 0.0, 6.0)


def aligned(values: np.ndarray) -> np.ndarray:
    """The values at an address that is a multiple of 64, as the buffers of a package lie."""
    memory = np.empty(values.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    result = memory[start : start + values.nbytes].view(values.dtype)
    result[:] = values
    return result


def load(vocabulary: str, compiler: list[str]) -> ctypes.CDLL:
    """The kernels of one vocabulary as a shared library with a function for each."""
    folder = Path(tempfile.mkdtemp(prefix="edgec-benchmark-"))
    target = Target("b", "", "", "", (vocabulary,), False)
    (folder / "b_kernels.h").write_text(render_kernel_header("b", KINDS, target), encoding="utf-8")
    calls = "".join(
        f"\nvoid {name}_items(const struct b_{name} *a, int32_t end, void *scratch) {{ {name}(a, 0, end, scratch); }}\n"
        for name in (kind.kernel for kind in KINDS)
    )
    (folder / "b.c").write_text(render_kernels("b", vocabulary, choose_all(KINDS, vocabulary, target), target) + calls, encoding="utf-8")
    subprocess.run([*compiler, "-std=c99", "-shared", "-fPIC", "-o", "b.so", "b.c"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "b.so"))


def rate(library: ctypes.CDLL, arguments: ConvFloat | DepthwiseFloat, work: int, seconds: float) -> float:
    """10^9 multiply-adds a second: the best of the calls that fit in `seconds`."""
    structure, call = pack(arguments), getattr(library, f"{arguments.kernel}_items")
    variant = variant_of(type(arguments), "portable")  # all divide alike
    scratch = aligned(np.zeros(variant.scratch(arguments) // 4, np.float32))
    parameters = ctypes.byref(structure), bound(variant.items(arguments)), ctypes.c_void_p(scratch.ctypes.data)
    best, stop = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < stop:
        start = time.perf_counter()
        call(*parameters)
        best = min(best, time.perf_counter() - start)
    return work / best / 1e9


def pack(arguments: object) -> ctypes.Structure:
    """The kernel's argument struct."""
    members: list[tuple[str, type, object]] = []
    for field in fields(arguments):
        value = getattr(arguments, field.name)
        if isinstance(value, Window):
            members += [(f"window_{inner.name}", ctypes.c_int32, getattr(value, inner.name)) for inner in fields(Window)]
        elif field.metadata["c"].endswith("*"):
            members.append((field.name, ctypes.c_void_p, None if value is None else value.ctypes.data))
        else:
            members.append((field.name, ctypes.c_float if field.metadata["c"] == "float" else ctypes.c_int32, value))
    layout = type("Arguments", (ctypes.Structure,), {"_fields_": [(name, kind) for name, kind, _ in members]})
    structure: ctypes.Structure = layout(*(value for _, _, value in members))
    return structure


if __name__ == "__main__":
    main()
