"""The whole way: three boards of different kinds and this machine at once, from an inventory and a model to results, through the public
functions and the command line."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import edgec
from edgec.base.errors import DeviceError
from edgec.boards.board.inventory import load_inventory
from edgec.cli.main import main
from edgec.records.results import ExamResult, Job, read_results
from edgec.targets import load_target
from tests.boards.boards import Board, start_board
from tests.boards.clusters import Cluster
from tests.boards.conftest import DIGITS
from tests.boards.deploying import mark
from tests.conftest import require

pytestmark = pytest.mark.thorough

# board -> target and what runs its programs, as the processor of that board
KINDS = {
    "pi4": ("rpi4", "qemu-aarch64, -cpu, cortex-a72, -L, /usr/aarch64-linux-gnu"),
    "pi5": ("rpi5", "qemu-aarch64, -cpu, cortex-a76, -L, /usr/aarch64-linux-gnu"),
    "pi32": ("rpi-32bit", "qemu-arm, -L, /usr/arm-linux-gnueabihf"),
}
TARGETS = {"here": "host", **{name: target for name, (target, _) in KINDS.items()}}
SHORT = ["--seconds", "0.05", "--runs", "4", "--rounds", "2", "--repeats", "0", "--threads", "1", "--accept-noise"]


@dataclass(frozen=True)
class Lab:
    """Boards, their inventory, and one bench of the example model on all of them."""

    inventory: Path
    bench: edgec.Bench

    def package(self, target: str) -> Path:
        return self.bench.results.parent / f"packages/digits-{target}-int8"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, quick_compiler: None) -> Iterator[Lab]:
    require("sshd", "ssh-keygen", "qemu-aarch64", "qemu-arm", "aarch64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc", "gcc")
    folder = tmp_path_factory.mktemp("lab")
    boards: list[Board] = []
    try:
        for name in KINDS:
            boards.append(start_board(folder / name))
        inventory = folder / "devices.yaml"
        inventory.write_text(_inventory(folder, dict(zip(KINDS, boards, strict=True))))
        bench = edgec.bench(
            DIGITS / "digits.onnx", calib=str(DIGITS / "calibration.npz"), everything=True, inventory=inventory, out=folder / "out",
            seconds=0.05, runs=4, rounds=2, repeats=0, threads=[1], accept_noise=True,
        )  # fmt: skip
        yield Lab(inventory, bench)
    finally:
        for board in boards:
            board.stop()


def _inventory(folder: Path, boards: dict[str, Board]) -> str:
    lines = ["devices:", "  here:", "    target: host", "    connection: local", f"    work: {folder / 'here'}"]
    for name, board in boards.items():
        target, prefix = KINDS[name]
        lines += [f"  {name}:", f"    target: {target}", "    connection: ssh", f"    address: {board.address}", f"    port: {board.port}"]
        lines += [f"    user: {getpass.getuser()}", f"    key: {board.key}", f"    known_hosts: {board.known_hosts}"]
        lines += [f"    work: {board.work}", f"    prefix: [{prefix}]", "    tags: [raspberry]"]
    return "\n".join(lines) + "\n"


def exam(job: Job) -> ExamResult:
    assert job.exam is not None
    return job.exam


def test_every_board_passes_with_the_package_of_its_target(lab: Lab) -> None:
    assert {job.device: (job.target, job.status, job.reason) for job in lab.bench.jobs} == {
        name: (target, "passed", "") for name, target in TARGETS.items()
    }
    built = {job.device: lab.bench.packages[job.package].target for job in lab.bench.jobs}
    assert built == {**TARGETS, "here": load_target("host").name}


def test_all_boards_give_the_same_bits_through_different_instructions(lab: Lab) -> None:
    hashes = {exam(job).hashes for job in lab.bench.jobs}
    assert len(hashes) == 1 and len(hashes.pop()) >= 2
    assert all(exam(job).passed and exam(job).exact for job in lab.bench.jobs)
    vocabularies = {job.device: exam(job).isa for job in lab.bench.jobs}
    assert len({vocabularies[name] for name in ("pi4", "pi5", "pi32")}) >= 2


def test_every_job_says_how_fast_and_on_what(lab: Lab) -> None:
    for job in lab.bench.jobs:
        (latency,) = job.latencies
        assert latency.rounds == 2 and latency.runs >= 4
        assert 0 < latency.min_us <= latency.p50_us <= latency.p99_us
        assert latency.cold_us > 0 and latency.rss_bytes > 0
        assert job.board and job.board["system"]
        assert 0 < job.locked_from < job.locked_to


def test_the_results_file_holds_what_was_returned(lab: Lab) -> None:
    assert read_results(lab.bench.results) == list(lab.bench.records)
    assert lab.bench.report.stat().st_size > 1000
    assert lab.bench.exit_code == 0


def test_no_board_is_left_locked(lab: Lab) -> None:
    for device in load_inventory(lab.inventory).devices:
        assert (Path(device.work) / "digits").is_dir() and not mark(Path(device.work)), device.name


def test_deploy_finds_its_package_there_and_proves_it_again(lab: Lab) -> None:
    for name, target in TARGETS.items():
        (done,) = edgec.deploy(lab.package(target), devices=[name], inventory=lab.inventory)
        assert (done.device, done.status, done.sent_files) == (name, "deployed", 0)
        job = next(job for job in lab.bench.jobs if job.device == name)
        assert done.exam is not None and done.exam.hashes == exam(job).hashes


def test_deploy_refuses_boards_that_the_package_is_not_for_and_serves_the_others(lab: Lab) -> None:
    ended: list[edgec.Deployed] = []
    with pytest.raises(DeviceError, match="here: refused: the package is for aarch64"):
        edgec.deploy(lab.package("rpi4"), devices=["here", "pi4"], inventory=lab.inventory, finished=ended.append)
    assert {done.device: done.status for done in ended} == {"pi4": "deployed", "here": "refused"}


def test_the_command_line_benches_and_resumes(lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", str(lab.package("rpi5")), "--devices", str(lab.inventory), "--device", "pi5", *SHORT, "-o", str(tmp_path / "out")]
    assert main(words) == 0
    assert "pi5" in capsys.readouterr().out
    (job,) = [record for record in read_results(tmp_path / "out/results.jsonl") if isinstance(record, Job)]
    assert (job.device, job.status) == ("pi5", "passed")
    assert main(words) == 2
    assert "--resume" in capsys.readouterr().err
    assert main([*words, "--device", "here", "--resume"]) == 5
    records = read_results(tmp_path / "out/results.jsonl")
    assert [(job.device, job.status) for job in records if isinstance(job, Job)] == [("pi5", "passed"), ("here", "refused")]


def test_the_command_line_deploys(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", str(lab.package("host")), "--devices", str(lab.inventory), "--device", "here"]) == 0
    assert "deployed" in capsys.readouterr().out


def test_the_same_bench_runs_on_a_cluster(lab: Lab, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    try:
        cluster.worker(["pi4"])
        found = edgec.bench(
            lab.package("rpi4"), devices=["pi4"], inventory=lab.inventory, out=tmp_path / "out", scheduler=cluster.address,
            seconds=0.05, runs=4, rounds=2, repeats=0, threads=[1], accept_noise=True,
        )  # fmt: skip
    finally:
        cluster.stop()
    (job,) = found.jobs
    assert (job.status, job.reason) == ("passed", "")
    assert exam(job).hashes == exam(lab.bench.jobs[0]).hashes
