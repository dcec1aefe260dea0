"""C++ and installed packages: found by CMake and pkg-config wherever they were moved to, and the class answers as the package does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import edgec
from edgec.apps.app import App, Tensor, tensors
from edgec.apps.cpp import cpp_files
from edgec.apps.names import pascal
from edgec.apps.tasks import task_files
from edgec.emit import emit_sources
from edgec.ir.types import DType
from edgec.targets import load_target
from tests.apps.cpps import DIGITS, call, digits
from tests.apps.task_packages import CASES, program_of
from tests.apps.test_web_tasks import WORDS, words
from tests.conftest import require
from tests.contract.examiner import STRICT, WHOLE

ROOT = Path(__file__).parents[2]
APPLICATION = Path(__file__).with_name("cpp_app.cpp")
PROJECT = """
cmake_minimum_required(VERSION 3.13)
if(DEFINED INSIDE)
  project(application C)
  add_subdirectory("${INSIDE}" inside)
  add_library(application INTERFACE)
  target_link_libraries(application INTERFACE digits::pool)
  return()
else()
  project(application CXX)
  find_package(digits 4 REQUIRED)
  find_package(digits 5 QUIET)
  if(digits_FOUND)
    message(FATAL_ERROR "another interface was taken for this one")
  endif()
  find_package(digits REQUIRED)
endif()
add_executable(application "${SOURCE}")
target_compile_features(application PRIVATE cxx_std_17)
target_compile_options(application PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Werror)
target_link_libraries(application PRIVATE digits::pool digits::digits)
"""
C_APPLICATION = """
#include "digits.h"
#include "digits_pool.h"
#include <stdio.h>
static unsigned char memory[DIGITS_ARENA_BYTES + DIGITS_ARENA_ALIGNMENT], threads[DIGITS_POOL_BYTES(1)];
int main(void) {
    static float image[DIGITS_INPUT_IMAGE_ELEMENTS], logits[DIGITS_OUTPUT_LOGITS_ELEMENTS];
    unsigned char *arena = memory + (DIGITS_ARENA_ALIGNMENT - (size_t)memory % DIGITS_ARENA_ALIGNMENT);
    digits_t model;
    if (fread(image, sizeof image, 1, stdin) != 1 || digits_init(&model, arena, DIGITS_ARENA_BYTES) != DIGITS_OK) return 1;
    if (digits_run(&model, image, logits) != DIGITS_OK || fwrite(logits, sizeof logits, 1, stdout) != 1) return 1;
    return digits_pool_start(threads, 0, 1) != NULL;
}
"""
QUICK = ("-DCMAKE_C_FLAGS=-O0", "-DCMAKE_CXX_FLAGS=-O0", "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY")


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    with np.load(DIGITS / "evaluation.npz") as arrays:
        return np.asarray(arrays["image"][:1], np.float32)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """What `make install` gives, moved to another place; the package's exam program lies in it too."""
    require("make", "gcc")
    folder = tmp_path_factory.mktemp("made")
    package = shutil.copytree(digits(), folder / "package")
    call(package, "make", "-s", "CFLAGS=-O0", "install", "all", "PREFIX=/opt/models", f"DESTDIR={folder}/stage")
    shutil.move(folder / "stage/opt/models", folder / "elsewhere")
    shutil.copy(package / "build/digits_exam", folder / "elsewhere")
    return folder / "elsewhere"


@pytest.fixture(scope="module")
def answer(made: Path, image: np.ndarray) -> bytes:
    """What the package itself gives for the image."""
    return subprocess.run([made / "digits_exam", "--run"], input=image.tobytes(), capture_output=True, check=True).stdout


def answer_of(program: Path, image: np.ndarray, **environment: str) -> bytes:
    done = subprocess.run([program], input=image.tobytes(), capture_output=True, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def configured(folder: Path, *flags: str) -> Path:
    (folder / "CMakeLists.txt").write_text(PROJECT)
    call(folder, "cmake", "-S", folder, "-B", folder / "built", f"-DSOURCE={APPLICATION}", *QUICK, *flags)
    return folder / "built"


def test_cmake_finds_what_make_installed(made: Path, answer: bytes, image: np.ndarray, tmp_path: Path, needs) -> None:
    needs("cmake", "g++")
    built = configured(tmp_path, f"-DCMAKE_PREFIX_PATH={made}")
    call(built, "cmake", "--build", ".")
    assert answer_of(built / "application", image) == answer


@pytest.mark.thorough
def test_cmake_installs_what_pkg_config_finds(answer: bytes, image: np.ndarray, tmp_path: Path, needs) -> None:
    needs("cmake", "gcc", "pkg-config")
    call(tmp_path, "cmake", "-S", digits(), "-B", "built", "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_INSTALL_LIBDIR=lib/here", *QUICK)
    call(tmp_path, "cmake", "--build", "built", "--target", "digits", "digits_pool")
    call(tmp_path, "cmake", "--install", "built", "--prefix", tmp_path / "first")
    (tmp_path / "first").rename(tmp_path / "second")
    place = tmp_path / "second/lib/here"
    assert (place / "cmake/digits/digitsConfig.cmake").is_file() and (place / "cmake/digits/digitsTargets.cmake").is_file()
    environment = {**os.environ, "PKG_CONFIG_PATH": str(place / "pkgconfig")}
    words = call(tmp_path, "pkg-config", "--cflags", "--libs", "digits", environment=environment).split()
    (tmp_path / "application.c").write_text(C_APPLICATION)
    call(tmp_path, "gcc", "-O0", *STRICT, "application.c", *words, "-o", "application")
    assert answer_of(tmp_path / "application", image, LD_LIBRARY_PATH=str(place)) == answer


def test_the_program_of_the_manual_compiles_and_runs(made: Path, tmp_path: Path, needs) -> None:
    needs("g++")
    (program,) = re.findall(r"```cpp\n(.*?)```", (ROOT / "docs/package.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "manual.cpp").write_text(program)
    call(
        tmp_path,
        "g++",
        "-std=c++17",
        "-O0",
        *STRICT,
        f"-I{made}/include",
        "manual.cpp",
        made / "lib/libdigits.a",
        "-pthread",
        "-o",
        "manual",
    )
    said = call(tmp_path, "./manual").splitlines()
    assert said[0].endswith(" with portable") and said[1].startswith("digits: image needs 64 elements")


def test_pkg_config_tells_what_a_static_program_needs(made: Path, needs) -> None:
    needs("pkg-config")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(made / "lib/pkgconfig")}
    assert "-pthread" in call(made, "pkg-config", "--static", "--libs", "digits", environment=environment).split()
    assert Path(call(made, "pkg-config", "--variable=includedir", "digits", environment=environment).strip()).samefile(made / "include")


def test_an_included_project_keeps_its_installation_to_itself(tmp_path: Path, needs) -> None:
    needs("cmake", "gcc")
    built = configured(tmp_path, f"-DINSIDE={digits()}")
    assert "digits_INSTALL" not in (built / "cmake_install.cmake").read_text()
    assert "digits.h" not in (built / "inside/cmake_install.cmake").read_text()
    assert "libdigits" not in (built / "inside/cmake_install.cmake").read_text()


HOSTILE = (
    "class", "std", "outputs", "inputs", "status", "linux", "a b", "a_b", "a-b", "größe", "", "7", "a b shape",
    "*/ int x; /*", "\\\n#error",
    "TEST_OK", "hostile_run", "int32_t", "Tensor", "label", "ОК", "co_await", "state_", "errno", "a" * 300,
)  # fmt: skip


def hostile() -> App:
    given = tuple(Tensor(name, f"in{place}", DType.INT8, (2, 3), 0.5, -3) for place, name in enumerate(HOSTILE))
    answers = tuple(Tensor(name, f"out{place}", DType.BOOL if place % 2 else DType.FLOAT16, ()) for place, name in enumerate(HOSTILE))
    return App("stdin", "int8", given, answers, 64, 64, 64)


HOSTILE_HEADER = """
#include <stddef.h>
#include <stdint.h>
#define STDIN_OK 0
#define STDIN_BAD_ARGUMENT 1
#define STDIN_NOT_INITIALIZED 2
#define STDIN_ARENA_TOO_SMALL 3
#define STDIN_ARENA_ALIGNMENT 64
#define STDIN_ARENA_BYTES_FOR(threads) ((size_t)(threads) * 64)
#define STDIN_POOL_BYTES(threads) ((size_t)(threads) * 64)
struct stdin_pool;
struct stdin_t { int member; };
inline const char *stdin_strerror(int) { return ""; }
inline int stdin_init(stdin_t *, void *, size_t) { return 0; }
template <class... Pointers> int stdin_run(stdin_t *, Pointers...) { return sizeof...(Pointers) == 50 ? 0 : 1; }
inline int stdin_reset(stdin_t *) { return 0; }
inline int stdin_force_isa(stdin_t *, const char *) { return 0; }
inline const char *stdin_isa(stdin_t *) { return ""; }
inline int stdin_set_weights(stdin_t *, const void *, size_t) { return 0; }
inline stdin_pool *stdin_pool_start(void *, size_t, int) { return nullptr; }
inline void stdin_pool_stop(stdin_pool *) {}
inline int stdin_pool_serve(stdin_pool *, stdin_t *) { return 0; }
"""


def test_every_task_and_any_name_compile_cleanly(tmp_path: Path, needs) -> None:
    """All headers in one source, by two compilers in two standards, with exceptions and without."""
    needs("g++", "clang++")
    files, target = {}, load_target("portable")
    for name, case in CASES.items():
        program = program_of(name, case)
        of_case = emit_sources(program, target, "c", parts=["task"]).files | task_files(program, case.task, case.labels)
        app = App(name, "int8", tensors(program.inputs), tensors(program.outputs), 64, 64, 64, None, case.task, case.labels)
        files |= {path: of_case[path] for path in (f"include/{name}{end}.h" for end in ("", "_task", "_pool"))}
        files |= cpp_files(app, target.vocabularies)
    strange = hostile()
    files |= cpp_files(strange, ["portable"])
    files |= {"include/stdin.h": HOSTILE_HEADER.encode(), "include/stdin_pool.h": b""}
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    uses = [f'#include "{name}.hpp"' for name in (*CASES, strange.name)]
    models = [*(f"{name}::{pascal(name)}" for name in CASES), "stdin_2::Stdin"]
    made = [f"int use_{place}() {{ {model} model; return model.status(); }}" for place, model in enumerate(models)]
    run = "int run() { stdin_2::Stdin model; stdin_2::Inputs in; stdin_2::Outputs out; return model.try_run(in, out); }"
    (tmp_path / "all.cpp").write_text("\n".join([*uses, *made, run]))
    common = (*STRICT, "-Wshadow", "-fsyntax-only", "-Iinclude", "all.cpp")
    call(tmp_path, "g++", "-std=c++17", *common)
    call(tmp_path, "clang++", "-std=c++20", "-fno-exceptions", "-fno-rtti", *common)
    if WHOLE:
        call(tmp_path, "g++", "-std=c++20", "-fno-exceptions", *common)
        call(tmp_path, "clang++", "-std=c++17", *common)


FORGETFUL = r"""
#include "words.hpp"
int main() {
    words::Words model;
    const float yes[2] = {1, 0}, no[2] = {0, 1};
    const auto first = model.keyword(yes);
    const auto second = model.keyword(no, 0.9f);
    model.reset();
    const auto again = model.keyword(yes);
    return !(first && again && !second && first->score == again->score);
}
"""


def test_a_reset_forgets_states_and_what_was_heard(tmp_path: Path, needs) -> None:
    needs("gcc", "g++")
    built = edgec.build(words(tmp_path / "words.onnx"), target="portable", out=tmp_path / "words", compile=False, single_file=True, **WORDS)
    (tmp_path / "app.cpp").write_text(FORGETFUL)
    folders = [f"-I{built.directory / folder}" for folder in ("include", "single")]
    call(tmp_path, "gcc", "-std=c99", "-O0", "-c", *folders, "-DWORDS_WITH_POOL", built.directory / "single/words.c", "-o", "words.o")
    call(tmp_path, "g++", "-std=c++17", "-O0", *STRICT, *folders, "app.cpp", "words.o", "-pthread", "-o", "app")
    call(tmp_path, "./app")


def test_a_package_that_is_called_like_a_function_has_another_namespace() -> None:
    files = cpp_files(hostile(), [])
    assert b"namespace stdin_2 {" in files["include/stdin.hpp"]
