"""The kernels in the Metal Shading Language, without a Mac: parsed strictly, and executed on the CPU in several orders of threads.

The MSL of a kernel must do what its GLSL does on lavapipe: the same bytes, where floats are not the point, else within 1e-5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.dialect import Glsl, Metal
from edgec.emit.gpu.shader import Shader
from edgec.emit.gpu.shaders import shaders, shaders_or_reasons
from edgec.export import to_onnx
from edgec.kernels import PoolAverageFloat, PoolAverageInt8, PoolMaxFloat, PoolMaxInt8
from edgec.oracle import Evaluator
from edgec.program.program import LoopCall, Program
from edgec.program.regions import io_offsets, places
from edgec.targets import Target, load_target
from tests.contract.examiner import WHOLE
from tests.contract.subjects import FAMILIES, Net, float_net, program_of, quantized_net, random_float_net, random_net, samples_of
from tests.emit.programs import evaluate, execute, in_place_program, random_inputs, small_program
from tests.gpu.cases import lay_out, target_with_gpu
from tests.gpu.lavapipe import run_shader
from tests.gpu.msl.lint import complaints, lint, parse
from tests.gpu.msl.run import ORDERS, SIMDGROUPS, Wrong, run_metal
from tests.gpu.test_kernels_float import conv, image
from tests.gpu.test_kernels_int8 import ARM, X86, planned
from tests.kernels.int8_cases import any_case, conv_case, depthwise_case
from tests.kernels.test_float import random_conv, random_depthwise
from tests.kernels.test_pools import random_pool

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


@dataclass(frozen=True)
class Case:
    """A call in both languages and the memory before it."""

    title: str
    glsl: Shader
    metal: Shader
    arena: bytes
    weights: bytes
    is_float: bool


def case_of(title: str, target: Target, program: Program, arena: bytes, weights: bytes, is_float: bool) -> Case:
    signed = target.signed_activations
    (glsl,), (metal,) = shaders(program, target, Glsl(signed)), shaders(program, target, Metal(signed))
    assert glsl is not None and metal is not None and glsl.grid == metal.grid
    source = metal.source.replace(f"void {metal.name}(", f"void {title}(")
    return Case(title, glsl, replace(metal, name=title, source=source), arena, weights, is_float)


@cache
def cases(signed: bool) -> tuple[Case, ...]:
    """Every template kernel, in several shapes."""
    found, target = [], ARM if signed else X86
    rng = np.random.default_rng(4)
    integers = [
        conv_case(rng, target, *shape)[0] for shape in ((1, 5, 7, False, True), (2, 24, 20, False, False), (1, 200, 16, True, True))
    ]
    integers += [depthwise_case(rng, target, 20)[0], any_case(rng, target, 1, 3, 5)[0]]
    integers += [random_pool(kind, 603, signed).arguments for kind in (PoolMaxInt8, PoolAverageInt8)]
    for number, arguments in enumerate(integers):
        call = planned(rng, arguments)
        title = f"{type(arguments).__name__}_{number}"
        found.append(case_of(title, target, call.program, call.arena.tobytes(), call.weights, False))
    floats = [random_conv(seed).arguments for seed in (0, 1, 5)] + [random_depthwise(seed).arguments for seed in (2, 3)]
    floats += [conv(image(1, 3, 200, 20), 200, 20).arguments, conv(image(16, 16, 7, 40, 3), 7, 40).arguments]
    floats += [random_pool(kind, 3, signed).arguments for kind in (PoolMaxFloat, PoolAverageFloat)]
    for number, arguments in enumerate(floats if not signed else ()):
        layout = lay_out(arguments)
        title = f"{type(arguments).__name__}_{number}"
        found.append(case_of(title, target, layout.program, layout.arena, layout.weights, True))
    return tuple(found)


def metal_file(found: Sequence[Shader], signed: bool, simdgroups: bool = False) -> str:
    return (SIMDGROUPS if simdgroups else "") + Metal(signed).head + "\n".join(shader.source for shader in found)


@pytest.mark.parametrize("signed", [False, True])
def test_template_kernels_do_what_their_glsl_does_in_every_order_of_threads(signed: bool) -> None:
    text = metal_file([case.metal for case in cases(signed)], signed)
    assert complaints(text) == []
    for case in cases(signed):
        shader = case.glsl
        want, _ = run_shader(shader.source, shader.group, shader.grid, case.arena, case.weights, bytes(4), "bytes")
        for order in ORDERS:
            got, _ = run_metal(text, case.title, shader.group, shader.grid, case.arena, case.weights, b"", order)
            if case.is_float:
                np.testing.assert_allclose(np.frombuffer(got, np.float32), np.frombuffer(want, np.float32), 1e-5, 1e-5, err_msg=case.title)
            else:
                assert got == want, (case.title, order)


# Whole nets

# Without EDGEC_TEST_ALL the largest net does not run, and each of the others once.
WITH_SIMDGROUPS = ("mobilenet", "digits")
QUANTIZED = ("squeezenet", "resnet")
NETS = [
    (family, quantized, simdgroups)
    for family in (*FAMILIES, "digits")
    for quantized in (False, True)
    for simdgroups in (False, True)
    if WHOLE or (simdgroups == (family in WITH_SIMDGROUPS) and quantized == (family in QUANTIZED) and family != "yolox")
]


@pytest.mark.parametrize("family, quantized, simdgroups", NETS)
def test_nets_answer_as_the_model_says(family: str, quantized: bool, simdgroups: bool) -> None:
    """Each net in one order of threads; calls that stay on the CPU are evaluated statement by statement."""
    if family == "digits":
        net = (quantized_net if quantized else float_net)(onnx.load(DIGITS), family)
    else:
        net = random_net(family) if quantized else random_float_net(family)
    order = ORDERS[NETS.index((family, quantized, simdgroups)) % len(ORDERS)]
    check_net(net, target_with_gpu("linux-arm64" if order else "host", "metal"), quantized, order, simdgroups)


def check_net(net: Net, target: Target, quantized: bool, order: int, simdgroups: bool) -> None:
    program = program_of(net, target)
    inputs = samples_of(net.original)[0]
    got = run_program(program, target, inputs, order, simdgroups)
    evaluator = Evaluator(to_onnx(net.graph))
    for name, want in evaluator.run(inputs).items():
        if quantized and name in evaluator.exact_outputs:
            on_the_cpu = not all(shaders(program, target, Metal(target.signed_activations)))
            np.testing.assert_allclose(got[name], want, *((1e-6, 3e-7) if on_the_cpu else (0, 0)))  # numpy's exp is not the contract's
        else:
            np.testing.assert_allclose(got[name], want, 1e-4, 1e-4 * np.abs(want).max())


def test_programs_for_targets_without_a_gpu_have_no_shaders() -> None:
    """Their weights may be packed as only the CPU reads them."""
    target = load_target("x86-64")
    program = program_of(random_float_net("resnet"), target)
    with pytest.raises(ValueError, match="x86-64 has no GPU"):
        shaders(program, target, Metal(target.signed_activations))


def run_program(
    program: Program, target: Target, inputs: dict[str, np.ndarray], order: int, simdgroups: bool = False
) -> dict[str, np.ndarray]:
    """A planned Program call by call: the same bytes under MSL kernels and, for the CPU's calls, numpy."""
    weights, offsets, where = bytes(layout_constants(program)), io_offsets(program), places(program)
    found = shaders_or_reasons(program, target, Metal(target.signed_activations))
    if simdgroups:
        found = tuple(shader.matrices or shader if isinstance(shader, Shader) else shader for shader in found)
    text = metal_file([shader for shader in found if isinstance(shader, Shader)], target.signed_activations, simdgroups)
    assert complaints(text) == []
    regions = {"arena": b"\x5a" * program.arena_bytes, "weights": weights, "io": b"\x5a" * offsets[""]}

    def view(memory: dict[str, bytearray], name: str) -> np.ndarray:
        place, dtype = where[name], program.buffers[name].dtype
        return np.frombuffer(memory[place.region], dtype.numpy, place.bytes // dtype.bytes, place.offset)

    def views(memory: dict[str, bytearray]) -> dict[str, np.ndarray]:
        return {name: view(memory, name) for name in where}

    for port in program.inputs:
        memory = {name: bytearray(data) for name, data in regions.items()}
        views(memory)[port.buffer][:] = inputs[port.name].ravel()
        regions = {name: bytes(data) for name, data in memory.items()}
    for call, shader in zip(program.calls, found, strict=True):
        if isinstance(shader, Shader):
            arena, io = run_metal(text, shader.name, shader.group, shader.grid, regions["arena"], weights, regions["io"], order)
            regions = {"arena": arena, "weights": weights, "io": io}
            continue
        assert isinstance(call, LoopCall), f"{call.call.name} {shader}"
        memory = {name: bytearray(data) for name, data in regions.items()}
        with np.errstate(all="ignore"):
            execute(call.body, {}, views(memory))
        regions = {name: bytes(data) for name, data in memory.items()}
    last = views({name: bytearray(data) for name, data in regions.items()})
    return {port.name: last[port.buffer].reshape([int(extent.value) for extent in port.shape]) for port in program.outputs}


@pytest.mark.parametrize("make", [small_program, in_place_program])
def test_loops_answer_the_same_bytes_in_every_order_of_threads(make: Callable[[], Program]) -> None:
    program = make()
    inputs = random_inputs(program, 3)
    want = evaluate(program, inputs)
    for order in ORDERS:
        got = run_program(program, target_with_gpu("host", "metal"), inputs, order)
        for name, values in want.items():
            np.testing.assert_array_equal(got[name], values)


# What the two nets catch

GOOD = """kernel void call(device uint *arena [[buffer(0)]], device const uint *weights [[buffer(1)]], device uint *io [[buffer(2)]],
    uint3 local_position [[thread_position_in_threadgroup]]) {
    threadgroup int shared[8];
    int x = int(local_position.x);
    shared[x] = int(weights[x]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    int sum = shared[7 - x] + shared[x];
    if (sum != 0) arena[x] = uint(sum);
}
"""
BARRIER = "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"


def run_small(body: str, order: int = 0, threads: int = 8) -> list[int]:
    arena, _ = run_metal(HEAD + body, "call", (threads, 1, 1), (1, 1, 1), bytes(32), np.arange(8, dtype=np.uint32).tobytes(), b"", order)
    return [int(number) for number in np.frombuffer(arena, np.uint32)]


def test_the_shim_runs_a_right_kernel() -> None:
    assert complaints(HEAD + GOOD) == []
    assert [run_small(GOOD, order) for order in ORDERS] == [[7] * 8] * 3


WRONG = {
    "race: threads|before it is written": GOOD.replace(BARRIER, ""),
    "is read before it is written": GOOD.replace("shared[x] = int(weights[x]);", ""),
    "5 of 8 threads wait at the barrier": GOOD.replace("    if (sum", BARRIER.replace("    thr", "    if (x < 5) thr") + "    if (sum"),
    "out of bounds: byte 32 of the 32 of arena": GOOD.replace("arena[x]", "arena[x + 1]"),
    "out of bounds: shared[-1]": GOOD.replace("shared[7 - x]", "shared[6 - x]"),
    "of weights": GOOD.replace("weights[x]", "weights[x * 2]"),
    "meet at arena": GOOD.replace("arena[x]", "arena[x / 2]"),
}


@pytest.mark.parametrize("why", WRONG)
def test_the_shim_catches(why: str) -> None:
    for order in ORDERS:
        with pytest.raises(Wrong) as caught:
            run_small(WRONG[why], order)
        assert any(word in str(caught.value) for word in why.split("|")), caught.value


@pytest.mark.parametrize("kernel", ["ConvInt8_2", "ConvFloat_5", "ConvFloat_6"])
def test_every_barrier_of_a_convolution_is_needed(kernel: str) -> None:
    """These take several steps; a mutant without one of its barriers is caught."""
    (case,) = [case for case in cases(False) if case.title == kernel]
    parts = case.metal.source.split("barrier_group();")
    assert len(parts) > 2
    mutants = ["barrier_group();".join(parts[:at]) + "barrier_group();".join(["", *parts[at:]])[16:] for at in range(1, len(parts))]
    sources = [source.replace(f"void {kernel}(", f"void mutant_{number}(") for number, source in enumerate(mutants)]
    text = Metal(False).head + "\n".join(sources)
    for number in range(len(mutants)):
        with pytest.raises(Wrong, match=r"race|before it is written"):
            run_metal(text, f"mutant_{number}", case.metal.group, case.metal.grid, case.arena, case.weights, b"")


REFUSED = {
    "pointer without an address space": GOOD.replace("int x =", "uint *here = arena; int x ="),
    "writing constant memory": GOOD.replace("arena[x] =", "weights[x] ="),
    "a pointer into another address space": GOOD.replace("int x =", "device int *here = shared; int x ="),
    "a float that becomes an integer by itself": GOOD.replace("int sum =", "float half_way = 0.5f; int sum = half_way +"),
    "an undeclared function": GOOD.replace("int x =", "float y = sinpi(1.0f); int x ="),
    "a mutable global": "static int counter = 0;\n" + GOOD,
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_parse_refuses(what: str) -> None:
    assert parse(HEAD + REFUSED[what])


LINTED = {
    "double": GOOD.replace("int x =", "double y = 1.0f; int x ="),
    "double literal": GOOD.replace("int x =", "float y = 1.5; int x ="),
    "recursive": "static inline int f(int x) {\n    return x > 0 ? f(x - 1) : 0;\n}\n" + GOOD,
    "unknown attribute": GOOD.replace("thread_position_in_threadgroup", "thread_index_in_quadgroup"),
    "threadgroup memory": GOOD.replace("shared[8]", "shared[9000]"),
    "lambdas": GOOD.replace("int x =", "auto f = [&](int y) { return y; }; int x ="),
    "two kernels": GOOD + GOOD,
    "include": "#include <vector>\n" + GOOD,
    "standard C++": GOOD.replace("int(weights[x])", "std::abs(int(weights[x]))"),
}


@pytest.mark.parametrize("why", LINTED)
def test_the_lint_refuses(why: str) -> None:
    assert any(why in complaint for complaint in lint(HEAD + LINTED[why]))
