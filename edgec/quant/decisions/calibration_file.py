"""A calibration from JSON, for the very graph that it belongs to. The JSON may be a stranger's: nothing in it is believed unseen."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any

import numpy as np

from edgec.base.codec import Rule, decode
from edgec.base.errors import Problem, UsageError
from edgec.integer.roles import bias_groups, output_channels
from edgec.ir.graph import Graph
from edgec.quant.channels.centre import apply_centres, centred_convolutions
from edgec.quant.channels.equalize import store_equalized
from edgec.quant.channels.features import find_features
from edgec.quant.channels.joined import join, pair_of
from edgec.quant.channels.split import find_chain, split
from edgec.quant.channels.streams import find_streams, functions_of
from edgec.quant.codes.weights import layer_axis
from edgec.quant.decisions.calibration import VERSION, Calibration, LayerWeights, fingerprint
from edgec.quant.given.options import EFFORTS, OBSERVERS
from edgec.quant.ranges.parameters import SMALLEST_SCALE, Parameters
from edgec.quant.scope.coverage import Layer

SHOWN = 20  # problems that are told
MOST_TEXT = 1 << 12  # letters of a name
MOST_SCALE = 2.0**127
_PACKED = re.compile(r"(float32|int8) ([0-9]{1,12}(?:,[0-9]{1,12}){0,7})? ([A-Za-z0-9+/]*={0,2})")


def _is_scale(value: Any) -> bool:
    return type(value) in (int, float) and SMALLEST_SCALE / 4 <= value <= MOST_SCALE


Text = Annotated[str, Rule(lambda value: isinstance(value, str) and len(value) <= MOST_TEXT, f"text of at most {MOST_TEXT} characters")]
Version = Annotated[int, Rule(lambda value: type(value) is int and value == VERSION, f"{VERSION}, which this edgec reads")]
Hash = Annotated[str, Rule(lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None, "a sha256")]
Count = Annotated[int, Rule(lambda value: type(value) is int and 0 <= value < 2**48, "a whole number, not negative")]
Code = Annotated[int, Rule(lambda value: type(value) is int and 0 <= value <= 255, "a whole number from 0 to 255")]
Flag = Annotated[bool, Rule(lambda value: isinstance(value, bool), "true or false")]
Scale = Annotated[float, Rule(_is_scale, "a number above 0 that products survive")]
Packed = Annotated[str, Rule(lambda value: isinstance(value, str) and _PACKED.fullmatch(value) is not None, "type, extents and base64")]
Observer = Annotated[str, Rule(lambda value: isinstance(value, str) and value in OBSERVERS, f"one of {', '.join(OBSERVERS)}")]

Effort = Annotated[str, Rule(lambda value: isinstance(value, str) and value in EFFORTS, f"one of {', '.join(EFFORTS)}")]


@dataclass(frozen=True)
class _Parameters:
    scale: Scale
    zero_point: Code


@dataclass(frozen=True)
class _Weights:
    scales: Packed
    steps: Packed
    shift: Packed | None


@dataclass(frozen=True)
class _File:
    version: Version
    model: Hash
    samples: Count
    observer: Observer
    exclude: tuple[Text, ...]
    splits: Mapping[Text, tuple[tuple[Count, ...], ...]]
    factors: Mapping[Text, Packed]
    parameters: Mapping[Text, _Parameters]
    weights: Mapping[Text, _Weights]
    samples_sha256: Hash | None = None
    effort: Effort | None = None
    codes_out: Flag | None = None
    wide: tuple[Text, ...] | None = None
    shaped: tuple[Text, ...] | None = None
    joined: tuple[Text, ...] | None = None
    centres: Mapping[Text, Packed] | None = None


def read_calibration(content: Mapping[str, Any], graph: Graph) -> Calibration:
    """What `Calibration.to_json` gave. UsageError: for another version or model, or with all that is wrong in it."""
    if content.get("version") != VERSION:
        found = ascii(content.get("version"))[:80]
        raise UsageError(f"calibration of version {found}", hint=f"this edgec reads version {VERSION}; calibrate anew")
    problems: list[Problem] = []
    file: _File = decode(_File, content, "calibration", problems)
    _refuse(problems)
    if file.model != fingerprint(graph):
        raise UsageError(
            "the calibration belongs to another model, or to another way of optimizing it",
            hint="give the model that it was made for, or calibrate anew",
        )
    codes_out = file.codes_out is not False  # an older file does not say: everything ended in codes
    graph = graph.copy()
    centres = _centres(graph, file.centres or {}, problems)
    _refuse(problems)
    apply_centres(graph, centres)
    apart = [value for value in file.joined or () if not pair_of(graph, value)]
    problems += [Problem("is nothing that one layer could compute", _place("joined", value)) for value in apart]
    _refuse(problems)
    join(graph, file.joined or ())
    _divide(graph, file, problems)
    _refuse(problems)
    factors = _factors(graph, file, problems)
    _refuse(problems)
    problems += [Problem("the model has no such value", _place("shaped", name)) for name in file.shaped or () if not graph.producer(name)]
    selection = store_equalized(graph, factors, file.exclude, codes_out, file.shaped or ())
    parameters = {value: Parameters(float(kept.scale), kept.zero_point) for value, kept in file.parameters.items()}
    _compare("parameters", file.parameters, selection.values, problems)
    problems += [Problem("the model has no such value", _place("wide", name)) for name in file.wide or () if name not in selection.values]
    _compare("weights", file.weights, [layer.node.outputs[0] for layer in selection.matrices], problems)
    layers = [layer for layer in selection.matrices if layer.node.outputs[0] in file.weights]
    weights = {layer.node.outputs[0]: _weights(graph, layer, file.weights[layer.node.outputs[0]], problems) for layer in layers}
    _refuse(problems)
    return Calibration(
        file.model, file.samples, file.observer, file.exclude, file.splits, factors, parameters, weights,
        effort=file.effort or "normal", codes_out=codes_out, wide=tuple(file.wide or ()), centres=centres,
        shaped=tuple(file.shaped or ()), joined=tuple(file.joined or ()),
    )  # fmt: skip


def _refuse(problems: list[Problem]) -> None:
    if problems:
        more = [Problem(f"and {len(problems) - SHOWN} more")] if len(problems) > SHOWN else []
        raise UsageError("the calibration is broken", [*problems[:SHOWN], *more], hint="calibrate anew")


def _compare(key: str, found: Mapping[str, Any], wanted: Any, problems: list[Problem]) -> None:
    """Every wanted name is there, and no other."""
    problems += [Problem("is missing", _place(key, name)) for name in wanted if name not in found]
    problems += [Problem("the model has no such layer", _place(key, name)) for name in sorted(set(found) - set(wanted))]


def _place(key: str, name: str) -> str:
    return f"calibration.{key} {ascii(name)[:200]}"


def _divide(graph: Graph, file: _File, problems: list[Problem]) -> None:
    """Carry out the splits that deal every channel into one group."""
    for value, groups in file.splits.items():
        producer = graph.producer(value)
        chain = find_chain(graph, producer) if producer else None
        dealt = sorted(channel for group in groups for channel in group)
        if chain is None or not all(groups) or dealt != list(range(graph.types[value].static_shape[1])):
            problems.append(Problem("is no way to split the model", _place("splits", value)))
        else:
            split(graph, chain, groups)


def _centres(graph: Graph, kept: Mapping[str, str], problems: list[Problem]) -> dict[str, np.ndarray]:
    """What linear values are stored less, which leaves the graph's function as it is."""
    found = {}
    if kept:
        _compare("centres", kept, centred_convolutions(graph), problems)
    for value in kept if not problems else ():
        place = _place("centres", value)
        found[value] = _unpacked(kept[value], "float32", (graph.types[value].static_shape[1],), place, problems)
        if not np.isfinite(found[value]).all():
            problems.append(Problem("are not all finite", place))
    return found


def _factors(graph: Graph, file: _File, problems: list[Problem]) -> dict[str, np.ndarray]:
    """The factors, which leave the graph's function as it is: the same along each stream, and 1 where it must not change."""
    streams, held = find_streams(graph, functions_of(graph.nodes))
    features = {value: graph.types[value].static_shape[-1] for value in find_features(graph)}
    wanted, found = np.ones(streams.count, np.float32), dict[str, np.ndarray]()
    for value, text in file.factors.items():
        place = _place("factors", value)
        array = _unpacked(text, "float32", (features.get(value, streams.channels.get(value, -1)),), place, problems)
        if not (np.isfinite(array) & (array > 0)).all():
            problems.append(Problem("are not all above 0", place))
        elif len(array):
            found[value] = array
            if value not in features:
                wanted[streams.cells(value)] = array
    roots = streams.roots()
    if not problems and ((wanted != wanted[roots]).any() or (held[roots] & (wanted != 1)).any()):
        problems.append(Problem("would change what the model computes", "calibration.factors"))
    return found


def _weights(graph: Graph, layer: Layer, kept: _Weights, problems: list[Problem]) -> LayerWeights:
    node, place = layer.node, _place("weights", layer.node.outputs[0])
    weights = graph.constants[node.inputs[1]]
    scales = _unpacked(kept.scales, "float32", (weights.shape[layer_axis(layer)],), f"{place}.scales", problems)
    steps = _unpacked(kept.steps, "int8", weights.shape, f"{place}.steps", problems)
    if not (np.isfinite(scales) & (scales >= SMALLEST_SCALE / 4)).all():
        problems.append(Problem("are not all above 0", f"{place}.scales"))
    if kept.shift is None:
        return LayerWeights(scales, steps, None)
    channels = output_channels(node, weights.shape) * bias_groups(node)
    shift = _unpacked(kept.shift, "float32", (channels,), f"{place}.shift", problems)
    if not all(map(isfinite, shift.tolist())):
        problems.append(Problem("are not all finite", f"{place}.shift"))
    return LayerWeights(scales, steps, shift)


def _unpacked(text: str, dtype: str, shape: tuple[int, ...], where: str, problems: list[Problem]) -> np.ndarray:
    """The array of `calibration.packed`; an empty one, with a problem, where the text holds another than the graph wants."""
    name, extents, packed = text.split(" ")
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if name != dtype or tuple(int(extent) for extent in extents.split(",") if extent) != shape:
        problems.append(Problem(f"is {name}[{extents[:80]}], the model needs {dtype}{list(shape)}", where))
        return np.zeros(0, dtype)
    try:
        stream = zlib.decompressobj()
        found = stream.decompress(base64.b64decode(packed, validate=True), size + 1)  # no more than that is unpacked
    except (binascii.Error, zlib.error) as error:
        problems.append(Problem(f"cannot be unpacked: {error}", where))
        return np.zeros(0, dtype)
    if len(found) != size or not stream.eof:
        problems.append(Problem("does not hold as many numbers as it says", where))
        return np.zeros(0, dtype)
    return np.frombuffer(found, np.dtype(dtype).newbyteorder("<")).astype(dtype).reshape(shape)
