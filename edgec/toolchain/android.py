"""What of an Android library is made without Gradle: build/android/jni/ABI/libNAME.so, and build/NAME.aar with a Kotlin compiler."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgec.base.errors import ToolchainError
from edgec.base.resources import resource
from edgec.cache import NOTHING, Store
from edgec.package.manifest import read_manifest
from edgec.package.parts import AndroidNames
from edgec.toolchain.call import call
from edgec.toolchain.find import Compiler, words_of
from edgec.toolchain.freestanding import find_freestanding, link_freestanding
from edgec.toolchain.zip_file import archived

ABIS = ("arm64-v8a", "armeabi-v7a", "x86_64")
NEEDS_ANDROID = ("AndroidPictures.kt",)  # sources that only compile against android.jar
NEEDS_COROUTINES = ("Background.kt",)


@dataclass(frozen=True)
class Made:
    """Paths in the package of what was made, and sentences about what was not."""

    paths: tuple[str, ...]
    notes: tuple[str, ...]


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
    compiler = kotlin_compiler()
    if compiler is None:
        notes.append("the AAR is missing: no Kotlin compiler (kotlinc, or EDGEC_KOTLINC); Gradle makes it: gradle assembleRelease")
    elif libraries:
        classes, skipped = compile_classes(directory, manifest.name, compiler)
        notes += skipped
        archive.write_bytes(zipped(_contents(directory, manifest.android, libraries, classes)))
    paths = [path.relative_to(directory).as_posix() for path in libraries.values()]
    made = Made((*paths, *([f"build/{archive.name}"] if archive.exists() else [])), tuple(notes))
    words = ["Made without Gradle; jni/ can be copied to src/main/jniLibs.", *paths, *made.notes]
    (directory / "build" / "android").mkdir(parents=True, exist_ok=True)
    (directory / "build" / "android" / "README.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    return made


def link_library(directory: Path, abi: str, optimize: str = "-O3", store: Store = NOTHING) -> Path:
    """The package and what Kotlin calls, as build/android/jni/ABI/libNAME.so, which needs no other library."""
    name = read_manifest(directory)[0].name
    source, headers = f"android/src/main/cpp/{name}_jni.c", resource("runtimes", "android")
    result = f"build/android/jni/{abi}/lib{name}.so"
    library = link_freestanding(directory, abi, sources=[source], flags=[f"-I{headers}"], result=result, optimize=optimize, store=store)
    shutil.rmtree(directory / "build" / abi)  # the objects, which hold the weights once more
    return library


def kotlin_compiler() -> list[str] | None:
    """The command of EDGEC_KOTLINC, or kotlinc; None where neither is there."""
    words = words_of(os.environ.get("EDGEC_KOTLINC", ""), "EDGEC_KOTLINC")
    if words:
        return list(words)
    found = shutil.which("kotlinc")
    return [found] if found else None


def compile_classes(directory: Path, name: str, command: list[str]) -> tuple[bytes, list[str]]:
    """classes.jar of the module's sources, and what was left out of it. android.jar is that of ANDROID_HOME's newest platform."""
    sources = sorted((directory / "android/src/main/kotlin").rglob("*.kt"))
    jars = sorted(Path(os.environ.get("ANDROID_HOME", "/nowhere")).glob("platforms/android-*/android.jar"), key=_level)
    left_out = {*NEEDS_COROUTINES, *(() if jars else NEEDS_ANDROID)}
    notes = [f"{path.name} is not in the AAR: what it needs is not here; Gradle compiles it" for path in sources if path.name in left_out]
    kept = [str(path.relative_to(directory)) for path in sources if path.name not in left_out]
    paths = ["-classpath", str(jars[-1])] if jars else []
    with tempfile.TemporaryDirectory(prefix="edgec-kotlin-") as folder:
        words = [*command, *paths, "-module-name", name, "-d", folder, *kept]
        call(words, Compiler(tuple(command), ("ar",), "Kotlin"), directory, "the Kotlin sources")
        found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}
    return zipped(found), notes


def _level(jar: Path) -> list[int]:
    """platforms/android-35/android.jar -> 35"""
    return [int(number) for number in re.findall(r"\d+", jar.parent.name)]


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
