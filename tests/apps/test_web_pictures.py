"""JavaScript brings pictures to the model's size with the same numbers as calibration does, whatever the way.

Pillow may resize rows or columns first where it changes the proportions, so that rounding is one level of a pixel apart.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgec.apps.app import App, Picture, Tensor
from edgec.apps.web import web_files
from edgec.ir.types import DType
from edgec.quant.preprocess import Preprocess
from tests.apps.drafts import empty_draft
from tests.conftest import require

SIZES = ((30, 40), (24, 32), (7, 5), (61, 33), (1, 90))  # of pictures; the second one is the model's
WAYS = (
    Preprocess(),
    Preprocess(shorter=28, interpolation="bicubic", std=(58.4, 57.1, 57.4), mean=(123.7, 116.3, 103.5)),
    Preprocess(resize="stretch", interpolation="area", color="bgr", layout="nhwc"),
    Preprocess(resize="stretch", interpolation="nearest", color="gray", scale=1 / 255),
    Preprocess(resize="letterbox", fill=114, scale=1 / 127, mean=(1.0,)),
    Preprocess(resize="letterbox", fill=3, anchor="top-left", color="bgr", interpolation="bicubic"),
)
HEIGHT, WIDTH = SIZES[1]


def app(number: int, how: Preprocess) -> App:
    layout = "nhwc" if how.layout == "nhwc" else "nchw"
    shape = (1, HEIGHT, WIDTH, how.channels) if layout == "nhwc" else (1, how.channels, HEIGHT, WIDTH)
    a, b = how.affine()
    picture = Picture(
        "x", HEIGHT, WIDTH, how.channels, layout, False, how.color, how.resize, how.shorter, how.anchor, how.fill,
        tuple(map(float, a)), tuple(map(float, b)), how.interpolation,
    )  # fmt: skip
    inputs, outputs = (Tensor("x", "x", DType.FLOAT32, shape),), (Tensor("y", "y", DType.FLOAT32, (1,)),)
    return App(f"way{number}", "fp32", inputs, outputs, 0, 0, 0, picture)


def written(app: App, folder: Path) -> Path:
    """The ES module of an app that has no package."""
    path = folder / f"{app.name}.mjs"
    path.write_bytes(web_files(app, empty_draft(app.name)).files[f"web/{app.name}.mjs"])
    return path


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[list[bytes]]:
    """For each way, what JavaScript makes of each picture."""
    require("node")
    folder = tmp_path_factory.mktemp("ways")
    apps = [app(number, how) for number, how in enumerate(WAYS)]
    imports = [f"import {{ {item.name.capitalize()} }} from {json.dumps(written(item, folder).as_uri())};" for item in apps]
    pictures = json.dumps([{"width": image.shape[1], "height": image.shape[0], "rgba": rgba(image)} for image in images()])
    code = f"""{" ".join(imports)}
    const pixels = (rgba) => new Uint8ClampedArray(Buffer.from(rgba, "base64"));
    const pictures = {pictures}.map(({{ width, height, rgba }}) => ({{ width, height, data: pixels(rgba) }}));
    const encoded = (tensor) => Buffer.from(tensor.buffer).toString("base64");
    const ways = [{", ".join(item.name.capitalize() for item in apps)}];
    console.log(JSON.stringify(ways.map((way) => pictures.map((picture) => encoded(way.fromPicture(picture))))));
    """
    command = [str(shutil.which("node")), "--input-type=module", "-e", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [[base64.b64decode(text) for text in way] for way in json.loads(done.stdout)]


def images() -> list[np.ndarray]:
    random = np.random.default_rng(5)
    return [random.integers(0, 256, (*size, 3), dtype=np.uint8) for size in SIZES]


def rgba(image: np.ndarray) -> str:
    """With any opacity, which does not count."""
    opaque = np.arange(image.shape[0] * image.shape[1], dtype=np.uint8).reshape(*image.shape[:2], 1)
    return base64.b64encode(np.concatenate([image, opaque], axis=2).tobytes()).decode()


@pytest.mark.parametrize("number", range(len(WAYS)))
def test_pictures_are_brought_to_size_as_for_calibration(number: int, answers: list[list[bytes]]) -> None:
    how = WAYS[number]
    shape = app(number, how).inputs[0].shape
    for image, got in zip(images(), answers[number], strict=True):
        expected = how.apply(image, shape)
        found = np.frombuffer(got, np.float32).reshape(shape)
        apart = float(np.abs(found - expected).max())
        assert apart <= (1.001 * float(how.affine()[0].max()) if how.resize == "stretch" else 0.0), image.shape
