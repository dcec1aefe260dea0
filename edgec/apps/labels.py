"""The file of --labels: the classes' names, one in a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from edgec.base.errors import Problem, UsageError

MOST_LABELS = 65536
MOST_LABEL_BYTES = 1 << 20  # of the whole file
MOST_OBJECTIONS = 20  # that are shown of a file
LONGEST_LABEL = 1000  # bytes of one; C99 promises literals of 4095


def read_labels(path: Path | None) -> tuple[str, ...]:
    """The lines of a label file, in UTF-8; empty lines at its end do not count. UsageError where it cannot be one."""
    if path is None:
        return ()
    where, hint = str(path), "give a text file with one label in a line"
    try:
        with path.open("rb") as file:
            data = file.read(MOST_LABEL_BYTES + 1)
        lines = data.decode("utf-8-sig").replace("\r\n", "\n").rstrip("\n").split("\n") if len(data) <= MOST_LABEL_BYTES else []
    except OSError as error:
        raise UsageError(f"cannot read the labels: {error.strerror}", where=where, hint=hint) from error
    except UnicodeDecodeError as error:
        words = f"the labels are not UTF-8: {error.reason} at byte {error.start}"
        raise UsageError(words, where=where, hint="save the file as UTF-8") from error
    if lines == [""]:
        raise UsageError("holds no labels", where=where, hint=hint)
    if not 0 < len(lines) <= MOST_LABELS:
        raise UsageError(f"holds more than {MOST_LABELS} labels, or {MOST_LABEL_BYTES} bytes", where=where, hint=hint)
    problems = [Problem(words, f"{where}:{number}") for number, line in enumerate(lines, 1) for words in _objections(line)]
    if problems:
        raise UsageError(f"{len(problems)} labels cannot be used", problems[:MOST_OBJECTIONS], hint=hint)
    return tuple(lines)


def _objections(line: str) -> Iterator[str]:
    """Characters that are no part of a name: those that control, and those that change the direction of the text around them."""
    if not line.isprintable():
        code = next(ord(letter) for letter in line if not letter.isprintable())
        yield f"has a character that cannot be shown (U+{code:04X})"
    if len(line.encode()) > LONGEST_LABEL:
        yield f"is longer than {LONGEST_LABEL} bytes"
