"""Twenty boards on a dask cluster of two workers, benched by two users at once, while a worker is killed in the middle.

    python benchmarks/farm_of_twenty.py [--out FOLDER] [--seconds SECONDS]

Needs the extra edgec[farm], qemu-user and the cross compilers (tests/setup.sh). The boards are emulated here, each with a work folder of
its own: five of every target below. Two processes `edgec bench --scheduler` bench the digits example on all of them; when the first
worker is in the midst of its jobs it is killed with SIGKILL. Then, from the results files alone: every job has a verdict, none is there
twice, and no board was held by two jobs at the same time. Exit code 1 when one of these is not so. Latencies of so many boards on one
machine say nothing of a real one.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from distributed import Client, Nanny, Scheduler, SpecCluster

from edgec.boards.farm.cluster_worker import running
from edgec.records.results import Job, read_results

DIGITS = Path(__file__).resolve().parents[1] / "examples/digits"
TARGETS = ("rpi4", "rpi5", "rpi-32bit", "host")
BOARDS = {f"board{number:02}": TARGETS[number % len(TARGETS)] for number in range(20)}
USERS = ("first", "second")
PATIENCE = 1200.0  # seconds for everything


def inventory(folder: Path) -> Path:
    lines = ["devices:"]
    for name, target in BOARDS.items():
        lines += [f"  {name}:", f"    target: {target}", "    connection: emulated", f"    work: {folder / name}"]
    path = folder / "devices.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def cluster() -> SpecCluster:
    """A scheduler, and two workers with nannies that own ten boards each."""
    halves = {"worker1": list(BOARDS)[:10], "worker2": list(BOARDS)[10:]}
    common = {"nthreads": 10, "dashboard_address": None, "host": "127.0.0.1", "silence_logs": 50}
    workers = {
        name: {"cls": Nanny, "options": {**common, "name": name, "resources": dict.fromkeys(boards, 1)}} for name, boards in halves.items()
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": None, "host": "127.0.0.1", "port": 0}}
    return SpecCluster(workers=workers, scheduler=scheduler, silence_logs=50)


def start_bench(user: str, folder: Path, devices: Path, address: str, seconds: float) -> subprocess.Popen[bytes]:
    words = ["bench", str(DIGITS / "digits.onnx"), "--calib", str(DIGITS / "calibration.npz"), "--all", "--devices", str(devices)]
    words += ["--scheduler", address, "-o", str(folder / user), "--threads", "1", "--seconds", str(seconds), "--repeats", "0"]
    words += ["--accept-noise"]  # so many boards on one machine are never quiet
    with (folder / f"{user}.log").open("wb") as log:
        return subprocess.Popen([sys.executable, "-m", "edgec.cli.main", *words], stdout=log, stderr=log)


def jobs(folder: Path, user: str) -> list[Job]:
    path = folder / user / "results.jsonl"
    return [record for record in read_results(path) if isinstance(record, Job)] if path.exists() else []


def kill_one(client: Client, folder: Path, benches: Sequence[subprocess.Popen[bytes]]) -> tuple[int, list[str]]:
    """When a worker is in the midst of three jobs and some have ended, kill it; its process and the boards it was working on."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and any(bench.poll() is None for bench in benches):
        done = sum(len(jobs(folder, user)) for user in USERS)
        for address, keys in client.run(running).items():
            if done >= 4 and len(keys) >= 3:
                (pid,) = client.run(os.getpid, workers=[address]).values()
                os.kill(pid, signal.SIGKILL)
                return pid, sorted(key.split("-")[1] for key in keys)
        time.sleep(0.1)
    raise SystemExit("no worker was ever in the midst of three jobs: see the logs")


def wrongs(found: dict[str, list[Job]], pid: int, victims: Sequence[str]) -> list[str]:
    """What the results say that must not be."""
    problems = []
    for user, own in found.items():
        names = [job.device for job in own]
        problems += [f"{user}: {name} is there {names.count(name)} times" for name in BOARDS if names.count(name) != 1]
        problems += [f"{user}: {job.device} {job.status}: {job.reason}" for job in own if job.status != "passed"]
    for name in BOARDS:
        held = sorted((job.locked_from, job.locked_to) for own in found.values() for job in own if job.device == name)
        problems += [f"{name} was held twice from {late[0]}" for early, late in pairwise(held) if late[0] < early[1]]
    hashes = {job.exam.hashes for own in found.values() for job in own if job.exam}
    problems += [f"{len(hashes)} different answers to one exam"] if len(hashes) != 1 else []
    problems += [] if victims else ["nothing ran on the worker that was killed"]
    return problems


def show(found: dict[str, list[Job]], pid: int, victims: Sequence[str]) -> None:
    start = min(job.locked_from for own in found.values() for job in own if job.locked_from)
    print("| board | target | exam | p50 us, both users | held from - to s, both users | worker processes | killed |")
    print("|---|---|---|---|---|---|---|")
    for name, target in BOARDS.items():
        pair = sorted((job for own in found.values() for job in own if job.device == name), key=lambda job: job.locked_from)
        exams = " ".join(sorted({"exact" if job.exam and job.exam.passed else job.status for job in pair}))
        times = ", ".join(f"{job.latencies[0].p50_us:.0f}" for job in pair if job.latencies)
        held = ", ".join(f"{job.locked_from - start:.1f} - {job.locked_to - start:.1f}" for job in pair)
        workers = ", ".join(job.worker.rpartition(":")[2] for job in pair)
        print(f"| {name} | {target} | {exams} | {times} | {held} | {workers} | {'in mid-run' if name in victims else ''} |")
    everything = [job for own in found.values() for job in own]
    most = max(sum(other.locked_from <= job.locked_from < other.locked_to for other in everything) for job in everything)
    survived = sum(job.worker.endswith(f":{pid}") for job in everything)
    print(f"\n{len(everything)} jobs on {len(BOARDS)} boards, {most} boards at work at once; process {pid} was killed in the midst of")
    print(f"{len(victims)} jobs ({', '.join(victims)}), having finished {survived}.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="an empty folder for results and logs (a temporary one)")
    parser.add_argument("--seconds", type=float, default=1.0, help="measured on each board, by each user")
    options = parser.parse_args()
    folder = (options.out or Path(tempfile.mkdtemp(prefix="edgec-farm-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    devices, begin = inventory(folder), time.monotonic()
    with cluster() as workers, Client(workers, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=120)
        benches = [start_bench(user, folder, devices, workers.scheduler_address, options.seconds) for user in USERS]
        try:
            pid, victims = kill_one(client, folder, benches)
            codes = [bench.wait(max(1.0, PATIENCE - (time.monotonic() - begin))) for bench in benches]
        finally:
            for bench in benches:
                bench.kill()
    found = {user: jobs(folder, user) for user in USERS}
    show(found, pid, victims)
    problems = wrongs(found, pid, victims) + [f"{user}: exit code {code}" for user, code in zip(USERS, codes, strict=True) if code]
    print(f"{time.monotonic() - begin:.0f} s, results and logs in {folder}")
    for problem in problems:
        print(f"WRONG: {problem}")
    print("no result was lost, none is there twice, and no board was used by two jobs at once" if not problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
