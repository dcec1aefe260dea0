"""The XCFramework for whoever wants no C: what Xcode and Apple's linker read of it, and the Swift package around it."""

from __future__ import annotations

import plistlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from edgec.boards.deploy.executable import made_for
from edgec.package import Package
from edgec.package.manifest import read_manifest
from edgec.provenance.listing import list_build
from edgec.toolchain.apple import SLICES, WITHOUT_METAL, WITHOUT_ZIG, _contents, make_apple
from edgec.toolchain.call import call
from edgec.toolchain.find import zig_for
from edgec.toolchain.universal import PROCESSORS, universal
from tests.apps.swifts import MANUAL, mistakes, small
from tests.conftest import require
from tests.contract.examiner import WHOLE
from tests.toolchain.macho import Object, objects, parts
from tests.toolchain.zig import need_zig

# what libraries may want of the system: memory, threads, the processor's features
SYSTEM = """
calloc free memcpy memset memmove memcmp strcmp bzero memset_pattern16 __memcpy_chk __memset_chk __memmove_chk __stack_chk_fail
__stack_chk_guard pthread_create pthread_join pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock pthread_mutex_unlock
pthread_cond_init pthread_cond_destroy pthread_cond_wait pthread_cond_signal pthread_cond_broadcast sched_yield sysctlbyname
"""
# system -> architecture -> the first version that may load its library
OLDEST = {
    "ios": {"arm64": (13, 0)},
    "simulator": {"arm64": (14, 0), "x86_64": (13, 0)},
    "macos": {"arm64": (11, 0), "x86_64": (10, 15)},
}


def contents(folder: Path) -> dict[str, bytes]:
    """What the package would have beside the given libraries."""
    manifest, _ = read_manifest(small(folder))
    assert manifest.swift is not None
    return _contents(folder, manifest, manifest.swift, {part.name: part.name.encode() for part in SLICES})


def test_without_zig_there_is_a_note_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(tmp_path)
    (tmp_path / "build/apple/SmallModel").mkdir(parents=True)  # of an earlier build
    monkeypatch.setattr("edgec.toolchain.apple.find_spec", lambda name: None)
    assert make_apple(tmp_path).paths == ()
    assert [path.name for path in (tmp_path / "build/apple").iterdir()] == ["README.txt"]
    assert WITHOUT_ZIG in Package(tmp_path).notes and "pip install 'edgec[zig]'" in WITHOUT_ZIG
    assert all(f"`{note}`" in MANUAL.read_text(encoding="utf-8") for note in (WITHOUT_ZIG, WITHOUT_METAL))


def test_xcode_reads_which_library_suits_which_system(tmp_path: Path) -> None:
    files = contents(tmp_path)
    facts = plistlib.loads(files["CSmall.xcframework/Info.plist"])
    assert (facts["CFBundlePackageType"], facts["XCFrameworkFormatVersion"]) == ("XFWK", "1.0")
    systems = {}
    for part in facts["AvailableLibraries"]:
        folder = f"CSmall.xcframework/{part['LibraryIdentifier']}"
        assert files[f"{folder}/{part['LibraryPath']}"] == part["LibraryIdentifier"].encode()
        assert any(path.startswith(f"{folder}/{part['HeadersPath']}/") for path in files)
        systems[part["SupportedPlatform"], part.get("SupportedPlatformVariant")] = part["SupportedArchitectures"]
    both = ["arm64", "x86_64"]
    assert systems == {("ios", None): ["arm64"], ("ios", "simulator"): both, ("macos", None): both}


def test_the_swift_package_is_whole_and_has_no_c_of_the_model(tmp_path: Path) -> None:
    require("clang")
    files = contents(tmp_path)
    for path, content in files.items():
        (tmp_path / "out" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / path).write_bytes(content)
    text = files["Package.swift"].decode()
    assert not mistakes(text.encode()) and '.binaryTarget(name: "CSmall", path: "CSmall.xcframework")' in text
    named = re.findall(r'path: "([^"]+)"', text)
    assert len(named) == 4 and all(any((tmp_path / "out" / path).iterdir()) for path in named)
    assert {path for path in files if path.endswith(".c")} == {"exam/small_questions.c", "exam/small_vectors.c"}
    assert all(files[path] == (tmp_path / "swift" / path).read_bytes() for path in files if path.endswith(".swift") and "/" in path)
    (folder,) = re.findall(r'headerSearchPath\("\.\./([^"]+)"', text)
    (tmp_path / "all.m").write_text("@import CSmall;\n@import CSmallQuestions;\nint main(void) { return SMALL_OK; }\n")
    flags = ["-I", str(tmp_path / "out" / folder).removesuffix("/CSmall"), "-I", "exam/apple"]  # as SwiftPM and Xcode give them
    words = ["clang", "-fsyntax-only", "-Werror", "-fmodules", f"-fmodules-cache-path={tmp_path}/cache", *flags, str(tmp_path / "all.m")]
    exam = ["clang", "-std=c99", "-fsyntax-only", "-Werror", "-Iexam", "-Iexam/apple", f"-I{folder}"]
    for command in (words, [*exam, "exam/small_questions.c", "exam/small_vectors.c"]):
        done = subprocess.run(command, cwd=tmp_path / "out", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_a_universal_file_has_every_part() -> None:
    held = {"arm64": b"a" * 61, "x86_64": b"b" * 9}
    assert parts(universal(held)) == {PROCESSORS[name][0]: content for name, content in held.items()}
    assert universal({"arm64": b"alone"}) == b"alone"


def check_library(library: list[Object], processor: str, system: str, oldest: tuple[int, int]) -> None:
    """One system and processor throughout; the package's names alone, not for others to see; nothing wanted but the system's."""
    shown = {name for item in library for name in item.defined}
    assert {(item.processor, item.platform, item.oldest) for item in library} == {(PROCESSORS[processor][0], system, oldest)}
    assert all(name.startswith("_small_") for name in shown) and "_small_app_run" in shown
    assert {name.removeprefix("_") for item in library for name in item.undefined - shown} <= set(SYSTEM.split())
    assert not any(section.startswith("__debug") for item in library for section in item.sections)
    assert {item.name for item in library} >= {"small.o", "small_weights.o", "small_pool.o", "small_app.o", "small_kernels_neon.o"}


if WHOLE:  # some seventy calls of zig

    def test_libraries_are_for_apple_s_systems_and_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        need_zig()
        folder = small(tmp_path / "one")
        made = make_apple(folder, "-O1")
        place = folder / "build/apple/SmallModel"
        assert made.notes == () and made.paths == ("build/apple/SmallModel/CSmall.xcframework", "build/apple/SmallModel/Package.swift")
        for part in SLICES:
            library = (place / "CSmall.xcframework" / part.name / "libsmall.a").read_bytes()
            found, system = parts(library) if len(part.triples) > 1 else {PROCESSORS["arm64"][0]: library}, part.variant or part.platform
            assert set(found) == {PROCESSORS[name][0] for name in part.triples}
            for name in part.triples:
                check_library(objects(found[PROCESSORS[name][0]]), name, system, OLDEST[system][name])
        listed = list_build(folder, []).decode()
        assert all(str(path.relative_to(folder)) in listed for path in place.rglob("*") if path.is_file())
        monkeypatch.setattr("edgec.toolchain.apple.SLICES", SLICES[:1])
        make_apple(small(tmp_path / "elsewhere"), "-O1")
        library = Path("build/apple/SmallModel/CSmall.xcframework/ios-arm64/libsmall.a")
        assert (folder / library).read_bytes() == (tmp_path / "elsewhere" / library).read_bytes()
        shutil.copytree(place, tmp_path / "moved")
        link(tmp_path / "moved", "CSmall.xcframework/macos-arm64_x86_64")


def link(package: Path, part: str) -> None:
    """An application that asks the exam's first question, for Macs on x86-64."""
    (package / "app.c").write_text(
        '#include "small_app.h"\n#include "small_questions.h"\n'
        "int main(void) {\n    struct small_app *app;\n"
        "    if (small_app_open(2, 1, &app) != SMALL_OK || small_question_count() < 1) return 1;\n"
        "    return small_app_run(app) != SMALL_OK;\n}\n"
    )
    compiler = zig_for("x86_64-macos.10.15", "macos")
    headers = [f"-I{part}/Headers/CSmall", "-Iexam", "-Iexam/apple"]
    exam = ["exam/small_questions.c", "exam/small_vectors.c"]
    command = [*compiler.command, "-O1", "-fno-sanitize=undefined", *headers, "app.c", *exam, f"{part}/libsmall.a", "-o", "app"]
    call(command, compiler, package, "app.c")
    assert made_for((package / "app").read_bytes()) == ("macos", "x86_64")
