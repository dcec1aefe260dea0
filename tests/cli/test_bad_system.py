"""Compilers, disks and signals that fail: one clear error, and nothing half-written anywhere."""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.calling import Program, names_in

FILES = {"digits.onnx", "calibration.npz", "evaluation.npz"}
BUILD = ("build", "-q", "digits.onnx", "--precision", "fp32", "-o", "out")
EDGEC = (sys.executable, "-m", "edgec.cli.main")


def script(path: Path, body: str) -> Path:
    """A compiler that answers -dumpmachine for this machine, and then does `body`."""
    path.write_text(f'#!/bin/sh\ncase "$*" in *-dumpmachine*) exec gcc -dumpmachine;; esac\n{body}\n')
    path.chmod(0o755)
    return path


def test_no_compiler(program: Program, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(work))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("edgec.toolchain.find.find_spec", lambda name: None)  # zig counts as not installed
    done = program(*BUILD)
    done.failed(4, "no C compiler", "apt install gcc", "edgec[zig]", "--no-compile", "gcc")
    assert names_in(work) == FILES
    assert program(*BUILD, "--no-compile").code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("build", "LONG"),
        ("inspect", "LONG"),
        ("build", "digits.onnx", "--calib", "LONG"),
        ("build", "digits.onnx", "--config", "LONG"),
        ("build", "digits.onnx", "--dry-run", "--sign", "LONG"),
        ("run", "LONG", "-i", "calibration.npz"),
        ("report", "digits.onnx", "-o", "LONG.md"),
    ],
    ids=" ".join,
)
def test_names_that_are_too_long(program: Program, work: Path, command: tuple[str, ...]) -> None:
    program(*(word.replace("LONG", "x" * 300) for word in command)).failed(2, "so long a name")
    assert names_in(work) == FILES


def test_a_compiler_that_is_not_there(program: Program, work: Path) -> None:
    program(*BUILD, "--cc", "no-such-cc").failed(4, "no such compiler: no-such-cc", "--no-compile")
    program(*BUILD, "--cc", "gcc", "--target", "rpi4").failed(4, "not aarch64", "gcc-aarch64-linux-gnu")
    assert names_in(work) == FILES


def test_a_compiler_that_fails_is_quoted(program: Program, work: Path) -> None:
    compiler = script(work / "badcc", 'echo "digits.c:3: error: I do not feel like it" >&2; exit 1')
    done = program(*BUILD, "--cc", "./badcc")
    assert done.code == 4 and "I do not feel like it" in done.err and str(compiler) in done.err and "Traceback" not in done.err
    assert names_in(work) == FILES | {"badcc"}


def test_a_failed_build_leaves_the_old_package(program: Program, work: Path) -> None:
    script(work / "badcc", "exit 1")
    assert program(*BUILD, "--no-compile").code == 0
    before = {path: path.read_bytes() for path in (work / "out").rglob("*") if path.is_file()}
    assert program(*BUILD, "--cc", "./badcc", "--seed", "5").code == 4
    assert {path: path.read_bytes() for path in (work / "out").rglob("*") if path.is_file()} == before
    assert names_in(work) == FILES | {"badcc", "out"}


def test_packages_are_rebuilt_in_place(program: Program, work: Path) -> None:
    for seed in ("1", "2"):
        assert program(*BUILD, "--no-compile", "--seed", seed).code == 0
    assert f'"seed": {seed}' in (work / "out/manifest.json").read_text()
    assert names_in(work) == FILES | {"out"}


@pytest.mark.parametrize("out", ["digits.onnx", "full", "digits.onnx/deeper"])
def test_places_that_cannot_be_a_package(program: Program, work: Path, out: str) -> None:
    (work / "full").mkdir()
    (work / "full" / "thesis.tex").write_text("years of work")
    content = (work / "digits.onnx").read_bytes()
    done = program("build", "digits.onnx", "--precision", "fp32", "--no-compile", "-o", out)
    done.failed(2, out.partition("/")[0], "choose another --out")
    assert "] emitting" not in done.err
    assert (work / "full" / "thesis.tex").exists() and (work / "digits.onnx").read_bytes() == content
    assert names_in(work) == FILES | {"full"}


def test_a_folder_that_may_not_be_written(program: Program, work: Path) -> None:
    """Not even root may write there."""
    for verb in (
        ["build", "-q", "digits.onnx", "--precision", "fp32", "--no-compile"],
        ["quantize", "-q", "digits.onnx", "--calib", "calibration.npz"],
    ):
        program(*verb, "-o", "/proc/out").failed(2, "/proc", "cannot write")
    program("inspect", "-q", "/proc/out").failed(2, "no such file")
    assert names_in(work) == FILES


@pytest.mark.parametrize("kilobytes", [20, 100])
def test_files_that_may_not_grow(work: Path, kilobytes: int) -> None:
    """A limit on the size of files stands in for a full disk where nobody may mount one."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, kilobytes * 1024))

    done = subprocess.run([*EDGEC, *BUILD, "--no-compile"], preexec_fn=limit, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "cannot write: File too large" in done.stderr and "free some space" in done.stderr
    assert "Traceback" not in done.stderr and names_in(work) == FILES


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 600 KiB where one can be mounted."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(mounted)], capture_output=True, check=False)
    if done.returncode != 0:
        yield tmp_path / "none"
        return
    yield mounted
    subprocess.run(["umount", str(mounted)], check=True)


@pytest.mark.parametrize("filling", [0, 350])
def test_a_full_disk(program: Program, work: Path, disk: Path, filling: int) -> None:
    """Full while edgec writes, or while the compiler does. Without root the test above is all there is."""
    if not disk.exists():
        test_files_that_may_not_grow(work, 100)
        return
    (disk / "ballast").write_bytes(bytes(filling * 1024))
    done = program("build", "-q", "digits.onnx", "--precision", "fp32", "-o", disk / "out", "--cc", "gcc -O0", "--target", "portable")
    assert done.code == 2 and "space" in done.err and "Traceback" not in done.err, done.err
    assert names_in(disk) == {"ballast"}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_while_compiling(work: Path, number: signal.Signals, code: int) -> None:
    """The compiler waits for the signal, or, where it began beside it, ends by itself; all temporary folders are gone afterwards."""
    marker, temporary = work / "started", work / "tmp"
    temporary.mkdir()
    script(work / "slowcc", f"touch {shlex.quote(str(marker))}; sleep 20")
    environment = {**os.environ, "TMPDIR": str(temporary)}
    running = subprocess.Popen(
        [*EDGEC, *BUILD, "--cc", "./slowcc"], env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(marker, running)
    os.killpg(running.pid, number)  # as a terminal does: the program and its work hear it both
    _, errors = running.communicate(timeout=60)
    assert running.returncode == code and "Traceback" not in errors, errors
    assert names_in(work) == FILES | {"started", "slowcc", "tmp"} and names_in(temporary) == set()


def test_an_interruption_while_calibrating(work: Path) -> None:
    """As from a terminal, in the middle of the samples."""
    Path("slow.py").write_text(
        "import pathlib, time, numpy as np\n"
        "def samples():\n"
        "    for image in np.load('calibration.npz')['image']:\n"
        "        pathlib.Path('started').touch(); time.sleep(0.2); yield {'image': image[None]}\n"
    )
    command = [*EDGEC, "build", "digits.onnx", "--calib", "slow.py:samples", "--no-compile", "-o", "out"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(work / "started", running)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130 and "interrupted" in errors and "Traceback" not in errors, errors
    assert names_in(work) - {"__pycache__"} == FILES | {"started", "slow.py"}


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, "KeyboardInterrupt"), (signal.SIGTERM, "SystemExit")])
def test_an_interruption_of_a_program_that_calls_build(work: Path, number: signal.Signals, raised: str) -> None:
    """Told twice, as by a terminal and by who waits; its handlers are its own again afterwards."""
    Path("own.py").write_text(
        "import edgec, signal\n"
        "former = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)\n"
        "try: edgec.build('digits.onnx', precision='fp32', target='portable', out='out', cc='./slowcc')\n"
        "except BaseException as error: print(type(error).__name__)\n"
        "print(former == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)))\n"
    )
    (work / "tmp").mkdir()
    script(work / "slowcc", f"touch {shlex.quote(str(work / 'started'))}; sleep 20")
    environment = {**os.environ, "TMPDIR": str(work / "tmp")}
    running = subprocess.Popen([sys.executable, "own.py"], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(work / "started", running)
    os.killpg(running.pid, number)
    time.sleep(0.01)
    running.send_signal(number)
    said, _ = running.communicate(timeout=60)
    assert said.split() == [raised, "True"]
    assert names_in(work) == FILES | {"started", "slowcc", "own.py", "tmp"} and names_in(work / "tmp") == set()


def wait_for(marker: Path, running: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not marker.exists():
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)


def test_no_folder_for_temporary_files(work: Path) -> None:
    """Nothing of ours needs one."""
    environment = {**os.environ, "TMPDIR": "/nonexistent/folder"}
    done = subprocess.run([*EDGEC, *BUILD, "--no-compile"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("folder", ["tmp", "/nonexistent/folder"])
def test_a_bug_of_our_own_leaves_a_report(program: Program, monkeypatch: pytest.MonkeyPatch, work: Path, folder: str) -> None:
    def fail(*arguments: object, **settings: object) -> None:
        raise RuntimeError("a cosmic ray")

    (work / "tmp").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("edgec.cli.build.resolve_settings", fail)
        patch.setattr("edgec.cli.bug.tempfile.tempdir", folder)
        done, facts = program(*BUILD), program(*BUILD, "--json")
    assert done.code == facts.code == 70 and "a bug of edgec's own: RuntimeError: a cosmic ray" in done.err
    assert facts.json["exit_code"] == 70
    reports = sorted((work / "tmp").glob("edgec-bug-*.json"))
    assert len(reports) == (2 if folder == "tmp" else 0)
    assert any(str(report.name) in done.err for report in reports) if reports else "Traceback" in done.err
    assert all("a cosmic ray" in report.read_text() and "fp32" in report.read_text() for report in reports)


@pytest.mark.parametrize(
    ("name", "verb"),
    [*((name, ["build", "--no-compile", "-o", "out"]) for name in ("SIGSEGV", "SIGABRT", "SIGKILL")),
     *(("SIGSEGV", [verb]) for verb in ("bench", "tune"))],
)  # fmt: skip
def test_native_code_that_ends_the_process_is_one_error_and_leaves_nothing(work: Path, name: str, verb: list[str]) -> None:
    """Samples stand for it here: a function of the user's own, which is called where ONNX Runtime and numpy compute, too."""
    temporary = work / "tmp"
    temporary.mkdir()
    Path("fatal.py").write_text(
        "import os, pathlib, signal, tempfile\n"
        "def samples():\n"
        "    pathlib.Path(tempfile.mkdtemp(), 'file').touch(); tempfile.NamedTemporaryFile(dir='.', delete=False)\n"
        f"    os.kill(os.getpid(), signal.{name})\n"
        "    yield {}\n"
    )
    command = [*EDGEC, *verb, "digits.onnx", "--calib", "fatal.py:samples"]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    for words in (command, [*command, "--json"]):
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 70 and f"of a library below it: the process was ended by {name}" in done.stderr, done.stderr
        assert ("when memory runs out" in done.stderr) == (name == "SIGKILL")
    assert json.loads(done.stdout)["exit_code"] == 70
    reports = [json.loads((temporary / report).read_text()) for report in names_in(temporary)]
    assert len(reports) == 2 and names_in(work) - {"__pycache__"} == FILES | {"fatal.py", "tmp"}
    assert all(any("fatal.py" in line for line in report["traceback"]) for report in reports if name != "SIGKILL")


def test_who_kills_the_program_kills_its_work(work: Path) -> None:
    Path("slow.py").write_text(
        "import os, pathlib, time\ndef samples():\n    pathlib.Path('started').write_text(str(os.getpid())); time.sleep(60); yield {}\n"
    )
    command = [*EDGEC, "build", "digits.onnx", "--calib", "slow.py:samples", "--no-compile", "-o", "out"]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wait_for(work / "started", running)
    running.kill()
    running.wait()
    worker = int((work / "started").read_text())
    assert worker != running.pid
    deadline = time.monotonic() + 30
    while Path(f"/proc/{worker}").exists() and "State:\tZ" not in Path(f"/proc/{worker}/status").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
