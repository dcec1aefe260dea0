"""Programs of one network for several sets of shapes become one: what callers see must be alike, names of C alone may differ."""

from __future__ import annotations

import pytest
from onnx import parser

from edgec.base.errors import UsageError
from edgec.frontend import from_proto
from edgec.ir.types import DType
from edgec.lower import lower
from edgec.program.expr import const
from edgec.program.many_shapes import merged
from edgec.program.program import Buffer, Kind, Port, Program
from edgec.program.turns import spans
from edgec.schedule import schedule
from edgec.targets import load_target


def relay(extent: int, identifier: str, scale: float | None = None, zero_point: int = 0) -> Program:
    """A network whose one output lies in the buffer of its C name."""
    dtype = DType.FLOAT32 if scale is None else DType.INT8
    port = Port("y", identifier, identifier, dtype, (const(extent),), scale, zero_point)
    return Program("relay", "host", outputs=[port], buffers={identifier: Buffer(identifier, dtype, const(extent), Kind.OUTPUT)})


def test_an_output_has_one_name_of_c_in_all_sets() -> None:
    both = merged([relay(4, "y"), relay(6, "y_2")])
    (port,) = both.outputs
    assert (port.identifier, port.buffer, port.shapes) == ("y", "y", ((4,), (6,)))
    assert list(both.buffers) == ["y"] and both.buffers["y"].size == const(6)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (relay(6, "y"), "is y in float32, and y in int8 with scale 0.5 and zero point 3 in the first set"),
        (
            relay(6, "y", 0.5, 4),
            "is y in int8 with scale 0.5 and zero point 4, and y in int8 with scale 0.5 and zero point 3 in the first set",
        ),
    ],
)
def test_what_callers_would_read_otherwise_is_refused(other: Program, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        merged([relay(4, "y", 0.5, 3), other])
    assert [problem.what for problem in caught.value.problems] == [what]


def test_loops_of_two_sets_turn_each_by_itself() -> None:
    """Their names are apart, also where the shapes differ in nothing but how often they turn."""
    target = load_target("portable")
    text = """<ir_version: 8, opset_import: ["": 18]> graph (float[N,4] x, float[4] h) => (float[4] y) {
      y = Scan <num_scan_inputs = 1, body = step (float[4] s, float[4] p) => (float[4] t) { a = Add(s, p)  t = Tanh(a) }>(h, x) }"""
    graphs = [from_proto(parser.parse_model(text), {"x": (turns, 4)}).graph for turns in (12, 20)]
    both = merged([schedule(lower(graph, target, "net"), target) for graph in graphs])
    first, second = spans(both).values()
    assert [repeat.turns for repeat in both.repeats.values()] == [12, 20]
    assert {call.call.shape for call in both.calls[first.first : first.end]} == {1}
    assert {call.call.shape for call in both.calls[second.first : second.end]} == {2} and first.end < second.first
    assert all({repeat.turn, repeat.goes_on} <= both.buffers.keys() for repeat in both.repeats.values())
