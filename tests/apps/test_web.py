"""Packages for the web, used from Node: the same bytes as everywhere, and errors instead of crashes."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgec.base.errors import DeviceError, ToolchainError
from edgec.boards.deploy.parcel import open_parcel
from edgec.package import Package
from edgec.targets import load_target
from edgec.toolchain import compile_package
from tests.apps.webs import DIGITS, digits, node

IMAGE = "const image = new Float32Array(m.Digits.inputs.image.elements).map((_, i) => (i % 17) / 16);"


def failures(code: str) -> dict[str, str]:
    """code: entries of an object, each a function that must throw; what they throw, by name."""
    caught = "try { await act(); } catch (error) { found[name] = `${error.constructor.name}: ${error.message}`; }"
    return dict(
        node(
            digits(),
            f"{IMAGE} const model = await m.Digits.load(), found = {{}};\n"
            f"for (const [name, act] of Object.entries({{{code}}})) {caught}\nshow(found);",
        )
    )


def test_the_modules_pass_the_exam_in_node() -> None:
    package = Package(digits())
    isas = package.isas()
    assert {"portable", "wasm128"} <= set(isas)
    for isa in isas:
        facts = package.examine(isa=isa)
        assert facts["passed"] and facts["isa"] == isa
        assert all(output["exact"] for vector in facts["vectors"] for output in vector["outputs"])


def test_a_wrong_answer_fails_the_exam(tmp_path: Path) -> None:
    """One byte of the weights, in the data of the module."""
    package = digits()
    weights = (package / "src" / "digits_weights.bin").read_bytes()
    for path in ("web/digits.mjs", "exam/digits_exam.mjs", "build/digits_questions.wasm", "web/digits_baseline.wasm", "web/digits.wasm"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes((package / path).read_bytes())
    module = bytearray((tmp_path / "web/digits.wasm").read_bytes())
    place = module.index(weights[1000:1064])
    module[place] ^= 1
    (tmp_path / "web/digits.wasm").write_bytes(module)
    done = subprocess.run(["node", str(tmp_path / "exam/digits_exam.mjs"), "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not json.loads(done.stdout)["weights_passed"]


def test_a_package_is_built_by_make_too(tmp_path: Path, needs: Callable[..., None]) -> None:
    needs("make")
    copy = tmp_path / "digits"
    shutil.copytree(digits(), copy, ignore=shutil.ignore_patterns("build", "*.wasm"))
    done = subprocess.run(
        ["make", "CFLAGS=-O0", "web/digits.wasm", "web/digits_relaxed.wasm", "build/digits_exam.mjs"],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert Package(copy).examine()["isa"] == "wasm128"


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without clang, and with a clang that has no linker for WebAssembly."""
    package, target = digits(), load_target("wasm")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ToolchainError, match="no C compiler for target wasm") as caught:
        compile_package(package, replace(target, zig_triple=""))
    assert "apt install clang lld" in (caught.value.hint or "")
    fake = tmp_path / "clang"
    fake.write_text('#!/bin/sh\ncase "$*" in *-dumpmachine*) echo wasm32-unknown-unknown;; *) echo wasm-ld;; esac\n', encoding="utf-8")
    fake.chmod(0o755)
    with pytest.raises(ToolchainError, match="wasm-ld, is missing") as caught:
        compile_package(package, target)
    assert "apt install lld" in (caught.value.hint or "")


def test_it_is_not_for_boards() -> None:
    with pytest.raises(DeviceError, match="runs in browsers and in Node"):
        open_parcel(digits())


def test_the_page_of_documentation_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "web.md").read_text(encoding="utf-8")
    first = page.split("```js\n")[1].split("```")[0]
    code = "\n".join(line for line in first.splitlines() if not line.startswith("import"))
    printed = node(digits(), f"const {{ Digits }} = m; console.log = (...words) => process.stdout.write(JSON.stringify(words));\n{code}")
    assert printed == [10, "wasm128"]


def test_a_package_runs_over_arrays_and_is_timed() -> None:
    package = Package(digits())
    images = np.load(DIGITS / "evaluation.npz")["image"][:4]
    with package.load(isa="portable") as plain, package.load() as best:
        for image in images:
            assert plain(image[None])[0].tobytes() == best(image[None])[0].tobytes()
    times = package.benchmark(0.05, runs=3, samples=2)
    assert times["runs"] >= 3 and len(times["samples_us"]) == 2 and 0 < times["min_us"] <= times["p50_us"] <= times["p99_us"]


def test_the_modules_import_nothing() -> None:
    for name in ("digits.wasm", "digits_baseline.wasm", "digits_relaxed.wasm"):
        code = f"""
        import {{ readFileSync }} from "node:fs";
        const module = new WebAssembly.Module(readFileSync({json.dumps(str(digits() / "web" / name))}));
        show([WebAssembly.Module.imports(module).length, WebAssembly.Module.exports(module).map((item) => item.name)]);
        """
        imports, exports = node(digits(), code)
        assert imports == 0 and {"memory", "start", "run", "tensor"} <= set(exports)


def test_two_instances_share_nothing_and_answers_stay() -> None:
    code = f"""{IMAGE}
    const [a, b] = await Promise.all([m.Digits.load(), m.Digits.load(undefined, {{ isa: "portable" }})]);
    const first = a.run({{ image }}), before = [...first.logits];
    b.run({{ image: image.map((x) => 1 - x) }});
    a.close();
    show([before, [...first.logits], [...b.run({{ image }}).logits], b.isa]);
    """
    before, after, other, isa = node(digits(), code)
    assert before == after == other and isa == "portable" and len(before) == 10


def test_the_set_of_instructions_is_chosen_by_its_name() -> None:
    baseline = json.dumps((digits() / "web" / "digits_baseline.wasm").as_uri())
    found = failures(f"""
        unknown: () => m.Digits.load(undefined, {{ isa: "sse41" }}),
        other: () => m.Digits.load(new URL({baseline}), {{ isa: "wasm128" }}),
        lacking: () => {{
          WebAssembly.validate = () => false;
          return m.Digits.load(undefined, {{ isa: "wasm128" }});
        }},
    """)
    assert found["unknown"] == "RangeError: isa must be one of relaxed8, relaxed7, wasm128, portable"
    assert found["other"] == "ModelError: this module has portable, not wasm128"
    assert found["lacking"] == "ModelError: this engine does not have wasm128: it has portable"


def test_wrong_inputs_are_errors_in_words() -> None:
    found = failures("""
        missing: () => model.run({}),
        nothing: () => model.run(),
        array: () => model.run(image),
        type: () => model.run({ image: new Float64Array(image) }),
        list: () => model.run({ image: [...image] }),
        size: () => model.run({ image: image.subarray(1) }),
        unknown: () => model.run({ image, imgae: image, ["__proto__x"]: 1 }),
        constructor: () => new m.Digits(),
        closed: () => { const other = model; other.close(); other.close(); return other.run({ image }); },
        bytes: () => m.Digits.load(new Uint8Array(8)),
        file: () => m.Digits.load(new URL("nothing.wasm", "file:///tmp/")),
    """)
    assert found["missing"] == "TypeError: image is missing"
    assert found["nothing"] == found["array"] == "TypeError: inputs must be an object with image"
    assert found["type"] == found["list"] == "TypeError: image must be a Float32Array"
    assert found["size"].startswith("TypeError: image has 63 elements, must have 64") or "elements, must have" in found["size"]
    assert found["unknown"] == "TypeError: imgae is no input of this model; __proto__x is no input of this model"
    assert found["constructor"] == "TypeError: use await Digits.load()"
    assert found["closed"] == "ModelError: the model is closed"
    assert found["bytes"].startswith("CompileError") and found["file"].startswith("Error: ENOENT")


@pytest.mark.parametrize(
    "source", ["readFileSync(file)", "file", "new WebAssembly.Module(readFileSync(file))", "new Response(readFileSync(file))"]
)
def test_a_model_is_loaded_from_what_there_is(source: str) -> None:
    code = f"""import {{ readFileSync }} from "node:fs";
    {IMAGE}
    const file = new URL({json.dumps((digits() / "web" / "digits.wasm").as_uri())});
    const model = await m.Digits.load({source}), beside = await m.Digits.load();
    show([[...model.run({{ image }}).logits], [...beside.run({{ image }}).logits], m.Digits.labels.length, m.Digits.labels[3]]);
    """
    one, other, labels, label = node(digits(), code)
    assert one == other and labels == 10 and label == 'digit 3 \u2603"</script>'
