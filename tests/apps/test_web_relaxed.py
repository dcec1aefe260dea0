"""Relaxed dot products of web packages: which vocabulary an engine gets, the same bytes in each, and what there is without them.

Engines that behave otherwise than the one at hand are made of it: clang compiles their dot product, and the one that JavaScript asks, in
the words of SIMD128.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from edgec.package import Package
from edgec.targets import load_target
from edgec.toolchain import compile_package
from tests.apps.pages import browse, served
from tests.apps.webs import digits, node
from tests.kernels.int8_harness import call
from tests.kernels.wasm import relaxed
from tests.toolchain.zig import need_zig

PLAIN = ["wasm128", "portable"]
# What an engine does with the eighth bit and with large pairs -> the vocabularies that it has, the one to take first
HAS = {
    "UNSIGNED": ["relaxed8", "relaxed7", *PLAIN],
    "SIGNED": ["relaxed7", *PLAIN],
    "WRAPPING": ["relaxed7", *PLAIN],
    "SATURATING": ["wasm128", "relaxed7", "portable"],
    "ANY": ["wasm128", "relaxed7", "portable"],
}
DOT = """
#include <wasm_simd128.h>
__attribute__((export_name("dot"), visibility("default"))) int dot(int a, int b) {
    const v128_t first = wasm_i32x4_splat(a), second = wasm_i32x4_splat(b);
    return wasm_i32x4_extract_lane(wasm_i32x4_relaxed_dot_i8x16_i7x16_add(first, second, wasm_i32x4_splat(0)), 0);
}
"""
CHOICE = """
const able = [];
for (const isa of ["relaxed8", "relaxed7", "wasm128", "portable"]) {
  if (await m.Digits.load(undefined, { isa }).then((model) => model.isa === isa, () => false)) able.push(isa);
}
show([(await m.Digits.load()).isa, able]);
"""
# In a browser: what it takes by itself, and whether every vocabulary that it has gives the bytes of portable C on one thread and on two
PAGE = """
const { Digits } = await import("./digits.mjs"), image = new Float32Array(64).map((_, i) => (i % 17) / 16);
const answer = (model) => [...new Uint8Array(model.run({ image }).logits.buffer)].join();
const plain = answer(await Digits.load(undefined, { isa: "portable" })), found = [(await Digits.load()).isa];
for (const isa of ["relaxed8", "relaxed7", "wasm128"]) {
  for (const threads of [1, 2]) {
    try {
      const model = await Digits.load(undefined, { isa, threads });
      found.push(model.isa === isa && model.threads === threads && answer(model) === plain);
    } catch (error) {
      found.push(error.message);
    }
  }
}
return found;
"""


@cache
def engine(behaviour: str) -> Path:
    """The example model with relaxed modules for an engine that behaves so."""
    folder = Path(mkdtemp(prefix="edgec-relaxed-")) / "digits"
    shutil.copytree(digits(), folder, ignore=shutil.ignore_patterns("build"))
    compile_package(folder, load_target("wasm"), cc=" ".join(["clang --target=wasm32 -O0", *relaxed(behaviour)]))
    ask(folder, behaviour)
    return folder


def ask(folder: Path, behaviour: str, source: str = DOT) -> None:
    """Let the package's JavaScript hear from such an engine."""
    (folder / "dot.c").write_text(source, encoding="utf-8")
    linking = ("-nostdlib", "-Wl,--no-entry", "-O1", "-mrelaxed-simd")
    call(["clang", "--target=wasm32", *linking, *relaxed(behaviour), str(folder / "dot.c"), "-o", str(folder / "dot.wasm")])
    module, numbers = folder / "web" / "digits.mjs", ", ".join(map(str, (folder / "dot.wasm").read_bytes()))
    told, count = re.subn(r"(RELAXED = new Uint8Array\()\[[^]]*\]", rf"\1[{numbers}]", module.read_text(encoding="utf-8"))
    assert count == 1
    module.write_text(told, encoding="utf-8")


@pytest.mark.parametrize("behaviour", HAS)
def test_an_engine_gets_the_vocabulary_that_is_exact_there(behaviour: str, tmp_path: Path) -> None:
    shutil.copytree(engine("UNSIGNED"), tmp_path / "digits")
    ask(tmp_path / "digits", behaviour)
    chosen, able = node(tmp_path / "digits", CHOICE)
    assert chosen == HAS[behaviour][0] and able == [isa for isa in HAS["UNSIGNED"] if isa in HAS[behaviour]]


def test_an_engine_that_multiplies_wrongly_gets_neither(tmp_path: Path) -> None:
    """As V8 11.3 did, behind a flag, where all sums were twice what they should be."""
    shutil.copytree(engine("UNSIGNED"), tmp_path / "digits")
    ask(tmp_path / "digits", "UNSIGNED", DOT.replace("return ", "return 2 * "))
    assert node(tmp_path / "digits", CHOICE) == ["wasm128", PLAIN]


@pytest.mark.parametrize(("behaviour", "isa"), [("UNSIGNED", "relaxed8"), ("UNSIGNED", "relaxed7"), ("ANY", "relaxed7")])
def test_a_whole_package_gives_the_same_bytes(behaviour: str, isa: str) -> None:
    package = Package(engine(behaviour))
    for threads in (1, 2):
        facts = package.examine(isa=isa, threads=threads)
        assert facts["passed"] and facts["isa"] == isa and facts["threads"] == threads
        assert all(output["exact"] for vector in facts["vectors"] for output in vector["outputs"])


def test_an_engine_of_another_kind_would_answer_wrongly() -> None:
    """The choice is no matter of speed alone, and these tests would see it."""
    code = """
    const model = await m.Digits.load(undefined, { isa: "relaxed8" });
    const wasm128 = await m.Digits.load(undefined, { isa: "wasm128" });
    const images = Array.from({ length: 40 }, (_, n) => new Float32Array(64).map((_, i) => ((i * 7 + n * 13) % 17) - 4));
    show(images.filter((image) => model.run({ image }).logits.join() !== wasm128.run({ image }).logits.join()).length);
    """
    folder = engine("SIGNED")
    ask(folder, "UNSIGNED")
    assert node(folder, code) > 0


def test_an_older_clang_makes_copies_and_says_so(tmp_path: Path) -> None:
    """JavaScript finds all files that it may look for; what is in them it hears from the module."""
    package = Package(digits())
    assert [note for note in package.notes if "copies of those without" in note]
    for kind in ("", "_threads"):
        one, other = (package.directory / "web" / f"digits{kind}{end}.wasm" for end in ("", "_relaxed"))
        assert one.read_bytes() == other.read_bytes()
    shutil.copytree(package.directory, tmp_path / "digits")
    ask(tmp_path / "digits", "UNSIGNED")
    assert node(tmp_path / "digits", CHOICE) == ["wasm128", PLAIN]


@pytest.mark.thorough
@pytest.mark.parametrize("options", [(), ("--js-flags=--no-enable-avx-vnni",)], ids=["as it is", "without VNNI"])
def test_a_browser_computes_the_same_with_every_vocabulary(options: tuple[str, ...], needs: Callable[..., None], tmp_path: Path) -> None:
    """ziglang has the instructions, and so has Chromium."""
    needs("chromium")
    need_zig()
    folder = tmp_path / "digits"
    shutil.copytree(digits(), folder, ignore=shutil.ignore_patterns("build", "*.wasm"))
    compile_package(folder, load_target("wasm"), cc=f"{sys.executable} -m ziglang cc -target wasm32-freestanding -O1")
    assert not [note for note in Package(folder).notes if "copies" in note]
    with served(folder / "web", PAGE, isolated=True) as address:
        document, _ = browse(f"{address}/index.html?picture=none.png", tmp_path, *options)
    (shown,) = re.findall(r"<pre>([^<]*)</pre>", document)
    chosen, *answers = json.loads(html.unescape(shown))
    lacking = 0 if chosen == "relaxed8" else 2
    assert answers[lacking:] == [True] * (6 - lacking)
    assert all(words.startswith("this engine does not have relaxed8") for words in answers[:lacking])
    assert not options or chosen != "relaxed8"
