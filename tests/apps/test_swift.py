"""A package for Apple's systems is a Swift package: good Swift, which calls C that is there, of the files that it names."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tree_sitter import Node

import edgec
from edgec.apps.app import App
from edgec.apps.swift import class_name
from edgec.base.errors import UsageError
from tests.apps.swifts import (
    CASES,
    DIGITS,
    PACKAGES,
    digits,
    lists,
    mistakes,
    parse,
    several,
    snippets,
    sources,
    walk,
    with_names,
    with_task,
)
from tests.contract.examiner import WHOLE
from tests.gpu.fake_metal import link, parse_host

HERE = Path(__file__).parent
FREESTANDING = HERE.parents[1] / "runtimes" / "freestanding"
Needs = Callable[..., None]
COMPILERS = {"here": ("gcc", "-fsanitize=address,undefined", ""), "qemu": ("aarch64-linux-gnu-gcc", "-static", "qemu-aarch64")}


@cache
def packages() -> dict[str, dict[str, bytes]]:
    """Every package's files: the example's, one for each task, and of models with names that nobody should have."""
    built = {folder.name: _contents(folder) for folder in (digits(), *map(several, ("rows", "encoder", "scenes", "stream")))}
    built["digits"] = built.pop(digits().name)
    named = PACKAGES if WHOLE else PACKAGES[:2]
    tasks = CASES if WHOLE else ("codes", "words", "pairs", "last")
    return built | {name: with_names(name) for name in named} | {name: with_task(name) for name in tasks}


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def c_sources(package: Path) -> list[str]:
    core, exam = lists((package / "Package.swift").read_text())
    return [f"src/{file}" for file in core["sources"]] + [f"exam/{file}" for file in exam["sources"]]


def compiled(program: Path, *command: str, package: Path) -> str:
    words = [*command, "-std=c99", "-Iinclude", "-Isrc", "-Iexam", "-Iexam/apple", *c_sources(package), str(HERE / "swift_driver.c")]
    done = subprocess.run([*words, "-lpthread", "-o", str(program)], cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return str(program)


def test_all_sources_are_good_swift() -> None:
    for name, files in packages().items():
        assert len(sources(files)) >= 4
        for path, text in sources(files).items():
            assert not mistakes(text), f"{name}: {path}"
    for program in snippets():
        assert not mistakes(program.encode()), program
    assert len(snippets()) == 4
    assert mistakes(b"let a: Int = ") and mistakes(b"func f( {}")


def names_of(package: dict[str, bytes]) -> tuple[str, str]:
    """In C, and of the class."""
    manifest = json.loads(package["manifest.json"])
    return manifest["name"], manifest["swift"]["class"]


@cache
def declared(package: str, folder: Path) -> tuple[dict[str, int], set[str]]:
    """How many parameters each function has in the headers of the package's modules, and all macros, enumerators and structures."""
    files = packages()[package]
    included = [path for path in files if re.fullmatch(r"include/\w+\.h|exam/apple/\w+\.h", path)]
    for path in included:
        (folder / Path(path).name).write_bytes(files[path])
    shown = [
        path
        for module in ("src", "exam")
        for path in re.findall(r'header "(?:.*/)?(\w+\.h)"', files[f"{module}/apple/module.modulemap"].decode())
    ]
    (folder / "all.c").write_text("".join(f'#include "{header}"\n' for header in shown))
    words = ["clang", "-fsyntax-only", "-Xclang", "-ast-dump=json", f"-I{folder}", str(folder / "all.c")]
    tree = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    functions = {
        item["name"]: sum(part["kind"] == "ParmVarDecl" for part in item.get("inner", []))
        for item in tree["inner"]
        if item["kind"] == "FunctionDecl"
    }
    records = {item["name"] for item in tree["inner"] if item["kind"] == "RecordDecl" and "name" in item and item.get("completeDefinition")}
    enumerators = {part["name"] for item in tree["inner"] if item["kind"] == "EnumDecl" for part in item["inner"] if "name" in part}
    plain = {name for header in shown for name in re.findall(r"#define (\w+) \d+", (folder / header).read_text())}
    return functions, records | enumerators | plain


def called(node: Node) -> tuple[str, int] | None:
    """The name and the number of arguments of a call by name."""
    if node.type != "call_expression" or node.children[0].type != "simple_identifier":
        return None
    suffix = node.children[1]
    arguments = [part for part in walk(suffix.children[0]) if part.type == "value_argument" and part.parent == suffix.children[0]]
    return (node.children[0].text or b"").decode(), len(arguments)


def test_swift_calls_c_as_the_headers_declare_it(needs: Needs, tmp_path: Path) -> None:
    needs("clang")
    seen = set()
    for package, files in packages().items():
        (folder := tmp_path / package).mkdir()
        name, cls = names_of(files)
        functions, others = declared(package, folder)
        for path, text in sources(files).items():
            tree = parse(text)
            found = [call for node in walk(tree) if (call := called(node))]
            used = {(node.text or b"").decode() for node in walk(tree) if node.type in ("simple_identifier", "type_identifier")}
            ours = {word for word in used if re.match(rf"({name}|{name.upper()})_.", word) and not word.startswith(cls)}
            assert ours <= others | set(functions), path
            calls = [(function, arguments) for function, arguments in found if function in functions]
            assert all(functions[function] == arguments for function, arguments in calls), path
            seen |= {function.removeprefix(name) for function, _ in calls}
    assert {"_app_open", "_app_run", "_picture", "_app_classify", "_app_keyword", "_app_detect", "_app_segment", "_question"} <= seen


def test_the_package_names_every_source_there_is() -> None:
    core, exam = lists((digits() / "Package.swift").read_text())
    for folder, target in (("src", core), ("exam", exam)):
        there = {path.name for path in (digits() / folder).iterdir() if path.is_file() and path.suffix != ".h"}
        assert there == {*target["sources"], *target["exclude"]} | ({"digits_metal_none.c"} if folder == "src" else set())
        assert not set(target["sources"]) & set(target["exclude"])
    text = (digits() / "Package.swift").read_text()
    assert 'let host = "digits_metal.m", other = "digits_metal_none.c"' in text
    for path in re.findall(r'path: "([^"]+)"', text):
        assert any((digits() / path).iterdir())


@pytest.mark.parametrize("where", COMPILERS)
def test_the_exam_passes_through_the_class_s_c(where: str, needs: Needs, tmp_path: Path) -> None:
    compiler, flag, emulator = COMPILERS[where]
    needs(compiler, *([emulator] if emulator else []))
    program = compiled(tmp_path / "driver", compiler, "-O0", flag, package=digits())
    done = subprocess.run([*([emulator] if emulator else []), program], capture_output=True, text=True, check=False)
    assert done.stdout == "0 wrong\n" and done.returncode == 0, done.stdout + done.stderr[-2000:]


if WHOLE:

    def test_the_class_s_c_starts_the_gpu(tmp_path: Path) -> None:
        """On a Metal that is a fake, with the package's own kernels."""
        sources = [HERE / "swift_driver.c", *(digits() / "exam" / f"digits_{name}.c" for name in ("questions", "vectors"))]
        for folder in ("include", "src", "exam", "metal"):
            shutil.copytree(digits() / folder, tmp_path / folder)
        for header in (digits() / "exam" / "apple").glob("*.h"):
            shutil.copy(header, tmp_path / "include")
        program = link(tmp_path, "arc", sources, tmp_path / "driver")
        done = subprocess.run([program, "gpu"], capture_output=True, text=True, check=False)
        assert done.stdout == "0 wrong\n" and done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("triple", ["arm64-apple-ios13.0", "x86_64-apple-ios13.0-simulator"] if WHOLE else ["arm64-apple-ios13.0"])
def test_apple_s_compiler_takes_the_c(triple: str, needs: Needs, tmp_path: Path) -> None:
    """Clang for these systems, with the few headers of theirs that the sources include."""
    needs("clang")
    (tmp_path / "stdlib.h").write_text("#include <stddef.h>\nvoid *calloc(size_t, size_t);\nvoid free(void *);\n")
    (tmp_path / "string.h").write_text("#include_next <string.h>\nint memcmp(const void *, const void *, size_t);\n")
    folders = [f"-I{tmp_path}", f"-I{FREESTANDING}", "-Iinclude", "-Isrc", "-Iexam", "-Iexam/apple"]
    files = [file for file in c_sources(digits()) if not file.endswith(("_weights.c", "_vectors.c"))]
    words = ["clang", "-target", triple, "-std=c99", "-ffreestanding", "-nostdlibinc", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    done = subprocess.run([*words, *folders, *files], cwd=digits(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    parse_host(digits(), "-fobjc-arc", "-fobjc-runtime=objfw")


def test_the_c_of_every_task_and_type_compiles(needs: Needs, tmp_path: Path) -> None:
    needs("gcc")
    shown: list[str] = []
    for files in packages().values():
        for path, text in files.items():
            if re.fullmatch(r"(include|src)/\w+(\.h|_app\.c|_picture\.c)", path):
                (tmp_path / Path(path).name).write_bytes(text)
                shown += [Path(path).name] if path.endswith(".c") else []
    words = ["gcc", "-std=c99", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", *shown]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert len(shown) > len(packages()) and done.returncode == 0, done.stderr[-3000:]


def test_module_maps_show_headers_that_stand_alone(needs: Needs, tmp_path: Path) -> None:
    """As Swift sees them: each module by its map."""
    needs("clang")
    maps = {"CDigits": "src/apple/module.modulemap", "CDigitsQuestions": "exam/apple/module.modulemap"}
    (tmp_path / "all.m").write_text(
        "".join(f"@import {module};\n" for module in maps) + "int main(void) { return DIGITS_OK + DIGITS_RGBA; }\n"
    )
    flags = [f"-fmodule-map-file={digits()}/{path}" for path in maps.values()]
    words = ["clang", "-fsyntax-only", "-Werror", "-fmodules", f"-fmodules-cache-path={tmp_path}", *flags, str(tmp_path / "all.m")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_package_without_its_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a Swift package holds its weights"):
        edgec.build(DIGITS / "digits.onnx", target="ios", precision="fp32", weights="bin", compile=False, out=tmp_path / "out")


def test_a_class_is_called_as_none_of_foundation_s() -> None:
    """An application that imports both could name neither."""
    names = ["stream", "time_zone", "digits"]
    assert [class_name(App(name, "fp32", (), (), 0, 0, 0)) for name in names] == ["Stream_2", "TimeZone_2", "Digits"]


def test_what_a_model_names_is_never_code() -> None:
    for package in ("digits", *PACKAGES[:2]):
        for path, text in sources(packages()[package]).items():
            words = {node.text for node in walk(parse(text)) if node.type in ("simple_identifier", "directive")}
            assert b"exit" not in words and b"#if 0" not in words and "\u202e" not in text.decode(), path
