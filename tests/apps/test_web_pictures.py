"""JavaScript has pictures brought to the model's size by the C in its module: the bytes are those of everywhere."""

from __future__ import annotations

import json
import shutil
import subprocess
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

import edgec
from edgec.apps.android import android_files
from edgec.apps.web import web_files
from edgec.quant.given.preprocess import Preprocess
from tests.apps.drafts import empty_draft
from tests.apps.test_web_tasks import detector
from tests.apps.ways import ALL, WAYS, app, expected, images, shape, write
from tests.apps.webs import digits, node
from tests.conftest import once, require


def make_all(folder: Path) -> None:
    """A package for each way, with one module, and answers.json: for each of them what JavaScript makes of each picture."""
    require("node", "clang", "wasm-ld", "make")
    for name in ALL:
        words = ["make", "-s", "-C", str(write(name, "wasm", folder / name)), f"web/{name}.wasm", "CFLAGS=-O0"]
        subprocess.run(words, check=True)
    (folder / "pictures.bin").write_bytes(b"".join(rgba(image) for image in images()))
    sizes = [[image.shape[1], image.shape[0]] for image in images()]
    code = f"""import {{ readFileSync, writeFileSync }} from "node:fs";
    const bytes = readFileSync(new URL("./pictures.bin", import.meta.url)), found = {{}};
    for (const name of {json.dumps(ALL)}) {{
      const module = await import(`./${{name}}/web/${{name}}.mjs`), kind = Object.keys(module).find((key) => key.startsWith("Way"));
      const model = await module[kind].load(undefined, {{ threads: 1, isa: "wasm128" }});
      let at = 0;
      found[name] = {json.dumps(sizes)}.map(([width, height]) => {{
        const data = new Uint8ClampedArray(bytes.subarray(at, (at += 4 * width * height)));
        const tensor = model.fromPicture({{ width, height, data }}), {{ y }} = model.run({{ x: tensor }});
        if (model.run({{ width, height, data }}).y.join() !== y.join()) throw new Error("a run is of another input");
        return Buffer.from(tensor.buffer).toString("base64");
      }});
    }}
    writeFileSync(new URL("./answers.json", import.meta.url), JSON.stringify(found));
    """
    (folder / "all.mjs").write_text(code, encoding="utf-8")
    done = subprocess.run([str(shutil.which("node")), str(folder / "all.mjs")], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def rgba(image: np.ndarray) -> bytes:
    """With any opacity, which does not count."""
    opaque = np.arange(image.shape[0] * image.shape[1], dtype=np.uint32).reshape(*image.shape[:2], 1) % 256
    return np.concatenate([image, opaque.astype(np.uint8)], axis=2).tobytes()


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return once(shared / "web-ways", make_all)


def test_every_byte_is_that_of_c(folder: Path, tmp_path: Path) -> None:
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    right = expected([folder / name for name in ALL], tmp_path)
    assert {name: [b64decode(text) for text in found] for name, found in answers.items()} == right


@pytest.mark.parametrize("number", range(len(WAYS)))
def test_pictures_are_brought_to_size_as_for_calibration(number: int, folder: Path) -> None:
    """Pillow may resize rows or columns first where it changes the proportions: one level of a pixel apart."""
    how, answers = WAYS[number], json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    for image, text in zip(images(), answers[f"way{number}"], strict=True):
        found = np.frombuffer(b64decode(text), np.float32).reshape(shape(how))
        apart = float(np.abs(found - how.apply(image, shape(how))).max())
        assert apart <= (1.001 * float(how.affine()[0].max()) if how.resize == "stretch" else 0.0), image.shape


def test_every_module_makes_the_same_of_a_picture() -> None:
    """Whatever its instructions and its threads, the largest and the smallest first."""
    code = """
    const found = [];
    for (const how of [{ isa: "portable" }, { isa: "wasm128" }, { threads: 3 }, { threads: 1 }]) {
      const model = await m.Digits.load(undefined, how);
      for (const [width, height] of [[32768, 3], [2, 32768], [1, 1], [301, 211]]) {
        const data = new Uint8ClampedArray(4 * width * height).map((_, i) => (i * 7919) % 251), picture = { width, height, data };
        const { logits } = model.run(picture);
        found.push([width, [...model.fromPicture(picture)].join(), logits.join()].join(" "));
      }
      model.close();
    }
    show([found.length, [...new Set(found)].length, found[2]]);
    """
    count, different, smallest = node(digits(), code)
    assert (count, different) == (16, 4) and smallest.startswith("1 5.27")


def test_what_is_no_picture_is_said() -> None:
    code = """
    const model = await m.Digits.load(), data = new Uint8Array(64), given = {
      nothing: null, number: 5, empty: { width: 0, height: 4, data }, negative: { width: -4, height: -1, data },
      nan: { width: NaN, height: 1, data },
      short: { width: 5, height: 4, data },
      halves: { width: 2.5, height: 6.4, data },
      long: { width: 32769, height: 1, data: new Uint8Array(4 * 32769) }, wrapped: { width: 2 ** 32, height: 2 ** -28, data },
    };
    const found = {}, tried = (act) => { try { return act(); } catch ({ name, message }) { return `${name}: ${message}`; } };
    for (const [key, picture] of Object.entries(given)) found[key] = tried(() => model.fromPicture(picture));
    found.run = tried(() => model.run(given.short));
    model.close();
    found.closed = tried(() => model.fromPicture({ width: 4, height: 4, data }));
    show(found);
    """
    found, large = node(digits(), code), "is too large, or too long and narrow"
    assert found["nothing"] == found["number"] == "TypeError: a picture is ImageData, or what a canvas can draw"
    assert found["empty"] == found["negative"] == found["nan"] == "TypeError: the picture is empty, or not loaded yet"
    assert found["short"] == found["run"] == "TypeError: a picture of 5 x 4 has 80 bytes, not 64"
    assert (
        found["halves"] == f"RangeError: a picture of 2.5 x 6.4 {large}" and found["long"] == f"RangeError: a picture of 32769 x 1 {large}"
    )
    assert found["wrapped"].startswith("RangeError: a picture of 4294967296 x ") and found["closed"] == "ModelError: the model is closed"


def test_a_package_without_pictures_has_none_of_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    edgec.build(detector(tmp_path), target="wasm", out=out, precision="fp32", compile=False)
    for path in ("src/web/finder_web.c", "web/finder.mjs", "web/finder.d.mts", "web/finder_worker.d.mts", "Makefile"):
        assert "icture" not in (out / path).read_text(encoding="utf-8"), path
    assert not list(out.rglob("*_picture.*"))


def test_where_nothing_is_resized_the_one_size_is_said() -> None:
    how = Preprocess(resize="none")
    (module,) = (text.decode() for path, text in web_files(app(0, how), empty_draft("way0")).files.items() if path == "web/way0.mjs")
    (java,) = (
        text.decode() for path, text in android_files(app(0, how), empty_draft("way0")).files.items() if path.endswith("/Fitting.java")
    )
    assert "new RangeError(`a picture of ${width} x ${height}, the model takes 32 x 24`)" in module
    assert 'IllegalArgumentException("a picture of " + width + " x " + height + ", the model takes 32 x 24")' in java
