"""Which custom operators a build has: those that the user names, and those of packages that are installed for domains of the model."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Collection, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from edgec.operators.definition import CustomOperator

GROUP = "edgec.operators"  # of entry points: DOMAIN = MODULE, or MODULE:OPERATOR
Source: TypeAlias = "Path | Callable[..., Any]"
_DOMAIN = 7  # of a node, as the field of a message
_TEXT = 2  # how a message has it: behind its length


def find(model: Path, sources: Sequence[Source]) -> tuple[CustomOperator, ...]:
    """The operators of `sources`, which are Python files or operators themselves, and of entry points that are called as a domain of the
    model's nodes is. What a source has goes before what is installed.

    The files and the modules of the entry points are run, each once. UsageError for what is wrong with any of them.
    """
    points = entry_points(group=GROUP)
    domains = mentioned(model, {point.name for point in points})
    wanted = [point for point in points if point.name in domains]
    if not sources and not wanted:
        return ()
    from edgec.operators.loading import joined, of_point, of_source  # loads ONNX, which an identical build does without

    named = joined([(str(source), operator) for source in sources for operator in of_source(source)])
    installed = joined([(f"{point.name} = {point.value}", operator) for point in wanted for operator in of_point(point)])
    return tuple({**installed, **named}.values())


def mentioned(model: Path, domains: Collection[str]) -> set[str]:
    """Those that a node of the file may be of, by its bytes alone: strangers' files are read in a process of their own."""
    if not domains:
        return set()
    try:
        with model.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return {domain for domain in domains if content.find(_field(domain.encode())) >= 0}
    except (OSError, ValueError):  # ValueError: it is empty
        return set()


def _field(domain: bytes) -> bytes:
    """As the message of a node has its domain, of less than 128 bytes."""
    return bytes([_DOMAIN << 3 | _TEXT, len(domain) & 127]) + domain
