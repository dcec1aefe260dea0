"""Loops as calls that run in turns: what they are, in which order, and what of their memory outlives a turn."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.emit.calls import functions
from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.ir.loop import loops_in
from edgec.ir.text import dumps as text_of
from edgec.ir.text import loads
from edgec.ir.verify import verify
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.oracle import Evaluator
from edgec.passes import optimize
from edgec.program.program import Program, TemplateCall
from edgec.program.text import dumps
from edgec.program.turns import carried, lives, spans
from edgec.quant import quantize
from edgec.schedule import schedule
from edgec.targets import load_target
from tests.lower.interpreter import run
from tests.operators.case import Case
from tests.operators.loop_cases import loop_cases

TARGET = load_target("portable")
NAMES = [case.name for case in loop_cases() if "slices" not in case.name]

SUMS = """graph sums
input %x: float32[12,3]
input %go: bool[]
const %half: float32[] = 0.5
const %axis: int64[1] = [0]
%first: float32[3] = ReduceSum(%x, %axis) {keepdims=0, noop_with_empty_axes=0} "first"
%last: float32[3], %rows: float32[12,3] = Loop(%go, %first, %x) {states=1, turns=12} "sum"
  body step
  input %turn: int64[]
  input %s: float32[3]
  input %xs: float32[12,3]
  const %limit: float32[] = 9.0
  const %place: int64[] = 0
  %row: float32[3] = Gather(%xs, %turn) {axis=0} "take"
  %more: float32[3] = Add(%s, %row) "add"
  %top: float32[] = Gather(%more, %place) {axis=0} "top"
  %on: bool[] = Less(%top, %limit) "less"
  output %on
  output %more
  output %s
  end
output %last
output %rows
"""

CALLS = """\
# %3 = Loop  ONNX "sum"  up to 12 turns of what follows -> f32[3], f32[12,3]
loop sum_begins
  sum_turn[0] = 0
  sum_goes_on[0] = int32(input_go[0])

# %4 = Add  ONNX "add"  -> f32[3]
within sum
loop add_call parallel
  for i0 < 3
    more[i0] = (s[i0] + input_x[((sum_turn[0] * 3) + i0)])

# %5 = copy  -> f32[3]
within sum
loop s_call parallel
  for i0 < 3
    output_rows[((sum_turn[0] * 3) + i0)] = s[i0]

# %6 = Less  ONNX "less"  -> bool[]
within sum
loop less_call
  on[0] = (more[0] < 9.0)

# %7 = copy  -> f32[3]
within sum
loop s_next_call parallel
  for i0 < 3
    s[i0] = more[i0]

# %8 = the end of a turn of "sum"
within sum
loop sum_ends
  sum_goes_on[0] = (((sum_turn[0] < 11) and on[0]) ? 1 : 0)
  sum_turn[0] = min((sum_turn[0] + 1), 11)
"""


def scheduled(text: str) -> Program:
    program = schedule(lower(loads(text), TARGET, "case"), TARGET)
    plan(program)
    return program


def lowered(name: str) -> Program:
    graph = from_proto(next(case.model for case in loop_cases() if case.name == name)).graph
    optimize(graph)
    program = schedule(lower(graph, TARGET, "case"), TARGET)
    plan(program)
    return program


def test_the_calls_of_a_loop_as_text() -> None:
    told = dumps(scheduled(SUMS))
    assert "repeat sum up to 12 times: turn sum_turn, goes on sum_goes_on from the first on\n" in told
    assert CALLS in told


def test_a_run_goes_back_behind_the_last_call_of_a_turn_and_past_it_where_there_is_none() -> None:
    program = scheduled(SUMS)
    (span,) = spans(program).values()
    jumps = {place: (item.jump.on, item.jump.off) for place, item in enumerate(functions(program, TARGET)) if item.jump is not None}
    assert jumps == {span.first - 1: (span.first, span.end), span.end - 1: (span.first, span.end)}


@pytest.mark.parametrize("case", loop_cases(), ids=lambda case: case.name)
def test_what_the_calls_compute(case: Case) -> None:
    program = lowered(case.name)
    found = run(program, case.inputs)
    for port, expected in zip(program.outputs, case.expected, strict=True):
        np.testing.assert_allclose(found[port.name], expected, rtol=1e-4, atol=1e-5)


def test_what_is_quantized_around_a_loop_leaves_it_in_float() -> None:
    """The body is what it was, and the Program computes what the evaluator does."""
    case = next(case for case in loop_cases() if case.name == "long_loop_over_a_picture")
    graph = from_proto(case.model).graph
    optimize(graph)
    samples = [{name: array * scale for name, array in case.inputs.items()} for scale in (1, np.float32(0.5))]
    coded = quantize(graph, lambda: iter(samples)).graph
    ((before,), (after,)) = (loops_in(graph), loops_in(coded))
    assert text_of(before.body) == text_of(after.body)
    assert any(node.op == "QuantizeLinear" for node in coded.nodes)
    program = schedule(lower(coded, TARGET, "case"), TARGET)
    plan(program)
    found, expected = run(program, case.inputs), Evaluator(to_onnx(coded)).run(case.inputs)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-5)


def test_a_loop_counts_the_work_of_all_its_turns() -> None:
    program = lowered("long_scan_of_a_cell")
    assert sum(call.call.macs for call in program.calls) == 20 * 2 * (3 * 6 + 6 * 6)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_turn_reads_of_others_shares_no_memory_with_what_it_makes(name: str) -> None:
    """A call in a loop writes over nothing that a call before it in the loop reads in the next turn, or that was made before the loop."""
    program = lowered(name)
    uses: dict[str, list[int]] = {}
    for number, call in enumerate(program.calls):
        for used in (*call.call.reads, *call.call.writes):
            uses.setdefault(program.root(used), []).append(number)
    assert spans(program) and carried(program) <= uses.keys()
    for span in spans(program).values():
        outside = {
            used for used, numbers in uses.items() if any(number in span for number in numbers) != all(number in span for number in numbers)
        }
        kept = [program.buffers[used] for used in outside if program.buffers[used].address is not None and uses[used][0] < span.first]
        kept = [buffer for buffer in kept if buffer.kind.value == "arena" and any(number in span for number in uses[buffer.name])]
        assert carried(program) & outside
        for call in program.calls[span.first : span.end]:
            for written in (program.buffers[program.root(used)] for used in call.call.writes):
                if written.kind.value == "arena":
                    assert all(other.name == written.name or apart(written, other) for other in kept), (call.call.name, written.name)


def apart(one: object, other: object) -> bool:
    (start, end), (first, last) = ((item.address, item.address + item.max_bytes) for item in (one, other))  # type: ignore[attr-defined]
    return bool(end <= first or last <= start)


def test_what_is_used_in_turns_and_outside_lives_through_all_of_them() -> None:
    program = scheduled(SUMS)
    (span,) = spans(program).values()
    used = {
        name: [number for number, call in enumerate(program.calls) if name in (*call.call.reads, *call.call.writes)]
        for name in ("s", "more")
    }
    assert lives(program, used) == {"s": (used["s"][0], used["s"][-1]), "more": (span.first, span.end - 2)}
    assert used["s"][0] < span.first and used["s"][-1] >= span.end


CODED = """graph coded
input %s: float32[1,4]
const %scale: float32[] = 0.0625
const %zero: int8[] = 1
%last: float32[1,4], %rows: float32[9,1,4] = Loop(_, %s) {states=1, turns=9} "loop"
  body step
  input %turn: int64[]
  input %state: float32[1,4]
  const %scale: float32[] = 0.0625
  const %zero: int8[] = 1
  const %w: int8[4,4] = normal(seed=2)
  const %small: float32[] = 0.01
  const %none: int8[] = 0
  %q: int8[1,4] = QuantizeLinear(%state, %scale, %zero) {axis=1, block_size=0, output_dtype=0, saturate=1} "code"
  %x: float32[1,4] = DequantizeLinear(%q, %scale, %zero) {axis=1} "decode"
  %v: float32[4,4] = DequantizeLinear(%w, %small, %none) {axis=1} "weights"
  %m: float32[1,4] = MatMul(%x, %v) "product"
  %n: int8[1,4] = QuantizeLinear(%m, %scale, %zero) {axis=1, block_size=0, output_dtype=0, saturate=1} "code again"
  %y: float32[1,4] = DequantizeLinear(%n, %scale, %zero) {axis=1} "decode again"
  output %y
  output %x
  end
output %last
output %rows
"""


def test_codes_that_the_model_has_in_a_body_are_computed_with_as_such() -> None:
    graph = loads(CODED.replace(", block_size=0, output_dtype=0, saturate=1", ""))
    verify(graph)
    program = schedule(lower(graph, TARGET, "case"), TARGET)
    plan(program)
    assert any(isinstance(call, TemplateCall) and "int8" in call.arguments.kernel for call in program.calls)
    inputs = {"s": np.array([[1.5, -0.75, 3, 0.1]], np.float32)}
    evaluator = Evaluator(to_onnx(graph))
    assert evaluator.exact_outputs == {"last", "rows"}
    found, expected = run(program, inputs), evaluator.run(inputs)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
