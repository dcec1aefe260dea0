"""The Kotlin compiler for tests: the npm package of JetBrains', of one version, checked by its hash and kept in a cache folder."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import once, require

VERSION = "2.4.20"
SHA512 = "IF5IVM7LpPhA/ntHQQpaVt1yxpaaQovtEVYLyqWMuaLr0XelLPPm7/sM6HLhtcRjjjoSsK7I7lP2kzYJkMy73w=="
JARS = (
    "kotlin-compiler.jar", "kotlin-stdlib.jar", "kotlin-reflect.jar", "kotlin-script-runtime.jar", "annotations-13.0.jar",
    "kotlinx-coroutines-core-jvm.jar", "kotlin-daemon-client.jar",
)  # fmt: skip
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "edgec-tests"  # this user's, and of more than one test run
LIBRARIES = ("kotlin-stdlib.jar", "kotlinx-coroutines-core-jvm.jar")  # what compiled classes need


def compiler_folder() -> Path:
    """Its jars, fetched where the cache lacks them."""
    require("java", "npm")
    return once(CACHE / f"kotlin-{VERSION}", _fetch)


def _fetch(folder: Path) -> None:
    command = [str(shutil.which("npm")), "pack", "--silent", f"kotlin-compiler@{VERSION}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    archive = folder / f"kotlin-compiler-{VERSION}.tgz"
    if done.returncode != 0 or not archive.exists():
        pytest.skip(f"npm cannot fetch the Kotlin compiler: {done.stderr[-500:]}")
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    assert found == SHA512, f"{archive} is not the compiler that tests know"
    with tarfile.open(archive) as packed:
        for jar in JARS:
            member = packed.extractfile(f"package/lib/{jar}")
            assert member is not None
            (folder / jar).write_bytes(member.read())
    archive.unlink()


def compile_command(*classes: Path) -> list[str]:
    """The compiler as EDGEC_KOTLINC takes it; it knows the classes in folders, too."""
    folder = compiler_folder()
    jars = os.pathsep.join(str(folder / jar) for jar in JARS)
    libraries = os.pathsep.join(map(str, (*(folder / jar for jar in LIBRARIES), *classes)))
    flags = ["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    main = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"
    return [str(shutil.which("java")), *flags, "-cp", jars, main, "-no-stdlib", "-no-reflect", "-jvm-target", "11", "-cp", libraries]


def compile_kotlin(out: Path, *sources: Path) -> str:
    """Classes of files and folders, Java's too; what the compilers had to say, which is nothing as a rule."""
    files = [path for source in sources for path in (source.rglob("*.*") if source.is_dir() else [source])]
    java, kotlin = ([path for path in files if path.suffix == suffix] for suffix in (".java", ".kt"))
    said = compile_java(out, *java) if java else ""
    command = [*compile_command(out), "-d", str(out), *map(str, kotlin)]  # reading Java's classes takes less than its sources
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    return said + done.stdout + done.stderr


def compile_java(out: Path, *sources: Path, flags: Sequence[str] = ()) -> str:
    """Classes of files, with every warning."""
    words = [
        str(shutil.which("javac")),
        "--release",
        "8",
        "-Xlint:all,-options",
        "-encoding",
        "UTF-8",
        "-proc:none",
        *flags,
        "-d",
        str(out),
    ]
    quick = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]
    done = subprocess.run([*words, *quick, *map(str, sources)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout + done.stderr
