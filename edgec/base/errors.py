"""The error tree: one family for each exit code, and every message says what, where and the next step."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

NAMED = 3  # nodes that a line names, where more have the same problem
LISTED = 30  # known words that a hint lists
LONGEST = 1000  # characters of what, of where and of a hint: names and equations of a file have any number
_NODE = re.compile(r"(?P<name>.+) (?P<kind>\([^()]+\))", re.DOTALL)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: `what` happened, `where` (a node, a file, a key), and the `hint` that leads on."""

    what: str
    where: str = ""
    hint: str = ""

    def __post_init__(self) -> None:
        for name in ("what", "where", "hint"):
            object.__setattr__(self, name, shortened(getattr(self, name)))

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        return f"{line}    hint: {self.hint}" if self.hint else line


def shortened(text: str) -> str:
    """As much of a long text as a person reads: its beginning and its end, which names of one file differ in."""
    half = (LONGEST - 50) // 2  # the words between have room, so that nothing is shortened twice
    return text if len(text) <= LONGEST else f"{text[:half]} [... {len(text) - 2 * half:,} characters ...] {text[-half:]}"


def gathered(problems: Iterable[Problem]) -> list[Problem]:
    """One for each cause: nodes of one operator, `NAME (OPERATOR)`, with the same problem share a line, which names some of them.

    Where their hints differ, the first stands for all.
    """
    causes: dict[tuple[str, str], list[tuple[str, str]]] = {}  # what is wrong and with what operator -> names and hints
    for item in problems:
        node = _NODE.fullmatch(item.where)
        key = (item.what, node["kind"]) if node else (item.what, item.where)
        causes.setdefault(key, []).append((node["name"] if node else "", item.hint))
    return [_joint(what, place, nodes) for (what, place), nodes in causes.items()]


def _joint(what: str, place: str, nodes: list[tuple[str, str]]) -> Problem:
    hints = list(dict.fromkeys(hint for _, hint in nodes))
    others = f" (the first of {len(hints)} such)" if len(hints) > 1 else ""
    names = [name for name, _ in nodes if name]
    return Problem(what, f"{some(names)} {place}" if names else place, f"{hints[0]}{others}")


def some(names: list[str]) -> str:
    """`a, b, c and 5 more`."""
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")


class EdgecError(Exception):
    """Base of every error a user can cause. `problems` holds all of them, not the first only."""

    exit_code = 70

    def __init__(self, summary: str, problems: Iterable[Problem] = (), *, where: str = "", hint: str = "") -> None:
        self.summary, self.where, self.hint = shortened(summary), shortened(where), shortened(hint)
        self.problems = tuple(problems)
        super().__init__(self.render())

    def render(self) -> str:
        """The message as the command line prints it after `error: `."""
        head = str(Problem(self.summary, self.where, self.hint))
        return "\n".join([head, *(f"  {problem}" for problem in gathered(self.problems))])


class GateError(EdgecError):
    """A check that the user asked for failed: accuracy, latency, an exam."""

    exit_code = 1


class UsageError(EdgecError):
    """A flag, a configuration key, a data file or a path is wrong."""

    exit_code = 2


class ModelError(EdgecError):
    """The model is broken or uses what edgec does not support."""

    exit_code = 3


class ToolchainError(EdgecError):
    """No compiler, or a compiler that failed."""

    exit_code = 4


class DeviceError(EdgecError):
    """A device could not be reached, or answered wrongly."""

    exit_code = 5


CUT = "cut the graph before it"


def cut_hint(read: Iterable[str], made: Iterable[str]) -> str:
    """CUT with the flags that do so, before a node that reads these computed tensors; behind it where it reads none."""
    flags = [f"--output {tensor}" for tensor in dict.fromkeys(read) if tensor]
    if flags:
        return f"{CUT}: {' '.join(flags)}"
    return f"{CUT.replace('before', 'behind')}: {' '.join(f'--input {tensor}=SHAPE' for tensor in made if tensor)}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint for an unknown word: the nearest known one, else all of them where they are few."""
    from difflib import get_close_matches

    choices = sorted(known)
    near = get_close_matches(word, choices, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known: {', '.join(choices)}" if len(choices) <= LISTED else ""
