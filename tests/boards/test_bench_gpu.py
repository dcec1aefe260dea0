"""Packages with a half for a GPU on a board that has one (in software), and on boards where it cannot start."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import edgec
from edgec.base.errors import UsageError
from edgec.boards.board.measure import Options
from edgec.boards.board.validity import spoiled
from edgec.boards.deploy.parcel import open_parcel
from edgec.boards.device import Device
from edgec.boards.farm.gates import Gates, make_gates
from edgec.boards.farm.job import Task, run_task
from edgec.cli.main import main
from edgec.package import Package
from edgec.records.results import GpuUse, Job, Latency, State, Versus, from_line, read_results, to_line
from tests.boards.conftest import DIGITS
from tests.boards.deploying import scripted
from tests.conftest import require
from tests.gpu.lavapipe import is_wanted
from tests.gpu.packages import lavapipe, start

CALIB = str(DIGITS / "calibration.npz")
QUICK = Options(seconds=0.04, runs=6, rounds=2, repeats=0, profile=True, accept_noise=True)


@dataclass(frozen=True)
class Lab:
    """One bench, on this machine, of the example model for the GPU and for the processor alone."""

    folder: Path
    bench: edgec.Bench

    @property
    def job(self) -> Job:
        return self.bench.jobs[0]

    @property
    def package(self) -> Package:
        return Package(self.folder / "out/packages/digits-linux-vulkan-int8")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, quick_compiler: None) -> Iterator[Lab]:
    require("gcc", "glslangValidator", "spirv-val")
    folder = tmp_path_factory.mktemp("lab")
    (folder / "devices.yaml").write_text(f"devices:\n  desk: {{target: linux-vulkan, connection: local, work: {folder / 'work'}}}\n")
    with pytest.MonkeyPatch.context() as patch:
        for key, value in lavapipe().items():
            patch.setenv(key, value)
        yield Lab(folder, edgec.bench(
            DIGITS / "digits.onnx", calib=CALIB, inventory=folder / "devices.yaml", out=folder / "out", seconds=0.04, runs=6, rounds=2,
            repeats=0, threads=[1, 2], profile=True, gpu="on", accept_noise=True,
        ))  # fmt: skip


def latencies(job: Job) -> list[tuple[int, bool]]:
    return [(one.threads, is_wanted(one.gpu)) for one in job.latencies]


def test_both_halves_pass_their_exam_with_the_same_bytes(lab: Lab) -> None:
    assert (lab.job.status, lab.job.reason) == ("passed", "")
    assert lab.job.exam is not None and lab.job.gpu is not None and lab.job.gpu.exam is not None
    assert is_wanted(lab.job.gpu.device) and lab.job.gpu.exam.passed
    assert lab.job.exam.hashes == lab.job.gpu.exam.hashes


def test_the_gpu_is_measured_beside_the_numbers_of_threads(lab: Lab) -> None:
    assert latencies(lab.job) == [(1, False), (2, False), (2, True)]
    assert all(one.runs >= 6 and 0 < one.min_us <= one.p50_us for one in lab.job.latencies)


def test_every_call_has_a_time_on_both_sides(lab: Lab) -> None:
    calls = range(len(lab.package.manifest.calls))
    assert lab.job.gpu is not None
    assert [time.layer for time in lab.job.profile] == [time.layer for time in lab.job.gpu.profile] == list(calls)
    assert lab.job.gpu.wait_us > 0 and all(time.us >= 0 for time in lab.job.gpu.profile)  # on a busy machine none outlasts the wait


def test_results_hold_both_and_the_page_shows_them(lab: Lab) -> None:
    assert read_results(lab.bench.results) == list(lab.bench.records)
    page = lab.bench.report.read_text()
    assert lab.job.gpu is not None and page.count(lab.job.gpu.device) >= 3
    assert ">GPU<" in page and ">on the GPU<" in page


def test_results_from_before_there_were_gpus_are_read(lab: Lab) -> None:
    old = json.loads(to_line(lab.job))
    del old["gpu"]
    for latency in old["latencies"]:
        del latency["gpu"]
    job = from_line(json.dumps(old))
    assert isinstance(job, Job) and job.gpu is None and all(one.gpu == "" for one in job.latencies)


@pytest.mark.thorough
def test_a_build_takes_places_from_the_results(lab: Lab, tmp_path: Path) -> None:
    """The processor is so much faster than a GPU in software that this needs a record in which it is not."""
    assert lab.job.gpu is not None
    slow = {0: 900.0, 1: 900.0, 2: 1.0, 3: 1.0, 4: 900.0}
    profile = tuple(replace(time, us=slow.get(time.layer, 1.0)) for time in lab.job.profile)
    gpu = replace(lab.job.gpu, wait_us=50.0, profile=tuple(replace(time, us=5.0) for time in lab.job.gpu.profile))
    results = tmp_path / "results.jsonl"
    results.write_text(
        "".join(to_line(record) + "\n" for record in (*lab.bench.records, replace(lab.job, profile=profile, gpu=gpu, started="9")))
    )
    package = edgec.build(
        DIGITS / "digits.onnx", target="linux-vulkan", calib=CALIB, gpu=results, out=tmp_path / "mixed"
    )  # fmt: skip
    facts = package.manifest.gpu
    assert facts is not None and facts.measured is not None
    assert [call.on for call in facts.calls] == ["gpu"] * 5 + ["cpu"] * (len(facts.calls) - 5)
    assert facts.calls[0].because == "measured: CPU 900 us, GPU 5 us, waiting 50 us"
    assert facts.calls[5].because == "measured: CPU 1 us, GPU 5 us, waiting 50 us"
    assert facts.measured.board == "desk" and facts.measured.expected_us == 50 + 5 * 5 + len(facts.calls) - 5
    assert package.examine(gpu=True)["passed"] and package.examine()["passed"]
    job = run(tmp_path, package)
    assert (job.status, latencies(job)) == ("passed", [(1, False), (1, True)])
    assert job.gpu is not None and [time.layer for time in job.gpu.profile] == list(range(5))


def test_what_was_really_measured_here_decides_every_call(lab: Lab, tmp_path: Path) -> None:
    words = ["build", str(DIGITS / "digits.onnx"), "--target", "linux-vulkan", "--calib", CALIB, "--gpu", str(lab.bench.results)]
    assert main([*words, "--no-compile", "-o", str(tmp_path / "out")]) == 0
    gpu = Package(tmp_path / "out").manifest.gpu
    assert gpu is not None and all((call.because or "").startswith("measured: CPU ") for call in gpu.calls)


def test_calls_given_one_by_one_are_without_a_message_of_the_validation_layers(lab: Lab) -> None:
    (program,) = lab.package.directory.glob("build/*_exam")
    facts = json.loads(start([program, "--json", "--gpu", "--profile", "0.05"], lavapipe("synchronization")).stdout)
    assert is_wanted(facts["gpu"]) and facts["wait_us"] > 0 and len(facts["calls_us"]) == len(lab.job.profile)


@pytest.mark.thorough
def test_a_package_for_the_processor_is_compared_in_the_way_that_both_have(lab: Lab, tmp_path: Path) -> None:
    alone = edgec.build(DIGITS / "digits.onnx", target="linux-vulkan", calib=CALIB, gpu="off", out=tmp_path / "alone")
    gpu = alone.manifest.gpu
    assert not alone.has_gpu and gpu is not None and {call.on for call in gpu.calls} == {"cpu"}
    device = Device("desk", "linux-vulkan", "local", work=str(tmp_path / "work"))
    parcels = tuple(open_parcel(one.directory) for one in (lab.package, alone))
    *_, first, second, versus = run_task(Task(device, parcels, QUICK, Gates(), None, "a test"))
    assert isinstance(first, Job) and isinstance(second, Job) and isinstance(versus, Versus)
    assert (latencies(first), latencies(second)) == ([(1, False), (1, True)], [(1, False)])
    assert second.gpu is None and versus.low <= versus.ratio <= versus.high
    assert versus.ratio > 0.05, "against the GPU in software it would be a thousandth"


def test_an_earlier_measurement_on_the_gpu_is_compared_with_one_on_the_gpu(lab: Lab, tmp_path: Path) -> None:
    """Its rounds are made alike: whatever else this machine did in one of them decides nothing here."""
    steady = tuple(replace(one, medians_us=(one.p50_us, one.p50_us)) for one in lab.job.latencies)
    earlier = tmp_path / "results.jsonl"
    told = [replace(one, latencies=steady) if isinstance(one, Job) else one for one in lab.bench.records]
    earlier.write_text("".join(to_line(one) + "\n" for one in told))
    gates = make_gates(faster_than=earlier)
    *_, on_gpu = steady
    (gate,) = gates.judge("desk", "digits", [replace(on_gpu, medians_us=(0.1, 0.1))], None)
    assert gate.passed and "2 threads and the GPU" in gate.value
    (unknown,) = gates.judge("desk", "digits", [replace(on_gpu, threads=1)], None)
    assert not unknown.passed and "no steady measurement of this number of threads" in unknown.value


def test_the_memory_of_a_driver_breaks_no_promise_of_the_processor(lab: Lab) -> None:
    most = max(one.rss_bytes for one in lab.job.latencies if not one.gpu)
    assert lab.job.latencies[-1].rss_bytes > most
    (gate,) = make_gates(max_rss=most).judge("desk", "digits", lab.job.latencies, None)
    assert gate.passed


def test_measurements_of_several_boards_are_refused(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(to_line(one) + "\n" for one in (*lab.bench.records, replace(lab.job, device="shelf"))))
    with pytest.raises(UsageError, match="several boards: desk, shelf"):
        edgec.build(DIGITS / "digits.onnx", target="linux-vulkan", calib=CALIB, gpu=path, out=tmp_path / "out", compile=False)


def test_results_of_something_else_decide_nothing(lab: Lab, tmp_path: Path) -> None:
    words = {"target": "linux-vulkan", "gpu": lab.bench.results, "out": tmp_path / "out"}
    with pytest.raises(UsageError, match=r"built with other settings.*edgec bench MODEL"):
        edgec.build(DIGITS / "digits.onnx", precision="fp32", **words)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no package of this model for android-vulkan"):
        edgec.build(DIGITS / "digits.onnx", calib=CALIB, compile=False, **{**words, "target": "android-vulkan"})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="x86-64 has no GPU"):
        edgec.build(DIGITS / "digits.onnx", calib=CALIB, **{**words, "target": "x86-64"})  # type: ignore[arg-type]
    bare = tmp_path / "bare.jsonl"
    bare.write_text("".join(to_line(one) + "\n" for one in (*lab.bench.packages.values(), replace(lab.job, gpu=GpuUse("", "no driver")))))
    with pytest.raises(UsageError, match="no times of calls on the processor and on the GPU: no driver"):
        edgec.build(DIGITS / "digits.onnx", calib=CALIB, **{**words, "gpu": bare})  # type: ignore[arg-type]


def test_a_deployment_proves_both_halves(lab: Lab) -> None:
    (done,) = edgec.deploy(lab.package, inventory=lab.folder / "devices.yaml")
    assert done.status == "deployed" and done.exam is not None and done.gpu is not None and done.gpu.exam is not None
    assert done.gpu.exam.hashes == done.exam.hashes and is_wanted(done.gpu.device)


def run(folder: Path, package: Package, **options: object) -> Job:
    device = Device("desk", "linux-vulkan", "local", work=str(folder / "work"))
    task = Task(device, (open_parcel(package.directory),), replace(QUICK, **options), Gates(), None, "a test")  # type: ignore[arg-type]
    (_, job) = run_task(task)
    assert isinstance(job, Job) and from_line(to_line(job)) == job
    return job


def test_a_board_without_a_driver_says_so_and_passes_on_its_processor(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in lavapipe():
        monkeypatch.setenv(key, str(tmp_path / "none.json"))
    job = run(tmp_path, lab.package)
    assert (job.status, latencies(job)) == ("passed", [(1, False)])
    assert job.gpu is not None and job.gpu.device == "" and "there is no GPU" in job.gpu.reason and not job.gpu.profile
    asked = run(tmp_path, lab.package, gpu="on")
    assert asked.status == "failed" and "the GPU cannot be used" in asked.reason and "there is no GPU" in asked.reason


def test_the_gpu_is_left_alone_when_asked(lab: Lab, tmp_path: Path) -> None:
    job = run(tmp_path, lab.package, gpu="off")
    assert (job.status, latencies(job), job.gpu) == ("passed", [(1, False)], None)


def test_wrong_answers_of_the_gpu_fail_the_job(lab: Lab, tmp_path: Path) -> None:
    parcel = open_parcel(lab.package.directory)
    real = tmp_path / "real_exam"
    real.write_bytes(parcel.files[parcel.program])
    real.chmod(0o755)
    wrong = 's/"passed": true/"passed": false/g; s/"weights_passed": false/"weights_passed": true/'
    cases = f'*--gpu-name*) exec {real} "$@";; *--gpu*) {real} "$@" | sed \'{wrong}\'; exit 1;; *) exec {real} "$@";;'
    device = Device("desk", "linux-vulkan", "local", work=str(tmp_path / "work"))
    (_, job) = run_task(Task(device, (scripted(parcel, f'case "$*" in {cases} esac'),), QUICK, Gates(), None, "a test"))
    assert isinstance(job, Job) and job.exam is not None and job.exam.passed
    assert job.gpu is not None and job.gpu.exam is not None and not job.gpu.exam.passed and is_wanted(job.gpu.device)
    assert job.status == "failed" and f"on the GPU {job.gpu.device}" in job.reason


def test_asking_for_the_gpu_of_packages_that_have_nothing_for_one_is_refused(tmp_path: Path) -> None:
    package = edgec.build(DIGITS / "digits.onnx", target="portable", cc="gcc -O0", calib=CALIB, samples=8, out=tmp_path / "package")
    with pytest.raises(UsageError, match="nothing of these packages runs on a GPU"):
        edgec.bench(package.directory, gpu="on", out=tmp_path / "out")
    with pytest.raises(UsageError, match="'yes' for the GPU"):
        edgec.bench(package.directory, gpu="yes", out=tmp_path / "out")


def test_a_pi_keeps_its_processor_unless_told_otherwise(tmp_path: Path) -> None:
    words = {"target": "rpi5-vulkan", "precision": "fp32", "compile": False}
    alone = edgec.build(DIGITS / "digits.onnx", out=tmp_path / "alone", **words)  # type: ignore[arg-type]
    asked = edgec.build(DIGITS / "digits.onnx", out=tmp_path / "asked", gpu="on", **words)  # type: ignore[arg-type]
    gpu = alone.manifest.gpu
    assert gpu is not None and {call.on for call in gpu.calls} == {"cpu"} and not alone.has_gpu
    assert asked.has_gpu


def test_the_clock_of_a_processor_that_waits_for_the_gpu_spoils_nothing() -> None:
    slow = Latency(1, (), "x", 2, 2, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, (1.0, 1.0), (1.0,), (1_800_000, 600_000))
    assert spoiled(State(), State(), [slow]) and not spoiled(State(), State(), [replace(slow, gpu="V3D")])
