"""How far a verb is: one line on a terminal, with the stage, its share, a total and the expected time; a line a stage elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import rich.console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

# stage of a build, in order -> its usual share of the time, and the word of what makes it happen
STAGES = {
    "reading the model": (3, ""),
    "ordering channels": (4, "prune"),
    "trying channels": (12, "prune"),
    "refitting": (8, "prune"),
    "ranges": (6, "int8"),
    "answers": (3, "int8"),
    "trials": (6, "int8"),
    "ranges by output error": (4, "int8"),
    "means": (2, "int8"),
    "histograms": (4, "int8"),
    "weights": (4, "int8"),
    "rounding": (16, "int8"),
    "bias correction by propagated error": (4, "int8"),
    "layers that are kept": (12, "goal"),
    "report": (4, "int8"),
    "comparing": (4, "int8"),
    "asking the model": (4, "float"),
    "lowering": (3, ""),
    "writing the exam": (3, ""),
    "emitting": (6, ""),
    "found in the cache": (0, ""),
    "compiling": (30, "compile"),
    "making wheels": (3, "wheel"),
    "examining": (5, "compile"),
}
EARLY = 0.03  # of the work: before it nobody knows how long the rest takes


def expected(words: Iterable[str]) -> dict[str, int]:
    """The stages, and their shares, of a build of which these words are true."""
    true = {"", *words}
    return {stage: share for stage, (share, word) in STAGES.items() if word in true}


class ProgressDisplay:
    """`shares`: the stages to expect, in order, with their shares of the whole; without, each stage is a whole of its own.

    apart: stages that are under way at once, as boards are, each on a line of its own.
    """

    def __init__(
        self, console: rich.console.Console, *, enabled: bool, shares: Mapping[str, int] | None = None, apart: bool = False
    ) -> None:
        self._console, self._enabled, self._shares = console, enabled, dict(shares or {})
        self._total, self._apart, self._told = sum(self._shares.values()), apart, ""
        columns = [
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[whole]}"),
            _Clock(table_column=Column(no_wrap=True)),
        ]
        self._line = Progress(*columns, console=console, disable=not self._live)
        self._tasks = {} if apart else {"": self._line.add_task("", total=self._total or None, whole="")}
        self._started = time.monotonic()

    @property
    def _live(self) -> bool:
        return self._enabled and self._console.is_terminal

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` steps of `stage` are finished; a total of 0 is not known."""
        if not self._enabled:
            return
        new = stage not in self._tasks if self._apart else stage != self._told
        self._told = stage
        if new and not self._live:
            self._console.print(f"[{time.monotonic() - self._started:6.1f} s] {stage}", markup=False)
        if new and self._apart:
            self._tasks[stage] = self._line.add_task("", total=None, whole="")
        task = self._tasks[stage if self._apart else ""]
        part = min(done / total, 1.0) if total else 0.0
        count = "" if total == 1 else f" {part:.0%}" if total else f" {done}"
        if not self._shares:
            self._line.update(task, description=f"{stage}{count}", completed=done, total=total or None)
            return
        reached = self._reached(stage, part)
        share = f" ({self._shares[stage] / self._total:.0%} of all)" if self._shares.get(stage) else ""
        self._line.update(task, description=f"{stage}{count}{share}", completed=reached, whole=f"{reached / self._total:.0%}")

    def _reached(self, stage: str, part: float) -> float:
        """The shares of what is done; a total never falls, whatever comes twice or is not expected."""
        before = self._line.tasks[0].completed
        if stage not in self._shares:
            return before
        names = list(self._shares)
        return max(before, sum(self._shares[name] for name in names[: names.index(stage)]) + part * self._shares[stage])

    def __enter__(self) -> ProgressDisplay:
        self._line.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        """What ended well is all done."""
        if failure[:1] == (None,) and self._told and not self._apart:
            self._line.update(self._tasks[""], description="done", completed=self._total or 1, total=self._total or 1, whole="100%")
        self._line.__exit__(*failure)


class _Clock(ProgressColumn):
    """`0:04 of about 0:11`."""

    def render(self, task: Task) -> Text:
        elapsed = (task.finished_time if task.finished else task.elapsed) or 0.0
        part = task.completed / task.total if task.total else 0.0
        whole = "" if task.finished or part < EARLY else f" of about {_clock(elapsed / part)}"
        return Text(_clock(elapsed) + whole, style="progress.elapsed")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
