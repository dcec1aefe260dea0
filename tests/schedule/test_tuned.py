"""What was measured decides in place of the cost model: layers by their names, the ways to compute them, and choices that are none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgec.frontend import from_proto
from edgec.kernels import VARIANTS
from edgec.lower import lower
from edgec.passes import optimize
from edgec.program.arguments import in_struct
from edgec.program.layer_signature import signature
from edgec.program.memory import prove_memory
from edgec.program.program import Program, TemplateCall
from edgec.program.text import dumps
from edgec.schedule import schedule
from edgec.schedule.choice import candidates
from edgec.schedule.ways import Ways, unfit, ways
from edgec.targets import Target, load_target
from tests.contract.subjects import random_net
from tests.nets import Net

FIRST = (
    "conv_float: 1x24x24 every 32 to 22x22 every 64, window 3x3 stride 1x1 dilation 1x1 pad 0x0, "
    "residual_pixel_stride 0, groups 1, in_channels 32, out_channels 64"
)
SECOND = (
    "conv_float: 1x22x22 every 64 to 22x22 every 64, window 3x3 stride 1x1 dilation 1x1 pad 1x1, "
    "with residual, residual_pixel_stride 64, groups 1, in_channels 64, out_channels 64"
)
X86 = load_target("x86-64")


def lowered(target: Target = X86) -> Program:
    """A convolution, and two of one shape that add what they read."""
    net = Net("net", 1, (1, 32, 24, 24))
    x = net.node("Conv", ["x", net.normal(64, 32, 3, 3)], 64, kernel_shape=[3, 3])
    for _ in range(2):
        x = net.node("Add", [net.node("Conv", [x, net.normal(64, 64, 3, 3)], 64, kernel_shape=[3, 3], pads=[1] * 4), x], 64)
    graph = from_proto(net.model(x)).graph
    optimize(graph)
    return lower(graph, target, "net")


def computed(program: Program, vocabulary: str) -> list[str]:
    calls = [call for call in program.calls if isinstance(call, TemplateCall)]
    return [chosen.variant for call in calls for chosen in call.chosen if chosen.vocabulary == vocabulary]


def test_a_layer_is_called_by_its_kernel_and_geometry() -> None:
    names = [signature(call.arguments) for call in lowered().calls if isinstance(call, TemplateCall)]
    assert names == [FIRST, SECOND, SECOND]


def test_numbers_of_a_layer_are_not_in_its_name() -> None:
    """Codes are nothing that speed depends on: what is a size of the C struct and no size of a layer is known by its name."""
    net = random_net("mobilenet")
    program = lower(net.graph, X86, "net")
    for call in program.calls:
        if isinstance(call, TemplateCall):
            codes = [field.name for field in in_struct(type(call.arguments)) if "zero" in field.name or field.name in ("low", "high")]
            other = replace(call.arguments, **{name: getattr(call.arguments, name) + 1 for name in codes})
            assert signature(other) == signature(call.arguments) and not set(codes) & set(signature(other).split())


def test_there_are_as_many_ways_as_computations_that_differ() -> None:
    """With AVX-512 the tall tile is another, with SSE4.1 it is that of panels: the likelier name stands for both."""
    program = lowered()
    assert ways(program, X86, "avx512vnni") == (
        Ways(FIRST, (1,), "winograd", ("tall", "panels")),
        Ways(SECOND, (2, 3), "winograd", ("tall", "panels")),
    )
    assert {way.others for way in ways(program, X86, "sse41")} == {("tall",)}
    portable = load_target("portable")
    assert ways(lowered(portable), portable, "portable") == ()


def test_what_was_measured_decides() -> None:
    program = lowered()
    assert computed(schedule(program, X86), "avx512vnni") == ["winograd"] * 3
    tuned = schedule(program, X86, {FIRST: "panels", SECOND: "tall"})
    assert computed(tuned, "avx512vnni") == ["panels", "tall", "tall"] and computed(tuned, "avx2") == ["panels"] * 3
    prove_memory(tuned)
    assert dumps(tuned) == dumps(schedule(program, X86, {SECOND: "tall", FIRST: "panels"})) != dumps(schedule(program, X86))


def test_weights_lie_as_the_chosen_variant_reads_them() -> None:
    program = lowered()
    by_name = {call.packing for call in schedule(program, X86, {FIRST: "panels"}).calls if isinstance(call, TemplateCall)}
    assert by_name == {"panels of 16", "points of Winograd"}


@pytest.mark.parametrize("wrong", ["merged", "none of them", "", "winograd4"])
def test_a_choice_that_cannot_be_is_not_obeyed_and_told(wrong: str) -> None:
    """The kernel has no such variant, or none for this layer: the cost model's word holds."""
    program = lowered()
    assert dumps(schedule(program, X86, {FIRST: wrong, "conv_float: of another model": "tall"})) == dumps(schedule(program, X86))
    assert unfit(program, X86, {FIRST: wrong, "conv_float: of another model": "tall"}) == [f"/net/Conv_0 cannot be computed by {wrong!r}"]
    assert unfit(program, X86, {FIRST: "tall", SECOND: "winograd"}) == []


@pytest.mark.parametrize("name", ["x86-64", "rpi4", "linux-arm64", "universal", "portable", "cortex-m4"])
def test_whatever_is_chosen_no_access_lies_outside_of_a_buffer(name: str) -> None:
    """Scheduling proves it; and each candidate is taken where a record says so."""
    target = load_target(name)
    for program in (lower(random_net("mobilenet").graph, target, "net"), lowered(target)):
        calls = [call.arguments for call in program.calls if isinstance(call, TemplateCall)]
        known = {signature(arguments): [variant.name for variant in candidates(arguments, target)] for arguments in calls}
        for at in range(max(map(len, known.values()))):
            tuned = {layer: names[min(at, len(names) - 1)] for layer, names in known.items()}
            done = [call for call in schedule(program, target, tuned).calls if isinstance(call, TemplateCall)]
            assert [call.slot == call.arguments.kernel for call in done] == [
                tuned[signature(arguments)] == VARIANTS[type(arguments)][-1].name for arguments in calls
            ]
