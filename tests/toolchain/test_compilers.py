"""Finding a compiler, and passing on what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgec.base.errors import ToolchainError
from edgec.targets import load_target, runs_here
from edgec.toolchain import compile_package, find_compiler, run_exam
from edgec.toolchain import find as finding
from edgec.toolchain.freestanding import find_freestanding
from tests.emit.packages import write_package
from tests.emit.programs import exam_of, small_program


@pytest.mark.parametrize("find", [lambda: find_compiler(load_target("portable"), "gcc 'x"), lambda: find_freestanding("x86_64", "gcc 'x")])
def test_a_command_without_its_last_quote_is_no_compiler(find) -> None:
    with pytest.raises(ToolchainError, match=r"--cc: cannot be read: gcc 'x"):
        find()


def test_a_named_compiler_must_exist_and_fit(needs) -> None:
    needs("gcc")
    with pytest.raises(ToolchainError, match="no such compiler"):
        find_compiler(load_target("host"), "no-such-cc")
    with pytest.raises(ToolchainError, match="not riscv64"):
        find_compiler(load_target("linux-riscv64"), "gcc")


def test_a_compiler_for_another_processor_is_passed_over(needs, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("gcc", "aarch64-linux-gnu-gcc")
    monkeypatch.setenv("CC", "gcc")
    assert find_compiler(load_target("rpi4")).command == ("aarch64-linux-gnu-gcc",)
    assert find_compiler(load_target("portable")).command == ("gcc",)


def test_the_ndk_comes_before_a_cross_gcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "toolchains/llvm/prebuilt/linux-x86_64/bin"
    folder.mkdir(parents=True)
    clang = folder / "aarch64-linux-android24-clang"
    clang.write_text("#!/bin/sh\necho aarch64-unknown-linux-android24\n")
    clang.chmod(0o755)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("ANDROID_NDK_HOME", str(tmp_path))
    found = find_compiler(load_target("android-arm64"))
    assert found.command == (str(clang),) and found.origin == "Android NDK"


def test_without_any_compiler_the_hint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(finding, "find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match="apt install gcc-aarch64-linux-gnu or pip install"):
        find_compiler(load_target("rpi4"))


def test_zig_is_the_last_resort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(finding, "find_spec", lambda name: object())
    found = find_compiler(load_target("rpi4"))
    assert found.is_zig and found.command[-2:] == ("-target", "aarch64-linux-musl")


ZIG = """import os, sys
words = sys.argv[2:]
if sys.argv[1] == "cc":
    at = words.index("-target")
    assert words[at + 1] == "x86_64-linux-musl" and not any(word.startswith("-march") for word in words)
    words = [word for word in words[:at] + words[at + 2:] if word != "-fno-sanitize=undefined"]
os.execvp("gcc" if sys.argv[1] == "cc" else "ar", [sys.argv[1], *words])
"""


def test_a_package_is_compiled_by_ziglang_alone(tmp_path: Path, needs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that stands in for ziglang: called as it wants to be, with its own flags in place of the target's."""
    needs("gcc")
    (tmp_path / "ziglang").mkdir()
    (tmp_path / "ziglang/__init__.py").touch()
    (tmp_path / "ziglang/__main__.py").write_text(ZIG)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    target = replace(load_target("x86-64"), compilers=(), flags=("-march=wrong",), zig_flags=("-O1",))
    program = small_program()
    folder = write_package(tmp_path / "package", program, target, exam_of(program, vectors=1))
    built = compile_package(folder, target, optimize="-O0")
    assert built.compiler.is_zig and built.compiler.origin == "ziglang"
    if runs_here(target):
        assert run_exam(built, target).returncode == 0


def test_zig_gets_apple_headers_for_ios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ziglang").mkdir()
    (tmp_path / "ziglang/__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    command = find_compiler(load_target("ios-arm64")).command
    assert command[-2:] == ("-isystem", str(tmp_path / "ziglang/lib/libc/include/any-darwin-any"))


def test_a_failing_compiler_is_quoted(tmp_path: Path) -> None:
    target = load_target("host")
    program = small_program()
    folder = write_package(tmp_path, program, target, exam_of(program, vectors=1))
    source = folder / "src/small.c"
    source.write_text(source.read_text() + "this is no C;\n")
    with pytest.raises(ToolchainError) as caught:
        compile_package(folder, target, optimize="-O0")
    assert caught.value.where == "src/small.c" and any("error" in problem.what for problem in caught.value.problems)


@pytest.mark.parametrize(("words", "levels"), [("", {"-O3"}), (" -O1", {"-O1"})])
def test_a_level_in_the_compilers_command_is_the_only_one(tmp_path: Path, words: str, levels: set[str]) -> None:
    compiler, target, program = tmp_path / "cc", load_target("portable"), small_program()
    compiler.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/log\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    folder = tmp_path / "package"
    compile_package(write_package(folder, program, target, exam_of(program, vectors=1)), target, f"{compiler}{words}")
    calls = [line for line in (tmp_path / "log").read_text().splitlines() if " -c " in line]
    assert len(calls) > 5 and all(levels == {word for word in line.split() if word.startswith("-O")} for line in calls)
