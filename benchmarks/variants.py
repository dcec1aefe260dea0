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
from dataclasses import fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edgec.emit.kernels import render_kernel_header, render_kernels
from edgec.emit.vocabularies import VOCABULARIES
from edgec.kernels import VARIANTS, DepthwiseFloat, DepthwiseInt8, Variant
from edgec.program.arguments import Arguments, Window, is_pointer
from edgec.program.expr import bound, expr
from edgec.schedule import choose_all
from edgec.schedule.choice import slot
from edgec.targets import Target

TARGET = Target("x86-64", "", "x86_64", "linux", ("portable", "sse41", "avx2", "avxvnni", "avx512vnni"), False)
BYTES = {"activation": 1, "int8_t": 1, "int16_t": 2, "int32_t": 4, "float": 4}

# Of square convolutions: size of the image, channels, kernel size, stride
DEPTHWISE = [
    (112, 32, 3, 1), (112, 96, 3, 2), (56, 144, 3, 1), (56, 144, 3, 2), (28, 192, 3, 1), (14, 384, 3, 1), (14, 576, 3, 1), (7, 960, 3, 1),
    (28, 120, 5, 1), (14, 672, 5, 2), (7, 960, 5, 1),
]  # fmt: skip


def window(size: int, channels: int, kernel: int, stride: int) -> Window:
    out, pad = -(-size // stride), kernel // 2
    return Window(1, size, size, channels, out, out, channels, kernel, kernel, stride, stride, 1, 1, pad, pad)


def depthwise_int8(size: int, channels: int, kernel: int, stride: int) -> Arguments:
    return DepthwiseInt8(window(size, channels, kernel, stride), *5 * (None,), channels, 3, 4, 0, 255)  # type: ignore[arg-type]


def depthwise_float(size: int, channels: int, kernel: int, stride: int) -> Arguments:
    return DepthwiseFloat(window(size, channels, kernel, stride), *4 * (None,), channels, 0.0, 6.0)  # type: ignore[arg-type]


Layer = tuple[int, int, int, int]
# By kernel: the layers, a layer's arguments, its multiplications
CASES: dict[str, tuple[list[Layer], Callable[..., Arguments], Callable[[Layer], int]]] = {
    name: (DEPTHWISE, make, lambda layer: (-(-layer[0] // layer[3])) ** 2 * layer[1] * layer[2] ** 2)
    for name, make in (("depthwise_int8", depthwise_int8), ("depthwise_float", depthwise_float))
}

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


def block(arguments: Arguments, vocabulary: str, macs: int) -> str:
    """A block of C that times one layer, a line for each variant."""
    kind = type(arguments)
    able, reach, name = functions(kind, arguments, vocabulary), arguments.reach(), kind.kernel
    values = [getattr(arguments, field.name) for field in fields(arguments) if not is_pointer(field)]
    layer = ", ".join("{%s}" % ", ".join(str(getattr(v, f.name)) for f in fields(v)) if isinstance(v, Window) else str(v) for v in values)  # noqa: UP031
    lines = [f"    {{ const struct b_{name} a = {{{layer}}};", f"    struct b_{name}_data d;"]
    for field in filter(is_pointer, fields(arguments)):
        element, count = field.metadata["c"].removeprefix("const ").removesuffix(" *"), bound(expr(reach[field.name]))
        data = f"reals({count})" if element == "float" else f"filled({count * BYTES[element]})"
        lines.append(f"    d.{field.name} = ({element} *){data};")
    scratch = max(variant.scratch(arguments) for variant in able.values())
    size = bound(expr(reach["y"])) * BYTES[next(f for f in fields(kind) if f.name == "y").metadata["c"].removesuffix(" *")]
    lines.append(f"    void *const scratch = filled({scratch}), *const first = filled({size});")
    lines.append(f"    double best[{len(able)}]; int round, i; const int repeat = (int)(3e6 / {macs}) + 1;")
    lines.append(f"    for (i = 0; i < {len(able)}; i++) best[i] = 1e9;")
    lines.append("    for (round = 0; round < 60; round++) {")
    for index, (function, variant) in enumerate(able.items()):
        call = f"b_kernels_{vocabulary}.{function}(&a, &d, 0, {bound(variant.items(arguments))}, scratch)"
        lines.append(f"      {{ const double begin = now(); double spent; for (i = 0; i < repeat; i++) {call};")
        lines.append(f"      spent = (now() - begin) / repeat; if (spent < best[{index}]) best[{index}] = spent; }}")
        lines.append(f"      if (round == 0 && {index} == 0) memcpy(first, d.y, {size});")
        lines.append(f'      if (round == 0 && memcmp(first, d.y, {size})) puts("{function} differs");')
    lines.append("    }")
    lines += [f'    printf("  {function} %.1f", {macs} / best[{index}] * 1e-9);' for index, function in enumerate(able)]
    return "\n".join([*lines, '    puts(""); }'])


def measure(kernel: str, vocabulary: str, compiler: list[str], folder: Path) -> list[str]:
    """What each layer's variants reach."""
    layers, make, macs = CASES[kernel]
    kind = next(kind for kind in VARIANTS if kind.kernel == kernel)
    slots = choose_all([kind], vocabulary, TARGET)
    (folder / "b_kernels.h").write_text(render_kernel_header("b", slots, TARGET), encoding="utf-8")
    (folder / "kernels.c").write_text(render_kernels("b", vocabulary, slots, TARGET), encoding="utf-8")
    body = "\n".join(block(make(*layer), vocabulary, macs(layer)) for layer in layers)
    (folder / "driver.c").write_text(f"{DRIVER}\nint main(void) {{\n{body}\n    return 0;\n}}\n", encoding="utf-8")
    subprocess.run([*compiler, "-std=gnu11", "driver.c", "kernels.c", "-o", "driver"], cwd=folder, check=True)
    return subprocess.run([str(folder / "driver")], check=True, capture_output=True, text=True).stdout.splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", nargs="?", default="depthwise_int8", choices=list(CASES))
    parser.add_argument("--vocabulary", nargs="*", default=["avx512vnni", "avxvnni", "avx2", "sse41"], choices=list(VOCABULARIES))
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--flags", nargs="*", default=["-O3"])
    options = parser.parse_args()
    for vocabulary in options.vocabulary:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(options.kernel, vocabulary, [options.cc, *options.flags], Path(folder))
        print(f"{vocabulary}, GMAC/s")
        for (size, channels, kernel, stride), line in zip(CASES[options.kernel][0], found, strict=True):
            print(f"  {f'{size}x{size} {channels} {kernel}x{kernel}/{stride}':18}{line}")


if __name__ == "__main__":
    main()
