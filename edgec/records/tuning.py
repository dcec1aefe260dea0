"""What `edgec tune` found out: the fastest of the ways to compute each layer, by board. Builds read it as the words of a stranger."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from edgec.base.codec import Rule, decode, encode
from edgec.base.errors import Problem, UsageError
from edgec.base.harmless import without_controls
from edgec.base.strict_json import load_json

KIND, SCHEMA_VERSION = "edgec tuning", 1
LARGEST = 1 << 24  # bytes of a record
LONGEST = 1 << 16  # letters of a line: signatures may have expressions in them
SHOWN = 20  # problems that are told
_HINT = "give the file that `edgec tune` wrote, or tune into another one"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST and without_controls(value) == value and "\n" not in value


def _is_positive(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value <= 1e15 and math.isfinite(value)


Line = Annotated[str, Rule(_is_line, "a line of text")]
Name = Annotated[str, Rule(lambda value: isinstance(value, str) and _NAME.fullmatch(value) is not None, "a name")]
Positive = Annotated[float, Rule(_is_positive, "a number above 0")]
Kind = Annotated[str, Rule(lambda value: value == KIND, f'"{KIND}"')]
Version = Annotated[int, Rule(lambda value: type(value) is int and value == SCHEMA_VERSION, f"{SCHEMA_VERSION}, which this edgec reads")]


@dataclass(frozen=True)
class Compared:
    """A variant against the cost model's: microseconds of a layer's calls in one run, and their ratio with its 95 % interval, of rounds
    in which both took turns."""

    us: Positive
    base_us: Positive
    ratio: Positive
    low: Positive
    high: Positive


@dataclass(frozen=True)
class TunedLayer:
    """base: the cost model's variant when the others were `tried`. variant: what builds take instead, of a model that got no slower."""

    base: Name
    tried: Mapping[Name, Compared]
    variant: Name | None = None


@dataclass(frozen=True)
class TunedBoard:
    """What was found on boards of one kind: the processor, the instruction set that ran, and those of the package; layers by signature."""

    processor: Line
    vocabulary: Name
    vocabularies: tuple[Name, ...]
    compiler: Line
    edgec: Line
    layers: Mapping[Line, TunedLayer] = field(default_factory=dict)

    @property
    def key(self) -> tuple[object, ...]:
        return self.processor, self.vocabulary, self.vocabularies, self.compiler, self.edgec

    @property
    def choices(self) -> dict[str, str]:
        """By signature, what builds take."""
        return {name: layer.variant for name, layer in self.layers.items() if layer.variant is not None}


@dataclass(frozen=True)
class Tuning:
    """A whole record. Boards lie in the order in which they were tuned last: of several with the same instruction sets the last counts."""

    kind: Kind = KIND
    schema_version: Version = SCHEMA_VERSION
    boards: tuple[TunedBoard, ...] = ()

    @property
    def text(self) -> bytes:
        return (json.dumps(encode(self), indent=1, ensure_ascii=False) + "\n").encode()

    def board(self, vocabularies: tuple[str, ...]) -> TunedBoard | None:
        """What builds for these instruction sets go by."""
        return next((board for board in reversed(self.boards) if board.vocabularies == vocabularies), None)

    def like(self, board: TunedBoard) -> TunedBoard:
        """What is known of boards with the key of this one; itself where that is nothing."""
        return next((known for known in self.boards if known.key == board.key), board)

    def plus(self, board: TunedBoard, *, decided: bool) -> Tuning:
        """The record in which this is what is known of such boards; where that was decided, it is what builds go by from now on."""
        if not decided and any(known.key == board.key for known in self.boards):
            return replace(self, boards=tuple(board if known.key == board.key else known for known in self.boards))
        others = tuple(known for known in self.boards if known.key != board.key)
        return replace(self, boards=(*others, board) if decided else (board, *others))


def read_tuning(path: Path) -> tuple[Tuning, bytes]:
    """A record and its very bytes. UsageError for what is none, with all that is wrong."""
    try:
        if not path.is_file():
            raise UsageError("no such file" if not path.exists() else "is no file", where=str(path), hint="`edgec tune` writes it")
        with path.open("rb") as stream:
            text = stream.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"cannot read: {error.strerror}", where=str(path), hint=_HINT) from error
    problems: list[Problem] = []
    if len(text) > LARGEST:
        problems.append(Problem(f"is larger than {LARGEST} bytes"))
    raw = load_json(text, problems) if not problems else None
    tuning: Tuning = decode(Tuning, raw, "", problems) if raw is not None else Tuning()
    if problems:
        more = [Problem(f"and {len(problems) - SHOWN} more")] if len(problems) > SHOWN else []
        raise UsageError("not a record of edgec tune", [*problems[:SHOWN], *more], where=str(path), hint=_HINT)
    return tuning, text
