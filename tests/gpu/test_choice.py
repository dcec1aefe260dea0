"""Which calls go to the GPU: the fastest of all placements, by the times of both sides and of waiting."""

from __future__ import annotations

import random
from itertools import product
from math import inf

import pytest

from edgec.schedule.gpu.choice import EVERYTHING, Choice, Measured, choose_places, run_us


def test_no_placement_of_random_calls_is_faster() -> None:
    numbers = random.Random(7)
    mixed = 0
    for _ in range(300):
        count = numbers.randrange(1, 8)
        cpu, gpu = ([numbers.choice([0, 1, 2, 3, 5, 8, 13]) + numbers.random() for _ in range(count)] for _ in range(2))
        wait = numbers.choice([0.0, 0.5, 2.0, 6.0])
        can = [numbers.random() < 0.8 for _ in range(count)]
        found = choose_places(cpu, gpu, wait, can)
        assert not any(place and not able for place, able in zip(found, can, strict=True))
        allowed = [places for places in product((False, True), repeat=count) if all(a or not p for p, a in zip(places, can, strict=True))]
        assert run_us(cpu, gpu, wait, found) == pytest.approx(min(run_us(cpu, gpu, wait, places) for places in allowed))
        mixed += 0 < sum(found) < count
    assert mixed > 50


def test_a_call_that_is_slower_on_the_gpu_stays_there_when_leaving_takes_longer() -> None:
    assert choose_places([9, 1, 9], [1, 2, 1], 3, [True] * 3) == (True, True, True)
    assert choose_places([9, 1, 9], [1, 6, 1], 3, [True] * 3) == (True, False, True)


def test_waiting_may_cost_more_than_the_gpu_saves() -> None:
    assert choose_places([5, 5], [1, 1], 9, [True] * 2) == (False, False)
    assert choose_places([5, 5], [1, 1], 7, [True] * 2) == (True, True)


def test_the_processor_is_taken_where_both_sides_take_as_long() -> None:
    assert choose_places([4, 4], [4, 4], 0, [True] * 2) == (False, False)
    assert choose_places([], [], 1, []) == ()


def test_each_piece_of_work_is_waited_for() -> None:
    assert run_us([1, 1, 1], [2, 2, 2], 10, [True, False, True]) == 25
    assert run_us([1, 1, 1], [2, 2, 2], 10, [True, True, True]) == 16


def test_without_a_measurement_all_or_nothing_is_chosen() -> None:
    assert EVERYTHING.reasons([True, False]) == ((True, ""), (False, ""))
    assert Choice(gpu=False).reasons([True, False]) == ((False, "the build keeps everything on the CPU"), (False, ""))


def test_reasons_say_what_was_measured() -> None:
    measured = Measured("pi", "V3D", (12.0, 50.0, 7.0, 3.0), (40.0, 9.0, None, 1.0), 5.0)
    (first, second, third, fourth) = Choice(measured=measured).reasons([True, True, True, False])
    assert first == (False, "measured: CPU 12 us, GPU 40 us, waiting 5 us")
    assert second == (True, "measured: CPU 50 us, GPU 9 us, waiting 5 us")
    assert third == (False, "measured: CPU 7 us, GPU not measured, waiting 5 us")
    assert fourth == (False, "")
    facts = Choice(measured=measured).expected([False, True, False, False])
    assert facts is not None
    assert (facts.board, facts.device, facts.expected_us) == ("pi", "V3D", 12 + 9 + 5 + 7 + 3)
    assert facts.expected_us < inf
