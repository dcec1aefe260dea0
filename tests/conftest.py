"""Shared by all tests: what a test needs of the machine, and the law that CI skips nothing."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.calling import package, program, work  # noqa: F401  (fixtures of all rooms)
from tests.fuzz.frame import FUZZED
from tests.operators.summary import lines

T = TypeVar("T")
# program -> the Debian package that has it
PROGRAMS = {
    "gcc": "gcc",
    "clang": "clang",
    "ld.lld": "lld",
    "g++": "g++",
    "cmake": "cmake",
    "make": "make",
    "nm": "binutils",
    "objdump": "binutils",
    "valgrind": "valgrind",
    "qemu-aarch64": "qemu-user",
    "qemu-arm": "qemu-user",
    "qemu-riscv64": "qemu-user",
    "qemu-system-arm": "qemu-system-arm",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
    "arm-linux-gnueabihf-gcc": "gcc-arm-linux-gnueabihf",
    "riscv64-linux-gnu-gcc": "gcc-riscv64-linux-gnu",
    "glslangValidator": "glslang-tools",
    "glslc": "glslc",
    "spirv-val": "spirv-tools",
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "ssh-agent": "openssh-client",
    "ip": "iproute2",
    "tc": "iproute2",
    "iptables": "iptables",
    "adb": "adb",
    "chromium": "chromium",
    "faketime": "faketime",
    "wasm-ld": "lld",
    "node": "nodejs",
    "tsc": "node-typescript",
    "java": "openjdk-17-jdk-headless",
    "javac": "openjdk-17-jdk-headless",
    "npm": "npm",
    "zsh": "zsh",
    "fish": "fish",
    "pkg-config": "pkg-config",
}


def require(*programs: str) -> None:
    """Skip the test, naming the package to install, where a program is missing."""
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        packages = sorted({PROGRAMS.get(name, name) for name in missing})
        pytest.skip(f"needs {', '.join(missing)}: apt-get install {' '.join(packages)}")


def pytest_configure() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would all that tests start and interrupt.

    Every build is a whole one, but for kept_builds.
    """
    os.environ["EDGEC_CACHE"] = "no"
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest tests/passes tests/integer --bless` writes what is found into the lower halves of their .eir files; read the diff."""
    parser.addoption("--bless", action="store_true", help="rewrite the expected halves of the .eir files of tests/passes and tests/integer")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long ones start first, so that no worker is left with one in the end; `make test` leaves those marked thorough to `make test-all`."""
    if not os.environ.get("EDGEC_TEST_ALL"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("thorough")])
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    long = [item for item in items if item.get_closest_marker("long")]
    others = [item for item in items if not item.get_closest_marker("long")]
    items[:] = dealt(long, others, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1)))


def dealt(first: list[T], others: list[T], workers: int) -> list[T]:
    """All in an order of which each worker's part, as `--dist worksteal` cuts them at the start, begins with its share of `first`."""
    result, left = [], len(first) + len(others)
    for number in range(workers):
        share, count = first[number::workers], left // (workers - number)
        taken = max(0, count - len(share))
        result += share + others[:taken]
        others, left = others[taken:], left - count
    return result + others


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--bless"))


@pytest.fixture
def needs() -> Callable[..., None]:
    return require


@pytest.fixture(scope="module")
def quick_compiler() -> Iterator[None]:
    """Packages for this machine are compiled without optimization, for tests of what becomes of them then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", "gcc -O0")
        yield


@pytest.fixture(scope="module")
def kept_builds(shared: Path) -> Iterator[None]:
    """Builds find what others of this test run had in common with them, where what a build makes is no matter of the test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGEC_CACHE", "yes")
        patch.setenv("XDG_CACHE_HOME", str(shared / "cache"))
        yield


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this test run that all its workers see; see once()."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: many tests of devices wait."""
    return len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)) + 2


def once(folder: Path, make: Callable[[Path], object]) -> Path:
    """`folder`, which the first test of any worker that wants it makes, while the others wait. It is for reading only."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if lock.seek(0, os.SEEK_END) == 0:  # what another worker wrote while this one waited counts
            shutil.rmtree(folder, ignore_errors=True)  # what a failed test left
            folder.mkdir()
            make(folder)
            lock.write("made")
    return folder


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """With EDGEC_NO_SKIP (CI) a skipped test is a failure: something that should be installed is not."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("EDGEC_NO_SKIP") and reporter is not None and reporter.stats.get("skipped") and exitstatus == 0:
        reporter.write_line("EDGEC_NO_SKIP is set and tests were skipped", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The tables of tests/operators, and what the fuzzers counted: workers send them along with their reports."""
    reports = [report for key in ("passed", "failed") for report in terminalreporter.stats.get(key, [])]
    properties = [item for report in reports for item in report.user_properties]
    fuzzed = [line for key, text in properties if key == FUZZED for line in text.splitlines()]
    for title, found in (("operator cases", list(lines(properties))), ("fuzzers", fuzzed)):
        if found:
            terminalreporter.section(title)
            for line in found:
                terminalreporter.write_line(line)
