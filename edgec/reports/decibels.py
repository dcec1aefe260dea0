"""Pictures of a quantized model: what is left of each layer along the depth, and where the numbers of one layer lie."""

from __future__ import annotations

from collections.abc import Sequence

from edgec.base.harmless import ending
from edgec.records.diagnosis import HistogramFacts, LayerFacts
from edgec.reports.svg import Picture, Scale, Shape, dot, line, path, rectangle, scale, words
from edgec.reports.words import digits, plural

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 280, 44, 708, 22, 244
SMALL = (340, 160, 8, 332, 22, 136)  # the same of a histogram
HIGHEST = 80.0  # dB: more than that is no loss
MOST_POINTS = 1000  # of one line
LONGEST = 40  # letters of a name at an axis


def depth_picture(layers: Sequence[LayerFacts]) -> Picture:
    """Two lines: each layer's own error, and all errors up to it."""
    shown = layers[:: len(layers) // MOST_POINTS + 1]
    up = scale([min(layer.local, layer.accumulated, HIGHEST) for layer in shown] + [HIGHEST / 2], BOTTOM, TOP, zero=True)
    across = scale([0, max(1, len(shown) - 1)], LEFT + 8, RIGHT - 8)
    shapes: list[Shape] = []
    for tick in up.ticks(6):
        shapes += [line(LEFT, up.at(tick), RIGHT, up.at(tick), "grid"), words(LEFT - 5, up.at(tick) + 4, f"{tick:.6g}", "label", "end")]
    shapes += [words(2, 12, "dB", "label"), line(LEFT, BOTTOM, RIGHT, BOTTOM, "axis")]
    for style, of in (("trend local", _local), ("trend", _accumulated)):
        shapes.append(path([(across.at(place), up.at(of(layer))) for place, layer in enumerate(shown)], style))
    for place, layer in enumerate(shown):
        hint = f"{layer.node}: {layer.local:.1f} dB by itself, {layer.accumulated:.1f} dB with all before it"
        shapes.append(dot(across.at(place), up.at(_local(layer)), 2.5, "point local", hint))
        shapes.append(dot(across.at(place), up.at(_accumulated(layer)), 2.5, "point", hint))
    shapes += (
        [
            words(LEFT, BOTTOM + 17, ending(shown[0].node, LONGEST), "label"),
            words(RIGHT, BOTTOM + 17, ending(shown[-1].node, LONGEST), "label", "end"),
        ]
        if shown
        else []
    )
    worst = min(shown, key=_local, default=None)
    told = f"{plural(len(layers), 'value')} in their order" + (f"; least by itself: {worst.node}, {worst.local:.1f} dB" if worst else "")
    return Picture(WIDTH, HEIGHT, tuple(shapes), "Signal-to-noise ratio of every stored value along the depth", told)


def histogram_picture(histogram: HistogramFacts, layer: LayerFacts) -> Picture:
    """How often, on a scale of square roots so that tails can be seen; the range of the codes is shaded."""
    width, height, left, right, top, bottom = SMALL
    across = scale([histogram.first, histogram.last], left, right)
    most = max(histogram.counts, default=0) ** 0.5 or 1.0
    ends = across.at(layer.low), across.at(layer.high)
    shapes = [rectangle(ends[0], top, ends[1] - ends[0], bottom - top, "band")]
    step = (right - left) / max(1, len(histogram.counts))
    for index, count in enumerate(histogram.counts):
        if count > 0:
            tall = max(1.0, count**0.5 / most * (bottom - top - 6))
            shapes.append(rectangle(left + index * step, bottom - tall, step, tall, "bar"))
    shapes += [line(at, top - 4, at, bottom, "mark") for at in ends]
    shapes += [line(across.at(end), top - 4, across.at(end), bottom, "mark dashed") for end in histogram.middle]
    shapes += _ticks(across, bottom)
    ranges = ((layer.low, layer.high), (layer.seen_low, layer.seen_high), histogram.middle)
    held, seen, middle = (f"{digits(low)} to {digits(high)}" for low, high in ranges)
    told = f"codes hold {held}; the numbers go from {seen}, 99.8 % of them from {middle}"
    return Picture(width, height, tuple(shapes), f"How the numbers of {layer.node} are distributed", told)


def _ticks(across: Scale, y: float) -> list[Shape]:
    shapes = [line(across.start, y, across.end, y, "axis")]
    for tick in across.ticks(4):
        at = across.at(tick)
        anchor = "end" if at > across.end - 14 else "start" if at < across.start + 14 else "middle"
        shapes += [line(at, y, at, y + 4, "axis"), words(at, y + 17, f"{tick:.6g}", "label", anchor)]
    return shapes


def _local(layer: LayerFacts) -> float:
    return min(layer.local, HIGHEST)


def _accumulated(layer: LayerFacts) -> float:
    return min(layer.accumulated, HIGHEST)
