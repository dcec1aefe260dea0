"""Products by simdgroup matrices: executed on the CPU in several orders, and when they are taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgec.emit.gpu.dialect import Glsl, Metal
from edgec.emit.gpu.kernels_float import float_shader
from edgec.emit.gpu.shader import Shader
from edgec.kernels.gpu.limits import MOST_SHARED_BYTES
from edgec.kernels.gpu.matrices import TEAM, MatrixTile
from edgec.schedule.gpu import shading
from edgec.schedule.gpu.matrices import SHAPES
from tests.contract.examiner import WHOLE
from tests.gpu.cases import Layout, lay_out
from tests.gpu.msl.lint import complaints, parse
from tests.gpu.msl.run import ORDERS, SIMDGROUPS, Wrong, run_metal
from tests.gpu.test_kernels_float import check, conv, image
from tests.kernels.driver import Case
from tests.kernels.test_float import random_conv

METAL = Metal(False)


def shaders_of(case: Case) -> tuple[Layout, Shader]:
    layout = lay_out(case.arguments)
    found = float_shader(layout.program, 0, layout.call, METAL)
    assert found is not None
    return layout, found


def by_matrices(case: Case, tile: MatrixTile, monkeypatch: pytest.MonkeyPatch) -> tuple[Layout, Shader]:
    monkeypatch.setattr(shading, "choose_matrix_tile", lambda *_: tile)
    layout, plain = shaders_of(case)
    assert plain.matrices is not None
    return layout, plain.matrices


def renamed(shader: Shader, name: str) -> Shader:
    return replace(shader, name=name, source=shader.source.replace(f"void {shader.name}(", f"void {name}("))


def answer(text: str, shader: Shader, layout: Layout, case: Case, order: int) -> np.ndarray:
    arena, _ = run_metal(text, shader.name, shader.group, shader.grid, layout.arena, layout.weights, b"", order)
    y, at = case.arguments.y, layout.program.buffers["y"].address or 0
    assert arena[:at] + arena[at + y.nbytes :] == layout.arena[:at] + layout.arena[at + y.nbytes :]
    return layout.read(arena, "y", y)


@pytest.mark.sampled
def test_tiles_compute_whole_and_broken_ones_in_every_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among the random ones are groups, residuals, limits, strides and padding. Without EDGEC_TEST_ALL, every other shape."""
    cases = [conv(image(5, 13, 16, 32), 16, 32), conv(image(6, 7, 5, 20, 3), 5, 20), *(random_conv(seed) for seed in (0, 1, 2, 3, 4, 5))]
    found = []
    for number, shape in enumerate(SHAPES):
        if number % 2 and not WHOLE:
            continue
        case = cases[number % len(cases)]
        layout, shader = by_matrices(case, MatrixTile(*shape, (8, 16)[number % 2]), monkeypatch)
        found.append((case, layout, renamed(shader, f"call_{number}")))
    text = SIMDGROUPS + METAL.head + "\n".join(shader.source for _, _, shader in found)
    assert complaints(text) == []
    for number, (case, layout, shader) in enumerate(found):
        for order in ORDERS if number == 0 else ORDERS[number % 3 :][:1]:
            check(case, answer(text, shader, layout, case, order))


def test_every_barrier_of_a_product_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = conv(image(4, 5, 24, 32), 24, 32)
    layout, shader = by_matrices(case, MatrixTile(32, 32, 2, 2, 8), monkeypatch)
    sources = []
    for barrier in ("barrier_group();", "simdgroup_barrier(mem_flags::mem_threadgroup);"):
        parts = shader.source.split(barrier)
        assert len(parts) == 3
        sources += [f"{parts[0]}{parts[1]}{barrier}{parts[2]}", f"{parts[0]}{barrier}{parts[1]}{parts[2]}"]
    mutants = [renamed(replace(shader, source=source), f"mutant_{number}") for number, source in enumerate(sources)]
    text = SIMDGROUPS + METAL.head + "\n".join(mutant.source for mutant in mutants)
    for mutant in mutants:
        with pytest.raises(Wrong, match=r"race|before it is written"):
            answer(text, mutant, layout, case, 0)


SMALL = """kernel void call_NUMBER(device uint *arena [[buffer(0)]],
    uint team [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float shared[128];
    simdgroup_float8x8 a, sum = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
    for (int i = int(lane); i < 64; i += 32) shared[int(team) * 64 + i] = float(i);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_load(a, shared + int(team) * 64, 8);
    simdgroup_multiply_accumulate(sum, a, a, sum);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_store(sum, shared + int(team) * 64, 8);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    arena[int(team * 32u + lane)] = uint(shared[int(team * 64u + lane)]);
}
"""
BARRIER = "    simdgroup_barrier(mem_flags::mem_threadgroup);\n"
WRONG = {
    "": SMALL,
    "race|is read before it is written": SMALL.replace(BARRIER, "", 1),
    "mean different places": SMALL.replace("simdgroup_load(a, shared + int(team)", "simdgroup_load(a, shared + int(lane / 31u)"),
    "is used before it is known": SMALL.replace("    simdgroup_load(a, shared + int(team) * 64, 8);\n", ""),
    "out of bounds": SMALL.replace("simdgroup_load(a, shared + int(team) * 64", "simdgroup_load(a, shared + (int(team) * 64 + 128)"),
    "threads of a simdgroup meet": SMALL.replace("    simdgroup_multiply", "    if (lane < 9u) simdgroup_multiply"),
    "idle lanes": SMALL,
}


def test_the_shim_knows_simdgroups_and_their_matrices() -> None:
    numbers = np.arange(64).reshape(8, 8)
    want = np.tile((numbers @ numbers + 1).ravel()[:32], 2)
    text = METAL.head + "\n".join(source.replace("NUMBER", str(number)) for number, source in enumerate(WRONG.values()))
    assert parse(METAL.head + SMALL) == []
    for number, why in enumerate(WRONG):
        for order in ORDERS:
            threads = 40 if why == "idle lanes" else 64
            if why:
                with pytest.raises(Wrong, match=why):
                    run_metal(text, f"call_{number}", (threads, 1, 1), (1, 1, 1), bytes(256), b"", b"", order)
            else:
                arena, _ = run_metal(text, f"call_{number}", (threads, 1, 1), (1, 1, 1), bytes(256), b"", b"", order)
                assert np.array_equal(np.frombuffer(arena, np.uint32), want)


# When they are taken


def test_products_with_many_outputs_are_made_by_matrices_and_read_no_more() -> None:
    case = conv(image(28, 28, 64, 64), 64, 64)
    _, plain = shaders_of(case)
    by = plain.matrices
    assert by is not None and by.macs == plain.macs and by.loads <= plain.loads and by.shared_bytes <= MOST_SHARED_BYTES
    assert by.group[0] % TEAM == 0 and by.name.startswith(plain.name)


def test_products_of_a_single_row_are_not() -> None:
    assert shaders_of(conv(image(1, 1, 64, 256), 64, 256))[1].matrices is None


def test_a_convolution_that_winograd_makes_cheaper_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    case = conv(image(28, 28, 64, 64, 3), 64, 64)
    assert shaders_of(case)[1].matrices is None
    monkeypatch.setattr(shading, "plan_squares", lambda *_: None)
    assert shaders_of(case)[1].matrices is not None


def test_vulkan_has_none() -> None:
    layout = lay_out(conv(image(28, 28, 64, 64), 64, 64).arguments)
    found = float_shader(layout.program, 0, layout.call, Glsl(False))
    assert found is not None and found.matrices is None
