"""Where the ways to compute a model's layers are built and measured, and how much time is left for that."""

from __future__ import annotations

import getpass
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from edgec.base.output import replace_file
from edgec.base.version import __version__
from edgec.boards.board.measure import Options
from edgec.boards.deploy.parcel import Parcel, open_parcel
from edgec.boards.device import Device
from edgec.boards.farm.contest import compete
from edgec.boards.farm.gates import Gates
from edgec.boards.farm.job import Task
from edgec.pipeline.finish import build
from edgec.pipeline.models import Progress
from edgec.pipeline.prepare import Plan
from edgec.records.results import Job
from edgec.records.tuning import TunedBoard, TunedLayer, Tuning


@dataclass
class Clock:
    """Seconds that may be spent, of which as many are left as the longest step so far says."""

    most: float
    longest: float = 0.0
    began: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> float:
        return time.monotonic() - self.began

    def has_room(self, steps: int) -> bool:
        """Whether so many steps more would probably end in time."""
        return self.spent + steps * self.longest <= self.most

    def note_step(self, begun: float) -> None:
        """A step has ended that began when so much was spent."""
        self.longest = max(self.longest, self.spent - begun)


@dataclass(frozen=True)
class Lab:
    """A planned build, a board, and a folder for what is measured there. options: of whole packages."""

    plan: Plan
    device: Device
    options: Options
    folder: Path
    retries: int
    allow_downgrade: bool
    progress: Progress | None
    tell: Callable[[str], None] | None

    def say(self, words: str) -> None:
        if self.tell is not None:
            self.tell(words)

    def built(self, name: str, choices: Mapping[str, str] | None = None) -> Parcel:
        """The package with these variants of layers, by a record as any build goes by one; none for the cost model's."""
        config = replace(self.plan.config, out=self.folder / name)
        if choices is not None:
            record = self.folder / f"{name}.json"
            layers = {layer: TunedLayer(variant, {}, variant) for layer, variant in choices.items()}
            board = TunedBoard(self.device.name, "any", self.plan.target.vocabularies, "any compiler", __version__, layers)
            replace_file(record, Tuning(boards=(board,)).text)
            config = replace(config, tuned=record)
        return open_parcel(build(self.plan.model, config, self.progress).directory)

    def raced(self, *parcels: Parcel, layers: bool) -> list[Job]:
        """The job of each, measured side by side: every layer, on one thread, or all of it. Errors are compete()'s."""
        options = replace(self.options, profile=True, threads=(1,)) if layers else self.options
        owner = f"{getpass.getuser()}@{socket.gethostname()} (edgec tune, process {os.getpid()})"
        task = Task(self.device, parcels, options, Gates(), None, owner, self.allow_downgrade)
        results = self.folder / f"{len(list(self.folder.glob('*.jsonl')))}.jsonl"
        return compete(task, results, retries=self.retries, tell=self.tell)
