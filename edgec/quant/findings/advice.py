"""What to try next, from what was found: a table of rules, each a sentence with an option that there is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from math import log10

from edgec.base.harmless import ending
from edgec.records.diagnosis import Advice, Diagnosis, LayerFacts

INPUT = "input"  # operator of a graph's own input
OUTSIDE = 0.01  # share of numbers beyond the codes: no observer cuts that many
BEYOND = 0.25  # parts of a layer's range
SLIGHTLY = 0.05  # parts of an input's, which observers hardly cut
UNUSED = 4.0  # times as wide as what is used
STANDS_OUT = 0.25  # part of the outputs' error
LONG_TAIL = 8.0  # times as wide as the middle 99.8 % of the numbers
DEAD, NOTICED = 0.05, 0.05  # share of a layer's channels; part of the outputs' error
GOOD, POOR = 30.0, 20.0  # dB of an output
TOGETHER = 3  # layers that are named at once
LONG = 60  # letters of a name
_LITERALLY = {"*": "[*]", "?": "[?]", "[": "[[]", ",": "?"}  # a comma would end the pattern
_PART = re.compile(r"_(part\d+|join)$")  # what edgec/quant/channels/split.py adds to names


@dataclass(frozen=True)
class Finding:
    """nodes: that `--exclude` can name."""

    diagnosis: Diagnosis
    nodes: Collection[str]

    @property
    def worst_output(self) -> float:
        return min(self.diagnosis.judged.values(), default=GOOD)


def advise(diagnosis: Diagnosis, nodes: Collection[str]) -> tuple[Advice, ...]:
    """All that the rules say, in their order."""
    finding = Finding(diagnosis, frozenset(nodes))
    return tuple(advice for rule in RULES for advice in rule(finding))


def other_inputs(finding: Finding) -> Iterator[Advice]:
    """Data that was prepared otherwise than the calibration's."""
    for layer in finding.diagnosis.layers:
        used = max(layer.seen_high, 0.0) - min(layer.seen_low, 0.0)
        unused = layer.rounding < GOOD and used * UNUSED < layer.high - layer.low
        if layer.operator == INPUT and (_cut(layer, SLIGHTLY) or unused):
            attempt = "prepare both alike, see [preprocess]; or calibrate with data as it is here, --calib"
            yield Advice(f"input {_elsewhere(layer)}", attempt, layer.node)


def not_calibrated(finding: Finding) -> Iterator[Advice]:
    """Layers that go beyond what the calibration showed, where that does not follow from the inputs, nor is cut since nobody reads it."""
    found = [layer for layer in finding.diagnosis.layers if _cut(layer, BEYOND)]
    costly = finding.worst_output < GOOD and sum(layer.cost for layer in found) >= STANDS_OUT
    if costly and not any(other_inputs(finding)):
        attempt = "calibrate with samples like these, --calib, or with more of them, --samples"
        yield Advice(f"{_elsewhere(found[0])}{_others(found)}", attempt, found[0].node)


def costly_layers(finding: Finding) -> Iterator[Advice]:
    """A layer that makes much of the error, and what would leave it in float."""
    if finding.worst_output >= GOOD:
        return
    for layer in finding.diagnosis.ranked[:TOGETHER]:
        if layer.cost >= STANDS_OUT and not _cut(layer, BEYOND):
            in_weights = layer.weights <= layer.rounding
            where = "its weights" if in_weights else f"storing {_kept(layer)} in 256 steps"
            names = [layer.node] if in_weights else _nodes_of(layer)
            part = layer.cost * _share(layer.weights, layer.rounding) if in_weights and layer.readers else layer.cost
            what = f"{layer.cost:.0%} of the outputs' error begins in {ending(layer.node, LONG)}, in {where}"
            yield Advice(what, _exclude(names, finding, part), layer.node)


def long_tails(finding: Finding) -> Iterator[Advice]:
    """A range that few numbers decide."""
    diagnosis = finding.diagnosis
    layers = {layer.value: layer for layer in diagnosis.layers}
    other = "percentile" if diagnosis.observer != "percentile" else "mse"
    for histogram in diagnosis.histograms:
        layer, (low, high) = layers[histogram.value], histogram.middle
        used = max(high, 0.0) - min(low, 0.0)
        if layer.cost >= STANDS_OUT / 2 and layer.rounding < layer.weights and layer.high - layer.low > LONG_TAIL * used > 0:
            what = f"99.8 % of {ending(layer.node, LONG)} lie from {_span(low, high)}, but few numbers stretch its range to {_kept(layer)}"
            yield Advice(what, f"--observer {other}, or leave such samples out of the calibration", layer.node)


def dead_channels(finding: Finding) -> Iterator[Advice]:
    """Channels that are too small for the steps of their value."""
    found = [layer for layer in finding.diagnosis.layers if layer.dead > DEAD * layer.channels and layer.cost > NOTICED]
    if found and finding.worst_output < GOOD:
        layer = found[0]
        lost = f"{layer.dead} of {layer.channels} channels of {ending(layer.node, LONG)}"
        what = f"{lost} are lost in steps of {layer.scale:.3g}{_others(found)}"
        yield Advice(what, _exclude(_nodes_of(layer), finding, layer.cost), layer.node)


def depth(finding: Finding) -> Iterator[Advice]:
    """No layer is to blame by itself."""
    worst = finding.diagnosis.ranked[:TOGETHER]
    if worst and finding.worst_output < GOOD and worst[0].cost < STANDS_OUT:
        part, count = sum(layer.cost for layer in worst), len(finding.diagnosis.layers)
        what = f"no layer stands out: the error adds up over {count} values, and {part:.0%} of it begins in the worst {len(worst)}"
        yield Advice(what, _exclude([name for layer in worst for name in _nodes_of(layer)], finding, part))


def beyond_help(finding: Finding) -> Iterator[Advice]:
    poor = [f"{name} {ratio:.1f} dB" for name, ratio in finding.diagnosis.judged.items() if ratio < POOR]
    if poor:
        yield Advice(f"outputs are far from the model's: {', '.join(poor[:TOGETHER])}", "if nothing above helps, --precision fp32")


def all_good(finding: Finding) -> Iterator[Advice]:
    if finding.worst_output >= GOOD:
        yield Advice(f"the outputs follow the float model with {finding.worst_output:.1f} dB", "nothing: 8 bits seldom do better")


RULES: tuple[Callable[[Finding], Iterator[Advice]], ...] = (
    other_inputs,
    not_calibrated,
    costly_layers,
    long_tails,
    dead_channels,
    depth,
    beyond_help,
    all_good,
)


def _exclude(names: Sequence[str], finding: Finding, part: float) -> str:
    """The option that leaves these nodes in float, and what the outputs gain if their part of the error goes with them."""
    patterns = dict.fromkeys(pattern for name in names if (pattern := _pattern(name, finding.nodes)))
    if not patterns:
        return "it has no name that --exclude could give: export the model with names of nodes"
    gain = f"; with all else as it is the outputs gain about {-10 * log10(max(1 - part, 1e-3)):.1f} dB" if part > 0 else ""
    return " ".join(f"--exclude {shlex.quote(pattern)}" for pattern in patterns) + gain


def _pattern(name: str, nodes: Collection[str]) -> str:
    """What `--exclude` takes for this node, "" if there is nothing. A part of a layer that was split stands for the layer.

    Of a long name it is the shortest end after a sign that no other node has.
    """
    name = next((known for known in (name, _PART.sub("", name)) if known in nodes), "")
    starts = [place for place, letter in enumerate(name) if letter in "/;." and len(name) > LONG]
    ends = (name[start:] for start in reversed(starts) if sum(known.endswith(name[start:]) for known in nodes) == 1)
    end = next(ends, "")
    return ("*" if end else "") + "".join(_LITERALLY.get(letter, letter) for letter in end or name)


def _nodes_of(layer: LayerFacts) -> list[str]:
    """The nodes that must be in float for the value not to be stored."""
    return [*([] if layer.operator == INPUT else [layer.node]), *layer.readers]


def _share(one: float, other: float) -> float:
    """The part of the first error in both, given as dB."""
    return float(1 / (1 + 10 ** ((one - other) / 10)))


def _cut(layer: LayerFacts, most: float) -> bool:
    """Whether many numbers lie outside its codes, and some by more than so many parts of their range."""
    beyond = max(layer.low - layer.seen_low, layer.seen_high - layer.high)
    return layer.saturated > OUTSIDE and beyond > most * (layer.high - layer.low)


def _elsewhere(layer: LayerFacts) -> str:
    seen = f"{ending(layer.node, LONG)} goes from {_span(layer.seen_low, layer.seen_high)} here and was calibrated for {_kept(layer)}"
    return f"{seen}: {layer.saturated:.1%} of its numbers lie outside" if layer.saturated > 0 else seen


def _others(found: Sequence[LayerFacts]) -> str:
    return f"; {len(found) - 1} more such" if len(found) > 1 else ""


def _kept(layer: LayerFacts) -> str:
    return _span(layer.low, layer.high)


def _span(low: float, high: float) -> str:
    return f"{low:.4g} to {high:.4g}"
