"""Which calls are left out where a condition does not hold, and which must always run."""

from __future__ import annotations

import pytest

from edgec.frontend import from_proto
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.passes import optimize
from edgec.program.program import LoopCall, Program
from edgec.schedule import schedule
from edgec.targets import load_target
from tests.operators.control_cases import control_cases


def lowered(name: str) -> Program:
    graph = from_proto(next(case.model for case in control_cases() if case.name == name)).graph
    optimize(graph)
    target = load_target("portable")
    program = schedule(lower(graph, target, "case"), target)
    plan(program)
    return program


def when(program: Program) -> dict[str, tuple[str, bool]]:
    return {call.call.name: (call.call.when.buffer, call.call.when.holds) for call in program.calls if call.call.when is not None}


def test_each_branch_counts_where_it_is_taken_and_what_both_read_always() -> None:
    assert when(lowered("if_of_convolutions_True_True")) == {
        "If_1_Conv_call": ("c_holds", True),
        "If_1_Conv_1_call": ("c_holds", True),
        "If_1_If_Softmax_call": ("d_holds", True),
        "If_1_If_Conv_call": ("d_holds", True),
        "If_1_If_ArgMax_call": ("If_1_h_And_1_holds", True),
        "If_1_Conv_2_call": ("c_holds", False),
    }


def test_turns_count_from_the_condition_on_that_ends_them() -> None:
    found = when(lowered("loop_while_below_0.5"))
    assert found["Loop_3_0_Add_call"] == ("go", True)
    assert found["Loop_3_6_Add_call"] == ("y_And_5", True)


@pytest.mark.parametrize("name", ["if_taken", "if_of_convolutions_True_True", "loop_while_below_0.5", "loop_in_loop_with_branches"])
def test_places_are_always_made_and_conditions_live_long_enough(name: str) -> None:
    """Other calls trust that places are in range; and a call looks its condition up after all calls before it."""
    program = lowered(name)
    made: dict[str, int] = {}
    for number, call in enumerate(program.calls):
        if call.call.when is not None:
            assert all(program.buffers[buffer].below is None for buffer in call.call.writes)
            assert not isinstance(call, LoopCall) or call.outside is None
            held = program.buffers[call.call.when.buffer]
            assert held.address is not None
            for other in program.calls[made[held.name] + 1 : number]:
                for buffer in map(program.buffers.__getitem__, other.call.writes):
                    apart = buffer.address is None or not buffer.address <= held.address < buffer.address + buffer.max_bytes
                    assert apart, f"{other.call.name} writes over {held.name}"
        made |= dict.fromkeys(call.call.writes, number)
