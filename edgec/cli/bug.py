"""Errors that no user can cause: a file that helps to mend them is written, and said."""

from __future__ import annotations

import contextlib
import json
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence

from edgec.base.errors import EdgecError
from edgec.base.version import __version__
from edgec.cli.guard import Death


def failed(arguments: Sequence[str]) -> int:
    """The exception that is being handled, as a bug of edgec's own; the exit code."""
    lines = traceback.format_exc().splitlines()
    return _told(arguments, "a bug of edgec's own", lines[-1], lines, "")


def died(arguments: Sequence[str], death: Death) -> int:
    """A signal that ended the work; the exit code."""
    what = f"the process was ended by {death.signal}"
    return _told(arguments, "a bug of edgec's own, or of a library below it", what, death.lines, death.following)


def _told(arguments: Sequence[str], whose: str, what: str, lines: Sequence[str], following: str) -> int:
    facts = {
        "version": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "arguments": list(arguments),
        "error": what,
        "traceback": list(lines),
    }
    report = ""
    with (
        contextlib.suppress(OSError),
        tempfile.NamedTemporaryFile("w", prefix="edgec-bug-", suffix=".json", delete=False, encoding="utf-8") as stream,
    ):
        json.dump(facts, stream, indent=1)
        report = stream.name
    if "--json" in arguments:
        failure = {"error": what, "where": "", "hint": following or whose, "problems": [], "exit_code": EdgecError.exit_code}
        print(json.dumps({"schema_version": 1, **failure, "report": report}, indent=1))
    sent = f"please send us {report}" if report else "\n  ".join(lines)
    print(f"error: {whose}: {what}\n  {'; '.join(filter(None, [following, sent]))}", file=sys.stderr)
    return EdgecError.exit_code
