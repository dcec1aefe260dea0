"""Speed of the int8 kernels on layers of MobileNetV2: giga-MACs a second, one thread, for each x86 vocabulary.

python benchmarks/kernels_int8.py [--vocabulary avx2 ...] [--cc gcc] [--flags=-O2]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edgec.emit.kernels import render_kernel_header, render_kernels
from edgec.emit.vocabularies import VOCABULARIES
from edgec.kernels import ConvInt8, DepthwiseInt8
from edgec.kernels.convolution import panel_count
from edgec.program.arguments import Window
from edgec.program.expr import bound
from edgec.schedule import choose_all
from edgec.schedule.choice import slot, variant_of
from edgec.targets import Target

TARGET = Target("x86-64", "", "x86_64", "linux", ("portable", "sse41", "avx2", "avxvnni", "avx512vnni"), False)
USED = frozenset({ConvInt8, DepthwiseInt8})

# (kernel, output size, input channels, output channels, window, stride)
LAYERS = [
    ("conv", 112, 3, 32, 3, 2), ("conv", 112, 32, 16, 1, 1), ("conv", 112, 16, 96, 1, 1), ("conv", 56, 24, 144, 1, 1),
    ("conv", 56, 144, 24, 1, 1), ("conv", 28, 32, 192, 1, 1), ("conv", 14, 64, 384, 1, 1), ("conv", 14, 384, 64, 1, 1),
    ("conv", 14, 576, 96, 1, 1), ("conv", 7, 160, 960, 1, 1), ("conv", 7, 960, 160, 1, 1), ("conv", 7, 320, 1280, 1, 1),
    ("conv", 1, 1280, 1000, 1, 1), ("conv", 28, 128, 128, 3, 1), ("conv", 56, 64, 64, 3, 1),
    ("depthwise", 112, 32, 32, 3, 1), ("depthwise", 56, 96, 96, 3, 2), ("depthwise", 56, 144, 144, 3, 1),
    ("depthwise", 28, 192, 192, 3, 1), ("depthwise", 14, 384, 384, 3, 1), ("depthwise", 7, 960, 960, 3, 1),
]  # fmt: skip

DRIVER = r"""
#define _POSIX_C_SOURCE 199309L
#include "b_kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static void *filled(size_t size) {
    char *memory = (char *)aligned_alloc(64, (size + 127) / 64 * 64);
    size_t i;
    for (i = 0; i < size; i++) memory[i] = (char)(i * 7919 % 127);
    return memory;
}
static float *scales(int32_t count) {
    float *memory = (float *)filled((size_t)count * 4);
    while (count--) memory[count] = 0.001f;
    return memory;
}
#define BEST(call, macs) do { \
    double best = 1e9; \
    int round, i; \
    const int repeat = (int)(2e7 / (macs)) + 1; \
    for (round = 0; round < 7; round++) { \
        const double begin = now(); \
        for (i = 0; i < repeat; i++) call; \
        if ((now() - begin) / repeat < best) best = (now() - begin) / repeat; \
    } \
    printf("%.2f\n", (macs) / best * 1e-9); \
} while (0)
"""


def layer_source(layer: tuple[str, int, int, int, int, int], vocabulary: str) -> str:
    """A block of C that times one layer."""
    kind, size, ci, co, kernel, stride = layer
    pad, before = kernel // 2, size * stride
    window = Window(1, before, before, ci, size, size, co, kernel, kernel, stride, stride, 1, 1, pad, pad)
    values = ", ".join(str(getattr(window, field)) for field in Window.__dataclass_fields__)
    taps, rounded = kernel * kernel, -(-co // 16) * 16
    if kind == "conv":
        arguments: object = ConvInt8(window, *6 * (None,), 0, 1, ci, co, 3, 4, 0, 255, 0.0, 0.0, 0, 0, 0, 0)  # type: ignore
        weights, macs = panel_count(co) * taps * (-(-ci // 4) * 4) * 16, size * size * co * ci * taps
        rest, residual = f"0, 1, {ci}, {co}, 3, 4, 0, 255, 0, 0, 0, 0, 0, 0", ", 0"
    else:
        arguments = DepthwiseInt8(window, *5 * (None,), co, 3, 4, 0, 255)  # type: ignore
        weights, macs = taps * rounded, size * size * co * taps
        rest, residual = f"{co}, 3, 4, 0, 255", ""
    variant = variant_of(arguments, TARGET)  # type: ignore
    name, items = f"{kind}_int8", bound(variant.items(arguments))
    return f"""    {{
        const struct b_{name} a = {{{{{values}}}, {rest}}};
        const struct b_{name}_data data = {{(uint8_t *)filled({before * before * ci}), (int8_t *)filled({weights}),
            (int32_t *)filled({rounded * 4}), scales({rounded}), (uint8_t *)filled({size * size * co}){residual}}};
        void *scratch = filled({variant.scratch(arguments)});
        BEST(b_kernels_{vocabulary}.{slot(type(arguments), variant).name}(&a, &data, 0, {items}, scratch), {macs}.0);
    }}
"""


def measure(vocabulary: str, compiler: str, flags: list[str], folder: Path) -> list[float]:
    """GMAC/s of every layer."""
    slots = choose_all(USED, vocabulary, TARGET)
    (folder / "b_kernels.h").write_text(render_kernel_header("b", slots, TARGET))
    (folder / f"b_kernels_{vocabulary}.c").write_text(render_kernels("b", vocabulary, slots, TARGET))
    body = "".join(layer_source(layer, vocabulary) for layer in LAYERS)
    (folder / "driver.c").write_text(f"{DRIVER}\nint main(void) {{\n{body}    return 0;\n}}\n")
    program = folder / f"bench_{vocabulary}"
    sources = [str(folder / "driver.c"), str(folder / f"b_kernels_{vocabulary}.c")]
    subprocess.run([compiler, "-std=gnu11", *flags, *sources, "-o", str(program)], check=True)
    return [float(line) for line in subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabulary", nargs="*", default=["avx512vnni", "avxvnni", "avx2"], choices=list(VOCABULARIES))
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--flags", nargs="*", default=["-O3"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = [measure(vocabulary, arguments.cc, arguments.flags, Path(folder)) for vocabulary in arguments.vocabulary]
    print(f"{'GMAC/s, one thread':34}" + "".join(f"{vocabulary:>12}" for vocabulary in arguments.vocabulary))
    for index, (kind, size, ci, co, kernel, stride) in enumerate(LAYERS):
        text = f"{kind} {size}x{size} {ci}->{co} {kernel}x{kernel}/{stride}"
        print(f"{text:34}" + "".join(f"{column[index]:12.1f}" for column in table))


if __name__ == "__main__":
    main()
