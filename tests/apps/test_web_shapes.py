"""Web packages that take several sets of shapes: which one a run has, the answers of each, and what is refused."""

from __future__ import annotations

import html
import json
import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import onnxruntime
import pytest

from edgec.base.errors import UsageError
from edgec.package import Package
from tests.apps.pages import browse, served
from tests.apps.webs import built, node
from tests.contract.shaped import LENGTHS, SETS, encoder, given, rows

USE = """
import { Rows, type RowsInputs, type SetOptions } from "./rows.mjs";
import { RowsWorker } from "./rows_worker.mjs";

const inputs: RowsInputs = { x: new Float32Array(256), mask: new BigInt64Array(32) };
const options: SetOptions = { set: 2 };

export async function use(): Promise<readonly number[] | undefined> {
  const model = await Rows.load(), worker = await RowsWorker.load();
  const set: number = Rows.setOf(inputs);
  const found: Float32Array[] = [model.run(inputs).y, model.run(inputs, options).y, (await worker.run(inputs, { set })).z];
  return found.length === 0 ? undefined : Rows.outputs.y.shapes[set - 1];
}

// @ts-expect-error a number
export const wrong: SetOptions = { set: "2" };
"""

# What a worker gives for the set that is named, and where lengths do not tell it
WORKER = """
const { RowsWorker } = await import("./rows_worker.mjs"), worker = await RowsWorker.load();
const inputs = { x: new Float32Array(32).fill(1), mask: new BigInt64Array(4).fill(1n) };
const caught = (promise) => promise.then(() => "nothing", (error) => `${error.constructor.name}: ${error.message}`);
return [(await worker.run(inputs, { set: 3 })).z.length, (await worker.run(inputs, { set: 1 })).z.length, await caught(worker.run(inputs))];
"""
HOSTILE = """
const x = new Float32Array(256), mask = new BigInt64Array(32), model = await m.Rows.load(), found = {};
const small = { x: new Float32Array(32), mask: new BigInt64Array(4) };
const detached = (array) => { structuredClone(array, { transfer: [array.buffer] }); return array; };
const longer = Object.defineProperty(new Float32Array(512), "length", { value: 32 });
const changing = { get x() { return new Float32Array((this.asked = (this.asked ?? 0) + 1) > 1 ? 512 : 256); }, mask };
const acts = {
  none: () => model.run({ x: x.subarray(1), mask }),
  mixed: () => model.run({ x, mask: small.mask }),
  two: () => model.run(small),
  other: () => model.run({ x, mask }, { set: 1 }),
  zero: () => model.run(small, { set: 0 }), four: () => model.run(small, { set: 4 }), half: () => model.run(small, { set: 1.5 }),
  text: () => model.run(small, { set: "1" }), nothing: () => model.run(small, { set: null }), nan: () => model.run(small, { set: NaN }),
  huge: () => model.run(small, { set: 2 ** 32 + 1 }), minus: () => model.run(small, { set: -1 }),
  detached: () => model.run({ x: detached(new Float32Array(256)), mask }),
  detachedSet: () => model.run({ x: detached(new Float32Array(256)), mask }, { set: 2 }),
  longer: () => model.run({ x: longer, mask: small.mask }, { set: 1 }),
  changing: () => model.run(changing),
  several: () => model.run({ x: new Float64Array(256), y: mask }),
  static: () => m.Rows.setOf(small),
};
for (const [name, act] of Object.entries(acts)) {
  try { act(); found[name] = "nothing"; } catch (error) { found[name] = `${error.constructor.name}: ${error.message}`; }
}
show([found, m.Rows.setOf({ x, mask }), [...model.run({ x: x.fill(1), mask: mask.fill(1n) }).w].map(Number)]);
"""


@cache
def package() -> Package:
    folder = Path(mkdtemp(prefix="edgec-web-shapes-"))
    first, *others = SETS
    return Package(built(rows(folder), folder / "rows", precision="fp32", shape=first, also_shape=others))


@pytest.mark.parametrize("threads", [1, 2])
def test_every_set_answers_as_the_model_does(threads: int) -> None:
    """Through the exam's own program, which is the class in Node, and with memory that each set left for the others."""
    session = onnxruntime.InferenceSession(package().directory.parent / "rows.onnx")
    assert package().examine(threads=threads)["passed"]
    with package().load(threads=threads) as runner:
        for turn in (0, 2, 1, 0):
            inputs = given(SETS[turn], turn)
            for found, expected in zip(runner(inputs), session.run(None, inputs), strict=True):
                assert found.shape == expected.shape
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        with pytest.raises(UsageError, match="no such shapes"):
            runner(given({"x": (1, 4, 8), "mask": (1, 5)}, 0))
    assert package().benchmark(0.01, runs=1)["runs"] >= 1


def test_one_instance_answers_every_set_in_turns() -> None:
    """By the lengths where they tell, else by the number; outputs have the set's own sizes, and none is of another set's numbers."""
    inputs = [given(shapes, turn) for turn, shapes in enumerate(SETS)]
    texts = [json.dumps({name: array.ravel().tolist() for name, array in one.items()}) for one in inputs]
    code = f"""
    const sets = [{", ".join(texts)}].map(({{ x, mask }}) => ({{ x: Float32Array.from(x), mask: BigInt64Array.from(mask, BigInt) }}));
    const model = await m.Rows.load(), answers = [];
    for (const turn of [1, 0, 2, 1]) {{
      const {{ y, z, w }} = turn === 1 ? model.run(sets[turn]) : model.run(sets[turn], {{ set: turn + 1 }});
      answers.push([turn, [...y], [...z], [...w].map(Number)]);
    }}
    show([answers, m.Rows.inputs.x, m.Rows.outputs.w.shapes, Object.isFrozen(m.Rows.outputs.w.shapes[1])]);
    """
    answers, facts, shapes, frozen = node(package().directory, code)
    session = onnxruntime.InferenceSession(package().directory.parent / "rows.onnx")
    for turn, *found in answers:
        for one, expected in zip(found, session.run(None, inputs[turn]), strict=True):
            np.testing.assert_allclose(one, expected.ravel(), rtol=1e-5, atol=1e-5)
    assert facts == {
        "name": "x", "type": "float32", "shape": [1, 4, 8], "elements": 32, "shapes": [[1, 4, 8], [2, 16, 8], [4, 1, 8]],
        "scale": None, "zeroPoint": 0,
    }  # fmt: skip
    assert shapes == [[4], [32], [4]] and frozen


def test_what_no_set_has_is_refused_in_words() -> None:
    """Detached and changing arrays, lengths that lie and numbers of no set neither run nor harm the instance."""
    found, number, after = node(package().directory, HOSTILE)
    known = "set 1 has x 32, mask 4; set 2 has x 256, mask 32; set 3 has x 32, mask 4"
    assert found["none"] == f"TypeError: no set of shapes has as many elements (x 255, mask 32): {known}"
    assert found["mixed"] == f"TypeError: no set of shapes has as many elements (x 256, mask 4): {known}"
    assert found["detached"] == f"TypeError: no set of shapes has as many elements (x 0, mask 32): {known}"
    assert found["two"] == found["static"]
    assert found["two"] == "TypeError: sets 1 and 3 of shapes have as many elements (x 32, mask 4): say which, with { set: 1 }"
    assert found["other"] == (
        "TypeError: x has 256 elements, must have 32 in set 1 of shapes; mask has 32 elements, must have 4 in set 1 of shapes"
    )
    assert found["detachedSet"] == "TypeError: x has 0 elements, must have 256 in set 2 of shapes"
    for name in ("zero", "four", "half", "text", "nothing", "nan", "huge", "minus"):
        assert found[name] == "RangeError: set must be a whole number from 1 to 3", name
    assert found["longer"].startswith("RangeError: ") and found["changing"].startswith("TypeError: no set of shapes has as many elements")
    assert found["several"] == "TypeError: y is no input of this model; x must be a Float32Array; mask is missing"
    assert number == 2 and after == [1] * 32


def test_the_page_of_documentation_names_a_set(tmp_path: Path) -> None:
    first, *others = LENGTHS
    package = built(encoder(tmp_path), tmp_path / "encoder", precision="fp32", shape=first, also_shape=others)
    page = (Path(__file__).parents[2] / "docs" / "web.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```js\n(const \{ embedding.*?)```", page, re.DOTALL)
    given = "const ids = new BigInt64Array(128), mask = new BigInt64Array(128), model = await m.Encoder.load();"
    asked = "const set = m.Encoder.setOf({ ids, mask }); show([embedding.length, set, m.Encoder.outputs.embedding.shapes[set - 1]]);"
    assert node(package, f"{given}\n{code}\n{asked}") == [8, 2, [1, 8]]


@pytest.mark.parametrize("number", ["0", "4", "x", "2,2"])
def test_the_program_takes_the_numbers_of_its_sets_alone(number: str) -> None:
    program = package().directory / "build" / "rows_exam.mjs"
    done = subprocess.run(["node", str(program), "--run", "--sizes", number], input=b"", capture_output=True, check=False)
    assert done.returncode == 2 and not done.stdout and b"a size is below 1 or above its maximum" in done.stderr


def test_a_wrong_answer_of_a_further_set_fails_the_exam(tmp_path: Path) -> None:
    """The questions of each set are asked with it: without the number of the set a run of two alike is refused."""
    for path in ("web/rows.mjs", "web/rows.wasm", "exam/rows_exam.mjs", "build/rows_questions.wasm"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes((package().directory / path).read_bytes())
    module = (tmp_path / "web/rows.mjs").read_text(encoding="utf-8")
    (tmp_path / "web/rows.mjs").write_text(
        module.replace("exports.run(chosen)", "exports.run(chosen === 3 ? 1 : chosen)"), encoding="utf-8"
    )
    done = subprocess.run(["node", str(tmp_path / "exam/rows_exam.mjs"), "--json"], capture_output=True, text=True, check=False)
    wrong = [vector["index"] for vector in json.loads(done.stdout)["vectors"] if not vector["passed"]]
    assert done.returncode == 1 and wrong and min(wrong) >= 2 * 2


def test_typescript_knows_the_sets(needs: Callable[..., None], tmp_path: Path) -> None:
    needs("tsc")
    for name in ("rows.d.mts", "rows_worker.d.mts", "package.json"):
        (tmp_path / name).write_bytes((package().directory / "web" / name).read_bytes())
    (tmp_path / "use.mts").write_text(USE, encoding="utf-8")
    options = "--strict --noEmit --target es2022 --module nodenext --moduleResolution nodenext --lib es2022,dom"
    done = subprocess.run(["tsc", *options.split(), "use.mts"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_page_and_a_worker_say_the_set(needs: Callable[..., None], tmp_path: Path) -> None:
    """The page has the first."""
    needs("chromium")
    with served(package().directory / "web", WORKER) as address:
        document, _ = browse(f"{address}/index.html", tmp_path)
    (answer,) = re.findall(r"<output[^>]*>([^<]*)</output>", document)
    assert html.unescape(answer).splitlines()[0].startswith("y: 0.000, ")
    (worker,) = re.findall(r"<pre>([^<]*)</pre>", document)
    third, first, said = json.loads(html.unescape(worker))
    assert (third, first) == (20, 5) and said.startswith("TypeError: sets 1 and 3 of shapes have as many elements")
