"""Android packages for tests: built and compiled once in a session, and one run of tests/apps/kotlin/Driver.kt on the JVM."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from onnx import helper

import edgec
from edgec.base.resources import resource
from edgec.toolchain.android import link_library, make_android
from tests.apps import element_types
from tests.apps.android_stubs import write_stubs
from tests.apps.kotlin_compiler import LIBRARIES, compile_java, compile_kotlin, compiler_folder
from tests.apps.test_web_tasks import WORDS, detector, model, words
from tests.apps.ways import ALL, images, write
from tests.conftest import require
from tests.contract.examiner import WHOLE

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
DRIVER = Path(__file__).parent / "kotlin"
PLAIN_DRIVER = Path(__file__).parent / "java/Plain.java"
ABI = {"x86_64": "x86_64", "aarch64": "arm64-v8a"}.get(platform.machine(), "armeabi-v7a")
HOSTILE = '*/ fun `1`() // "\\ ${x}\u2028'
LABELS = [f'digit {number} \u2603 "$HOME" \\ */' for number in range(10)]
FUSED = {"preprocess": {"resize": "letterbox"}, "fuse_preprocess": True}
TRIED = ALL if WHOLE else ("way1", "way2", "way3", "way5", "way6")  # of the ways of pictures
SMALL = ("finder", "areas", "native", "Model_exception", "mixed")
EXAMINED = ("digits", "mixed")  # on the JVM


def write_packages(folder: Path) -> None:
    """Sources of all packages, each in a folder of its name."""
    text = folder / "labels.txt"
    text.write_text("\n".join(LABELS), encoding="utf-8")
    how = {"color": "gray", "resize": "letterbox", "scale": 16 / 255}
    _write(DIGITS / "digits.onnx", folder / "digits", calib=DIGITS / "calibration.npz", task="classify", labels=text, preprocess=how)
    text.write_text("cat\ndog\n", encoding="utf-8")
    _write(detector(folder), folder / "finder", task="detect", labels=text, precision="fp32", **FUSED)
    _write(_areas(folder), folder / "areas", task="segment", precision="fp32")
    _write(words(folder / "words.onnx", given="threshold"), folder / "native", labels=text, name="native", **WORDS)
    _write(element_types.model(folder), folder / "mixed", precision="fp32", state=element_types.STATE)
    _write(_odd(folder), folder / "Model_exception", precision="fp32", name="Model_exception")
    for name in TRIED:
        write(name, "android", folder / name)


def _write(path: Path, out: Path, **settings: Any) -> None:
    edgec.build(path, target="android", out=out, compile=False, **settings)


def _areas(folder: Path) -> Path:
    weights = np.array([1, -1, 0.5], np.float32).reshape(3, 1, 1, 1)
    nodes = [helper.make_node("Conv", ["held", "w"], ["status"])]
    return model(folder / "areas.onnx", {"held": ("float32", [1, 1, 2, 3])}, {"status": ("float32", [1, 3, 2, 3])}, nodes, w=weights)


def _odd(folder: Path) -> Path:
    """Names that no language likes, and elements of several kinds."""
    nodes = [
        helper.make_node("Add", [HOSTILE, "class"], ["constructor"]),
        helper.make_node("Cast", ["held"], ["real"], to=1),
        helper.make_node("Greater", ["real", "class"], ["Class"]),
        helper.make_node("Add", ["held", "held"], ["memory"]),
        helper.make_node("Not", ["b"], ["\u6570"]),
    ]
    inputs = {HOSTILE: ("float32", [4]), "class": ("float32", [4]), "held": ("int64", [4]), "b": ("bool", [3])}
    outputs = {"constructor": ("float32", [4]), "Class": ("bool", [4]), "memory": ("int64", [4]), "\u6570": ("bool", [3])}
    return model(folder / "odd.onnx", inputs, outputs, nodes)


def ways_driver() -> str:
    """A Kotlin function that says what each way makes of each picture."""
    made = "ai.edgec.{name}.Fitting.tensorOf(ai.edgec.{name}.Picture(p.first, p.second, p.third))"
    call = f'    pictures.forEachIndexed {{{{ i, p -> say("{{name}}.$i", hex({made})) }}}}'
    calls = "\n".join(call.format(name=name) for name in TRIED)
    sizes = ", ".join(f"{image.shape[1]} to {image.shape[0]}" for image in images())
    return f"""import java.io.File
import java.nio.ByteBuffer

private fun hex(values: ByteArray) = values.joinToString("") {{ "%02x".format(it) }}

private fun hex(values: FloatArray) = values.joinToString("") {{ "%08x".format(Integer.reverseBytes(it.toRawBits())) }}

fun ways(folder: File) {{
    val data = ByteBuffer.wrap(File(folder, "pictures.bin").readBytes()).asIntBuffer()
    val pictures = listOf({sizes}).map {{ (width, height) -> Triple(width, height, IntArray(width * height).also(data::get)) }}
{calls}
    failure("way.long") {{ ai.edgec.way1.Fitting.tensorOf(ai.edgec.way1.Picture(1, 1000000, IntArray(1000000))) }}
}}
"""


def scripts(package: Path) -> str:
    """Gradle's scripts of a package as one Kotlin file."""
    found = [path.read_text(encoding="utf-8") for path in sorted((package / "android").rglob("*.kts"))]
    functions = [f"class Script{number} : Script() {{\n    fun all() {{\n{text}\n    }}\n}}\n" for number, text in enumerate(found)]
    return "package gradle\n\n" + "\n".join(functions)


def documented(page: str, language: str = "kotlin", number: int = 0) -> str:
    """A program of a page that is written in a language."""
    found = re.findall(rf"```{language}\n(.*?)```", (DIGITS.parents[1] / page).read_text(encoding="utf-8"), re.DOTALL)
    return str(found[number])


def pictures() -> bytes:
    """argb numbers, with any opacity, which does not count."""
    found = []
    for image in images():
        red, green, blue = np.moveaxis(image.astype(np.uint32), 2, 0)
        opaque = np.arange(red.size, dtype=np.uint32).reshape(red.shape) % 256
        found.append((opaque << 24 | red << 16 | green << 8 | blue).astype(">u4").tobytes())
    return b"".join(found)


def include_folder() -> Path:
    """Where the JDK has its jni.h."""
    require("javac")
    return Path(os.path.realpath(str(shutil.which("javac")))).parents[1] / "include"


def make_all(folder: Path) -> None:
    """Everything below `folder`: packages, libraries, classes, and what the driver said in said.txt and noise.txt."""
    require("java", "gcc", "npm", "clang", "ld.lld")
    write_packages(folder)
    libraries = folder / "libraries"
    libraries.mkdir()
    make_android(folder / "digits", "-O0")
    shutil.copy(folder / f"digits/build/android/jni/{ABI}/libdigits.so", libraries)
    for name in (*SMALL, *TRIED):
        shutil.copy(link_library(folder / name, ABI, "-O0"), libraries)
    for name in EXAMINED:
        link_exam(folder / name, libraries)
    (folder / "mixed.bin").write_bytes(b"".join(array.tobytes() for array in element_types.INPUTS.values()))
    images_file = np.load(DIGITS / "evaluation.npz")["image"][:4].astype("<f4")
    (folder / "images.bin").write_bytes(images_file.tobytes())
    (folder / "pictures.bin").write_bytes(pictures())
    (folder / "Ways.kt").write_text(ways_driver(), encoding="utf-8")
    whole = [
        *(folder / name / "android/src" / part for name in EXAMINED for part in ("main", "androidTest")),
        *(folder / name / "android/sample/src" for name in ("digits", "finder", "areas", "Model_exception")),
    ]
    sources = [
        *whole,
        *(folder / name / "android/src/main" for name in SMALL if name not in EXAMINED),
        *(folder / name / "android/src/main/java" for name in TRIED),  # what fits pictures needs no Kotlin
    ]
    (folder / "Scripts.kt").write_text(scripts(folder / "digits"), encoding="utf-8")
    (folder / "Documented.kt").write_text(documented("docs/android.md"), encoding="utf-8")
    (folder / "Readme.kt").write_text(documented("README.md"), encoding="utf-8")
    sources += [DRIVER, *(folder / f"{name}.kt" for name in ("Ways", "Scripts", "Documented", "Readme"))]
    words = compile_kotlin(folder / "classes", write_stubs(folder / "stubs"), *sources)
    (folder / "compiler.txt").write_text(words, encoding="utf-8")
    done = drive(folder, libraries, "-Xcheck:jni", "DriverKt", str(folder))
    (folder / "said.txt").write_text(done.stdout, encoding="utf-8")
    (folder / "noise.txt").write_text(f"{done.stderr}exit {done.returncode}", encoding="utf-8")
    make_plain(folder)


def make_plain(folder: Path) -> None:
    """The classes of the AAR and, with the interface in Java, of other packages; what their driver and their compiler said in plain.txt."""
    with ZipFile(folder / "digits/build/digits.aar") as archive, ZipFile(BytesIO(archive.read("classes.jar"))) as classes:
        classes.extractall(folder / "plain")
    sources = [path for name in SMALL for path in (folder / name / "android/src").rglob("*.java")]
    stubs = ["-sourcepath", str(resource("runtimes", "android") / "stubs"), "-implicit:none", "-cp", str(folder / "plain")]
    (folder / "DigitReader.java").write_text(documented("docs/android.md", "java"), encoding="utf-8")
    words = compile_java(folder / "plain", *sources, PLAIN_DRIVER, folder / "DigitReader.java", flags=stubs)
    done = drive(folder, folder / "libraries", "-Xcheck:jni", "Plain", str(folder), classes="plain")
    (folder / "plain.txt").write_text(words + done.stdout + done.stderr, encoding="utf-8")


def drive(folder: Path, libraries: Path, flag: str, *words: str, classes: str = "classes") -> subprocess.CompletedProcess[str]:
    """A run of a program, with the native libraries of a folder: its class and arguments."""
    jars = [str(compiler_folder() / jar) for jar in LIBRARIES] if classes == "classes" else []
    path = os.pathsep.join([str(folder / classes), *jars])
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8", f"-Djava.library.path={libraries}"]
    command = [str(shutil.which("java")), *quick, flag, "-cp", path, *words]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)


def link_exam(package: Path, libraries: Path) -> None:
    """The exam's questions, as a library for the JVM."""
    include, name = include_folder(), json.loads((package / "manifest.json").read_text(encoding="utf-8"))["name"]
    sources = [package / f"android/src/androidTest/cpp/{name}_exam_jni.c", package / f"exam/{name}_vectors.c"]
    headers = [f"-I{path}" for path in (include, include / "linux", package / "include", package / "exam")]
    flags = ["-std=c99", "-O0", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, *headers, "-o", str(libraries / f"lib{name}_exam.so"), *map(str, sources)], check=True)
