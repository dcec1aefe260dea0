"""Codes of 16 bits in place of float32, for layers that a goal keeps from int8: where they are enough, and cost less.

The weights stay as they are in int8. What a layer reads is stored in 16 bits: one whose own weights spoil the answers stays in
float32. So does one that reads what a product computes as a function of its sums, whose results have 8 bits.
"""

from __future__ import annotations

from collections.abc import Callable

from edgec.ops.registry import Role
from edgec.quant.floats.forecast import Forecast
from edgec.quant.floats.ranking import Names
from edgec.quant.floats.tries import Tries
from edgec.quant.given.goal import Goal


def widened(kept: Names, goal: Goal, tries: Tries, forecast: Forecast) -> tuple[Names, Names]:
    """What of `kept` still needs float32, and what reads 16 bits: of the products as many as the goal allows, those first that save most
    time; then without those that may as well read 8 bits."""
    narrow = {name for layer in forecast.layers if layer.node.outputs[0] in forecast.shaped for name in layer.results}
    products = frozenset(
        layer.node.name for layer in forecast.layers if layer.role is Role.MATRIX and narrow.isdisjoint(layer.operands)
    )  # fmt: skip

    def saved(name: str) -> float:
        return forecast.latency(kept) - forecast.latency(kept - {name}, {name})

    order = sorted((name for name in kept & products if saved(name) > 0), key=lambda name: (-saved(name), name))
    count = most(len(order), lambda count: goal.reached(tries(kept - frozenset(order[:count]), frozenset(order[:count]))))
    wide, order = frozenset(order[:count]), order[:count][::-1]
    kept -= wide
    fewer = most(len(order), lambda count: goal.reached(tries(kept, wide - frozenset(order[:count]))))
    return kept, wide - frozenset(order[:fewer])


def most(count: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to `count` that holds, where all below it do too, as 0 does. All of them are asked first."""
    if count == 0 or holds(count):
        return count
    low, high = 0, count - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
