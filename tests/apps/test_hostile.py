"""A model whose every word was chosen to do harm: its file, its tensors, its nodes and what it says of itself."""

from __future__ import annotations

import json
import re
import subprocess
import unicodedata
from pathlib import Path

import numpy as np
import onnx
import pytest
import yaml
from onnx import TensorProto, helper, numpy_helper

import edgec
from edgec.base.errors import UsageError
from edgec.cli.main import main
from edgec.pipeline.prepare import LONGEST_NAME, identifier

WORDS = (
    "*/ x; /*", '"""', "`${alert(1)}`", "\\", "</script>", "a\nb", "a\u2028b", "\u202egnp", "$x ${y}", '"); x("', "??/", "\x1b[2J", "日本",
    "EOF", "errno", "stdin", "static_assert", "alignas", "requires", "concept", "not_eq", "I", "NAN", "INFINITY", "INT_MAX", "TRUE",
    "constructor", "__proto__", "then", "close", "run", "init", "self", "memory", "arena", "class", "Class", "CLASS", "a b", "a-b", "a_b",
    "near", "far", "linux", "unix", "i386", "assert", "main", "NULL", "DOMAIN", "OVERFLOW", "../../x", "%s%n", "0", "", "_", "x" * 300,
)  # fmt: skip
FILE = "class\" $(touch x) ` <script> 日本 '\u202e.onnx"
HEADERS = "stdio.h stdlib.h string.h errno.h math.h limits.h assert.h complex.h setjmp.h signal.h"


def hostile_model(folder: Path) -> Path:
    names = [word for word in WORDS if word]
    nodes = [helper.make_node("Add", [name, name], [f"{name}\u202e*/"], name=word) for name, word in zip(names, WORDS, strict=False)]
    nodes.append(helper.make_node("MatMul", ["image \u202e */", "weights */\n"], ["score*/ \\"], name='"*/'))
    inputs = {name: (TensorProto.INT32, [2]) for name in names} | {"image \u202e */": (TensorProto.FLOAT, ["ba*/tch", 3])}
    outputs = {f"{name}\u202e*/": (TensorProto.INT32, [2]) for name in names} | {"score*/ \\": (TensorProto.FLOAT, ["ba*/tch", 3])}
    ports = [[helper.make_tensor_value_info(name, *about) for name, about in side.items()] for side in (inputs, outputs)]
    weights = [numpy_helper.from_array(np.eye(3, dtype=np.float32), "weights */\n")]
    graph = helper.make_graph(nodes, '*/"""\n</script>${x}`\\', *ports, weights, doc_string='*/ """ </script>')
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name='*/"""\n`', doc_string="*/ \u202e --> \\")
    helper.set_model_props(model, {"title": '*/ </script> \x1b[2J"', "author": "\u202eevil\nName: x", "url": "javascript:alert(1)//*/"})
    onnx.save(model, folder / FILE)
    return folder / FILE


def test_nothing_a_model_says_reaches_a_compiler_or_a_reader(tmp_path: Path, needs) -> None:
    needs("gcc", "g++")
    text = tmp_path / "labels.txt"
    text.write_text('*/ /* "quoted" \\\n`${alert(1)}` </script>\n"""\' $HOME `ls` \\(x) 日本 ??/\n', encoding="utf-8")
    settings = {"shape": {"image \u202e */": (1, 3)}, "precision": "fp32", "task": "classify", "labels": text, "single_file": True}
    out = tmp_path / "out"
    edgec.build(hostile_model(tmp_path), target="wasm", out=out, compile=False, **settings)
    name = "class_touch_x_script"
    every = "".join(f"#include <{header}>\n" for header in HEADERS.split())
    program = f'{every}#include "{name}.h"\n#include "{name}_task.h"\n'
    strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", f"-I{out}/include"]
    for words, code in (
        (["gcc", "-std=c99", "-x", "c"], program),
        (["g++", "-std=c++20", "-x", "c++"], f'{program}#include "{name}.hpp"\n'),
        (["gcc", "-std=c99", "-x", "c"], f'#include "{out}/single/{name}.c"\n'),
    ):
        done = subprocess.run([*words, *strict, "-"], input=code, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]
    readable = {path.suffix for path in out.rglob("*")} - {"", ".bin", ".json"}  # JSON holds names as they are
    assert {".c", ".h", ".hpp", ".mjs", ".mts", ".html", ".md", ".txt"} <= readable
    for path in (path for path in out.rglob("*") if path.suffix in readable):
        odd = {letter for letter in path.read_text(encoding="utf-8") if unicodedata.category(letter)[0] == "C"} - {"\n", "\t"}
        assert not odd, f"{path} has characters that control what is seen: {odd}"
    assert "homepage" not in json.loads((out / "web/package.json").read_text(encoding="utf-8"))


def test_manifests_of_microcontrollers_say_what_they_are_told(tmp_path: Path, needs) -> None:
    """A field stays a field whatever is in it, and the sketch and the board compile."""
    needs("clang")
    out, card = tmp_path / "out", {"title": 'a=b: "c" # ${d} \\', "author": "{{ x }}\nname=evil", "version": "1.0; rm", "url": "file:///x"}
    edgec.build(
        hostile_model(tmp_path), target="micro", out=out, shape={"image \u202e */": (1, 3)}, precision="fp32", compile=False, card=card
    )
    name = "class_touch_x_script"
    lines = (out / "library.properties").read_text(encoding="utf-8").splitlines()
    properties = dict(line.split("=", 1) for line in lines)
    assert len(lines) == len(properties) == 10 and properties["name"] == name and properties["sentence"] == card["title"]
    assert (properties["version"], properties["author"], properties["url"]) == ("1.0.0", "{{ x }} name=evil", "")
    library = json.loads((out / "library.json").read_text(encoding="utf-8"))
    component = yaml.safe_load((out / "idf_component.yml").read_text(encoding="utf-8"))
    assert component == {"version": "1.0.0", "description": library["description"]}
    core = Path(__file__).parent / "arduino"
    words = ["clang", "--target=thumbv7em-none-eabihf", "-fsyntax-only", "-Wall", "-Werror", "-x", "c++", "-std=c++11", "-ffreestanding"]
    places = [f"-I{out}/src", f"-I{out}/exam", f"-I{core}", "-include", f"{core}/Arduino.h"]
    done = subprocess.run([*words, *places, f"{out}/examples/{name}/{name}.ino"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def test_words_of_a_model_do_not_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = hostile_model(tmp_path)
    assert main(["inspect", str(path)]) == 0
    assert main(["build", str(path), "--target", "portable", "--precision", "fp32", "--no-compile", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert "gnp" in said.out and "image" in said.err
    assert not [letter for letter in said.out + said.err if unicodedata.category(letter)[0] == "C" and letter != "\n"]


def test_a_package_stands_before_no_header_and_beside_no_function_of_systems(tmp_path: Path) -> None:
    names = ["time", "string", "Math", "stdint", "pthread", "sem", "size", "int8", "nul", "COM1", "int", "日本", "x" * 250, "2"]
    found = [identifier(name) for name in names]
    assert found[:10] == [f"model_{name.lower()}" for name in names[:10]]
    assert found[10:] == ["model_int", "model", "x" * LONGEST_NAME, "model_2"]
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) and identifier(name) == name for name in found)
    (tmp_path / "m.onnx").touch()
    for name, words in (("time", "model_time"), ("x" * 65, "longer")):
        with pytest.raises(UsageError, match=words):
            edgec.build(tmp_path / "m.onnx", target="portable", precision="fp32", name=name)


def test_what_is_not_utf_8_is_no_word_of_a_model(tmp_path: Path) -> None:
    path = hostile_model(tmp_path)
    model = onnx.load(path)
    helper.set_model_props(model, {"license": "@@@@", "author": "Ada"})
    model.producer_name, model.producer_version, model.doc_string = "@@@@", "1", "@@@@"
    (tmp_path / "odd.onnx").write_bytes(model.SerializeToString().replace(b"@@@@", b"\xff\xfe@\xff"))
    package = edgec.build(tmp_path / "odd.onnx", target="portable", out=tmp_path / "out", precision="fp32", compile=False)
    card = package.manifest.card
    assert card == {"author": "Ada", "producer": "1"}
