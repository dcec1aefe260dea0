"""What the fuzzers share: trials by seed and number, in workers that may hang, run out of memory or die, and the finds they leave.

A fuzzer is a module of this folder with a function `make() -> Trial` and, where CPU_SECONDS is not what its trials may take, a number of
that name. Its trial is given a generator, seeded by (seed, number), and an empty folder, which is the current one; it returns an Outcome,
or raises: what it raises is a find, and whatever it left in the folder is kept with it.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import resource
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

import numpy as np

CPU_SECONDS = 20  # of one trial; more is a find
WALL_FACTOR = 12  # after so many times CPU_SECONDS a worker that does not even notice its alarm is ended
MEMORY = 6 << 30  # address space of a worker, of which ONNX Runtime and its threads take about one
LIFETIME = 2000  # trials of one worker process: what leaks must not become a find
FUZZED = "fuzzed"  # the property of a test that says what it counted; conftest.py prints it at the end
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    """How a trial ended: words that are counted, and the operators it reached."""

    counts: Mapping[str, int]
    operators: frozenset[str] = frozenset()


Trial = Callable[[np.random.Generator, Path], Outcome]


class OverBudget(BaseException):
    """A trial took too long. No `except Exception` of the code under test may swallow it."""


class Wrong(AssertionError):
    """A law that a trial broke; `key` makes finds of one cause one."""

    def __init__(self, key: str, what: str) -> None:
        super().__init__(f"{key}: {what}")
        self.key = key


@dataclass(frozen=True)
class Find:
    """`key` names the cause, by the innermost place in edgec where one is known; `number` is that of its trial."""

    key: str
    number: int
    what: str


@dataclass
class Tally:
    """What a run counted. finds: by key, how often and the first of them."""

    trials: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    finds: dict[str, tuple[int, Find]] = field(default_factory=dict)

    def add(self, result: Outcome | Find) -> None:
        self.trials += 1
        if isinstance(result, Find):
            count, first = self.finds.get(result.key, (0, result))
            self.finds[result.key] = count + 1, first
            self.kinds["find"] += 1
            return
        self.kinds.update(result.counts)
        self.operators.update(result.operators)

    def lines(self) -> Iterator[str]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items()))
        yield f"{self.trials} trials: {kinds}; {len(self.operators)} operators reached"
        for key, (count, first) in sorted(self.finds.items(), key=lambda item: -item[1][0]):
            yield f"find {key}: {count} times, first in trial {first.number}: {first.what}"


@dataclass(frozen=True)
class Task:
    """What a worker does: the trials number, number + step, ... of a fuzzer until the count or the time is spent."""

    fuzzer: str
    seed: int
    step: int
    end: int
    deadline: float
    finds: Path


def fuzz(
    fuzzer: str, seed: int, *, seconds: float, finds: Path, workers: int = 1, first: int = 0, count: int = 1 << 60,
    tell: Callable[[Tally], None] = lambda tally: None,
) -> Tally:  # fmt: skip
    """Run trials of the fuzzer until `seconds` or `count` are spent; finds are written below `finds`, a folder for each key."""
    task = Task(fuzzer, seed, workers, first + count, time.monotonic() + seconds, finds)
    tally, active = Tally(), {}
    for number in range(first, min(first + workers, first + count)):
        worker = _Worker(task, number)
        active[worker.pipe] = worker
    while active:
        for pipe in wait(list(active), timeout=5):
            worker = active[pipe]  # type: ignore[index]
            if not worker.receive(tally, tell):
                del active[worker.pipe]
                following = worker.successor(tally)
                if following is not None:
                    active[following.pipe] = following
        for worker in active.values():
            worker.watch()
    return tally


class _Worker:
    """A worker process as the parent sees it. It dies with its first fatal trial, and a successor goes on behind that."""

    def __init__(self, task: Task, number: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe(duplex=False)
        self.task, self.number = task, number
        self.process: SpawnProcess = context.Process(target=_work, args=(task, number, other), daemon=True)
        self.process.start()
        other.close()
        self.finished, self.started, self.folder = False, time.monotonic(), ""
        self.patience = WALL_FACTOR * cpu_seconds(task.fuzzer)

    def receive(self, tally: Tally, tell: Callable[[Tally], None]) -> bool:
        """Take one message; False when there will be no more."""
        try:
            message = self.pipe.recv()
        except EOFError:
            self.process.join()
            return False
        if isinstance(message, str):  # the folder of a trial that begins
            self.folder, self.started = message, time.monotonic()
        elif message is None:
            self.finished = True
        else:
            tally.add(message)
            tell(tally)
            self.number += self.task.step
            self.folder = ""
        return True

    def watch(self) -> None:
        """End a process whose trial does not come back."""
        if self.folder and time.monotonic() - self.started > self.patience:
            self.process.kill()

    def successor(self, tally: Tally) -> _Worker | None:
        """The worker that goes on; a trial that ended its process is a find."""
        if self.folder:
            code = self.process.exitcode or 0
            cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            find = Find(f"died of {cause}", self.number, f"the process ended with {cause}")
            keep(self.task, find, "", Path(self.folder))
            shutil.rmtree(self.folder, ignore_errors=True)
            tally.add(find)
            self.number += self.task.step
        elif not self.finished and self.process.exitcode:
            raise RuntimeError(f"the fuzzer {self.task.fuzzer} does not start, see above")
        over = time.monotonic() > self.task.deadline or self.number >= self.task.end
        return None if over else _Worker(self.task, self.number)


def cpu_seconds(fuzzer: str) -> float:
    return float(getattr(importlib.import_module(f"tests.fuzz.{fuzzer}"), "CPU_SECONDS", CPU_SECONDS))


def _work(task: Task, number: int, pipe: Connection) -> None:
    """The body of a worker process."""
    trial: Trial = importlib.import_module(f"tests.fuzz.{task.fuzzer}").make()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _alarm)
    limit = cpu_seconds(task.fuzzer)
    for _ in range(LIFETIME):
        if number >= task.end or time.monotonic() > task.deadline:
            break
        folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        pipe.send(str(folder))
        pipe.send(_attempt(task, trial, number, folder, limit))
        shutil.rmtree(folder, ignore_errors=True)
        number += task.step
    pipe.send(None)


def _alarm(number: int, frame: object) -> None:
    raise OverBudget("too much CPU time")


def _attempt(task: Task, trial: Trial, number: int, folder: Path, limit: float) -> Outcome | Find:
    here = os.getcwd()
    os.chdir(folder)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        return trial(np.random.default_rng([task.seed, number]), folder)
    except (Exception, OverBudget) as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        find = Find(key_of(error), number, f"{type(error).__name__}: {error}"[:300])
        keep(task, find, "".join(traceback.format_exception(error)), folder)
        return find
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        os.chdir(here)


def key_of(error: BaseException) -> str:
    """The kind of the error and the innermost place in edgec; what took too much, the outermost that does work; a broken law's own key."""
    if isinstance(error, Wrong):
        return error.key
    told = re.findall(r'File "(.+?)", line \d+, in (\w+)', str(error))  # by a process of its own
    found = [(item.filename, item.name) for item in traceback.extract_tb(error.__traceback__) if item.name != "_alarm"]
    places = [(_short(file), name) for file, name in [*found, *told]]
    inner = [place for place in places if place[0].startswith("edgec/")]
    if isinstance(error, (OverBudget, MemoryError, RecursionError)):
        inner = [place for place in inner if place[0].count("/") > 1][:1] or inner
    file, function = (inner or places)[-1]
    return f"{type(error).__name__} in {file}:{function}"


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def keep(task: Task, find: Find, text: str, folder: Path) -> None:
    """Write a find below its key's folder, unless a smaller one lies there."""
    home = task.finds / re.sub(r"[^0-9A-Za-z.]+", "_", find.key)[:100]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    note = home / "find.txt"
    if note.is_file() and int(note.read_text().split()[0]) <= size:
        return
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(folder, home, symlinks=True)
    repeat = f"python -m tests.fuzz {task.fuzzer} --seed {task.seed} --first {find.number} --count 1"
    note.write_text(f"{size} bytes\n{repeat}\n{find.key}\n{find.what}\n{text}")
