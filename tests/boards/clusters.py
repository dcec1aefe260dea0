"""A dask cluster for tests: a scheduler and workers, each a process of its own, on an address of this test process alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.boards.boards import free_port, loopback

ROOT = Path(__file__).parents[2]
_QUIET = {"DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical", "DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "spawn"}


class Cluster:
    """`address` is the scheduler's; workers have the names of boards among their resources."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        host = loopback()
        self._processes: list[subprocess.Popen[bytes]] = []
        self.address = f"tcp://{host}:{free_port(host)}"
        note = folder / "scheduler.json"
        port = self.address.rpartition(":")[2]
        self.scheduler = self._start("scheduler", "--host", host, "--port", port, "--no-dashboard", "--scheduler-file", str(note))
        self._await(lambda: note.exists() and bool(json.loads(note.read_text() or "{}")))

    def worker(self, boards: Sequence[str], *, nanny: bool = False) -> subprocess.Popen[bytes]:
        """A worker that owns these boards; with a nanny, another one follows when it dies."""
        name, resources = f"worker{len(self._processes)}", " ".join(f"{board}=1" for board in boards)
        words = ["--name", name, "--nthreads", str(len(boards)), "--resources", resources, "--no-dashboard"]
        words += ["--nanny" if nanny else "--no-nanny", "--local-directory", str(self._folder / name)]
        started = self._start("worker", self.address, *words)
        self._await(lambda: set(boards) <= self.boards())
        return started

    def boards(self) -> set[str]:
        """Everything that workers own now."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            return {name for worker in client.scheduler_info(n_workers=-1)["workers"].values() for name in worker["resources"]}

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
        environment = {**os.environ, **_QUIET, "PYTHONPATH": path}
        with (self._folder / f"log{len(self._processes)}").open("wb") as log:
            command = [sys.executable, "-m", "dask", *words]
            self._processes.append(subprocess.Popen(command, cwd=self._folder, env=environment, stdout=log, stderr=log))
        return self._processes[-1]

    def _await(self, ready: object) -> None:
        assert callable(ready)
        end = time.monotonic() + 60
        while not ready():
            if time.monotonic() > end or self._processes[-1].poll() is not None:
                raise RuntimeError(f"it did not start: {[path.read_text() for path in self._folder.glob('log*')]}")
            time.sleep(0.05)
