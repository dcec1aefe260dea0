"""The page and the declarations of a web package, in a real browser and with the real TypeScript compiler."""

from __future__ import annotations

import html
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from tests.apps.pages import browse, served
from tests.apps.webs import DIGITS, digits, node

USE = """
import { Digits, ModelError, type DigitsInputs, type Isa, type Label, type Pixels } from "./digits.mjs";
import { DigitsWorker } from "./digits_worker.mjs";

const pixels: Pixels = { width: 8, height: 8, data: new Uint8ClampedArray(256) };
const inputs: DigitsInputs = { image: new Float32Array(Digits.inputs.image.elements) };

export async function use(canvas: HTMLCanvasElement): Promise<Label[]> {
  const model = await Digits.load(new URL("digits.wasm", "http://localhost/"), { isa: "portable" });
  const logits: Float32Array = model.run(inputs).logits;
  const scale: number | null = Digits.outputs.logits.scale;
  const names: readonly string[] = Digits.labels;
  const isa: Isa = model.isa;
  const worker = await DigitsWorker.load();
  const tensors: Float32Array[] = [model.fromPicture(canvas), await worker.fromPicture(pixels)];
  const found = [...model.classify(pixels, { most: 3 }), ...(await worker.classify(inputs))];
  model.close();
  worker.close();
  throw new ModelError(`${logits.length} ${scale} ${names[0]} ${isa} ${tensors.length} ${found[0]?.label}`, 1);
}

// @ts-expect-error the constructor is private
new Digits();
// @ts-expect-error another type of array
export const wrong: DigitsInputs = { image: new Int8Array(64) };
// @ts-expect-error no such output
export const none = (model: Digits) => model.run(inputs).logit;
// @ts-expect-error no such option
export const option = (model: Digits) => model.classify(inputs, { top: 3 });
// @ts-expect-error no such set of instructions
export const isa: Isa = "sse41";
"""

# What a worker answers beside the model itself, and its errors
WORKER = """
const { Digits } = await import("./digits.mjs"), { DigitsWorker } = await import("./digits_worker.mjs");
const model = await Digits.load(), worker = await DigitsWorker.load("digits_baseline.wasm");
const image = new Float32Array(64).map((_, i) => i % 16);
const canvas = Object.assign(document.createElement("canvas"), { width: 20, height: 30 });
canvas.getContext("2d").fillRect(5, 0, 5, 20);
const asked = await worker.run({ image }), seen = await worker.classify(canvas);
const alike = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const fitted = alike(await worker.fromPicture(canvas), model.fromPicture(canvas));
const same = fitted && alike(asked, model.run({ image })) && alike(seen, model.classify(canvas));
const caught = (promise) => promise.then(() => "nothing", (error) => `${error.constructor.name}: ${error.message}`);
const wrong = await caught(worker.run({})), number = await caught(worker.classify({ image }, { most: 0 }));
const late = caught(worker.run({ image }));
worker.close();
return [same, wrong, number, await caught(worker.run({ image })), await late, await caught(DigitsWorker.load("nothing.wasm"))];
"""


def picture(folder: Path) -> str:
    """One of the digits as a picture of its own size in `folder`, and which one."""
    data = np.load(DIGITS / "evaluation.npz")
    gray = np.round(data["image"][0, 0] * 255 / 16).astype(np.uint8)
    Image.fromarray(gray).save(folder / "picture.png")
    return str(data["labels"][0])


def test_the_page_shows_what_a_picture_is(needs: Callable[..., None], tmp_path: Path) -> None:
    needs("chromium")
    web = digits() / "web"
    digit = picture(web)
    with served(web, WORKER) as address:
        document, shot = browse(f"{address}/index.html?picture=picture.png", tmp_path)
    (answer,) = re.findall(r"<output[^>]*>([^<]*)</output>", document)
    lines = html.unescape(answer).splitlines()
    assert lines[0].startswith(f'digit {digit} \u2603"</script>: '), "the best label, as it is written"
    assert len(lines) == 6 and lines[-1].endswith(" ms, wasm128, one thread")
    assert [float(line.split()[-2]) for line in lines[:5]] == sorted((float(line.split()[-2]) for line in lines[:5]), reverse=True)
    (worker,) = re.findall(r"<pre>([^<]*)</pre>", document)
    same, wrong, number, closed, waiting, missing = json.loads(html.unescape(worker))
    assert same and wrong == "TypeError: image is missing" and number == "RangeError: most must be a whole number from 1 to 2147483647"
    assert closed == waiting == "ModelError: the model is closed" and missing.startswith("ModelError: cannot load ")
    colors = np.asarray(Image.open(shot).convert("RGB")).reshape(-1, 3)
    assert len(np.unique(colors, axis=0)) > 20, "the page is blank"


def test_a_picture_gives_what_its_tensor_gives() -> None:
    code = """
    const model = await m.Digits.load();
    const picture = { width: 8, height: 8, data: new Uint8ClampedArray(256).map((_, i) => (i * 7) % 256) };
    const image = model.fromPicture(picture);
    const all = model.classify(picture, { most: 20 });
    const wrong = [];
    for (const options of [{ most: 0 }, { most: 1.5 }, { most: "3" }]) {
      try { model.classify(picture, options); } catch (error) { wrong.push(error.message); }
    }
    for (const bad of [{ ...picture, data: new Uint8Array(3) }, { ...picture, width: 0 }]) {
      try { model.run(bad); } catch (error) { wrong.push(error.message); }
    }
    show([model.classify(picture), model.classify({ image }), all.length, all.reduce((sum, { score }) => sum + score, 0), wrong]);
    """
    seen, asked, number, sure, wrong = node(digits(), code)
    assert seen == asked and len(seen) == 5 and number == 10 and abs(sure - 1) < 1e-5
    assert wrong[:3] == ["most must be a whole number from 1 to 2147483647"] * 3
    assert wrong[3] == "a picture of 8 x 8 has 256 bytes, not 3" and wrong[4] == "the picture is empty, or not loaded yet"


def test_typescript_knows_the_types(needs: Callable[..., None], tmp_path: Path) -> None:
    needs("tsc")
    for name in ("digits.d.mts", "digits_worker.d.mts", "package.json"):
        (tmp_path / name).write_bytes((digits() / "web" / name).read_bytes())
    (tmp_path / "use.mts").write_text(USE, encoding="utf-8")
    options = [
        "--strict",
        "--noEmit",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--moduleResolution",
        "nodenext",
        "--lib",
        "es2022,dom",
    ]
    done = subprocess.run(["tsc", *options, "use.mts"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
