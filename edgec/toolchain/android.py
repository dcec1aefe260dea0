"""What of an Android library is made without Gradle: build/android/jni/ABI/libNAME.so, and build/NAME.aar with a Java compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from edgec.base.environment import child_environment
from edgec.base.errors import ToolchainError
from edgec.base.resources import resource
from edgec.cache import NOTHING, Store
from edgec.package.manifest import read_manifest
from edgec.package.parts import AndroidNames
from edgec.toolchain.call import call
from edgec.toolchain.find import Compiler, words_of
from edgec.toolchain.freestanding import find_freestanding, link_freestanding
from edgec.toolchain.made import Made, write_made
from edgec.toolchain.zip_file import archived

OLDEST_JAVA = 9  # the first that compiles for an older version of Java by its own knowledge of that: 1.8 is the one before
ABIS = ("arm64-v8a", "armeabi-v7a", "x86_64")
NEEDS_COROUTINES = ("Background.kt",)
WITHOUT_COROUTINES = "Background.kt is not in the AAR: what it needs is not here; Gradle compiles it"
WITHOUT_KOTLIN = (
    "the AAR's interface is in Java, as no Kotlin compiler (kotlinc, or EDGEC_KOTLINC) is here: arguments have no names in Kotlin, "
    "inBackground and toPicture are left out"
)


def make_android(directory: Path, optimize: str = "-O3", store: Store = NOTHING) -> Made:
    """The libraries for every ABI that a compiler here makes code for, and the AAR, in the package in `directory`.

    build/android/README.txt says what is there and what is missing, and why. ToolchainError where a compiler refuses the sources.
    """
    manifest, _ = read_manifest(directory)
    notes, libraries = [], {}
    for abi in ABIS:
        try:
            find_freestanding(abi)
        except ToolchainError as error:
            notes.append(f"jni/{abi} is missing: {error.summary}; {error.hint}")
            continue
        libraries[abi] = link_library(directory, abi, optimize, store)
    archive = directory / "build" / f"{manifest.name}.aar"
    archive.unlink(missing_ok=True)
    java, kotlin = java_compiler(), kotlin_compiler()
    unfit = "no Java compiler (javac, or that of a JDK in JAVA_HOME)" if java is None else unfit_java(java)
    if unfit:
        notes.append(f"the AAR is missing: {unfit}; Gradle makes it: gradle assembleRelease")
    elif java and libraries:
        classes, left_out = compile_classes(directory, manifest.name, java, kotlin)
        notes += left_out
        archive.write_bytes(zipped(_contents(directory, manifest.android, libraries, classes)))
    paths = [path.relative_to(directory).as_posix() for path in libraries.values()]
    made = Made((*paths, *([f"build/{archive.name}"] if archive.exists() else [])), tuple(notes))
    write_made(directory, "android", "Made without Gradle; jni/ can be copied to src/main/jniLibs.", made)
    return made


def link_library(directory: Path, abi: str, optimize: str = "-O3", store: Store = NOTHING) -> Path:
    """The package and what Kotlin calls, as build/android/jni/ABI/libNAME.so, which needs no other library."""
    name = read_manifest(directory)[0].name
    sources, headers = [f"android/src/main/cpp/{name}_jni.c"], resource("runtimes", "android")
    sources += [f"src/{name}_picture.c"] if (directory / f"src/{name}_picture.c").exists() else []
    result = f"build/android/jni/{abi}/lib{name}.so"
    library = link_freestanding(directory, abi, sources=sources, flags=[f"-I{headers}"], result=result, optimize=optimize, store=store)
    shutil.rmtree(directory / "build" / abi)  # the objects, which hold the weights once more
    return library


def kotlin_compiler() -> list[str] | None:
    """The command of EDGEC_KOTLINC, or kotlinc; None where neither is there."""
    words = words_of(os.environ.get("EDGEC_KOTLINC", ""), "EDGEC_KOTLINC")
    if words:
        return list(words)
    found = shutil.which("kotlinc")
    return [found] if found else None


def java_compiler() -> list[str] | None:
    """The javac of JAVA_HOME, or of the PATH; None where neither is there."""
    home = os.environ.get("JAVA_HOME")
    found = (shutil.which("javac", path=str(Path(home) / "bin")) if home else None) or shutil.which("javac")
    return [found] if found else None


def unfit_java(java: list[str]) -> str:
    """Why this compiler makes no classes for Android; empty where it does. Of old ones and of a system's stand-in for a JDK some are."""
    try:
        done = subprocess.run([*java, "-version"], env=child_environment(), capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        return f"{java[0]} does not start: {error.strerror}"
    found = re.search(r"javac (\d+)[\w.+-]*", done.stdout + done.stderr) if done.returncode == 0 else None
    if found and int(found[1]) >= OLDEST_JAVA:
        return ""
    return f"{java[0]} is {found[0] if found else 'no Java compiler'}, and must be of a JDK of {OLDEST_JAVA} or newer"


def compile_classes(directory: Path, name: str, java: list[str], kotlin: list[str] | None) -> tuple[bytes, list[str]]:
    """classes.jar of the module's sources, and sentences about what is not in it; without a Kotlin compiler with the interface in Java."""
    stubs = resource("runtimes", "android") / "stubs"
    folder = directory / "android/src"
    core, plain = (sorted((folder / part).rglob("*.java")) for part in ("main/java", "java"))
    with tempfile.TemporaryDirectory(prefix="edgec-classes-") as classes:
        flags = ["--release", "8", "-encoding", "UTF-8", "-proc:none", "-implicit:none", "-Xlint:-options", "-sourcepath", str(stubs)]
        words = [*java, *flags, "-classpath", classes, "-d", classes, *_relative(directory, core if kotlin else [*core, *plain])]
        call(words, Compiler(tuple(java), ("ar",), "Java"), directory, "the Java sources")
        if kotlin:
            sources = [path for path in sorted((folder / "main/kotlin").rglob("*.kt")) if path.name not in NEEDS_COROUTINES]
            given = [*_relative(directory, [*sources, *core]), *map(str, sorted(stubs.rglob("*.java")))]
            words = [*kotlin, "-module-name", name, "-d", classes, *given]
            call(words, Compiler(tuple(kotlin), ("ar",), "Kotlin"), directory, "the Kotlin sources")
        found = {path.relative_to(classes).as_posix(): path.read_bytes() for path in Path(classes).rglob("*") if path.is_file()}
    return zipped(found), [WITHOUT_COROUTINES if kotlin else WITHOUT_KOTLIN]


def _relative(directory: Path, paths: Sequence[Path]) -> list[str]:
    return [str(path.relative_to(directory)) for path in paths]


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip archive; equal files give equal bytes."""
    return archived(dict(sorted(files.items())))


def _contents(directory: Path, names: AndroidNames | None, libraries: Mapping[str, Path], classes: bytes) -> dict[str, bytes]:
    """What is in an AAR."""
    assert names is not None
    manifest = f"""<?xml version="1.0" encoding="utf-8"?>
<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="{names.package}">
    <uses-sdk android:minSdkVersion="{names.min_sdk}" />
</manifest>
"""
    return {
        "AndroidManifest.xml": manifest.encode(),
        "R.txt": b"",
        "classes.jar": classes,
        "proguard.txt": (directory / "android/consumer-rules.pro").read_bytes(),
        **{f"jni/{abi}/{path.name}": path.read_bytes() for abi, path in libraries.items()},
    }
