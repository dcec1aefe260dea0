"""One header and one source: the same answers as the package, in C and C++, wherever the package compiles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgec.apps.single_file import single_files
from edgec.base.errors import EdgecError
from edgec.emit.c_scan import declared
from edgec.package.draft import Draft
from edgec.package.manifest import read_manifest
from edgec.pipeline.finish import build
from edgec.pipeline.prepare import prepare
from edgec.settings.config import BuildConfig
from edgec.targets import Target, load_target
from tests.apps.cpps import DIGITS, call, digits
from tests.conftest import require
from tests.contract.examiner import STRICT, WHOLE, available, write_package
from tests.contract.subjects import Net, exam_of, random_float_net, random_net
from tests.contract.variants import ARM
from tests.emit.packages import HOST

ARM32 = ("qemu-arm", "-L", "/usr/arm-linux-gnueabihf", "-cpu", "cortex-a15")
pytestmark = pytest.mark.sampled  # by two sets of instructions
TARGETS = {"x86-64": HOST, "universal": load_target("universal")}
# target -> the compilers of its source, and the vocabularies that the exam is then run with, through an emulator or none
PLACES: dict[str, list[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]]] = {
    "x86-64": [
        ("gcc", ("-std=c99",), ("sse41", "avx2"), ()),
        *([("clang++", ("-x", "c++", "-std=c++17", "-Wno-deprecated"), (), ())] if WHOLE else []),
    ],
    "universal": [
        ("aarch64-linux-gnu-gcc", ("-std=c99",), ("neon", "i8mm"), (*ARM.split(), "max")),
        ("arm-linux-gnueabihf-gcc", ("-std=c99", "-march=armv7-a", "-mfpu=neon"), ("neon32",), ARM32),
        ("g++", ("-x", "c++", "-std=c++17"), (), ()),
        *(
            [
                ("arm-linux-gnueabihf-gcc", ("-std=c99", "-march=armv7-a", "-mfpu=vfpv3-d16"), (), ()),
                ("gcc", ("-std=c99",), ("sse41",), ()),
                ("clang", ("-std=c99", "--target=aarch64-linux-gnu"), (), ()),
            ]
            if WHOLE
            else []
        ),
    ],
}  # fmt: skip
CASES = [(random_net, "x86-64"), (random_net, "universal"), (random_float_net, "x86-64")]


def write_single(folder: Path, net: Net, target: Target) -> str:
    """The package of `net` with its single file; gives the package's name."""
    write_package(folder, net, target, exam_of(net))
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    manifest, _ = read_manifest(folder)
    made = single_files(Draft(files, manifest))
    assert made == single_files(Draft(dict(reversed(files.items())), manifest)), "the same files give the same source"
    (folder / "single").mkdir()
    for path, content in made.items():
        (folder / path).write_bytes(content)
    return manifest.name


@pytest.mark.parametrize(
    ("make", "target"), [CASES[0], pytest.param(*CASES[1], marks=pytest.mark.thorough), *CASES[2:]], ids=["int8", "universal", "float"]
)
def test_the_exam_passes_with_the_single_source(make: Callable[[str], Net], target: str, tmp_path: Path) -> None:
    name = write_single(tmp_path, make("squeezenet"), load_target(target))
    examined = ["-std=c99", "-Iinclude", "-Iexam", f"exam/{name}_exam.c", f"exam/{name}_vectors.c"]
    for compiler, flags, vocabularies, emulator in PLACES[target] if make is random_net or WHOLE else PLACES[target][:1]:
        require(compiler)
        pool = [f"-D{name.upper()}_WITH_POOL"]
        call(tmp_path, compiler, *flags, *STRICT, *pool, "-O0", "-c", f"single/{name}.c", "-o", "single.o")
        if not vocabularies:
            continue
        require(*emulator[:1])
        machine = [flag for flag in flags if flag.startswith("-m")]
        call(
            tmp_path,
            compiler.replace("g++", "gcc"),
            *machine,
            "-O0",
            *examined,
            "single.o",
            "-o",
            "exam.run",
            "-pthread",
            *(["-static"] if emulator else []),
        )
        for isa in filter(available, vocabularies):
            assert f"isa {isa}, 2 threads" in call(tmp_path, *emulator, "./exam.run", "--isa", isa, "--threads", "2")


PROGRAM = """
#include "digits.h"
#include <stdio.h>
static unsigned char memory[DIGITS_ARENA_BYTES + DIGITS_ARENA_ALIGNMENT];
int main(void) {
    static float image[DIGITS_INPUT_IMAGE_ELEMENTS], logits[DIGITS_OUTPUT_LOGITS_ELEMENTS];
    struct digits_class best;
    digits_t model;
    unsigned char *arena = memory + (DIGITS_ARENA_ALIGNMENT - (size_t)memory % DIGITS_ARENA_ALIGNMENT);
    if (digits_init(&model, arena, DIGITS_ARENA_BYTES) != DIGITS_OK || digits_run(&model, image, logits) != DIGITS_OK) return 1;
    if (digits_classify(logits, 1, &best) != DIGITS_OK) return 1;
    printf("%s\\n", digits_label(best.index));
    return 0;
}
"""


def test_an_application_takes_one_command(tmp_path: Path, needs) -> None:
    needs("gcc")
    (tmp_path / "app.c").write_text(PROGRAM)
    single = digits() / "single"
    call(tmp_path, "gcc", *STRICT, "-O0", f"-I{single}", "app.c", str(single / "digits.c"), "-o", "app")
    assert call(tmp_path, "./app").startswith("digit ")


def test_a_processor_without_halves_is_not_told_that_it_has_them(tmp_path: Path) -> None:
    """clang before 16 takes the source for one of a processor that has all instructions."""
    require("clang", "aarch64-linux-gnu-gcc", "qemu-aarch64")
    out = tmp_path / "out"
    build(DIGITS / "digits.onnx", BuildConfig(target="rpi5", precision="fp16", single_file=True, compile=False, out=out))
    sources = ["exam/digits_exam.c", "exam/digits_vectors.c", "single/digits.c"]
    clang = ("clang", "--target=aarch64-linux-gnu", "-O0", "-static", "-pthread", "-DDIGITS_WITH_POOL", "-Iinclude", "-Iexam")
    call(out, *clang, *sources, "-o", "exam.run")
    for processor, isa in (("cortex-a72", "neon"), ("cortex-a76", "fp16")):
        assert f"isa {isa}," in call(out, *ARM.split(), processor, "./exam.run")


def test_a_gpu_has_no_single_file() -> None:
    config = BuildConfig(target="linux-vulkan", calib=str(DIGITS / "calibration.npz"), single_file=True, compile=False)
    with pytest.raises(EdgecError, match="has a GPU, whose host is more than one file"):
        prepare(DIGITS / "digits.onnx", config)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("static inline int32_t smaller(int32_t a, int32_t b) { if (a < b) { return a; } return b; }", {"smaller"}),
        ("static int a[3] = {1, 2, 3}, b; int c = 1, *d;", {"a", "b", "c", "d"}),
        ("typedef struct { int x, y; } point_t, points_t[2];\ntypedef struct mine other_t;", {"point_t", "points_t", "other_t"}),
        ("enum { LANES = 4, BLOCK };\nstruct tag { int member; };\nenum kind { ONE };", {"LANES", "BLOCK", "tag", "kind", "ONE"}),
        ('/* int no; } */\n#define NOT int \\\n  neither;\nconst char *text = "{ int x; }";', {"text"}),
        ("typedef int wide_t __attribute__((vector_size(32)));\n__attribute__((unused)) static void f(void) {}", {"wide_t", "f"}),
        ("#define MAKE(k) int f##k(void);\nMAKE(0)\nMAKE(1)\n\nstatic int g(int a) { return a; }", {"g"}),
        ("static void (*hook)(int); extern int outer(void);", {"hook", "outer"}),
    ],
)
def test_declarations_are_found(text: str, names: set[str]) -> None:
    assert declared(text) == names
