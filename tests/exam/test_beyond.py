"""Which values stay float32 in packages of halves, and what these answer then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from edgec import BuildConfig
from edgec.exam.beyond import ROOM, ask_halves, beyond_halves
from edgec.exam.expected import Asked, ask
from edgec.export.halves import LARGEST
from edgec.frontend import from_proto
from edgec.passes import optimize
from edgec.pipeline.finish import build
from tests.conftest import require
from tests.schedule.test_halves import conv, model, pointwise


def grown(factor: float) -> onnx.ModelProto:
    """Layers of which the second makes its inputs so many times as large, and the third as small again; its numbers are 0 to 1."""
    nodes = [
        conv("x", "a", "w"), conv("a", "b", "up"), helper.make_node("Relu", ["b"], ["c"], "c"), conv("c", "d", "down"), conv("d", "e", "w"),
        helper.make_node("Softmax", ["e"], ["y"], "y", axis=1),
    ]  # fmt: skip
    rows = np.eye(8)[:, :, None, None] + pointwise(8, 8)
    return model(nodes, [1, 8, 4, 4], {"w": rows, "up": factor * rows, "down": rows / factor}, "y")


def test_values_near_the_end_of_the_range_stay_floats() -> None:
    for largest, beyond in ((LARGEST / ROOM * 0.9, set[str]()), (LARGEST / ROOM * 1.1, {"b", "c"})):
        graph = from_proto(grown(largest / 4)).graph  # of ones the first two layers make 2 and 4
        optimize(graph)
        assert set(beyond_halves(graph, Asked([[{"x": np.ones((1, 8, 4, 4), np.float32)}]], [], 0.0))) & {"a", "b", "c", "d"} == beyond


def biased(size: float) -> onnx.ModelProto:
    """What it is asked, behind a layer that adds so much to it and one that takes it away."""
    nodes = [helper.make_node("Conv", [x, "w", bias], [y], y) for x, bias, y in (("x", "up", "a"), ("b", "down", "y"))]
    nodes.insert(1, helper.make_node("Relu", ["a"], ["b"], "b"))
    return model(nodes, [1, 8, 4, 4], {"w": np.eye(8)[:, :, None, None], "up": np.full(8, size), "down": np.full(8, -size)}, "y")


@pytest.mark.parametrize(("size", "reach"), [(0.0, 1.0), (1024.0, 255.0), (2.0**16, 1.0)])
def test_questions_go_as_far_as_halves_tell_of_them(size: float, reach: float) -> None:
    """Beside 1024 they keep whole numbers alone; beside more than they hold they are not asked to."""
    graph = from_proto(biased(size)).graph
    asked = ask_halves(lambda far: ask(graph, None, 0, reach=far), graph)
    assert asked.beyond == beyond_halves(graph, asked)
    assert asked.reach == reach and reach / 2 < max(vector["x"].max() for stream in asked.streams for vector in stream) <= reach


def test_a_package_says_what_it_computes_in_float32_and_answers_closely(tmp_path: Path) -> None:
    """As halves alone every number behind the second layer would be lost."""
    require("aarch64-linux-gnu-gcc", "qemu-aarch64")
    onnx.save(grown(1e6), tmp_path / "model.onnx")
    package = build(
        tmp_path / "model.onnx", BuildConfig(target="rpi5", precision="fp16", out=tmp_path / "out", cc="aarch64-linux-gnu-gcc -O1")
    )
    assert package.examined == ("neon", "fp16")
    (note,) = (note for note in package.manifest.notes if "float32" in note)
    assert note == "2 of 4 layers compute in float32, since their numbers go beyond half precision: b, d"
