"""A web package's runs on several threads: the same bytes, in Node and in a browser, where memory can be shared, and words where not."""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec.package import Package
from edgec.targets import load_target
from edgec.toolchain import compile_package
from tests.apps.pages import browse, served
from tests.apps.webs import built, digits, node
from tests.toolchain.zig import need_zig

IMAGE = "const image = new Float32Array(m.Digits.inputs.image.elements).map((_, i) => (i % 17) / 16);"
NEEDED = "ModelError: threads need shared memory: a page must come with Cross-Origin-Opener-Policy"

# What a page and a worker of it answer on two threads, and what threads they take by themselves.
PAGE = """
const { Digits } = await import("./digits.mjs"), { DigitsWorker } = await import("./digits_worker.mjs");
const image = new Float32Array(64).map((_, i) => i % 16);
const alone = await Digits.load(), expected = JSON.stringify(alone.run({ image }));
const found = [crossOriginIsolated, alone.threads];
for (const loader of [Digits, DigitsWorker]) {
  try {
    const model = await loader.load(undefined, { threads: 2 });
    for (let run = 0; run < 20; run++) found.push(JSON.stringify(await model.run({ image })) === expected);
    found.push(model.threads);
    model.close();
  } catch (error) {
    found.push(`${error.constructor.name}: ${error.message}`);
  }
}
return found;
"""


def shown(isolated: bool, scratch: Path) -> list[object]:
    with served(digits() / "web", PAGE, isolated=isolated) as address:
        document, _ = browse(f"{address}/index.html?picture=none.png", scratch)
    (found,) = re.findall(r"<pre>([^<]*)</pre>", document)
    return list(json.loads(html.unescape(found)))


def test_any_number_of_threads_gives_the_same_bytes() -> None:
    code = f"""{IMAGE}
    const found = [];
    for (const threads of [1, 2, 3, 8]) {{
      const model = await m.Digits.load(undefined, {{ threads }});
      for (let run = 0; run < 50; run++) found.push([...new Uint8Array(model.run({{ image }}).logits.buffer)].join());
      found.push(model.threads);
      model.close();
    }}
    show([...new Set(found)]);
    """
    logits, *threads = node(digits(), code)
    assert len(logits.split(",")) == 40 and threads == [1, 2, 3, 8]


def test_the_exam_is_passed_on_threads_and_says_how_many() -> None:
    facts = Package(digits()).examine(threads=3)
    assert facts["passed"] and facts["threads"] == 3 and facts["isa"] == "wasm128"


def test_models_on_threads_go_on_when_another_is_closed() -> None:
    """And Node ends although the first one is not closed."""
    code = f"""{IMAGE}
    const [one, other] = await Promise.all([m.Digits.load(undefined, {{ threads: 2 }}), m.Digits.load(undefined, {{ threads: 2 }})]);
    const before = [...one.run({{ image }}).logits];
    other.run({{ image }});
    other.close();
    const closed = await Promise.resolve().then(() => other.threads).catch(({{ message }}) => message);
    show([before, [...one.run({{ image }}).logits], closed]);
    """
    before, after, closed = node(digits(), code)
    assert before == after and closed == "the model is closed"


def test_what_cannot_be_had_is_said() -> None:
    module = json.dumps((digits() / "web" / "digits.wasm").as_uri())
    code = f"""
    const sources = {{
      none: [undefined, {{ threads: 0 }}], half: [undefined, {{ threads: 1.5 }}], many: [undefined, {{ threads: 9 }}],
      baseline: [undefined, {{ threads: 2, isa: "portable" }}], other: [new URL({module}), {{ threads: 2 }}],
    }};
    const found = {{}};
    const tried = (source) => m.Digits.load(...source).then(() => "loaded", (error) => `${{error.constructor.name}}: ${{error.message}}`);
    for (const [name, source] of Object.entries(sources)) found[name] = await tried(source);
    delete globalThis.SharedArrayBuffer;
    found.unshared = await tried([undefined, {{ threads: 2 }}]);
    found.alone = (await m.Digits.load()).threads;
    show(found);
    """
    found = node(digits(), code)
    assert found["none"] == found["half"] == found["many"] == "RangeError: threads must be a whole number from 1 to 8"
    assert found["baseline"] == "ModelError: the module without SIMD128 is for one thread"
    assert found["other"] == "ModelError: this module is for one thread"
    assert found["unshared"].startswith(NEEDED) and found["alone"] == 1


def test_the_module_of_threads_is_loaded_by_its_name_and_needs_nothing_but_memory() -> None:
    module = json.dumps((digits() / "web" / "digits_threads.wasm").as_uri())
    code = f"""import {{ readFileSync }} from "node:fs";
    {IMAGE}
    const beside = await m.Digits.load(), own = await m.Digits.load(new URL({module}), {{ threads: 2 }});
    const needed = WebAssembly.Module.imports(new WebAssembly.Module(readFileSync(new URL({module}))));
    show([own.threads, [...own.run({{ image }}).logits].join() === [...beside.run({{ image }}).logits].join(), needed]);
    """
    assert node(digits(), code) == [2, True, [{"module": "env", "name": "memory", "kind": "memory"}]]


@pytest.mark.thorough
@pytest.mark.parametrize("named", [True, False])
def test_ziglang_links_the_module_of_threads(named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named by --cc, and found where no clang is."""
    need_zig()
    folder, target = tmp_path / "digits", load_target("wasm")
    shutil.copytree(digits(), folder, ignore=shutil.ignore_patterns("build", "*.wasm"))
    if named:
        compile_package(folder, target, cc=f"{sys.executable} -m ziglang cc -target wasm32-freestanding -O1")
    else:
        compile_package(folder, replace(target, compilers=()))
    facts = Package(folder).examine(threads=2)
    assert facts["passed"] and facts["threads"] == 2


def test_a_larger_model_takes_threads_by_itself(tmp_path: Path) -> None:
    """A product of 2 million multiply-accumulates, on as many threads as there are processors, four at most."""
    weights = np.random.default_rng(0).standard_normal((512, 512)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 512])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 512])],
        [numpy_helper.from_array(weights, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "large.onnx")
    package = built(tmp_path / "large.onnx", tmp_path / "large", precision="fp32")
    code = """
    import { availableParallelism } from "node:os";
    const given = { x: new Float32Array(4096).map((_, i) => (i % 97) / 97) };
    const many = await m.Large.load(), one = await m.Large.load(undefined, { threads: 1 });
    show([many.threads - Math.min(4, availableParallelism()), one.threads, many.run(given).y.join() === one.run(given).y.join()]);
    """
    assert node(package, code) == [0, 1, True]
    assert sorted(path.name for path in package.glob("web/*.wasm")) == ["large.wasm", "large_baseline.wasm", "large_threads.wasm"]


def test_an_isolated_page_computes_on_threads(needs: Callable[..., None], tmp_path: Path) -> None:
    needs("chromium")
    assert shown(True, tmp_path) == [True, 1, *([True] * 20), 2, *([True] * 20), 2]


def test_any_other_page_computes_on_one_thread(needs: Callable[..., None], tmp_path: Path) -> None:
    needs("chromium")
    isolated, threads, *refused = shown(False, tmp_path)
    assert not isolated and threads == 1 and len(refused) == 2 and all(str(words).startswith(NEEDED) for words in refused)
