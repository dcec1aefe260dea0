"""What a user may choose about quantization."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgec.quant.given.goal import Goal

if TYPE_CHECKING:
    import numpy as np

    from edgec.quant.scope.cost import Costs

Sample = dict[str, "np.ndarray"]
Samples = Callable[[], Iterable[Sample]]  # called once per pass over the data; yields the same samples each time
Progress = Callable[[str, int, int], None]  # stage, steps done, steps in all (0: not known)

OBSERVERS = ("minmax", "percentile", "mse", "entropy")
EFFORTS = ("fast", "normal", "high")


@dataclass(frozen=True)
class QuantizeOptions:
    """The choices of `quantize`.

    observer: how the range of an activation is chosen from its statistics. percentile: the share of values that the
    observer `percentile` keeps inside, in percent. exclude: names of nodes that stay in float (shell patterns allowed).
    equalize, round_weights, correct_bias, shape_sums: the improvements of accuracy that are tried, see edgec/quant/trials/steps.py;
    like the observer's ranges they are judged on samples that they were not fitted to.
    effort: how much is tried, see EFFORT of edgec/quant/trials/steps.py; with high effort all samples judge.
    codes_out: whether results that no other layer takes end in 8 bits, as raw outputs need them; else they end in float.
    goal: what the outputs must keep; layers that keep them from it stay in float, see edgec/quant/floats/reach.py. None: nothing is asked.
    rescue: whether, where nothing is asked, a few layers that cost next to nothing may leave int8 for outputs that would be poor, see
    edgec/quant/floats/rescue.py; with fast effort none do.
    costs: by which layers are chosen for that; None: those of no target in particular.
    progress: called while the samples run.
    """

    observer: str = "mse"
    percentile: float = 99.99
    exclude: tuple[str, ...] = ()
    equalize: bool = True
    round_weights: bool = True
    correct_bias: bool = True
    shape_sums: bool = True
    effort: str = "normal"
    codes_out: bool = False
    goal: Goal | None = None
    rescue: bool = True
    costs: Costs | None = None
    progress: Progress | None = None
