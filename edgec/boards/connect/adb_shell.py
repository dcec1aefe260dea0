"""How a command runs in a phone's shell: a wrapper that tells its end apart from a line that was cut, and leaves nothing running."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence

HOME = "/data/local/tmp"  # on Android the one place where a shell's user may write and execute

# $0: the marker, $1: seconds until everything here is killed, for the case that nobody on our side can (0: never).
# It says its own process group first and the command's status last; its last act ends whatever the command left behind.
_WRAPPER = """
marker=$0; seconds=$1; shift
cd HOME_FOLDER 2>/dev/null || cd
printf '%s %010d\\n' "$marker" $$ >&2
if [ "$seconds" -gt 0 ]; then (sleep "$seconds"; kill -9 -$$) </dev/null >/dev/null 2>&1 & fi
"$@"
printf '%s %010d\\n' "$marker" $? >&2
kill -9 -$$ 2>/dev/null
""".replace("HOME_FOLDER", HOME)
_DIGITS = 10
_GRACE = 5.0  # seconds after our own time-out


def wrapped(command: Sequence[str], marker: str, seconds: float | None) -> str:
    """Text for `adb shell`. Every word goes through as it is."""
    limit = math.ceil(seconds + _GRACE) if seconds is not None else 0
    return "exec " + shlex.join(["sh", "-c", _WRAPPER, marker, str(limit), *command])


def greeting_bytes(marker: str) -> int:
    """Length of the line that comes first on the error stream."""
    return len(marker) + 1 + _DIGITS + 1


def group_of(greeting: bytes, marker: str) -> int | None:
    """The process group that the first line names; None when the wrapper did not start."""
    found = re.match(rb"%s (\d{10})\n" % marker.encode(), greeting)
    return int(found[1]) if found else None


def ending(errors: bytes, marker: str) -> tuple[int, bytes] | None:
    """The command's status and its own words on the error stream (with the greeting or after it); None when the line was cut."""
    found = re.fullmatch(rb"(?:%s \d{10}\n)?(.*)%s (\d{10})\n" % (marker.encode(), marker.encode()), errors, re.DOTALL)
    return (int(found[2]), found[1]) if found else None
