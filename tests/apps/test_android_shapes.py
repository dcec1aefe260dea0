"""Android packages that take several sets of shapes, in Kotlin and in Java on a JVM with every check of the native interface."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import edgec
from edgec.base.resources import resource
from edgec.toolchain.android import link_library
from tests.apps.android_stubs import write_stubs
from tests.apps.androids import ABI, documented, drive, link_exam
from tests.apps.kotlin_compiler import compile_java, compile_kotlin
from tests.apps.test_stream_shapes import chunks, expected
from tests.apps.test_task_shapes import alike, scores
from tests.conftest import once, require
from tests.contract.shaped import LENGTHS, SCENE_SIZES, SETS, encoder, given, rows, scene_settings, scenes, stream, stream_settings

pytestmark = pytest.mark.thorough

DRIVERS = Path(__file__).parent / "several"
NAMES = ("rows", "encoder", "scenes", "stream")
WRONG = "IllegalArgumentException: "


def make_all(folder: Path) -> None:
    """Packages, libraries, classes, and what the drivers said in said.txt and plain.txt."""
    require("java", "javac", "gcc", "npm", "clang", "ld.lld")
    libraries = folder / "libraries"
    libraries.mkdir()
    plain = [
        (model, {"shape": sets[0], "also_shape": sets[1:], "precision": "fp32"})
        for model, sets in ((rows(folder), SETS), (encoder(folder), LENGTHS))
    ]
    for model, settings in (*plain, (scenes(folder), scene_settings(folder)), (stream(folder), stream_settings())):
        out = folder / model.stem
        edgec.build(model, target="android", out=out, compile=False, **settings)
        shutil.copy(link_library(out, ABI, "-O0"), libraries)
        link_exam(out, libraries)
    (folder / "inputs.bin").write_bytes(b"".join(array.tobytes() for turn, each in enumerate(SETS) for array in given(each, turn).values()))
    (folder / "scenes.bin").write_bytes(b"".join(given(each, turn)["x"].tobytes() for turn, each in enumerate(SCENE_SIZES)))
    (folder / "stream.bin").write_bytes(b"".join(x.tobytes() for x in chunks()))
    (folder / "Documented.kt").write_text(documented("docs/android.md", number=1), encoding="utf-8")
    parts = [folder / name / "android/src" / part for name in NAMES for part in ("main", "androidTest")]
    sources = [
        *parts,
        *(folder / name / "android/sample/src" for name in ("rows", "scenes")),
        DRIVERS / "Several.kt",
        folder / "Documented.kt",
    ]
    words = compile_kotlin(folder / "classes", write_stubs(folder / "stubs"), *sources)
    done = drive(folder, libraries, "-Xcheck:jni", "SeveralKt", str(folder))
    (folder / "said.txt").write_text(words + done.stdout + done.stderr, encoding="utf-8")
    sources = [path for name in ("rows", "scenes") for path in (folder / name / "android/src").rglob("*.java")]
    stubs = ["-sourcepath", str(resource("runtimes", "android") / "stubs"), "-implicit:none"]
    words = compile_java(folder / "plain", *sources, DRIVERS / "Several.java", flags=stubs)
    done = drive(folder, libraries, "-Xcheck:jni", "Several", str(folder), classes="plain")
    (folder / "plain.txt").write_text(words + done.stdout + done.stderr, encoding="utf-8")


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return once(shared / "android_shapes", make_all)


def _lines(path: Path) -> dict[str, str]:
    """Nothing else is said: neither by a compiler nor by the machine's checks."""
    return dict(line.split("\t", 1) for line in path.read_text(encoding="utf-8").strip().split("\n"))


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, str]:
    return _lines(folder / "said.txt")


def test_the_exam_asks_every_set(said: dict[str, str]) -> None:
    assert said["exam"] == said["exam.threads"] == "[]" and said["end"] == "reached"


def test_a_stream_goes_from_set_to_set(folder: Path, said: dict[str, str]) -> None:
    assert said["stream.exam"] == "[]"
    right = np.concatenate([answer.ravel() for answer in expected(folder, chunks())])
    found = np.frombuffer(bytes.fromhex(said["stream"]), ">f4")
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)
    assert said["stream.anew"] == said["stream"]


def test_every_set_answers_as_the_model_does(folder: Path, said: dict[str, str]) -> None:
    """In arrays of the set's own sizes, with one thread and with two, and on direct buffers, past whose ends nothing is written."""
    session = onnxruntime.InferenceSession(folder / "rows.onnx")
    for place, shapes in enumerate(SETS):
        y, z, w = session.run(None, given(shapes, place))
        for name in ("one", "two"):
            *floats, whole = said[f"{name}.{place}"].split()
            for found, right in zip(floats, (y, z), strict=True):
                np.testing.assert_allclose(np.frombuffer(bytes.fromhex(found), ">f4"), right.ravel(), rtol=1e-5, atol=1e-5)
            assert [int(number) for number in whole.split(",")] == w.tolist()
            assert said[f"{name}.direct.{place}"] == "true"


def test_what_no_set_has_is_refused_in_words(said: dict[str, str]) -> None:
    known = "set 1 has x 32, mask 4; set 2 has x 256, mask 32; set 3 has x 32, mask 4"
    assert said["none"] == f"{WRONG}no set of shapes has as many elements: x 33, mask 4; {known}"
    assert said["mixed"] == f"{WRONG}no set of shapes has as many elements: x 256, mask 4; {known}"
    assert said["direct.none"] == f"{WRONG}no set of shapes has as many elements: x 32, mask 5; {known}"
    two = f"{WRONG}sets 1 and 3 of shapes have as many elements: x 32, mask 4: say which"
    assert said["two"] == said["static"] == said["into.two"] == two
    assert said["other"] == f"{WRONG}x must have 32 or 256 elements, by its set of shapes"
    assert said["into"] == f"{WRONG}z must have 5 or 10 or 20 elements, by its set of shapes"
    assert said["direct.short"] == f"{WRONG}w must be a direct buffer of 32 or 256 bytes, by its set of shapes, aligned to 8"
    assert said["direct.other"] == f"{WRONG}z must be a direct buffer of 20 or 40 or 80 bytes, by its set of shapes, aligned to 4"
    assert said["direct.odd"] == f"{WRONG}x must be a direct buffer of 128 or 1024 bytes, by its set of shapes, aligned to 4"
    numbers = [name for name in said if name.startswith(("set.", "native.")) and not name.endswith(("short", "long"))]
    assert {said[name] for name in (*numbers, "into.set", "direct.set")} == {f"{WRONG}set must be from 1 to 3"} and len(numbers) == 17
    assert said["native.compute.short"] == said["other"] and "y must have 20 or 160" in said["native.take.long"]
    assert said["set"] == "2" and said["after"] == ",".join(["1"] * 32)
    assert said["facts"].startswith("[1, 4, 5] 20 [[1, 4, 5], [2, 16, 5], [4, 1, 5]] [1, 5] 5 [")


def test_a_task_is_that_of_every_set(folder: Path, said: dict[str, str]) -> None:
    for place, shapes in enumerate(SCENE_SIZES):
        words = said[f"scenes.{place}"].split()
        assert alike(zip(words[::2], words[1::2], strict=True), scores(folder, given(shapes, place)))
    assert said["scenes.picture"] == "true" and (said["scenes.run"], said["scenes.third"]) == ("5", "2")
    assert said["scenes.two"] == f"{WRONG}sets 1 and 2 of shapes have as many elements: x 432: say which"
    assert said["scenes.other"] == f"{WRONG}x must have 432 or 189 elements, by its set of shapes"


def test_the_interface_in_java_answers_as_that_in_kotlin(folder: Path, said: dict[str, str]) -> None:
    plain = _lines(folder / "plain.txt")
    own = {
        "missing": f"{WRONG}no set of shapes has as many elements: x null, mask 4; set 1 has x 32, mask 4; set 2 has x 256, mask 32; "
        "set 3 has x 32, mask 4",
        "missing.set": said["other"],
    }
    assert plain == {name: own.get(name, said.get(name)) for name in plain} and plain["end"] == "reached"
