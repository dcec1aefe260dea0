"""Dataclasses from JSON and back: strict, since the JSON may be a stranger's, and complete, since all that is wrong is said at once."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any

from edgec.base.errors import Problem


@dataclass(frozen=True)
class Rule:
    """What a value must be: `typing.Annotated[int, Rule(...)]` is a field's type. wanted: the same in words, after "must be"."""

    fits: Callable[[Any], bool]
    wanted: str


@dataclass(frozen=True)
class _Field:
    """One field of a dataclass. optional: left out of the JSON where it is None."""

    name: str
    key: str
    kind: Any
    optional: bool


def decode(kind: Any, value: Any, where: str, problems: list[Problem]) -> Any:
    """`value`, which came out of JSON, as `kind`: a dataclass, tuple[X, ...], Mapping[K, X], X | None, or a type with its Rule.

    What does not fit becomes a problem, and an empty collection or None in the result, which is whole only when there are no problems.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return _checked(arguments[1], value, where, problems)
    if origin in (types.UnionType, typing.Union):
        (wanted,) = (argument for argument in arguments if argument is not type(None))
        return None if value is None else decode(wanted, value, where, problems)
    if is_dataclass(kind):
        return _object(kind, value, where, problems)
    if origin is tuple:
        rows = _checked(_LIST, value, where, problems) or ()
        return tuple(decode(arguments[0], item, f"{where}[{index}]", problems) for index, item in enumerate(rows))
    return _table(arguments[0], arguments[1], value, where, problems)


def encode(value: Any) -> Any:
    """What json.dumps takes; decode() gives the value again."""
    if is_dataclass(value) and not isinstance(value, type):
        found = [(field, getattr(value, field.name)) for field in _fields(type(value))]
        return {field.key: encode(item) for field, item in found if not (field.optional and item is None)}
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    return [encode(item) for item in value] if isinstance(value, (list, tuple)) else value


_LIST = Rule(lambda value: isinstance(value, list), "a list")
_OBJECT = Rule(lambda value: isinstance(value, dict), "an object")


def _checked(rule: Rule, value: Any, where: str, problems: list[Problem]) -> Any:
    if rule.fits(value):
        return tuple(value) if isinstance(value, list) else value
    problems.append(Problem(f"must be {rule.wanted}", where))
    return None


def _object(kind: Any, value: Any, where: str, problems: list[Problem]) -> Any:
    content = _checked(_OBJECT, value, where or "the file", problems) or {}
    before = f"{where}." if where else ""
    known = _fields(kind)
    if isinstance(value, dict):
        strange = sorted(set(content) - {field.key for field in known})
        problems += [Problem("is not known here", f"{before}{ascii(key)[1:-1][:80]}") for key in strange]
        problems += [Problem("is missing", f"{before}{field.key}") for field in known if not field.optional and field.key not in content]
    there = {field.name: field for field in known if field.key in content}
    found = {name: decode(field.kind, content[field.key], f"{before}{field.key}", problems) for name, field in there.items()}
    return kind(**{field.name: None for field in known} | found)


def _table(name: Any, kind: Any, value: Any, where: str, problems: list[Problem]) -> dict[str, Any]:
    rule: Rule = typing.get_args(name)[1]
    found = {}
    for key, item in (_checked(_OBJECT, value, where, problems) or {}).items():
        place, before = f"{where} {ascii(key)[:200]}", len(problems)
        if not rule.fits(key):
            problems.append(Problem(f"must be {rule.wanted}", place))
            continue
        entry = decode(kind, item, place, problems)
        if len(problems) == before:
            found[key] = entry
    return found


@cache
def _fields(kind: Any) -> tuple[_Field, ...]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return tuple(
        _Field(field.name, field.name.rstrip("_"), hints[field.name], field.default is None)
        for field in fields(kind)
        if field.default is not MISSING or field.name in hints
    )
