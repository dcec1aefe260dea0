"""Which variants of layers are tried next, and which of those that were tried win."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from edgec.boards.board.intervals import paired_ratio
from edgec.records.results import LayerTime
from edgec.records.tuning import Compared, TunedBoard, TunedLayer
from edgec.schedule.ways import Ways

Choices = Mapping[str, str]  # by the signature of a layer, one of its variants


def tries(ways: Sequence[Ways], board: TunedBoard) -> list[Choices]:
    """What is left to try: in each try every layer has the next of its variants that nobody compared with the cost model's yet."""
    left = {way.signature: [name for name in way.others if name not in _known(board, way).tried] for way in ways}
    rounds = max(map(len, left.values()), default=0)
    return [{name: others[at] for name, others in left.items() if at < len(others)} for at in range(rounds)]


def compared(
    ways: Sequence[Ways], board: TunedBoard, choices: Choices, base: Sequence[LayerTime], other: Sequence[LayerTime]
) -> TunedBoard:  # fmt: skip
    """What is known of a board after a try. base, other: times of all calls, of the cost model's package and of that with the choices.

    Layers whose time was too short for the board's clock stay untried.
    """
    layers = dict(board.layers)
    for way in ways:
        if way.signature not in choices:
            continue
        was, now = (_rounds(way, times) for times in (base, other))
        if min(*was, *now) <= 0:
            continue
        ratio, low, high = paired_ratio(was, now)
        found = Compared(median(now), median(was), ratio, low, high)
        known = _known(board, way)
        layers[way.signature] = replace(known, tried={**known.tried, choices[way.signature]: found})
    return replace(board, layers=layers)


def winners(ways: Sequence[Ways], board: TunedBoard) -> dict[str, str]:
    """The fastest variant of each layer that is surely faster than the cost model's."""
    found = {}
    for way in ways:
        tried = _known(board, way).tried
        sure = {name: tried[name].ratio for name in way.others if name in tried and tried[name].high < 1}
        if sure:
            found[way.signature] = min(sure, key=sure.__getitem__)
    return found


def stronger_half(ways: Sequence[Ways], board: TunedBoard, choices: Choices) -> dict[str, str]:
    """Of some winners those that save most time; none of one alone."""
    saved = {}
    for way in ways:
        if way.signature in choices:
            found = board.layers[way.signature].tried[choices[way.signature]]
            saved[way.signature] = found.base_us - found.us
    most = sorted(saved, key=saved.__getitem__, reverse=True)[: len(saved) // 2]
    return {name: choices[name] for name in choices if name in most}


def decided(ways: Sequence[Ways], board: TunedBoard, choices: Choices) -> TunedBoard:
    """What builds go by from now on: of these layers the choices, and for others of them what the cost model says."""
    own = {way.signature: replace(_known(board, way), variant=choices.get(way.signature)) for way in ways}
    return replace(board, layers={**board.layers, **{name: layer for name, layer in own.items() if name in board.layers}})


def _known(board: TunedBoard, way: Ways) -> TunedLayer:
    """What was compared with the variant that the cost model chooses today."""
    known = board.layers.get(way.signature)
    return known if known is not None and known.base == way.base else TunedLayer(way.base, {})


def _rounds(way: Ways, times: Sequence[LayerTime]) -> list[float]:
    """Of all calls of a layer together, the time in each round."""
    of_calls = [times[call].rounds_us for call in way.calls]
    return [sum(of_round) for of_round in zip(*of_calls, strict=True)]
