"""Whole hand-made packages on this machine: strict compilers, C++, sanitizers, symbols, weights and their exams."""

from __future__ import annotations

import json
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgec.base.errors import UsageError
from edgec.emit import ExamData, emit_sources
from edgec.toolchain import compile_package, run_exam
from tests.emit.packages import EVERY, HOST, write_package
from tests.emit.programs import exam_of, in_place_program, pool_answer, pool_program, random_inputs, small_program, symbolic_program

pytestmark = pytest.mark.sampled  # by two sets of instructions

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
# What a core object may leave undefined (and each other's symbols)
ALLOWED = {"memcpy", "memmove", "memset", "_GLOBAL_OFFSET_TABLE_"}
SIZES = ({"batch": 1}, {"batch": 3}, {"batch": 5})


def pool_exam(*batches: int) -> ExamData:
    program = pool_program()
    inputs = [random_inputs(program, batch, {"batch": batch}) for batch in batches]
    return ExamData(inputs, [{"y": pool_answer(given["x"])} for given in inputs], {"y": True})


def compilations(*levels: str) -> list[Any]:
    """Compilers and levels; those that are neither the first level of clang nor the last one of gcc are thorough."""
    few = {("clang", levels[0]), ("gcc", levels[-1])}
    return [pytest.param(*pair, marks=[pytest.mark.thorough] * (pair not in few)) for pair in product(("gcc", "clang"), levels)]


@pytest.mark.parametrize(("compiler", "optimize"), compilations("-O0", "-O3"))
def test_the_exam_passes_under_strict_compilers(tmp_path: Path, needs, compiler: str, optimize: str) -> None:
    needs(compiler)
    program = small_program()
    folder = write_package(tmp_path, program, HOST, exam_of(program))
    built = compile_package(folder, HOST, compiler, optimize, STRICT)
    for threads in ("1", "2", "3", "8"):
        done = run_exam(built, HOST, ["--json", "--threads", threads])
        assert done.returncode == 0, done.stdout + done.stderr
        assert json.loads(done.stdout)["passed"] is True


@pytest.mark.parametrize("optimize", ["-O1", "-O3"])
def test_values_may_change_their_type_in_place(tmp_path: Path, optimize: str) -> None:
    program = in_place_program()
    built = compile_package(write_package(tmp_path, program, HOST, exam_of(program)), HOST, None, optimize, STRICT)
    assert run_exam(built, HOST).returncode == 0


def test_a_size_is_chosen_when_the_package_runs(tmp_path: Path) -> None:
    program = symbolic_program()
    folder = write_package(tmp_path, program, HOST, exam_of(program, *SIZES))
    built = compile_package(folder, HOST, None, "-O1", STRICT)
    assert run_exam(built, HOST, ["--threads", "2"]).returncode == 0
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    done = run_exam(built, HOST, ["--run", "--sizes", "2"], np.concatenate([x, x + 1]).tobytes())
    answer = np.frombuffer(done.stdout, np.float32).reshape(2, 2, 4)
    assert np.array_equal(answer, np.stack([x[::-1] * 2, (x[::-1] + 1) * 2]))


def test_template_kernels_run_in_the_chosen_vocabulary(tmp_path: Path) -> None:
    built = compile_package(write_package(tmp_path, pool_program(), EVERY, pool_exam(1, 2, 3)), EVERY, None, "-O1", STRICT)
    for isa in EVERY.vocabularies:
        done = run_exam(built, EVERY, ["--json", "--isa", isa, "--threads", "2"])
        if b"does not have that set" in done.stderr:
            assert isa != EVERY.vocabularies[0], "the baseline always runs"
            continue
        answer = json.loads(done.stdout)
        assert answer["passed"] is True and answer["isa"] == isa


def test_benchmark_output(tmp_path: Path) -> None:
    program = small_program()
    built = compile_package(write_package(tmp_path, program, HOST, exam_of(program)), HOST, None, "-O1")
    times = json.loads(run_exam(built, HOST, ["--json", "--bench", "0.01"]).stdout)
    assert 0 < times["min_us"] <= times["p50_us"] <= times["p90_us"] and times["runs"] > 1


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_sources_are_cpp17_too(tmp_path: Path, needs, compiler: str) -> None:
    needs(compiler.replace("clang++", "clang"))
    folder = write_package(tmp_path, pool_program(), HOST, pool_exam(2))
    for source in sorted(folder.glob("src/*.c")):
        flags = ["-x", "c++", "-std=c++17", *STRICT, "-Iinclude", "-Isrc", "-O1"]
        done = subprocess.run([compiler, *flags, "-fsyntax-only", str(source)], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{source.name}: {done.stderr[:2000]}"


@pytest.mark.parametrize(("compiler", "optimize"), compilations("-O0", "-O2", "-O3"))
def test_the_core_needs_nothing_from_outside(tmp_path: Path, needs, compiler: str, optimize: str) -> None:
    needs(compiler, "nm")
    built = compile_package(write_package(tmp_path, pool_program(), HOST, pool_exam(1)), HOST, compiler, optimize)
    listing = subprocess.run(["nm", "-g", *map(str, built.objects)], capture_output=True, text=True, check=True).stdout
    symbols = [line.split()[-2:] for line in listing.splitlines() if line and not line.endswith(":")]
    defined = {name for kind, name in symbols if kind not in "Uw"}
    assert {name for kind, name in symbols if kind in "Uw"} <= defined | ALLOWED
    assert all(name.startswith("pooled_") for name in defined)


@pytest.mark.parametrize("make_program", [small_program, in_place_program])
def test_sanitizers_find_nothing(tmp_path: Path, needs, make_program) -> None:
    needs("gcc")
    program = make_program()
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
    built = compile_package(write_package(tmp_path, program, HOST, exam_of(program)), HOST, "gcc", "-O1", checks)
    done = run_exam(built, HOST, ["--threads", "3"])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["c", "bin", "incbin"])
def test_weights_travel_in_three_forms(tmp_path: Path, form: str) -> None:
    program = small_program(weights=1_000_000)
    built = compile_package(write_package(tmp_path, program, HOST, exam_of(program), form), HOST, None, "-O0", STRICT)
    done = run_exam(built, HOST, ["--json"])
    assert done.returncode == 0 and json.loads(done.stdout)["weights_passed"] is True


def test_weights_without_any_zero_byte_are_legal_c(tmp_path: Path, needs) -> None:
    needs("gcc", "g++")
    from edgec.emit.constants import c_source

    data = bytes(range(1, 256)) * 40 + b'??/"\\\0' + b"7" * 9000 + b"\0"
    (tmp_path / "data.c").write_bytes(c_source("data", data, "test bytes"))
    check = "#include <stdio.h>\nstruct data;\nextern const struct data data;\nint main(void) { fwrite(&data, 1, %d, stdout); return 0; }\n"
    (tmp_path / "main.c").write_text(check % len(data))
    subprocess.run(["g++", "-x", "c++", "-std=c++17", *STRICT, "-fsyntax-only", "data.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-std=c99", *STRICT, "data.c", "main.c", "-o", "show"], cwd=tmp_path, check=True)
    assert subprocess.run(["./show"], cwd=tmp_path, check=True, capture_output=True).stdout == data


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("src/small_weights.c", b'"', b'"'),
        ("src/small.c", b"20.0f", b"20.5f"),
        ("src/small.c", b"-EDGEC_INFINITY", b"0.0f"),
        ("src/small.c", b" + 128.0f", b" + 127.0f"),
    ],
    ids=["weight", "multiplier", "pad", "zero point"],
)
def test_a_flip_in_the_sources_fails_the_exam(tmp_path: Path, path: str, old: bytes, new: bytes) -> None:
    program = small_program()
    folder = write_package(tmp_path, program, HOST, exam_of(program), "c")
    content = (folder / path).read_bytes()
    assert content.count(old) >= 1
    if old == new:  # one bit of the first byte of the weights
        blob = (folder / "src/small_weights.bin").read_bytes()
        from edgec.emit.constants import c_source

        changed = c_source("small_weights", bytes([blob[0] ^ 1]) + blob[1:], "weights and tables")
    else:
        changed = content.replace(old, new, 1)
    assert changed != content
    (folder / path).write_bytes(changed)
    done = run_exam(compile_package(folder, HOST, None, "-O1"), HOST)
    assert done.returncode == 1 and b"FAILED" in done.stdout


def test_equal_programs_give_equal_bytes_and_hashes() -> None:
    import hashlib

    first, second = emit_sources(small_program(), HOST).complete(), emit_sources(small_program(), HOST).complete()
    assert first == second
    manifest = json.loads(first["manifest.json"])
    assert {path: hashlib.sha256(data).hexdigest() for path, data in first.items() if path != "manifest.json"} == {
        path: facts["sha256"] for path, facts in manifest["files"].items()
    }
    assert manifest["outputs"][1] == {
        "name": "q", "identifier": "q", "dtype": "uint8", "shape": [6, 7], "scale": 0.05, "zero_point": 128,
    }  # fmt: skip


def test_exam_data_that_do_not_fit_are_refused() -> None:
    from edgec.emit import emit_exam

    program = small_program()
    good = exam_of(program, vectors=1)
    with pytest.raises(UsageError) as caught:
        emit_exam(program, HOST, ExamData([{"x": np.zeros((2, 2), np.float32)}], [{**good.outputs[0], "q": np.zeros((6, 7))}], {}))
    assert len(caught.value.problems) == 2


def test_names_that_are_no_c_identifiers_are_refused() -> None:
    program = small_program()
    program.name = "two words"
    with pytest.raises(UsageError, match="cannot be used in C"):
        emit_sources(program, HOST)


def test_the_stack_bound_holds(tmp_path: Path, needs) -> None:
    needs("gcc")
    folder = write_package(tmp_path, pool_program(), HOST, pool_exam(1))
    compile_package(folder, HOST, "gcc", "-O2", ["-fstack-usage"])
    frames = [
        int(line.split("\t")[1])
        for path in folder.rglob("pooled*.su")
        for line in path.read_text().splitlines()
        if "_exam" not in path.name
    ]
    deepest = sum(sorted(frames)[-6:])  # no chain of calls in the core is longer: run, pool, part, step, kernel, its tail
    assert 0 < deepest <= json.loads((folder / "manifest.json").read_text())["stack_bytes"]
