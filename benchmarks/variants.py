"""The variants of a kernel side by side on layers of MobileNetV2: giga-MACs a second of one thread, the fastest of many rounds that
take turns.

python benchmarks/variants.py [depthwise_int8] [--vocabulary avx2 ...] [--cc clang] [--flags=-O2]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edgec.emit.kernels import render_kernel_header, render_kernels
from edgec.kernels import VARIANTS, ConvFloat, ConvInt8, DepthwiseFloat, DepthwiseInt8, Variant
from edgec.kernels.convolution import round_up
from edgec.program.arguments import Arguments, Window, in_struct, is_pointer
from edgec.program.expr import bound, expr
from edgec.schedule import choose_all
from edgec.schedule.choice import slot
from edgec.targets import Target

TARGET = Target("x86-64", "", "x86_64", "linux", ("sse41", "avx2", "avxvnni", "avx512vnni"), False)
BYTES = {"activation": 1, "int8_t": 1, "int16_t": 2, "int32_t": 4, "float": 4}

Layer = tuple[int, int, int, int, int]  # of a square convolution: size of the image, channels in and out, kernel size, stride

DEPTHWISE: list[Layer] = [
    (112, 32, 32, 3, 1), (112, 96, 96, 3, 2), (56, 144, 144, 3, 1), (56, 144, 144, 3, 2), (28, 192, 192, 3, 1), (14, 384, 384, 3, 1),
    (14, 576, 576, 3, 1), (7, 960, 960, 3, 1), (28, 120, 120, 5, 1), (14, 672, 672, 5, 2), (7, 960, 960, 5, 1),
]  # fmt: skip
DENSE: list[Layer] = [
    (224, 3, 32, 3, 2), (112, 32, 16, 1, 1), (112, 16, 96, 1, 1), (56, 24, 144, 1, 1), (56, 144, 24, 1, 1), (28, 32, 192, 1, 1),
    (14, 384, 64, 1, 1), (14, 96, 576, 1, 1), (7, 160, 960, 1, 1), (7, 320, 1280, 1, 1), (1, 1280, 1000, 1, 1), (56, 64, 64, 3, 1),
    (28, 128, 128, 3, 1), (14, 128, 128, 3, 1), (28, 1, 8, 5, 1), (224, 1, 16, 3, 1), (224, 3, 64, 3, 2), (32, 3, 16, 3, 1),
]  # fmt: skip


def window(layer: Layer) -> Window:
    size, inputs, outputs, kernel, stride = layer
    out, pad = -(-size // stride), kernel // 2
    return Window(1, size, size, inputs, out, out, outputs, kernel, kernel, stride, stride, 1, 1, pad, pad)


def depthwise_int8(layer: Layer) -> Arguments:
    return DepthwiseInt8(window(layer), *5 * (None,), layer[1], 3, 4, 0, 255, 0.0)  # type: ignore[arg-type]


def depthwise_float(layer: Layer) -> Arguments:
    return DepthwiseFloat(window(layer), *4 * (None,), layer[1], 0.0, 6.0)  # type: ignore[arg-type]


def conv_float(layer: Layer) -> Arguments:
    return ConvFloat(window(layer), *5 * (None,), 0, 1, layer[1], layer[2], 0.0, 6.0)  # type: ignore[arg-type]


def conv_int8(layer: Layer) -> Arguments:
    add, largest = (0.0, 0.0, 0, 0, 0, 0, 0.0), layer[1] * layer[3] ** 2 * 255 * 127
    return ConvInt8(window(layer), *6 * (None,), 0, 1, layer[1], layer[2], 3, 4, 0, 255, *add, largest_sum=largest)  # type: ignore[arg-type]


# By kernel: the layers, and a layer's arguments
CASES: dict[str, tuple[list[Layer], Callable[[Layer], Arguments]]] = {
    "depthwise_int8": (DEPTHWISE, depthwise_int8),
    "depthwise_float": (DEPTHWISE, depthwise_float),
    "conv_float": (DENSE, conv_float),
    "conv_int8": (DENSE, conv_int8),
}


def multiplications(kernel: str, layer: Layer) -> int:
    size, inputs, outputs, side, stride = layer
    return (-(-size // stride)) ** 2 * outputs * side**2 * (1 if kernel.startswith("depthwise") else inputs)


DRIVER = r"""
#define _POSIX_C_SOURCE 199309L
#include "b_kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
static float *reals(size_t count) {
    float *memory = (float *)filled(count * 4);
    while (count--) memory[count] = 0.001f * (float)(count % 7 + 1);
    return memory;
}
"""


def functions(kind: type[Arguments], arguments: Arguments, vocabulary: str) -> dict[str, Variant]:
    """The slots that can compute a layer with an instruction set."""
    able = [variant for variant in VARIANTS[kind] if variant.can(vocabulary) and variant.admits(arguments)]
    return {slot(kind, variant).name: variant for variant in able}


def _whole(arguments: Arguments) -> Arguments:
    """With as many input channels as packed weights of codes are padded to."""
    return replace(arguments, in_channels=round_up(arguments.in_channels, 4)) if isinstance(arguments, ConvInt8) else arguments


def block(arguments: Arguments, vocabulary: str, macs: int) -> str:
    """A block of C that times one layer, a line for each variant."""
    kind = type(arguments)
    able, name = functions(kind, arguments, vocabulary), kind.kernel
    packed = [{key: count(arguments) for key, count in variant.packing.reach.items()} for variant in able.values()]
    reach = {key: max(bound(expr(count)), *(one.get(key, 0) for one in packed)) for key, count in _whole(arguments).reach().items()}
    alike = len({variant.packing.name for variant in able.values()}) == 1  # else they read the same bytes as other weights
    values = [getattr(arguments, field.name) for field in in_struct(arguments) if not is_pointer(field)]
    layer = ", ".join("{%s}" % ", ".join(str(getattr(v, f.name)) for f in fields(v)) if isinstance(v, Window) else str(v) for v in values)  # noqa: UP031
    lines = [f"    {{ const struct b_{name} a = {{{layer}}};", f"    struct b_{name}_data d;"]
    for field in filter(is_pointer, fields(arguments)):
        element, count = field.metadata["c"].removeprefix("const ").removesuffix(" *"), reach[field.name]
        data = "0" if field.name == "residual" else f"reals({count})" if element == "float" else f"filled({count * BYTES[element]})"
        lines.append(f"    d.{field.name} = ({element} *){data};")
    scratch = max(variant.scratch(arguments, TARGET.vocabularies) for variant in able.values())
    size = reach["y"] * BYTES[next(f for f in fields(kind) if f.name == "y").metadata["c"].removesuffix(" *")]
    lines.append(f"    void *const scratch = filled({scratch}), *const first = filled({size});")
    lines.append(f"    double best[{len(able)}]; int round, i; const int repeat = (int)(3e6 / {macs}) + 1;")
    lines.append(f"    for (i = 0; i < {len(able)}; i++) best[i] = 1e9;")
    lines.append("    for (round = 0; round < 60; round++) {")
    for index, (function, variant) in enumerate(able.items()):
        call = f"b_kernels_{vocabulary}.{function}(&a, &d, 0, {bound(variant.items(arguments))}, scratch)"
        lines.append(f"      {{ const double begin = now(); double spent; for (i = 0; i < repeat; i++) {call};")
        lines.append(f"      spent = (now() - begin) / repeat; if (spent < best[{index}]) best[{index}] = spent; }}")
        lines.append(f"      if (round == 0 && {index} == 0) memcpy(first, d.y, {size});")
        lines.append(f'      if ({int(alike)} && round == 0 && memcmp(first, d.y, {size})) puts("{function} differs");')
    lines.append("    }")
    lines += [f'    printf("  {function} %.1f", {macs} / best[{index}] * 1e-9);' for index, function in enumerate(able)]
    return "\n".join([*lines, '    puts(""); }'])


def measure(kernel: str, vocabulary: str, compiler: list[str], folder: Path) -> list[str]:
    """What each layer's variants reach."""
    layers, make = CASES[kernel]
    kind = next(kind for kind in VARIANTS if kind.kernel == kernel)
    slots = choose_all([kind], vocabulary, TARGET)
    (folder / "b_kernels.h").write_text(render_kernel_header("b", slots, TARGET), encoding="utf-8")
    (folder / "kernels.c").write_text(render_kernels("b", vocabulary, slots, TARGET), encoding="utf-8")
    body = "\n".join(block(make(layer), vocabulary, multiplications(kernel, layer)) for layer in layers)
    (folder / "driver.c").write_text(f"{DRIVER}\nint main(void) {{\n{body}\n    return 0;\n}}\n", encoding="utf-8")
    subprocess.run([*compiler, "-std=gnu11", "driver.c", "kernels.c", "-o", "driver"], cwd=folder, check=True)
    return subprocess.run([str(folder / "driver")], check=True, capture_output=True, text=True).stdout.splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", nargs="?", default="depthwise_int8", choices=list(CASES))
    parser.add_argument("--vocabulary", nargs="*", default=["avx512vnni", "avxvnni", "avx2", "sse41"], choices=TARGET.vocabularies)
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--flags", nargs="*", default=["-O3"])
    options = parser.parse_args()
    for vocabulary in options.vocabulary:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(options.kernel, vocabulary, [options.cc, *options.flags], Path(folder))
        print(f"{vocabulary}, GMAC/s")
        for (size, inputs, outputs, kernel, stride), line in zip(CASES[options.kernel][0], found, strict=True):
            print(f"  {f'{size}x{size} {inputs}-{outputs} {kernel}x{kernel}/{stride}':24}{line}")


if __name__ == "__main__":
    main()
