"""What whoever wants no C compiles for Apple's systems: an XCFramework, made by zig, and the Swift package around it, in build/apple."""

from __future__ import annotations

import plistlib
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from edgec.package.manifest import Manifest, read_manifest
from edgec.package.parts import SwiftNames
from edgec.toolchain.call import call, optimization
from edgec.toolchain.find import zig_for
from edgec.toolchain.made import Made, write_made
from edgec.toolchain.sources import core_sources
from edgec.toolchain.together import each
from edgec.toolchain.universal import universal


@dataclass(frozen=True)
class Slice:
    """What an XCFramework has for one system: `triples` are zig's, with the oldest version, by architecture as Apple calls it."""

    name: str
    platform: str
    triples: Mapping[str, str]
    variant: str = ""


SLICES = (
    Slice("ios-arm64", "ios", {"arm64": "aarch64-ios.13.0"}),
    Slice(
        "ios-arm64_x86_64-simulator", "ios",
        {"arm64": "aarch64-ios.14.0-simulator", "x86_64": "x86_64-ios.13.0-simulator"}, variant="simulator",
    ),
    Slice("macos-arm64_x86_64", "macos", {"arm64": "aarch64-macos.11.0", "x86_64": "x86_64-macos.10.15"}),
)  # fmt: skip
FLAGS = ("-std=c99", "-g0", "-fPIC", "-fvisibility=hidden", "-Iinclude", "-Isrc")  # what debuggers read would tell where it was built
WITHOUT_ZIG = "the XCFramework is missing: zig, which compiles for Apple's systems, is not here: pip install 'edgec[zig]'"
WITHOUT_METAL = "the XCFramework computes on the processor alone: for the GPU Xcode compiles the sources"
_PLACE = "build/apple"


def make_apple(directory: Path, optimize: str = "-O3") -> Made:
    """The XCFramework of the package in `directory`, in a Swift package that names no C of the model; none of it where zig is missing.

    build/apple/README.txt says what is there and what is missing, and why. ToolchainError where zig refuses the sources.
    """
    manifest, _ = read_manifest(directory)
    shutil.rmtree(directory / _PLACE, ignore_errors=True)
    made = Made((), (WITHOUT_ZIG,))
    if find_spec("ziglang") is not None and manifest.swift is not None:
        place = f"{_PLACE}/{manifest.swift.package}"
        libraries = _libraries(directory, manifest, optimize)
        for path, content in _contents(directory, manifest, manifest.swift, libraries).items():
            (directory / place / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / place / path).write_bytes(content)
        made = Made((f"{place}/{_framework(manifest.swift)}", f"{place}/Package.swift"), (WITHOUT_METAL,) if manifest.gpu else ())
    write_made(directory, "apple", "Made without Xcode; the folder beside this file is a Swift package.", made)
    return made


def _framework(names: SwiftNames) -> str:
    return f"C{names.class_}.xcframework"


def _libraries(directory: Path, manifest: Manifest, optimize: str) -> dict[str, bytes]:
    """Of each slice the static library."""
    name = manifest.name
    sources = [*core_sources(manifest, directory), f"src/{name}_pool.c", f"src/{name}_app.c"]
    optional = [f"src/{name}_picture.c", *([f"src/{name}_metal_none.c"] if manifest.gpu else [])]
    sources += [source for source in optional if (directory / source).exists()]
    wanted = [(part.platform, triple) for part in SLICES for triple in part.triples.values()]
    for _, triple in wanted:
        (directory / _PLACE / triple).mkdir(parents=True)

    def compile_one(job: tuple[str, str, str]) -> None:
        platform, triple, source = job
        compiler = zig_for(triple, platform)
        result = f"{_PLACE}/{triple}/{Path(source).stem}.o"
        call([*compiler.command, *FLAGS, *optimization(compiler, optimize), "-c", source, "-o", result], compiler, directory, source)

    each(compile_one, [(*item, source) for item in wanted for source in sources])
    archives = {triple: _archive(directory, platform, triple, sources) for platform, triple in wanted}
    for triple in archives:
        shutil.rmtree(directory / _PLACE / triple)  # the objects, which hold the weights once more
    return {part.name: universal({processor: archives[triple] for processor, triple in part.triples.items()}) for part in SLICES}


def _archive(directory: Path, platform: str, triple: str, sources: Sequence[str]) -> bytes:
    """The objects as Apple's linker reads archives; times, owners and modes in it are no one's."""
    compiler, folder = zig_for(triple, platform), f"{_PLACE}/{triple}"
    objects = [f"{folder}/{Path(source).stem}.o" for source in sources]
    call([*compiler.archiver, "--format=darwin", "rcsD", f"{folder}/all.a", *objects], compiler, directory, f"{folder}/all.a")
    return (directory / folder / "all.a").read_bytes()


def _contents(directory: Path, manifest: Manifest, names: SwiftNames, libraries: Mapping[str, bytes]) -> dict[str, bytes]:
    """Every file of the Swift package. The module's map lies in a folder of its name: two models' do not meet in one application."""
    core, framework, library = f"C{names.class_}", _framework(names), f"lib{manifest.name}.a"
    module = (directory / "src/apple/module.modulemap").read_text(encoding="utf-8").replace("../../include/", "")
    headers = {f"{core}/{path}": (directory / "include" / path).read_bytes() for path in re.findall(r'header "(\w+\.h)"', module)}
    headers[f"{core}/module.modulemap"] = module.encode()
    found = {f"{framework}/Info.plist": _facts(library)}
    for part, content in libraries.items():
        found[f"{framework}/{part}/{library}"] = content
        found |= {f"{framework}/{part}/Headers/{path}": data for path, data in headers.items()}
    for folder in (names.package, f"{names.package}Tests"):
        found |= {f"{folder}/{path.name}": path.read_bytes() for path in sorted((directory / "swift" / folder).iterdir())}
    exam = [*(directory / "exam").glob("*.h"), *(directory / f"exam/{manifest.name}_{part}.c" for part in ("questions", "vectors"))]
    for path in (*exam, *(directory / "exam/apple").iterdir()):
        found[path.relative_to(directory).as_posix()] = path.read_bytes()
    found["Package.swift"] = _package(names, core, f"{framework}/{SLICES[0].name}/Headers/{core}").encode()
    return found


def _facts(library: str) -> bytes:
    """Info.plist: which library suits which system."""
    parts = [
        {
            "BinaryPath": library,
            "HeadersPath": "Headers",
            "LibraryIdentifier": part.name,
            "LibraryPath": library,
            "SupportedArchitectures": list(part.triples),
            "SupportedPlatform": part.platform,
            **({"SupportedPlatformVariant": part.variant} if part.variant else {}),
        }
        for part in SLICES
    ]
    return plistlib.dumps({"AvailableLibraries": parts, "CFBundlePackageType": "XFWK", "XCFrameworkFormatVersion": "1.0"})


def _package(names: SwiftNames, core: str, headers: str) -> str:
    """Package.swift."""
    module = names.package
    return f"""// swift-tools-version:5.7
// The model as a compiled XCFramework, its interface in Swift, and the exam.
import PackageDescription

let package = Package(
    name: "{module}",
    platforms: [.iOS(.v13), .macOS(.v10_15)],
    products: [.library(name: "{module}", targets: ["{module}"])],
    targets: [
        .binaryTarget(name: "{core}", path: "{_framework(names)}"),
        .target(name: "{module}", dependencies: ["{core}"], path: "{module}"),
        .target(
            name: "{core}Questions",
            path: "exam",
            publicHeadersPath: "apple",
            cSettings: [.headerSearchPath("."), .headerSearchPath("../{headers}")]
        ),
        .testTarget(name: "{module}Tests", dependencies: ["{module}", "{core}Questions"], path: "{module}Tests"),
    ],
    cLanguageStandard: .c99
)
"""
