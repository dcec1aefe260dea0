"""A sign of life on a board: who uses it, since when, and for how long silence is to be respected.

No clock of a calendar is used: ages come from the board's time since its boot, and a mark of another boot is dead. Where a board has no
/proc (macOS) that time is `date +%s` less `sysctl kern.boottime`, and a boot is another one when the time since it is shorter than the
mark's. Where there is not even that, on this machine alone, it is Python's monotonic clock.
"""

from __future__ import annotations

import json
import math
import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass

from edgec.base.errors import DeviceError
from edgec.base.harmless import printable
from edgec.boards.connect.connection import Connection

MOST_OWNER = 100  # characters
CLOCKS = ("/proc/uptime", "/proc/sys/kernel/random/boot_id")
_MOST_SECONDS = 1e10
_BOOT_TIME = re.compile(rb"sec = (\d+)")


@dataclass(frozen=True)
class Moment:
    """A board's own time: seconds since its boot, and which boot that was ("" where it does not tell)."""

    boot: str
    uptime_s: float


@dataclass(frozen=True)
class Mark:
    """uptime_s: the last sign of life; since_s: when the board was taken; limit_s: silence that ends the lock."""

    owner: str
    boot: str
    uptime_s: float
    limit_s: float
    since_s: float

    def encode(self) -> bytes:
        return (json.dumps(asdict(self)) + "\n").encode()

    def age(self, now: Moment) -> float:
        """Seconds since the last sign of life, at a moment after it was read; infinite when the board was started anew in between."""
        same = self.boot == now.boot and now.uptime_s >= self.uptime_s
        return now.uptime_s - self.uptime_s if same else math.inf

    def is_alive(self, now: Moment) -> bool:
        return self.age(now) <= self.limit_s

    @property
    def who(self) -> str:
        """The owner in printable words."""
        return printable(self.owner, MOST_OWNER).replace("\n", " ").strip() or "somebody without a name"


def parse_mark(content: bytes) -> Mark | None:
    """None for what nobody could mean as a mark."""
    try:
        facts = json.loads(content)
        texts = [facts[key] for key in ("owner", "boot")]
        numbers = [_finite(facts[key]) for key in ("uptime_s", "limit_s", "since_s")]
        if not all(isinstance(text, str) and len(text) <= 1000 for text in texts) or min(numbers) < 0 or max(numbers) > _MOST_SECONDS:
            return None
        return Mark(texts[0], texts[1], numbers[0], numbers[1], numbers[2])
    except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None


def moment(connection: Connection) -> Moment:
    """What time the board has. DeviceError when it does not tell."""
    answer = connection.execute(("cat", *CLOCKS))
    if answer.status == 0 and (told := read_clocks(answer.output)):
        return told
    boot, now = connection.execute(("sysctl", "-n", "kern.boottime")), connection.execute(("date", "+%s"))
    started = _BOOT_TIME.search(boot.output)
    if boot.status == now.status == 0 and started:
        with suppress(ValueError):
            return Moment("", _finite(now.output) - _finite(started[1]))
    if connection.device.connection in ("local", "emulated"):
        return Moment("", time.monotonic())
    hint = "edgec needs /proc/uptime there, or sysctl and date"
    raise DeviceError("the board does not tell how long it has been running", where=connection.device.name, hint=hint)


def read_clocks(content: bytes) -> Moment | None:
    """From what the files of CLOCKS hold, one after the other; None for what is no time."""
    words = content.split()
    if len(words) != 3:
        return None
    try:
        return Moment(printable(words[2], 64), _finite(words[0]))
    except ValueError:
        return None


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, bytes)):
        raise TypeError("not a number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("not a number")
    return number
