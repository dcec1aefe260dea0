"""Which calls run on the GPU, and the reasons of the others."""

from __future__ import annotations

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.placement import place
from edgec.emit.gpu.shader import kernel_name
from edgec.emit.gpu.shaders import floats_are_exact
from edgec.emit.gpu.variants import BASE, BYTES, DOT4, variants_of
from edgec.frontend import from_proto
from edgec.ir.types import DType
from edgec.kernels import ConvInt16, DepthwiseInt16
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.passes import optimize
from edgec.program.expr import FLOAT, INT, Cast, Expr, cast, clamp, const, load, unary, var
from edgec.program.program import For, Kind, Program, Size, Store, TemplateCall
from edgec.program.turns import spans
from edgec.schedule import schedule
from tests.contract.imported import HAND_MADE
from tests.emit.programs import buffer, loop, port
from tests.gpu.cases import target_with_gpu
from tests.gpu.programs import on_the_cpu
from tests.nets import MODELS
from tests.operators.attention_cases import attention_case
from tests.operators.loop_cases import loop_cases
from tests.operators.suite import to_program

TARGET = target_with_gpu("rpi5")
i = var("i")
x = load("x", i, FLOAT)
CODE = Cast(DType.INT8, cast(clamp(unary("rint", x * 3.0), -128.0, 127.0), INT))


def program_of(*values: Expr) -> Program:
    program = Program("test", "host")
    port(program, "x", FLOAT, (16,), Kind.INPUT)
    for number, value in enumerate(values):
        port(program, f"y{number}", value.dtype, (16,), Kind.OUTPUT)
        loop(program, f"call_{number}", (For(i, const(16), (Store(f"y{number}", i, value),)),), ("x",), (f"y{number}",))
    plan(program)
    layout_constants(program)
    return program


def test_attention_in_codes_stays_on_the_cpu() -> None:
    programs = [to_program(attention_case(seed).model, TARGET) for seed in (0, 2, 3)]
    for program in programs:
        layout_constants(program)
    calls = [(place(program, TARGET), program) for program in programs]
    reasons = [why for found, program in calls for why, call in zip(found, program.calls, strict=True) if isinstance(call, TemplateCall)]
    assert reasons == ["attention in codes"] * 4


def test_the_turns_of_a_loop_stay_on_the_cpu_and_what_is_around_them_does_not() -> None:
    case = next(case for case in loop_cases() if case.name == "long_loop_over_a_picture")
    program = to_program(case.model, TARGET)
    layout_constants(program)
    (span,) = spans(program).values()
    found = place(program, TARGET)
    assert {number for number, why in enumerate(found) if why == "runs in the turns of a loop"} == {*range(span.first - 1, span.end)}
    assert set(found[: span.first - 1] + found[span.end :]) == {""}


def test_a_float_program_runs_on_the_gpu() -> None:
    assert place(program_of(unary("exp", x) / 3.0, unary("tanh", x), x + 1.0), TARGET) == ("", "", "")


def test_float_functions_and_divisions_of_a_quantized_program_stay_on_the_cpu() -> None:
    program = program_of(CODE, unary("exp", x), x / 3.0, x * 0.5 + 1.0, unary("sqrt", x))
    why = "has the bits of a float {} to give, which GPUs round as they like"
    assert place(program, TARGET) == ("", why.format("exp"), why.format("div"), "", why.format("sqrt"))


def test_floats_of_a_program_are_exact_when_it_has_codes_or_makes_them() -> None:
    assert not floats_are_exact(program_of(x + 1.0)) and floats_are_exact(program_of(CODE))
    with_codes = program_of(x + 1.0)
    buffer(with_codes, "codes", DType.UINT8, 16, Kind.ARENA)
    assert floats_are_exact(with_codes)
    image = program_of(x + 1.0)
    port(image, "pixels", DType.UINT8, (16,), Kind.INPUT)
    assert not floats_are_exact(image), "bytes that are made floats are no codes"


def test_a_program_of_symbolic_sizes_stays_on_the_cpu() -> None:
    program = program_of(x + 1.0)
    program.sizes.append(Size(INT, "batch", 4))
    assert place(program, TARGET) == ("has symbolic sizes",)


def test_double_arithmetic_stays_on_the_cpu() -> None:
    assert place(program_of(Cast(DType.FLOAT64, x)), TARGET) == ("converts float32 to float64",)


def test_whole_nets_run_on_the_gpu() -> None:
    for name, make in MODELS.items():
        assert on_the_cpu(to_program(make(1), TARGET), TARGET) == [], name


def test_kernels_have_names_of_their_own_that_both_languages_take() -> None:
    names = [kernel_name(0, "a__b/c"), kernel_name(1, "a__b/c"), kernel_name(2, "x" * 200)]
    assert len(set(names)) == 3 and all(name.isidentifier() and "__" not in name and len(name) <= 56 for name in names)


def test_variants_are_made_of_what_differs_only() -> None:
    import dataclasses

    from edgec.emit.gpu.shader import Shader

    shader = Shader(0, "name", "source", (1, 1, 1), (1, 1, 1))
    assert variants_of(shader) == (BASE,)
    assert variants_of(dataclasses.replace(shader, uses_bytes=True)) == (BASE, BYTES)
    assert variants_of(dataclasses.replace(shader, uses_bytes=True, uses_dot=True)) == (BASE, BYTES, DOT4)


def test_products_of_16_bits_run_on_the_cpu() -> None:
    """And the functions between them keep the bits that the contract says."""
    graph = from_proto(HAND_MADE["wide_s16"]()[0]).graph
    optimize(graph)
    program = schedule(lower(graph, TARGET, "net"), TARGET)
    plan(program)
    layout_constants(program)
    why = dict(zip((type(getattr(call, "arguments", None)) for call in program.calls), place(program, TARGET), strict=True))
    assert why[ConvInt16] == why[DepthwiseInt16] == "multiplies codes of 16 bits" and floats_are_exact(program)
    assert floats_are_exact(program_of(Cast(DType.INT16, cast(unary("rint", x * 3.0), INT))))
