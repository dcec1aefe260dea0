"""Program -> Program that says what runs: variants of kernels and their tiles, how work divides, scratch memory."""

from edgec.schedule.choice import choose_all
from edgec.schedule.core import schedule

__all__ = ["choose_all", "schedule"]
