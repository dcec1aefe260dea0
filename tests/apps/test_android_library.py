"""Native libraries for Android: what its loader reads in them, the interface that they are compiled against, and the archive."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from edgec.base.errors import ToolchainError
from edgec.base.resources import resource
from edgec.toolchain.android import compile_classes, java_compiler, make_android, unfit_java, zipped
from edgec.toolchain.zip_file import EPOCH
from tests.apps.androids import EXAMINED, SMALL, drive, include_folder, make_all
from tests.apps.kotlin_compiler import compile_command, compile_kotlin
from tests.conftest import once, require
from tests.contract.examiner import WHOLE
from tests.toolchain.elf import LOAD, NEEDED, SONAME, Elf

MACHINES = {"arm64-v8a": (64, 183), "armeabi-v7a": (32, 40), "x86_64": (64, 62)}
FUNCTIONS = ("bytes", "open", "close", "threads", "isa", "message", "compute", "take", "runDirect", "classify", "label", "fitBytes", "fit")
# places of functions in the table of the native interface, and sizes of types
PROBE = """
#include <jni.h>
#include <stddef.h>
#include <stdio.h>
#define PLACE(name) printf(#name " %zu\\n", offsetof(struct JNINativeInterface_, name));
#define SIZE(type) printf(#type " %zu %d\\n", sizeof(type), (type)-1 < (type)0);
int main(void) {
    PLACE(FindClass) PLACE(ThrowNew) PLACE(NewStringUTF) PLACE(GetArrayLength) PLACE(NewByteArray)
    PLACE(GetBooleanArrayRegion) PLACE(GetByteArrayRegion) PLACE(GetShortArrayRegion) PLACE(GetIntArrayRegion)
    PLACE(GetLongArrayRegion) PLACE(GetFloatArrayRegion) PLACE(GetDoubleArrayRegion)
    PLACE(SetBooleanArrayRegion) PLACE(SetByteArrayRegion) PLACE(SetShortArrayRegion) PLACE(SetIntArrayRegion)
    PLACE(SetLongArrayRegion) PLACE(SetFloatArrayRegion) PLACE(SetDoubleArrayRegion)
    PLACE(NewDirectByteBuffer) PLACE(GetDirectBufferAddress) PLACE(GetDirectBufferCapacity)
    SIZE(jboolean) SIZE(jbyte) SIZE(jshort) SIZE(jint) SIZE(jlong) SIZE(jfloat) SIZE(jdouble) SIZE(jsize)
    return printf("%d %d\\n", JNI_TRUE, JNI_FALSE) < 0;
}
"""


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return once(shared / "android", make_all)


@pytest.mark.thorough
@pytest.mark.parametrize("abi", MACHINES)
def test_a_library_needs_nothing_and_lies_in_large_pages(abi: str, folder: Path) -> None:
    elf = Elf((folder / f"digits/build/android/jni/{abi}/libdigits.so").read_bytes())
    assert (elf.bits, elf.machine) == MACHINES[abi]
    assert elf.names(NEEDED) == [] and elf.names(SONAME) == ["libdigits.so"]
    assert elf.of(LOAD) and all(load.alignment % 16384 == 0 for load in elf.of(LOAD))
    shown = {symbol.name for symbol in elf.symbols if symbol.defined}
    assert {f"Java_ai_edgec_digits_DigitsNative_{name}" for name in FUNCTIONS} == {name for name in shown if name.startswith("Java_")}
    assert all(symbol.weak for symbol in elf.symbols if not symbol.defined)


def test_our_native_interface_is_that_of_java(tmp_path: Path) -> None:
    require("gcc")
    (tmp_path / "probe.c").write_text(PROBE, encoding="utf-8")
    include = include_folder()
    found = []
    for headers in ([f"-I{resource('runtimes', 'android')}"], [f"-I{include}", f"-I{include / 'linux'}"]):
        subprocess.run(["gcc", "-std=c99", *headers, "-o", str(tmp_path / "probe"), str(tmp_path / "probe.c")], check=True)
        found.append(subprocess.run([str(tmp_path / "probe")], capture_output=True, text=True, check=True).stdout)
    assert found[0] == found[1] and len(found[0].splitlines()) == 31


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["digits", *SMALL])
def test_the_sources_are_clean_c99_with_java_s_own_header(name: str, folder: Path) -> None:
    include, package = include_folder(), folder / name
    headers = [f"-I{path}" for path in (include, include / "linux", package / "include")]
    flags = ["-std=c99", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-pedantic", "-Werror"]
    source = package / f"android/src/main/cpp/{name}_jni.c"
    done = subprocess.run(["gcc", *flags, *headers, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_what_is_missing_is_said(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (folder / "digits/build/android/README.txt").read_text(encoding="utf-8")
    assert "jni/armeabi-v7a/libdigits.so" in words and "interface is in Java" in words and "build/digits.aar" in words
    (tmp_path / "manifest.json").write_bytes((folder / "digits/manifest.json").read_bytes())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("edgec.toolchain.freestanding.find_spec", lambda name: None)
    made = make_android(tmp_path)
    assert made.paths == () and len(made.notes) == 4
    for abi in MACHINES:
        assert any(f"jni/{abi} is missing: no compiler" in note and "ANDROID_NDK_HOME" in note for note in made.notes)
    assert any("the AAR is missing: no Java compiler" in note for note in made.notes)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo javac 1.8.0_402 >&2", "is javac 1.8.0_402, and must be of a JDK of 9 or newer"),
        ("echo no JDK; exit 1", "is no Java compiler, and must be"),
        ("echo javac 17.0.15", ""),
        ("echo javac 27-ea", ""),
    ],
)
def test_a_java_compiler_that_is_too_old_is_none(
    script: str, words: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "javac").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (tmp_path / "javac").chmod(0o755)
    found = unfit_java([str(tmp_path / "javac")])
    assert words in found and bool(words) == bool(found)
    (tmp_path / "manifest.json").write_bytes((folder / "digits/manifest.json").read_bytes())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("edgec.toolchain.freestanding.find_spec", lambda name: None)
    made = make_android(tmp_path)
    assert made.paths == () and any("the AAR is missing" in note and words in note for note in made.notes) == bool(words)


def test_what_is_no_program_compiles_no_java(tmp_path: Path) -> None:
    (tmp_path / "javac").write_text("no program", encoding="utf-8")
    assert "does not start" in unfit_java([str(tmp_path / "javac")])


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["Java", "Kotlin"])
def test_a_compiler_s_refusal_is_told_in_its_words(language: str, folder: Path) -> None:
    words = [sys.executable, "-c", "import sys; sys.exit('error: unresolved reference')"]
    content = [sys.executable, "-c", "pass"]
    with pytest.raises(ToolchainError, match="failed") as caught:
        compile_classes(folder / "digits", "digits", words if language == "Java" else content, words)
    assert any("unresolved reference" in str(problem) for problem in caught.value.problems)


def test_the_java_compiler_is_that_of_java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = shutil.which("javac")
    assert java_compiler() is not None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/javac").symlink_to(str(compiler))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_compiler() == [str(tmp_path / "bin/javac")]
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    assert java_compiler() == [compiler]


@pytest.mark.thorough
def test_an_archive_has_classes_and_libraries(folder: Path) -> None:
    with zipfile.ZipFile(folder / "digits/build/digits.aar") as archive:
        libraries = {f"jni/{abi}/libdigits.so" for abi in MACHINES}
        assert set(archive.namelist()) == {"AndroidManifest.xml", "R.txt", "classes.jar", "proguard.txt"} | libraries
        assert b'package="ai.edgec.digits"' in archive.read("AndroidManifest.xml")
        with zipfile.ZipFile(BytesIO(archive.read("classes.jar"))) as classes:
            names = classes.namelist()
            versions = {int.from_bytes(classes.read(name)[6:8], "big") for name in names}
    assert {"ai/edgec/digits/Digits.class", "ai/edgec/digits/DigitsNative.class", "ai/edgec/digits/AndroidPictures.class"} <= set(names)
    assert versions == {52} and all(name.startswith("ai/edgec/digits/") for name in names)


def test_archives_are_the_same_bytes_for_the_same_files() -> None:
    files = {"b/c": b"2", "a": b"1" * 100}
    assert zipped(files) == zipped(dict(reversed(files.items())))
    with zipfile.ZipFile(BytesIO(zipped(files))) as archive:
        assert archive.namelist() == ["a", "b/c"] and archive.read("b/c") == b"2"
        assert {entry.date_time for entry in archive.infolist()} == {EPOCH}


if WHOLE:

    def test_with_a_kotlin_compiler_the_archive_has_kotlin_s_interface(
        folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("EDGEC_KOTLINC", " ".join(compile_command()))
        found = []
        for place in ("one", "two"):
            shutil.copytree(folder / "digits", tmp_path / place)
            made = make_android(tmp_path / place, "-O0")
            assert "build/digits.aar" in made.paths and any("Background.kt is not in the AAR" in note for note in made.notes)
            found.append((tmp_path / place / "build/digits.aar").read_bytes())
        assert found[0] == found[1]
        with zipfile.ZipFile(BytesIO(found[0])) as archive, zipfile.ZipFile(BytesIO(archive.read("classes.jar"))) as classes:
            names = {name for name in classes.namelist() if name.endswith(".class")}
        wanted = ("Digits", "Digits$Companion", "DigitsNative", "AndroidPicturesKt")
        assert {f"ai/edgec/digits/{name}.class" for name in wanted} <= names
        assert all(name.startswith("ai/edgec/digits/") for name in names)

    def test_a_program_in_kotlin_calls_the_interface_in_java(folder: Path, tmp_path: Path) -> None:
        shutil.copytree(folder / "plain", tmp_path / "classes")
        assert compile_kotlin(tmp_path / "classes", folder / "Readme.kt") == ""
        answered = drive(tmp_path, folder / "libraries", "-Xcheck:jni", "ReadmeKt")
        assert answered.stdout.startswith("with ") and "logits[0] = " in answered.stdout, answered.stdout + answered.stderr

    def test_cmake_builds_the_libraries_that_gradle_asks_for(folder: Path, tmp_path: Path) -> None:
        """With this machine's compiler and Java's headers in place of the NDK's."""
        require("cmake", "make")
        include = include_folder()
        flags = [f"-DCMAKE_C_FLAGS=-I{include} -I{include / 'linux'}", "-DCMAKE_BUILD_TYPE=Debug"]
        for name in EXAMINED:
            made = tmp_path / name
            configure = ["cmake", "-S", str(folder / name / "android"), "-B", str(made), *flags, f"-D{name.upper()}_EXAM=ON"]
            for command in (configure, ["cmake", "--build", str(made)]):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
            for library in made.glob("*.so"):
                shutil.copy(library, tmp_path)
        answered = drive(folder, tmp_path, "-Xcheck:jni", "DriverKt", str(folder), "exam")
        assert answered.stdout == "exam\t[]\nmixed.exam\t[]\n" and answered.stderr == ""
