"""The operators of a Python file, and of an installed package: what runs there is the user's own; what it raises is said with its line."""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

from edgec.base.errors import EdgecError, Problem, UsageError
from edgec.operators.definition import CustomOperator
from edgec.operators.finding import GROUP, Source
from edgec.operators.paths import PAGE, check_path

MOST = 8  # files that are kept as they were read, so that the stages of a build run each but once


def joined(found: Sequence[tuple[str, CustomOperator]]) -> dict[str, CustomOperator]:
    """By name, of pairs with their place. UsageError where two are called alike; one that several places have is one."""
    operators: dict[str, CustomOperator] = {}
    places: dict[str, list[str]] = {}
    for where, operator in found:
        if str(operator) not in operators or operators[str(operator)] is not operator:
            places.setdefault(str(operator), []).append(where)
        operators.setdefault(str(operator), operator)
    twice = [Problem("is defined twice", name, f"in {' and in '.join(where)}") for name, where in places.items() if len(where) > 1]
    if twice:
        raise UsageError(f"{len(twice)} operator(s) have more than one definition", twice, hint="leave one of each")
    return operators


def of_source(source: Source) -> Sequence[CustomOperator]:
    if isinstance(source, CustomOperator):
        return [source]
    if not isinstance(source, Path):
        what = f"{type(source).__name__} {getattr(source, '__name__', '')}".strip()
        raise UsageError(f"{what} is no operator", where="operators", hint="give a Python file, or what custom() makes")
    check_path(source)
    try:
        content = source.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(source)) from None
    return _run(str(source), str(source.absolute()), content)


@lru_cache(MOST)
def _run(told: str, path: str, content: bytes) -> tuple[CustomOperator, ...]:
    """What the file at `path`, which the user calls `told`, defines."""
    module = ModuleType(f"operators_{hashlib.sha256(content).hexdigest()[:16]}")
    module.__file__ = path
    try:
        exec(compile(content, path, "exec", dont_inherit=True), vars(module))
    except (Exception, SystemExit) as error:
        raise _failed(error, told, path) from error
    found = _defined(module)
    if not found:
        raise UsageError("defines no operator", where=told, hint=f"what custom() gives has a name of its own there, see {PAGE}")
    return found


def _defined(module: ModuleType) -> tuple[CustomOperator, ...]:
    """The operators among a module's names, each once."""
    return tuple({id(value): value for value in vars(module).values() if isinstance(value, CustomOperator)}.values())


def _failed(error: BaseException, told: str, path: str) -> UsageError:
    """With the line of the file that it comes from, where there is one."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == path else lines[-1] if lines else None
    where = told if line is None else f"{told}:{line}"
    if isinstance(error, EdgecError):
        about = f"{error.where}: " if error.where else ""
        return UsageError(f"{about}{error.summary}", error.problems, where=where, hint=error.hint)
    return UsageError(f"cannot be run: {type(error).__name__}: {error}", where=where, hint=f"operators are defined as {PAGE} says")


def of_point(point: EntryPoint) -> Sequence[CustomOperator]:
    where, of = f"{point.name} = {point.value}", f" of {point.dist.name}" if point.dist is not None else ""
    try:
        found = point.load()
    except (Exception, SystemExit) as error:
        what = f"the operators{of} cannot be loaded: {type(error).__name__}: {error}"
        raise UsageError(what, where=where, hint="install a version of it that works, or uninstall it") from error
    operators = [found] if isinstance(found, CustomOperator) else _defined(found) if isinstance(found, ModuleType) else ()
    if not operators:
        hint = f"an entry point of the group {GROUP} names a module that has operators, or one of them"
        raise UsageError(f"the entry point{of} leads to no operator", where=where, hint=hint)
    return operators
