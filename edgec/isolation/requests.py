"""What the worker does for the compiler, as functions: they return what the worker found, or raise what it raised."""

from __future__ import annotations

import logging
import os
import signal
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from edgec.base.budget import Budget, BudgetError, exceeded
from edgec.base.errors import EdgecError, ModelError, Problem, UsageError
from edgec.base.part import WHOLE, Part
from edgec.frontend.domains.own import OwnCall
from edgec.frontend.file.outline import Outline
from edgec.frontend.load import Imported
from edgec.ir.graph import Graph
from edgec.ir.types import Symbol
from edgec.isolation.process import Died, messages
from edgec.isolation.worker import KILLED

FAMILIES: dict[str, type[EdgecError]] = {family.__name__: family for family in (ModelError, UsageError, BudgetError)}
Shapes = Mapping[str, Sequence[int | Symbol]]


def import_model(
    path: Path, shapes: Shapes, preprocess: Mapping[str, Any] | None, budget: Budget, *, codes: bool = False, part: Part = WHOLE,
    operators: bytes = b"",
) -> Iterator[Imported]:  # fmt: skip
    """The model as imported, then as optimized, with what else the import found. ModelError also when the worker does not survive it.

    codes: large matrices that the model has as codes stay so. operators: the bundle of those that the user defines.
    """
    told = {name: [[dim.name, dim.bound] if isinstance(dim, Symbol) else int(dim) for dim in dims] for name, dims in shapes.items()}
    notes: tuple[str, ...] = ()
    origin: dict[str, str] = {}
    misread: tuple[str, ...] = ()
    fixed: dict[str, np.ndarray] = {}
    calls: tuple[OwnCall, ...] = ()
    task = {"shapes": told, "preprocess": preprocess, "codes": codes, "part": asdict(part), "operators": b64encode(operators).decode()}
    for message in _answers(path, budget, task="read", **task):
        notes, origin = tuple(message.get("notes", notes)), message.get("origin", origin)
        misread = tuple(message.get("misread", misread))
        fixed |= {name: np.array(numbers, kind).reshape(shape) for name, kind, shape, numbers in message.get("fixed", ())}
        graph: Graph = message["graph"]
        calls = tuple(OwnCall(**call) for call in message["calls"]) if "calls" in message else calls
        yield Imported(graph, notes, origin, misread, fixed, calls)


def outline_model(path: Path, budget: Budget) -> Outline:
    (message,) = _answers(path, budget, task="outline")
    inputs, outputs = (tuple((name, kind, shape) for name, kind, shape in message[part]) for part in ("inputs", "outputs"))
    return Outline(message["operators"], inputs, outputs)


def _answers(path: Path, budget: Budget, **task: Any) -> Iterator[dict[str, Any]]:
    level = logging.getLogger("edgec").getEffectiveLevel()
    request = {"path": str(path), "folder": os.getcwd(), "budget": asdict(budget), "level": level, **task}
    failure: Exception | None = None
    try:
        for message in messages(request, budget.seconds):
            match message["kind"]:
                case "log":
                    logging.getLogger(message["name"]).log(message["level"], "%s", message["text"])
                case "error":
                    failure = _error(message)
                case "bug":
                    failure = RuntimeError(f"in the worker process:\n{message['text']}")
                case _:
                    yield message
    except Died as died:
        failure = _death(died, budget)
    if failure is not None:
        raise failure


def _error(message: Mapping[str, Any]) -> EdgecError:
    problems = [Problem(*item) for item in message["problems"]]
    return FAMILIES[message["family"]](message["summary"], problems, where=message["where"], hint=message["hint"])


def _death(died: Died, budget: Budget) -> ModelError:
    """What ended the worker, in a user's words."""
    number = -died.code if died.code < 0 else died.code - KILLED
    if died.late or number == getattr(signal, "SIGALRM", None):
        return exceeded("seconds", f"reading and optimizing it took longer than {budget.seconds} s")
    if number == getattr(signal, "SIGKILL", None):
        return exceeded("memory", "the system ended the process that read it, most likely for want of memory")
    known = {item.value: item.name for item in signal.Signals}
    how = known.get(number, f"exit code {died.code}")
    return ModelError(
        f"the process that read it crashed ({how})", hint="the file is damaged, or made to break its readers: export it again"
    )
