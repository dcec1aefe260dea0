"""What reads strangers' bytes does so in a worker process that may die: its answers are those of this process, its end is an error."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import edgec
from edgec.base.budget import Budget, BudgetError
from edgec.base.environment import child_environment
from edgec.base.errors import ModelError
from edgec.frontend import load_model
from edgec.ir.archive import Sender, received
from edgec.ir.text import dumps, loads
from edgec.isolation import process
from edgec.isolation.requests import import_model, outline_model
from edgec.passes import optimize
from tests.frontend.models import model, node, weights
from tests.ir.loops import LOOPS

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A model whose folding takes ONNX's reference implementation, which takes each point for itself, many minutes."""
    sampled = node("GridSample", "w g", "r", "slow", mode="cubic")
    constants = {"w": weights(1, 1, 32, 32), "g": np.zeros((1, 2048, 2048, 2), np.float32)}
    proto = model([sampled, node("Add", "x r", "y")], {"x": [1]}, ["y"], constants)
    (tmp_path / "slow.onnx").write_bytes(proto.SerializeToString())
    return tmp_path / "slow.onnx"


def descendants(parent: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it may end while it is looked at
            found += map(int, task.read_text().split())
    return [*found, *(grandchild for child in found for grandchild in descendants(child))]


def end_new_workers(before: set[int], number: signal.Signals, done: threading.Event) -> None:
    """Send the signal to forks that serve a request and were not there before, until that is done."""
    while not done.wait(0.05):
        for pid in set(descendants(os.getpid())) - before:
            if not descendants(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)


def test_graphs_come_back_as_they_were() -> None:
    graph = load_model(DIGITS).graph
    odd = loads(
        'graph "odd name"\ninput %x: float32[N<=4,3]\nconst %n: int64[1] = [2]\nconst %b: bool[2] = [1, 0]\nconst %e: float32[0] = []\n'
        '%y: float32[N<=4,3] = Relu(%x) "näme"\n%z: float32[2] = ConstantOfShape(%n) {value=float32[1]=[0.5]}\noutput %y\noutput %z\n'
    )  # fmt: skip
    looped = loads(LOOPS)
    stream = io.BytesIO()
    send = Sender(stream)
    for item in (graph, odd, looped, graph.copy()):
        send(kind="graph", graph=item)
    once = len(stream.getvalue())
    assert once < 2 * sum(array.nbytes for array in graph.constants.values()) + 40_000  # shared arrays travel once
    found = [message["graph"] for message in received(io.BufferedReader(io.BytesIO(stream.getvalue())))]  # type: ignore[arg-type]
    assert [dumps(item) for item in found] == [dumps(graph), dumps(odd), dumps(looped), dumps(graph)]
    assert list(received(io.BufferedReader(io.BytesIO(stream.getvalue()[:-1]))))[-1:] != found[-1:]  # type: ignore[arg-type]


def test_the_worker_answers_as_this_process_would() -> None:
    imported, optimized = import_model(DIGITS, {}, None, Budget())
    here = load_model(DIGITS)
    assert (dumps(imported.graph), imported.notes, dict(imported.origin)) == (dumps(here.graph), here.notes, dict(here.origin))
    optimize(here.graph)
    assert dumps(optimized.graph) == dumps(here.graph)
    assert optimized.graph.constants.keys() == here.graph.constants.keys()
    assert all(np.array_equal(array, here.graph.constants[name]) for name, array in optimized.graph.constants.items())
    assert outline_model(DIGITS, Budget()).operators["Conv"] == 4


def test_errors_are_those_of_the_import(tmp_path: Path) -> None:
    proto = model(
        [node("Rleu", "x", "y", "act"), node("Fancy", "x", "z", "mine", domain="acme")], {"x": [1]}, ["y", "z"], domains={"acme": 1}
    )
    (tmp_path / "bad.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(ModelError) as here:
        load_model(tmp_path / "bad.onnx")
    with pytest.raises(ModelError) as there:
        list(import_model(tmp_path / "bad.onnx", {}, None, Budget()))
    assert str(there.value) == str(here.value) and there.value.problems == here.value.problems


def test_remarks_of_the_passes_are_heard(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "edgec"):
        list(import_model(DIGITS, {}, None, Budget()))
    assert any(record.name == "edgec.passes" and "round 1" in record.getMessage() for record in caplog.records)


def test_several_threads_read_at_once() -> None:
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(dumps(list(import_model(DIGITS, {}, None, Budget()))[1].graph))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and len(set(found)) == 1


def test_time_ends_the_worker_wherever_it_is(endless: Path) -> None:
    with pytest.raises(BudgetError, match=r"longer than 1 s.*--budget seconds="):
        list(import_model(endless, {}, None, Budget(seconds=1)))
    assert len(list(import_model(DIGITS, {}, None, Budget()))) == 2  # the next one serves again


def test_memory_is_limited(tmp_path: Path) -> None:
    """Where a rule cannot tell how much an operator takes, the system does."""
    proto = model(
        [node("Einsum", "a b", "y", "big", equation="i,j->ij")],
        {},
        ["y"],
        {"a": np.ones(30_000, np.float32), "b": np.ones(30_000, np.float32)},
    )
    (tmp_path / "big.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(ModelError, match=r"big .*--budget memory="):
        list(import_model(tmp_path / "big.onnx", {}, None, Budget(memory=600 << 20)))


@pytest.mark.parametrize(
    ("number", "words"), [(signal.SIGSEGV, r"crashed \(SIGSEGV\)"), (signal.SIGKILL, "--budget memory="), (signal.SIGABRT, "SIGABRT")]
)
def test_a_crash_is_an_error_of_the_model(endless: Path, number: signal.Signals, words: str) -> None:
    list(import_model(DIGITS, {}, None, Budget()))  # a worker waits
    done = threading.Event()
    killer = threading.Thread(target=end_new_workers, args=(set(descendants(os.getpid())), number, done))
    killer.start()
    try:
        with pytest.raises(ModelError, match=words):
            list(import_model(endless, {}, None, Budget()))
    finally:
        done.set()
        killer.join()
    assert len(list(import_model(DIGITS, {}, None, Budget()))) == 2


def test_an_interrupt_leaves_no_worker(endless: Path) -> None:
    command = [sys.executable, "-m", "edgec.cli.main", "inspect", str(endless)]
    program = subprocess.Popen(command, stderr=subprocess.PIPE, env={**child_environment(), "PYTHONPATH": str(ROOT)}, text=True)
    while len(found := descendants(program.pid)) < 3:  # the verb's process, the worker, and its fork
        assert program.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)
    program.send_signal(signal.SIGINT)
    assert program.stderr is not None
    assert "Traceback" not in program.stderr.read() and program.wait() == 130
    assert not [pid for pid in found if Path(f"/proc/{pid}").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"]


def test_a_worker_ends_with_its_program() -> None:
    text = "from edgec.isolation import process; process.start(); print(process._idle[0][1].pid)"
    done = subprocess.run(
        [sys.executable, "-c", text], env={**child_environment(), "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    pid = int(done.stdout)
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < deadline, "the worker is still there"
        time.sleep(0.05)


def test_no_main_guard_is_needed() -> None:
    """As in a notebook: the program has no file of its own."""
    text = f"import edgec; print(edgec.inspect({str(DIGITS)!r}).macs)"
    environment = {**child_environment(), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-"], input=text, env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) == edgec.inspect(DIGITS).macs


def test_the_worker_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEC_SIGN_PASSPHRASE", "correct horse")
    started = process._started()
    try:
        assert b"correct horse" not in Path(f"/proc/{started.pid}/environ").read_bytes()
    finally:
        process._end(started)
