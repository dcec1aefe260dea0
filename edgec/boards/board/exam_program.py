"""Starting a package's exam program on a board, and believing nothing but well-formed answers."""

from __future__ import annotations

import json
import math
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from edgec.base.errors import DeviceError, GateError, Problem
from edgec.base.harmless import last_lines, printable
from edgec.boards.connect.connection import Answer, Connection
from edgec.boards.connect.connectors import program_words
from edgec.boards.connect.trouble import BoardTimeout, Flood
from edgec.records.results import ExamResult

SCHEMA_VERSION = 1
_WORD = re.compile(r"[a-z0-9_]{1,40}")
_HASH = re.compile(r"[0-9a-f]{64}")
# what shells, kernels and emulators say of a program of another processor or system; some shells read it as if it were a script
_FOREIGN = re.compile(
    rb"exec format error|invalid elf image|cannot execute binary file|could not open '/lib|not executable: (32|64)-bit elf"
    rb"|\x7felf|syntax error",
    re.I,
)
_MISSING = re.compile(rb"not found|no such file", re.I)
_SIGNAL_HINTS: Mapping[str, str] = {
    "SIGILL": "the processor lacks an instruction that the package uses: build for the right target, or force a vocabulary with --isa",
    "SIGKILL": "the board may be out of memory, or somebody ended it",
    "SIGSEGV": "try another vocabulary (--isa), and send us the package",
    "SIGBUS": "try another vocabulary (--isa), and send us the package",
}


class ProgramFailed(DeviceError):
    """The board is fine, the exam program is not: it did not start, crashed, or answered with garbage."""


class ProgramHung(ProgramFailed, BoardTimeout):
    """The exam program did not end in time, on a board that answers."""


def start(connection: Connection, program: str, *arguments: str, accepted: Sequence[int] = (0,)) -> dict[str, Any]:
    """The JSON object that one start of the exam program prints; arguments go after --json.

    ProgramFailed, in words, for a status that is not accepted and for an answer that is no strict JSON object of our schema;
    ProgramHung when it takes longer than limits.run; DeviceErrors of the connection pass.
    """
    device = connection.device
    try:
        answer = connection.execute(program_words(device, program, "--json", *arguments), seconds=device.limits.run)
    except BoardTimeout as error:
        hint = "it hangs, or the board is too slow for it: raise limits.run of this board in the inventory"
        what = f"the exam program did not end within {device.limits.run:g} s, and was killed"
        raise ProgramHung(what, error.problems, where=device.name, hint=hint) from error
    except Flood as error:
        raise ProgramFailed(error.summary, error.problems, where=device.name, hint=error.hint) from error
    if answer.status not in accepted:
        raise _ended(device.name, answer)
    if not answer.output.strip():
        raise _ended(device.name, answer) if answer.status else garbage(connection, "it said nothing", answer.errors)
    try:
        facts = json.loads(answer.output, parse_constant=_number, parse_float=_number)
    except (ValueError, RecursionError):
        if answer.status:
            raise _ended(device.name, answer) from None
        raise garbage(connection, "its answer is no JSON", answer.output) from None
    if not isinstance(facts, dict) or facts.get("schema_version") != SCHEMA_VERSION:
        raise garbage(connection, f"its answer is not of schema version {SCHEMA_VERSION}", answer.output)
    return facts


def examine(
    connection: Connection, program: str, *, isa: str | None = None, threads: int = 1, gpu: bool = False, listing: str = ""
) -> ExamResult:
    """Give the exam on the board. Wrong answers are a result that did not pass; ProgramFailed when there is no result.

    listing: sha256 of the files.json that the program is to check the files around it by; "" for no such check. GateError when one of
    them is not what came.
    """
    choices = ["--threads", str(threads), *(["--isa", isa] if isa else []), *(["--gpu"] if gpu else []), *(["--files"] if listing else [])]
    facts = start(connection, program, *choices, accepted=(0, 1))
    try:
        result = _result(facts)
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise garbage(connection, str(error), json.dumps(facts)[:200]) from error
    if listing and (facts.get("list_sha256") != listing or facts.get("files_passed") is not True):
        problems = [Problem("is missing on the board, or was changed there", printable(str(path), 200)) for path in _changed(facts)]
        hint = "deploy it again; if it stays so, the board's disk is worn out or somebody else writes there"
        raise GateError("the files on the board are not those of the package", problems, where=connection.device.name, hint=hint)
    return result


def verdict(result: ExamResult) -> str:
    """Why an exam did not pass, in words; "" when it did."""
    if result.passed:
        return ""
    apart = f", the largest difference is {result.difference:.3g}" if result.difference else ""
    return f"the exam failed with vocabulary {result.isa}: an answer or the weights are not those of the package{apart}"


def garbage(connection: Connection, why: str, said: bytes | str) -> ProgramFailed:
    """The error for an answer that is not what an exam program prints."""
    problems = [Problem(line) for line in last_lines(printable(said, 400), 3)]
    hint = "is the program on the board the one of the package? deploy it again"
    return ProgramFailed(
        f"the exam program answered with garbage: {printable(why, 200)}", problems, where=connection.device.name, hint=hint
    )


def _ended(board: str, answer: Answer) -> ProgramFailed:
    """Why the program ended as it did, with its last words."""
    problems = [Problem(line) for line in last_lines(answer.errors or answer.output)]
    name = _signal(answer.status)
    if name:
        hint = _SIGNAL_HINTS.get(name, "run the exam again; if it stays so, send us the package")
        return ProgramFailed(f"the exam program was killed by signal {name}", problems, where=board, hint=hint)
    if _FOREIGN.search(answer.errors):
        hint = "it was built for another processor or system: build for the board's target, or give the board a `prefix`"
        return ProgramFailed("the exam program cannot start", [] if b"\x7fELF" in answer.errors else problems, where=board, hint=hint)
    if answer.status in (126, 127):
        hint = "may programs be started in the board's `work` folder (mount option noexec), and is its loader there?"
        if answer.status == 127 and _MISSING.search(answer.errors):
            hint = "is the `prefix` installed on the board, and is the program's loader (libc) there?"
        return ProgramFailed("the exam program cannot start", problems, where=board, hint=hint)
    hint = "run it on the board by hand to see more"
    return ProgramFailed(f"the exam program ended with status {answer.status}", problems, where=board, hint=hint)


def _signal(status: int) -> str:
    """Of a status of 128 + N: the name of signal N; "" for any other."""
    try:
        return signal.Signals(status - 128).name
    except ValueError:
        return f"{status - 128}" if 128 < status <= 192 else ""


def _changed(facts: Mapping[str, Any]) -> list[object]:
    """What the program says of files, if it says anything."""
    found = facts.get("files_changed")
    return found[:8] if isinstance(found, list) and found else ["files.json"]


def _result(facts: Mapping[str, Any]) -> ExamResult:
    """KeyError, TypeError or ValueError for what an exam does not say."""
    vectors = _typed(facts, "vectors", list)
    outputs = [output for vector in vectors for output in _typed(vector, "outputs", list)]
    hashes = tuple(_text(output, "sha256", _HASH) for output in outputs)
    exact = [_typed(output, "exact", bool) for output in outputs]
    apart = [_difference(output) for output, must in zip(outputs, exact, strict=True) if not must]
    good = [_typed(item, "passed", bool) for item in (*outputs, *vectors)]
    passed = _typed(facts, "passed", bool)
    if passed != (all(good) and _typed(facts, "weights_passed", bool) and facts.get("files_passed", True) is True):
        raise ValueError("its verdict contradicts its findings")
    return ExamResult(passed, len(vectors), all(exact), max(apart, default=0.0), _text(facts, "isa", _WORD), hashes)


def _difference(output: Mapping[str, Any]) -> float:
    value = output["difference"]
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise ValueError("a difference is no number")
    return float(value)


def _typed(facts: Any, key: str, kind: Callable[..., Any]) -> Any:
    value = facts[key]
    if type(value) is not kind:
        raise TypeError(f"{key} has the wrong type")
    return value


def _text(facts: Any, key: str, pattern: re.Pattern[str]) -> str:
    value = str(_typed(facts, key, str))
    if not pattern.fullmatch(value):
        raise ValueError(f"{key} is not what it should be")
    return value


def _number(text: str) -> float:
    """Finite numbers only."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a number")
    return value
