"""A calibration that somebody damaged, or made to hurt: words, never a traceback, and no more memory than the model's weights take."""

from __future__ import annotations

import base64
import copy
import json
import tracemalloc
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from edgec.base.errors import EdgecError, UsageError
from edgec.quant import QuantizeOptions, apply_calibration, quantize
from edgec.quant.decisions.calibration import fingerprint, packed
from tests.quant.small import Small, content, net, samples

VALUES: list[Any] = [
    None, True, -1, 0, 2**63, 10**400, -1.5, float("inf"), float("nan"), 1e-40, "", "x" * 70_000, "\x1b[31m\u202e", "\ud800", [], {}, [[]],
    [None], {"a": []}, [2**48], "float32 12 ", "float32 999999999999,999999999999 AAAA", "int8  AAAA", "object 1 AAAA", "float32 1 AAA",
    packed(np.zeros(3, np.float32)), packed(np.full(12, np.nan, np.float32)), packed(np.full(12, -1, np.float32)),
]  # fmt: skip


@pytest.fixture(scope="module")
def whole() -> tuple[Any, dict[str, Any]]:
    """A small graph, and a calibration that has everything a calibration can have."""
    small = Small((1, 6, 8, 8))
    value = small.conv("x", 12, spread=8)
    value = small.node("Relu", small.conv(small.node("Relu", value), 12, group=12, spread=8))
    value = small.node("Add", value, small.conv(value, 12))
    graph = small.done(small.node("MatMul", small.node("GlobalAveragePool", value), small.constant(small.rng.random((1, 3)).astype("f4"))))
    calibration = quantize(graph, samples(graph, 3), QuantizeOptions("minmax")).calibration
    return graph, calibration | {"samples_sha256": "0" * 64}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of everything in the JSON."""
    if path:
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


def damaged(calibration: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    result = copy.deepcopy(calibration)
    inner = result
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return result


def test_what_is_written_is_read_again(whole: tuple[Any, dict[str, Any]]) -> None:
    graph, calibration = whole
    first = apply_calibration(graph, calibration)
    assert content(first) == content(apply_calibration(graph, json.loads(json.dumps(calibration))))


def test_every_part_may_hold_anything(whole: tuple[Any, dict[str, Any]]) -> None:
    """Refused in words, or without effect on what can be relied on: the graph that follows has the model's interface."""
    graph, calibration = whole
    refused = 0
    for path in places(calibration):
        for value in VALUES:
            try:
                found = apply_calibration(graph, damaged(calibration, path, value))
                assert found.inputs == graph.inputs and found.outputs == graph.outputs
            except EdgecError as error:
                refused += 1
                assert len(str(error)) < 20_000 and not {"\x1b", "\u202e", "\ud800"} & set(str(error)), path
    assert refused > 10 * len(list(places(calibration)))


@pytest.mark.parametrize("path", ["version", "model", "splits", "factors", "parameters", "weights", "exclude", "samples", "observer"])
def test_every_part_is_needed(whole: tuple[Any, dict[str, Any]], path: str) -> None:
    graph, calibration = whole
    with pytest.raises(UsageError):
        apply_calibration(graph, {key: value for key, value in calibration.items() if key != path})
    if path in ("parameters", "weights"):
        for name in calibration[path]:
            lost = {key: value for key, value in calibration[path].items() if key != name}
            with pytest.raises(UsageError, match="is missing"):
                apply_calibration(graph, calibration | {path: lost})
            with pytest.raises(UsageError, match="no such layer"):
                apply_calibration(graph, calibration | {path: calibration[path] | {"nobody": calibration[path][name]}})


def test_a_bomb_is_not_unpacked(whole: tuple[Any, dict[str, Any]]) -> None:
    graph, calibration = whole
    output, kept = next(iter(calibration["weights"].items()))
    kind, extents, _ = kept["steps"].split(" ")
    bomb = base64.b64encode(zlib.compress(bytes(1 << 28), 9)).decode()
    tracemalloc.start()
    with pytest.raises(UsageError, match="does not hold as many numbers as it says"):
        apply_calibration(graph, calibration | {"weights": calibration["weights"] | {output: kept | {"steps": f"{kind} {extents} {bomb}"}}})
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


def test_factors_and_splits_that_would_change_the_model_are_refused() -> None:
    graph = net("mobilenet")
    calibration = quantize(graph, samples(graph, 12)).calibration
    assert calibration["factors"], "this net is equalized"
    for value, text in calibration["factors"].items():
        size = int(text.split(" ")[1])
        other = packed(np.linspace(0.5, 2, size, dtype=np.float32))
        with pytest.raises(UsageError, match="would change what the model computes"):
            apply_calibration(graph, calibration | {"factors": {value: other}})
    conv = next(node.outputs[0] for node in graph.nodes if node.op == "Conv")
    for groups in ([[0], [0, 1]], [[]], [[10**9]], [[0, 1], []]):
        with pytest.raises(UsageError, match="no way to split"):
            apply_calibration(graph, calibration | {"splits": {conv: groups}})
    assert calibration["model"] == fingerprint(graph)
