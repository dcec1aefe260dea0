"""Words that the GPU kernels read for each multiplication: does every convolution reach what its tile promises?

    python benchmarks/gpu_loads.py MODEL.onnx ... [--target linux-vulkan] [--precision int8 fp32 fp16] [--all] [--matrices]

Nothing is run: a shader knows how many words all of its invocations read from the arena, the weights and the tensors (a test
counts them). A line for each convolution and matrix product (with --all for each template kernel): its outputs, millions of MACs,
workgroups x invocations, the tile (pixels x lanes, and the slices that share a sum), the loads per MAC of a full tile, and those of the
call, where edges, constants and residuals are in. "W" is before tiles of Winograd's squares: MACs are those of the direct sum there too,
4 multiplications for 9 of them. Depthwise convolutions have no tile. "all" is the whole model. A kernel that reused
nothing would read 2 words for a MAC in float, and 1/2 in int8. int8 models are calibrated with noise, which changes no shape.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.dialect import Glsl, Metal
from edgec.emit.gpu.kernels_float import float_shader
from edgec.emit.gpu.kernels_int8 import int8_shader
from edgec.emit.gpu.shader import Shader
from edgec.kernels import ConvFloat
from edgec.kernels.gpu.matrices import MatrixTile
from edgec.kernels.gpu.squares import SIDE, TAPS, SquarePlan
from edgec.kernels.gpu.tiles import LANES_EACH, Tile
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.pipeline.models import read_model
from edgec.program.halves import NO_HALVES, Halves
from edgec.program.program import Program, TemplateCall
from edgec.quant import QuantizeOptions, quantize
from edgec.schedule import schedule
from edgec.schedule.gpu.halves import plan_halves
from edgec.settings.config import BuildConfig
from edgec.targets import Target, load_target

HEAD = f"{'call':<40}{'outputs':>9}{'M MAC':>9}{'groups':>12}{'tile / slices':>16}{'promised':>10}{'loads per MAC':>17}"
MATRICES = f"{'by matrices':<40}" + "".join(f"{word:>14}" for word in ("tile", "shared", "loads", "matrices", "shared", "loads"))
PLAIN = QuantizeOptions(observer="minmax", equalize=False, round_weights=False, correct_bias=False, shape_sums=False)


def planned(model: Path, target: Target, precision: str) -> Program:
    graph = read_model(model, BuildConfig(precision="int8" if precision == "int8" else "fp32")).graph
    if precision == "int8":
        random = np.random.default_rng(0)
        shapes = {name: graph.types[name].static_shape for name in graph.inputs}
        noise = {name: random.standard_normal(shape, np.float32) for name, shape in shapes.items()}
        graph = quantize(graph, lambda: iter([noise]), PLAIN).graph
    program = schedule(lower(graph, target, model.stem), target)
    plan(program)
    layout_constants(program)
    return program


def shaders(program: Program, signed: bool, halves: Halves) -> Iterator[tuple[TemplateCall, Shader]]:
    dialect = Glsl(signed, halves=halves)
    for index, call in enumerate(program.calls):
        if isinstance(call, TemplateCall):
            shader = int8_shader(program, index, call, dialect) or float_shader(program, index, call, dialect, halves)
            if shader is not None:
                yield call, shader


def promise(call: TemplateCall) -> str:
    """The tile, and the words that a full one loads for a MAC."""
    found = call.shading.tile if call.shading is not None else None
    if isinstance(found, SquarePlan):
        tile, each = found.tile, found.tile.depth * TAPS * SIDE * SIDE
        return f"{f'W {SIDE * SIDE * tile.squares} x {tile.lanes}':>16}{tile.loads(tile.depth) / (each * tile.squares * tile.lanes):>10.4f}"
    if not isinstance(found, Tile):
        return ""
    macs = 1 if isinstance(call.arguments, ConvFloat) else 4  # that one word of x serves in one lane
    shape = f"{found.pixels} x {found.lanes}" + (f" / {found.slices}" if found.slices > 1 else "")
    return f"{shape:>16}{(found.pixels + found.lanes) / (found.pixels * found.lanes * macs):>10.4f}"


def line(name: str, outputs: str, macs: int, groups: str, tile: str, loads: int) -> str:
    ratio = f"{loads / macs:>10.4f}{f'1/{macs / loads:.0f}':>7}" if macs else ""
    return f"{name[:38]:<40}{outputs:>9}{macs / 1e6:>9.2f}{groups:>12}{tile:>26}{ratio}"


def report(program: Program, signed: bool, everything: bool, precision: str) -> None:
    """fp16: fp32 with everything that a GPU can store as halves stored so; two of them are a word."""
    loads = macs = 0
    halves = plan_halves(program, [True] * len(program.calls)) if precision == "fp16" else NO_HALVES
    for call, shader in shaders(program, signed, halves):
        outputs = sum(program.buffers[name].max_bytes // program.buffers[name].dtype.bytes for name in call.call.writes)
        groups = f"{math.prod(shader.grid)} x {math.prod(shader.group)}"
        if everything or shader.macs:
            print(line(call.call.name, str(outputs), shader.macs, groups, promise(call), shader.loads))
        loads, macs = loads + shader.loads * bool(shader.macs), macs + shader.macs
    print(line("all", "", macs, "", "", loads), flush=True)


def compare(program: Program) -> None:
    """Of each float product that simdgroup matrices make in Metal: the direct tile and theirs, as loads of shared memory and of words."""
    print(MATRICES)
    totals = np.zeros(3, np.int64)  # loads of the kernel for any device, of that by matrices, and MACs
    for index, call in enumerate(program.calls):
        if not isinstance(call, TemplateCall) or call.shading is None or not isinstance(call.shading.matrices, MatrixTile):
            continue
        shader, plain, tile = float_shader(program, index, call, Metal(False)), call.shading.tile, call.shading.matrices
        if shader is None or shader.matrices is None or not isinstance(plain, Tile):
            continue
        cells: list[str] = []
        for pixels, lanes, shared, loads in (
            (plain.pixels, plain.lanes, 1 / plain.pixels_each + 1 / LANES_EACH, shader.loads),
            (tile.pixels, tile.lanes, 1 / tile.pixels_each + 1 / tile.lanes_each, shader.matrices.loads),
        ):
            cells += [f"{pixels} x {lanes}", f"{shared:.3f}", f"{loads / shader.macs:.4f}"]
        print(f"{call.call.name[:38]:<40}" + "".join(f"{cell:>14}" for cell in cells))
        totals += (shader.loads, shader.matrices.loads, shader.macs)
    if totals[2]:
        print(f"{'all of these':<40}{totals[0] / totals[2]:>42.4f}{totals[1] / totals[2]:>42.4f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--target", default="linux-vulkan", help="one with a GPU")
    parser.add_argument("--precision", nargs="+", choices=("int8", "fp32", "fp16"), default=["int8", "fp32"])
    parser.add_argument("--all", action="store_true", help="kernels that multiply nothing too")
    parser.add_argument("--matrices", action="store_true", help="compare with the tiles of Metal's simdgroup matrices (fp32)")
    given = parser.parse_args()
    target = load_target(given.target)
    for model in given.models:
        for precision in given.precision:
            print(f"\n{model.stem} {precision}\n{HEAD}")
            program = planned(model, target, precision)
            report(program, target.signed_activations, given.all, precision)
            if given.matrices and precision == "fp32":
                compare(program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
