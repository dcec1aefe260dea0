"""The exam program's --bench and --profile: what they print is what the runs were, and wrong options are refused."""

from __future__ import annotations

import json
import math
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgec.base.errors import GateError, UsageError
from edgec.emit import ExamData
from edgec.ir.types import DType
from edgec.lower.plan import plan
from edgec.package import Package
from edgec.program.expr import FLOAT, const, load, var
from edgec.program.program import For, Kind, Program, Store
from edgec.targets import load_target
from edgec.toolchain import Built, compile_package, run_exam
from tests.emit.packages import HOST, write_package
from tests.emit.programs import buffer, exam_of, loop, pool_program, port, small_program, symbolic_program

pytestmark = pytest.mark.sampled  # by two sets of instructions

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
PERCENTILES = (50, 90, 95, 99)
CORE = min(os.sched_getaffinity(0))
EVERY_RUN = ("--samples", "1000000")

STATISTICS = """
#define _GNU_SOURCE
#include "small_timing.h"
int main(int count, char **words) {
    double numbers[1000];
    for (int i = 1; i < count; i++) numbers[i - 1] = atof(words[i]);
    for (int percent = 1; percent <= 100; percent++) printf("%.17g ", percentile(numbers, count - 1, percent));
    printf("%.17g\\n", standard_deviation(numbers, count - 1, atof(getenv("MEAN"))));
    print_array(numbers, count - 1, 1);
    print_array(numbers, count - 1, (count - 1) / 2);
    print_array(numbers, count - 1, count - 1);
    return 0;
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    program = small_program()
    folder = write_package(tmp_path_factory.mktemp("bench"), program, HOST, exam_of(program))
    return compile_package(folder, HOST, "gcc", "-O1", STRICT)


@pytest.fixture(scope="module")
def package(built: Built) -> Package:
    assert built.exam is not None
    return Package(built.exam.parent.parent)


def no_constant(word: str) -> float:
    raise AssertionError(f"{word} is not JSON")


def facts(built: Built, *arguments: str) -> dict[str, Any]:
    """What --json prints: one object in one line, of finite numbers."""
    done = run_exam(built, HOST, ["--json", *arguments])
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.count(b"\n") == 1 and done.stdout.endswith(b"}\n")
    return dict(json.loads(done.stdout, parse_constant=no_constant))


def test_a_benchmark_says_everything(built: Built) -> None:
    found = facts(built, "--bench", "0.02", "--threads", "3")
    names = [f"{name}_us" for name in ("min", "mean", *(f"p{percent}" for percent in PERCENTILES), "std", "cold")]
    expected = [
        "schema_version",
        "name",
        "isa",
        "threads",
        "runs",
        "seconds",
        *names,
        "rss_bytes",
        "arena_bytes",
        "frequencies_khz",
        "samples_us",
    ]
    assert list(found) == expected
    assert (found["schema_version"], found["name"], found["threads"], found["samples_us"]) == (1, "small", 3, [])
    assert 0 < found["min_us"] <= found["p50_us"] <= found["p90_us"] <= found["p95_us"] <= found["p99_us"]
    assert found["cold_us"] > 0
    assert found["seconds"] == pytest.approx(found["mean_us"] * found["runs"] / 1e6, rel=0.01, abs=2e-6)


def test_the_figures_are_those_of_the_samples(built: Built) -> None:
    found = facts(built, "--bench", "0.000001", "--runs", "237", *EVERY_RUN)
    samples = np.sort(found["samples_us"])
    assert len(samples) == found["runs"] == 237
    assert found["min_us"] == samples[0] and found["mean_us"] == pytest.approx(samples.mean(), abs=0.002)
    assert found["std_us"] == pytest.approx(samples.std(ddof=1), abs=0.002)
    for percent in PERCENTILES:
        assert found[f"p{percent}_us"] == samples[math.ceil(percent * 237 / 100) - 1]


@pytest.mark.parametrize("count", [1, 2, 3, 10, 99, 101])
def test_statistics_agree_with_numpy(built: Built, tmp_path: Path, count: int) -> None:
    assert built.exam is not None
    folder = built.exam.parent.parent
    (tmp_path / "statistics.c").write_text(STATISTICS)
    include = [f"-I{folder / name}" for name in ("include", "src", "exam")]
    objects = [*map(str, built.objects), f"{folder}/build/small_vectors.o", f"{folder}/build/small_pool.o"]
    subprocess.run(["gcc", "-std=c99", *include, "statistics.c", *objects, "-o", "show", "-pthread"], cwd=tmp_path, check=True)
    numbers = np.sort(np.round(np.random.default_rng(count).lognormal(3, 4, count), 3))
    words = [f"{number:.3f}" for number in numbers]
    shown = subprocess.run(["./show", *words], cwd=tmp_path, env={"MEAN": repr(float(numbers.mean()))}, capture_output=True, check=True)
    first, arrays = shown.stdout.decode().splitlines()
    *percentiles, deviation = map(float, first.split())
    assert percentiles == [np.percentile(numbers, percent, method="inverted_cdf") for percent in range(1, 101)]
    assert deviation == pytest.approx(numbers.std(ddof=1) if count > 1 else 0.0, rel=1e-12)
    some = [index * count // (count // 2) for index in range(count // 2)]
    assert arrays == "".join(f"[{', '.join(words[index] for index in kept)}]" for kept in ([0], some, range(count)))


def test_both_limits_are_reached(built: Built) -> None:
    """The time at least, on whatever machine: in so little of it nobody makes the million runs that are the most."""
    start = time.monotonic()
    assert facts(built, "--bench", "0.02", "--runs", "2")["runs"] > 2
    assert time.monotonic() - start >= 0.02
    assert facts(built, "--bench", "0.000001", "--runs", "5000")["runs"] == 5000


def test_a_single_run_has_no_spread(built: Built) -> None:
    found = facts(built, "--bench", "0.000000001", *EVERY_RUN)
    assert found["runs"] == 1 and found["std_us"] == 0.0
    assert [found["min_us"]] == found["samples_us"] == [found["mean_us"]] == [found["p99_us"]]


def test_samples_are_taken_evenly_up_to_their_number(built: Built) -> None:
    assert len(facts(built, "--bench", "0.02", "--runs", "1000", "--samples", "7")["samples_us"]) == 7
    assert facts(built, "--bench", "0.000001", "--runs", "10", "--samples", "0")["samples_us"] == []


def test_memory_is_that_of_the_program_and_not_of_who_started_it(built: Built, package: Package) -> None:
    ballast = np.ones(40_000_000)
    found = facts(built, "--bench", "0.01")
    assert 100_000 < found["rss_bytes"] < ballast.nbytes / 4
    arena = package.manifest.arena
    for threads in (1, 4):
        expected = arena.tensor_bytes + threads * arena.scratch_bytes_per_thread
        assert facts(built, "--bench", "0.001", "--threads", str(threads))["arena_bytes"] == expected


def test_the_clock_is_told_where_the_system_tells_it(built: Built) -> None:
    found = facts(built, "--bench", "0.001", "--cores", str(CORE))["frequencies_khz"]
    told = Path(f"/sys/devices/system/cpu/cpu{CORE}/cpufreq/scaling_cur_freq").exists()
    assert len(found) == (2 if told else 0) and all(isinstance(number, int) and number > 0 for number in found)


def test_every_thread_stays_on_the_chosen_cores(built: Built) -> None:
    command = [str(built.exam), "--bench", "60", "--threads", "3", "--cores", str(CORE)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            tasks = Path(f"/proc/{process.pid}/task")
            end = time.monotonic() + 20
            while len(list(tasks.iterdir())) < 3 and time.monotonic() < end:
                time.sleep(0.02)
            allowed = [
                line.split()[1]
                for path in tasks.glob("*/status")
                for line in path.read_text().splitlines()
                if line.startswith("Cpus_allowed_list")
            ]
        finally:
            process.kill()
    assert allowed == [str(CORE)] * 3


@pytest.mark.parametrize("cores", ["1023", f"{CORE},1000", "99999999999999999999", "x", "", f"{CORE},", f"{CORE}-", "-1", "1;2"])
def test_cores_that_cannot_be_had_are_named(built: Built, cores: str) -> None:
    done = run_exam(built, HOST, ["--bench", "0.01", "--cores", cores])
    assert done.returncode == 1 and done.stdout == b""
    assert f"cannot run on cores {cores}: " in done.stderr.decode()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--bench", "0"), ("--bench", "-1"), ("--bench", "nan"), ("--bench", "inf"), ("--bench", "1s"), ("--bench", ""), ("--bench", "1e9"),
        ("--bench",), ("--profile", "0"), ("--profile", "x"), ("--runs", "0"), ("--runs", "1000001"), ("--samples", "-1"),
        ("--samples", "1.5"), ("--threads", "0"), ("--threads", "1025"), ("--threads", "2x"), ("--fast", "1"),
        ("--run", "--bench", "1"), ("--bench", "1", "--profile", "1"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_by_name(built: Built, arguments: tuple[str, ...]) -> None:
    done = run_exam(built, HOST, [*arguments])
    assert done.returncode == 1 and done.stdout == b""
    assert arguments[0] in done.stderr.decode() and done.stderr.count(b"\n") == 1


def uneven_program() -> Program:
    """A call of four elements, one of a hundred thousand, and a reversal of four: the middle one takes the time."""
    program, i = Program("uneven", "host"), var("i")
    port(program, "x", DType.FLOAT32, (4,), Kind.INPUT)
    port(program, "y", DType.FLOAT32, (4,), Kind.OUTPUT)
    buffer(program, "few", DType.FLOAT32, 4, Kind.ARENA)
    buffer(program, "many", DType.FLOAT32, 100_000, Kind.ARENA)
    loop(program, "few", (For(i, const(4), (Store("few", i, load("x", i, FLOAT) * 2.0),)),), ("x",), ("few",))
    loop(program, "many", (For(i, const(100_000), (Store("many", i, load("few", const(3), FLOAT) + 1.0),)),), ("few",), ("many",))
    loop(program, "back", (For(i, const(4), (Store("y", i, load("many", 99_999 - i, FLOAT)),)),), ("many",), ("y",))
    plan(program)
    return program


def test_a_profile_gives_each_call_its_own_time(tmp_path: Path) -> None:
    program = uneven_program()
    built = compile_package(write_package(tmp_path, program, HOST, exam_of(program)), HOST, "gcc", "-O1", STRICT)
    found = facts(built, "--profile", "0.000001")
    assert list(found) == ["schema_version", "name", "isa", "runs", "calls_us"]
    few, many, back = found["calls_us"]
    assert found["runs"] == 20 and many > 5 * max(few, back) and min(few, back) >= 0
    assert [name for name, _, _ in Package(tmp_path).profile(0.01)] == ["few", "many", "back"]
    shown = run_exam(built, HOST, ["--profile", "0.01"]).stdout.decode().splitlines()
    assert [line.split()[1] for line in shown[1:]] == ["few", "many", "back"]


def test_people_read_one_figure_a_line(built: Built) -> None:
    lines = run_exam(built, HOST, ["--bench", "0.01", "--runs", "100"]).stdout.decode().splitlines()
    assert "1 threads" in lines[0] and [line.split()[0] for line in lines[1:9]] == [
        "min",
        "mean",
        "p50",
        "p90",
        "p95",
        "p99",
        "std",
        "cold",
    ]


def test_python_asks_for_the_same_facts(package: Package) -> None:
    found = package.benchmark(0.001, threads=2, runs=50, samples=10, cores=[CORE])
    assert found["runs"] >= 50 and len(found["samples_us"]) == 10 and found["threads"] == 2
    assert [(name, nodes) for name, nodes, _ in package.profile(0.001)] == [(call.name, call.nodes) for call in package.manifest.calls]
    with pytest.raises(GateError, match="cannot run on cores 1000"):
        package.benchmark(0.001, cores=[1000])


@pytest.mark.parametrize(
    "wrong", [{"seconds": 0}, {"seconds": float("nan")}, {"runs": 0}, {"samples": -1}, {"cores": [-1]}, {"threads": 0}]
)
def test_python_refuses_what_no_program_can_do(package: Package, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        package.benchmark(**wrong)


@pytest.mark.parametrize(
    ("target", "compiler", "emulator"),
    [
        ("linux-arm64", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
        ("portable", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
        ("rpi-32bit", "arm-linux-gnueabihf-gcc", "qemu-arm"),
        ("host", "clang", ""),
    ],
)
def test_other_processors_and_compilers_measure_too(
    tmp_path: Path, needs: Callable[..., None], target: str, compiler: str, emulator: str
) -> None:
    needs(compiler, *filter(None, [emulator]))
    aim = replace(load_target(target), emulator=(emulator, "-L", f"/usr/{compiler.removesuffix('-gcc')}") if emulator else ())
    built = compile_package(write_package(tmp_path, program := small_program(), aim, exam_of(program)), aim, compiler, "-O1", STRICT)
    for arguments in (["--bench", "0.001", "--cores", str(CORE), "--threads", "2"], ["--profile", "0.001"]):
        done = run_exam(built, aim, ["--json", *arguments])
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["cold_us"] > 0 if "--bench" in arguments else len(found["calls_us"]) == 5


@pytest.mark.parametrize("make_program", [symbolic_program, pool_program])
def test_sizes_are_those_of_the_first_question(tmp_path: Path, make_program: Callable[[], Program]) -> None:
    program = make_program()
    batch = {"batch": 2}
    data = exam_of(program, batch) if make_program is symbolic_program else ExamData([], [], {"y": True})
    built = compile_package(write_package(tmp_path, program, HOST, data), HOST, "gcc", "-O1", (*STRICT, "-fsanitize=address,undefined"))
    assert facts(built, "--bench", "0.001")["runs"] >= 1
    assert len(facts(built, "--profile", "0.001")["calls_us"]) == len(program.calls)


def test_a_tensor_may_have_any_name(tmp_path: Path) -> None:
    name = 'quo"te back\\slash what??/ newline\n tab\t1 \1 smile \U0001f600'
    program = small_program()
    data = exam_of(program)
    renamed = [{name: values["y"]} | {key: value for key, value in values.items() if key != "y"} for values in data.outputs]
    program.outputs[0] = replace(program.outputs[0], name=name)
    data = ExamData(data.inputs, renamed, data.exact | {name: True})
    built = compile_package(write_package(tmp_path, program, HOST, data), HOST, "gcc", "-O0", STRICT)
    done = run_exam(built, HOST)
    assert done.returncode == 0 and name in done.stdout.decode()
