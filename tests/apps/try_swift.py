"""Compiles and tests Swift packages with a Swift compiler, which the tests of this project do without.

    python -m tests.apps.try_swift FOLDER [--swift "swift"] [--seen-as FOLDER]

FOLDER is made anew. --swift: the words that a command of Swift begins with, followed by `build`, `test` or `swiftc`'s arguments.
--seen-as: what that command calls FOLDER, where it runs in a container of its own.

For each package `swift test` (of the example, and of one of several sets of shapes) or `swift build` must succeed; then the parts for
Apple's frameworks are checked against swift_stubs, which declare what Apple documents. A compiler for Linux: Debian 13's package swiftlang.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.apps.swifts import CASES, PACKAGES, SEVERAL, digits, several, snippets, with_names, with_task

STUBS = Path(__file__).parent / "swift_stubs"
FRAMEWORKS = ("CoreGraphics", "CoreVideo", "CoreML", "SwiftUI", "PhotosUI")  # each after those that it imports
SHAPED = ("several_rows", "several_encoder", "several_scenes", "several_stream")  # packages of several sets of shapes


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--swift", default="swift")
    parser.add_argument("--seen-as")
    options = parser.parse_args(arguments)
    seen = options.seen_as or str(options.folder)
    shutil.rmtree(options.folder, ignore_errors=True)
    shutil.copytree(STUBS, options.folder / "stubs")
    shutil.copytree(digits(), options.folder / "digits")
    for name in SHAPED:
        shutil.copytree(several(name.removeprefix("several_")), options.folder / name)
    shutil.copy(SEVERAL / "SeveralTests.swift", options.folder / "several_rows/swift/RowsModelTests")
    for name in PACKAGES:
        _write(options.folder / name, with_names(name))
    for name in CASES:
        _write(options.folder / name, with_task(name))
    for framework in FRAMEWORKS:
        _swiftc(options.swift, f"{seen}/stubs", "-emit-module", "-module-name", framework, f"{seen}/stubs/{framework}.swift")
    for name in ("digits", "several_rows", "several_scenes", "several_stream"):
        _call(options.swift, "test", "--package-path", f"{seen}/{name}")
    for name in ("digits", *SHAPED, *PACKAGES, *CASES):
        _check(options.folder / name, options.swift, seen)
        print(f"{name}: good Swift")
    maps = [
        word for name in ("digits", "several_encoder") for word in ("-Xcc", f"-fmodule-map-file={seen}/{name}/src/apple/module.modulemap")
    ]
    for number, program in enumerate(snippets()):
        folder = options.folder / f"manual{number}"
        folder.mkdir()
        (folder / "main.swift").write_text(program)
        _call(options.swift, "swiftc", "-typecheck", "-I", f"{seen}/stubs", *maps, f"{seen}/{folder.name}/main.swift")
    print("the manual: good Swift")


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text)


def _check(package: Path, swift: str, seen: str) -> None:
    """The class, in Swift 6's strictest mode and with what Apple's frameworks give it, and the view."""
    (module,) = (folder.name for folder in (package / "swift").iterdir() if folder.name.endswith("Model"))
    maps = ["-Xcc", f"-fmodule-map-file={seen}/{package.name}/src/apple/module.modulemap"]
    files = [f"{seen}/{path.relative_to(package.parent)}" for path in sorted((package / "swift" / module).iterdir())]
    _swiftc(swift, f"{seen}/stubs", "-emit-module", "-module-name", module, "-swift-version", "6", *maps, *files)
    (view,) = (package / "swift" / "example").iterdir()
    view.write_text(view.read_text().replace(" && os(iOS)", ""))
    _swiftc(swift, f"{seen}/stubs", "-typecheck", *maps, f"{seen}/{view.relative_to(package.parent)}", module="")


def _swiftc(swift: str, folder: str, *words: str, module: str = "-o") -> None:
    name = words[words.index("-module-name") + 1] if module else ""
    _call(swift, "swiftc", "-parse-as-library", "-I", folder, *words, *([module, f"{folder}/{name}.swiftmodule"] if module else []))


def _call(swift: str, tool: str, *words: str) -> None:
    begin = shlex.split(swift)
    command = [*begin[:-1], begin[-1].removesuffix("swift") + tool] if tool == "swiftc" else [*begin, tool]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0 or "warning: " in done.stdout + done.stderr:
        raise SystemExit(f"{shlex.join([*command, *words])}\n{done.stdout[-6000:]}{done.stderr[-6000:]}")


if __name__ == "__main__":
    main()
