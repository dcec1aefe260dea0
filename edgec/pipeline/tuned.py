"""A tuning record as a build goes by it, and what tuning has to know of a build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgec.base.harmless import printable
from edgec.package.manifest import sha256
from edgec.pipeline.prepare import Plan
from edgec.program.program import Program
from edgec.records.tuning import read_tuning
from edgec.schedule.ways import unfit
from edgec.targets import Target
from edgec.toolchain import version_of

SHOWN = 5  # choices that are of no use, each with its reason


@dataclass(frozen=True)
class RecordedChoices:
    """by_layer: by signature the variant that was measured to be the fastest. about: where that was, in words."""

    by_layer: Mapping[str, str] = field(default_factory=dict)
    sha256: str | None = None
    about: str = ""

    def notes(self, programs: Sequence[Program], target: Target) -> list[str]:
        """What a package's reader should know of it."""
        if self.sha256 is None:
            return []
        if not self.by_layer:
            return [f"the tuning record chooses nothing for {', '.join(target.vocabularies)}: the cost model chose"]
        wrong = list(dict.fromkeys(line for program in programs for line in unfit(program, target, self.by_layer)))
        more = [f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        ignored = [f"the tuning record is not obeyed in all: {'; '.join([*wrong[:SHOWN], *more])}"] if wrong else []
        return [f"tuned as measured on {self.about}", *ignored]


def read_tuned(path: Path | None, target: Target) -> RecordedChoices:
    """What a record says for the instruction sets of a target. UsageError where it is none."""
    if path is None:
        return RecordedChoices()
    tuning, text = read_tuning(path)
    board = tuning.board(target.vocabularies)
    if board is None:
        return RecordedChoices(sha256=sha256(text))
    return RecordedChoices(board.choices, sha256(text), f"{board.processor} ({board.vocabulary}) with {board.compiler}")


def compiler_of(planned: Plan) -> str:
    """Which compiler it is, in a line."""
    return " ".join(printable(version_of(planned.compiler)).split()) if planned.compiler is not None else "none"
