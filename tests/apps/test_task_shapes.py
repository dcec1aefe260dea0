"""Tasks of models that take several sets of shapes: one answer, whatever the set, and what is refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

import edgec
from edgec.base.errors import ModelError, UsageError
from tests.apps import webs, wheels
from tests.contract.shaped import SCENE_SIZES, given, scene_settings, scenes

PICTURE = np.random.default_rng(4).integers(0, 256, (9, 11, 3), np.uint8)
CPP = """
#include "scenes.hpp"
#include <cstdio>
int main() {
    auto inputs = std::make_unique<scenes::Inputs>();
    std::vector<float> x(189);
    if (std::fread(x.data(), 4, x.size(), stdin) != x.size()) return 1;
    std::copy(x.begin(), x.end(), inputs->x.begin());
    scenes::Scenes model;
    for (const auto &found : {model.classify(3, x), model.classify(3, *inputs), model.classify(3, x, 5)})
        for (const auto &item : found) std::printf("%d %.6f ", item.index, static_cast<double>(item.score));
    std::vector<scenes::Class> best;
    return model.try_classify(4, x, 5, best) == SCENES_BAD_SIZE && model.try_classify(1, x, 5, best) == SCENES_BAD_ARGUMENT ? 0 : 2;
}
"""
MASKS = """<ir_version: 9, opset_import: ["": 21]> masks (float[1,3,height,width] x) => (y)
<float[4,3,1,1] k = {1.0,2.0,0.5,-1.0,0.25,3.0,1.0,1.0,-2.0,0.5,0.5,-0.5}> { y = Conv(x, k) }"""


def scores(folder: Path, inputs: dict[str, np.ndarray]) -> list[tuple[int, float]]:
    """The classes of an input, the likeliest one first, by the model itself."""
    (found,) = onnxruntime.InferenceSession(folder / "scenes.onnx").run(None, inputs)
    powers = np.exp(found[0].astype(np.float64) - found.max())
    shares = powers / powers.sum()
    return [(int(place), float(shares[place])) for place in np.argsort(-shares)]


def alike(found: Any, expected: list[tuple[int, float]]) -> bool:
    """found: pairs too."""
    pairs = [(int(index), float(score)) for index, score in found]
    return [index for index, _ in pairs] == [index for index, _ in expected] and np.allclose(
        [score for _, score in pairs], [score for _, score in expected], atol=1e-5
    )


def test_a_wheel_classifies_every_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = wheels.built(scenes(tmp_path), tmp_path / "scenes", **scene_settings(tmp_path))
    wheels.install(wheels.wheel_of(package), tmp_path / "site")
    module = wheels.imported("scenes", tmp_path / "site", monkeypatch)
    with module.Scenes() as model:
        for turn, shapes in enumerate(SCENE_SIZES):
            inputs = given(shapes, turn)
            assert alike([(item.index, item.score) for item in model.classify(inputs["x"])], scores(tmp_path, inputs))
        fitted = model.from_picture(PICTURE)
        assert fitted.shape == SCENE_SIZES[0]["x"] and model.classify(PICTURE) == model.classify(fitted)


def test_javascript_classifies_every_set(tmp_path: Path) -> None:
    """By the lengths or the number; a picture is of the first set, whose lengths another one has, too."""
    package = webs.built(scenes(tmp_path), tmp_path / "scenes", **scene_settings(tmp_path))
    inputs = [given(shapes, turn)["x"] for turn, shapes in enumerate(SCENE_SIZES)]
    code = f"""
    const arrays = {json.dumps([x.ravel().tolist() for x in inputs])}.map((x) => ({{ x: Float32Array.from(x) }}));
    const data = Uint8Array.from({json.dumps(np.dstack([PICTURE, PICTURE[:, :, :1]]).ravel().tolist())});
    const model = await m.Scenes.load(), picture = {{ width: {PICTURE.shape[1]}, height: {PICTURE.shape[0]}, data }};
    const pairs = (found) => found.map(({{ index, score }}) => [index, score]), wrong = [];
    const number = {{ set: 3 }}, none = {{ set: 9 }}, two = {{ most: 2 }};
    for (const act of [() => model.classify(arrays[0]), () => model.classify(picture, number), () => model.classify(arrays[2], none)]) {{
      try {{ act(); wrong.push("nothing"); }} catch (error) {{ wrong.push(`${{error.constructor.name}}: ${{error.message}}`); }}
    }}
    const x = model.fromPicture(picture), seen = pairs(model.classify(picture));
    show([
      arrays.map((inputs, place) => pairs(model.classify(inputs, {{ set: place + 1 }}))), pairs(model.classify(arrays[2], two)), x.length,
      seen, pairs(model.classify({{ x }}, {{ set: 1 }})), [...model.run(picture).scores].length, wrong,
    ]);
    """
    each, third, length, seen, fitted, outputs, wrong = webs.node(package, code)
    for found, x in zip(each, inputs, strict=True):
        assert alike(found, scores(tmp_path, {"x": x}))
    assert third == each[2][:2] and length == 432 and seen == fitted and outputs == 5
    assert wrong[0].startswith("TypeError: sets 1 and 2 of shapes have as many elements (x 432)")
    assert wrong[1] == "TypeError: x has 432 elements, must have 189 in set 3 of shapes"
    assert wrong[2] == "RangeError: set must be a whole number from 1 to 3"


def test_a_class_of_cpp_classifies_every_set(tmp_path: Path, needs: Callable[..., None]) -> None:
    needs("g++")
    package = edgec.build(scenes(tmp_path), target="portable", out=tmp_path / "scenes", cc="cc -O0", **scene_settings(tmp_path))
    (tmp_path / "app.cpp").write_text(CPP, encoding="utf-8")
    strict = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", f"-I{package.directory / 'include'}"]
    library = str(package.directory / "build" / "libscenes.a")
    done = subprocess.run(
        ["g++", *strict, "app.cpp", library, "-o", "app", "-pthread"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    inputs = given(SCENE_SIZES[2], 1)
    ran = subprocess.run([tmp_path / "app"], input=inputs["x"].tobytes(), capture_output=True, check=False)
    words = ran.stdout.split()
    pairs = list(zip(words[::2], words[1::2], strict=True))
    assert ran.returncode == 0 and len(pairs) == 15
    assert all(alike(pairs[start : start + 5], scores(tmp_path, inputs)) for start in (0, 5, 10))


def test_keywords_compile_in_cpp(tmp_path: Path, needs: Callable[..., None]) -> None:
    needs("g++")
    settings = scene_settings(tmp_path) | {"task": "keyword"}
    edgec.build(scenes(tmp_path), target="portable", out=tmp_path / "scenes", compile=False, **settings)
    body = "scenes::Scenes model; scenes::Inputs inputs; return model.keyword(2, inputs, 0.5f).has_value();"
    code = f'#include "scenes.hpp"\nint main() {{ {body} }}'
    strict = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", f"-I{tmp_path}/scenes/include"]
    done = subprocess.run(["g++", *strict, "-x", "c++", "-"], input=code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_answers_that_differ_between_sets_are_refused(tmp_path: Path) -> None:
    onnx.save(parser.parse_model(MASKS), tmp_path / "masks.onnx")
    sizes = [{"x": (1, 3, 4, 4)}, {"x": (1, 3, 4, 6)}]
    out = tmp_path / "out"
    with pytest.raises(UsageError, match="alike in all sets of shapes") as caught:
        edgec.build(tmp_path / "masks.onnx", shape=sizes[0], also_shape=sizes[1:], task="segment", precision="fp32", out=out)
    assert [(item.what, item.where) for item in caught.value.problems] == [("is 6, and 4 in the first set", "width, set 2 of shapes")]
    with pytest.raises(ModelError, match="not understood as --task classify: no output fits, in set 2 of shapes"):
        edgec.build(scenes(tmp_path), out=out, **scene_settings(tmp_path) | {"also_shape": [{"x": (2, 3, 12, 12)}]})
    assert not out.exists()
