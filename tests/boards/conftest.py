"""Boards and packages that the device tests share."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

import edgec
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.device import Device
from edgec.cli.main import main
from edgec.targets import load_target
from edgec.toolchain import compile_package
from tests.boards.benches import QUICK
from tests.boards.boards import Board, has_walls, start_board
from tests.boards.network import make_namespace
from tests.calling import Ended, Program
from tests.conftest import require

DIGITS = Path(__file__).parents[2] / "examples/digits"


@pytest.fixture(scope="module", autouse=True)
def _builds(kept_builds: None) -> None:
    """The tests of this room are about packages, not about builds."""


@pytest.fixture
def walls() -> None:
    """Skip the test where a board cannot have mounts, processes and a network of its own."""
    if not has_walls():
        pytest.skip("needs root, and the right to make namespaces")


@pytest.fixture
def boards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Board]]:
    """A factory of boards, which takes what start_board does but the folder; all are stopped when the test ends."""
    require("sshd", "ssh-keygen")
    yield from _factory(tmp_path_factory)


@pytest.fixture
def board(boards: Callable[..., Board]) -> Board:
    """A board for this test alone."""
    return boards()


@pytest.fixture(scope="module")
def shared_board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """One board for all tests of a file: for those that leave it as it was."""
    require("sshd", "ssh-keygen")
    for make in _factory(tmp_path_factory):
        yield make()


@pytest.fixture
def namespace_board(walls: None, boards: Callable[..., Board]) -> Iterator[Board]:
    """A board behind a cable of its own: board.namespace has cut(), mend() and slow(rate)."""
    require("ip", "tc")
    namespace = make_namespace()
    try:
        yield boards(namespace=namespace)
    finally:
        namespace.remove()


@pytest.fixture
def connection(board: Board) -> Iterator[Connection]:
    """An open connection to `board`."""
    line = connect(board.device())
    try:
        yield line
    finally:
        line.close()


@pytest.fixture(params=["local", "ssh"])
def empty_board(request: pytest.FixtureRequest, tmp_path: Path) -> Device:
    """An empty board: a folder of this machine, or one behind a real sshd."""
    work = str(tmp_path / "work")
    if request.param == "local":
        return Device("board", "host", "local", work=work)
    board: Board = request.getfixturevalue("shared_board")
    return board.device(work=work)


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """package(target, precision="int8"): a compiled package of examples/digits, made once a test run. It is shared: change a copy."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "device-packages"
    shared.mkdir(exist_ok=True)

    def make(target: str = "host", precision: str = "int8") -> Path:
        facts = load_target(target)
        require(facts.compilers[0] if facts.arch in ("aarch64", "armv7", "riscv64") else "gcc")
        out = shared / f"{facts.name}-{precision}"
        with (shared / f"{out.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (out / "build").is_dir():
                calib = str(DIGITS / "calibration.npz") if precision == "int8" else None
                edgec.build(DIGITS / "digits.onnx", target=target, precision=precision, calib=calib, out=out, samples=32, compile=False)
                compile_package(out, facts, optimize="-O1")
        return out

    return make


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
    """`edgec bench`, quickly, in this process and a folder with the example model and its data; boards keep their files there too."""
    monkeypatch.delenv("EDGEC_DEVICES", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("digits.onnx", "calibration.npz", "evaluation.npz"):
        shutil.copy(DIGITS / name, tmp_path / name)

    def call(*arguments: object) -> Ended:
        capfd.readouterr()
        code = main(["bench", *QUICK, *map(str, arguments)])
        return Ended(code, *capfd.readouterr())

    return call


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A factory of small disks, mounted with options of tmpfs."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs root, to mount a disk")
    mounted: list[Path] = []

    def make(options: str) -> Path:
        folder = tmp_path / f"disk{len(mounted)}"
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
        mounted.append(folder)
        return folder

    yield make
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _factory(paths: pytest.TempPathFactory) -> Iterator[Callable[..., Board]]:
    made: list[Board] = []
    numbers = count()

    def make(**facts: object) -> Board:
        folder = paths.mktemp("board") / str(next(numbers))
        made.append(start_board(folder, **facts))  # type: ignore[arg-type]
        return made[-1]

    try:
        yield make
    finally:
        for board in made:
            board.stop()
