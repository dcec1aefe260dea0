"""One entry of an inventory: from what YAML says to a Device, every key checked, and back to text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from edgec.base.errors import Problem, did_you_mean
from edgec.base.harmless import printable
from edgec.boards.device import KINDS, Device, Limits
from edgec.targets import target_names

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")  # it becomes a file's name and is printed
_WORD = re.compile(r"(?!-)[^\s\x00-\x1f\x7f-\x9f]{1,255}")
_ADDRESS = re.compile(r"(?!-)[\w.:%\[\]-]{1,255}")
_SECRETS = ("password", "passwd", "pass", "passphrase", "secret", "token", "sudo")
# key -> the connections that have it; all have the others
_ONLY = {"address": ("ssh", "adb"), "user": ("ssh",), "port": ("ssh",), "key": ("ssh",), "known_hosts": ("ssh",)}
_NEEDED = {"ssh": ("address",)}


class Wrong(Exception):
    """A value that cannot be used: what is wrong, and the hint."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.problem = Problem(what, hint=hint)


def read_entry(name: object, entry: object, folder: Path, where: str) -> tuple[Device | None, list[Problem]]:
    """The device that an entry describes, or None and all that is wrong with it. folder: paths in the entry are relative to it."""
    problems: list[Problem] = []
    if not isinstance(name, str) or not NAME.fullmatch(name):
        hint = "letters, digits, '.', '_' and '-', at most 64, the first a letter or digit"
        problems.append(Problem(f"{shown(name)} is no name for a board", where, hint))
    place = f"{where}: {shown(name)[1:-1]}"
    if not isinstance(entry, dict):
        return None, [*problems, Problem(f"must hold keys and values, is {_type(entry)}", place, "at least `target` and `connection`")]
    values = _checked(entry, {key: check(folder) for key, check in _ENTRY.items()}, place, problems)
    problems += _complaints(entry, values, place)
    if problems:
        return None, problems
    return Device(name=str(name), **values), []


def entry_text(device: Device) -> str:
    """The entry of a device in an inventory, as YAML: what differs from the defaults."""
    lines = [f"  {key}: {_inline(value)}\n" for key, value in _plain(device, skip=("name",)).items()]
    return f"{_inline(device.name)}:\n{''.join(lines)}"


def _inline(value: object) -> str:
    text: str = yaml.safe_dump(value, sort_keys=False, default_flow_style=True, allow_unicode=True, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")


def _plain(facts: Device | Limits, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in fields(facts):
        value = getattr(facts, field.name)
        usual = field.default_factory() if field.default_factory is not MISSING else field.default
        if field.name in skip or value == usual:
            continue
        kinds: dict[type, Callable[[Any], Any]] = {tuple: list, Limits: _plain}
        values[field.name] = str(value) if isinstance(value, Path) else kinds.get(type(value), lambda same: same)(value)
    return values


def _checked(entry: Mapping[Any, Any], checks: Mapping[str, Callable[[Any], Any]], place: str, problems: list[Problem]) -> dict[str, Any]:
    """The values of known keys that pass their checks; everything else becomes a problem."""
    values = {}
    for key, value in entry.items():
        if key not in checks:
            secret = shown(key)[1:-1].lower() in _SECRETS
            hint = (
                "no secrets in this file: use a key (key: ~/.ssh/id_ed25519) or the SSH agent"
                if secret
                else did_you_mean(shown(key)[1:-1], checks)
            )
            what = "a password does not belong here" if secret else f"unknown key {shown(key)}"
            problems.append(Problem(what, f"{place}: {shown(key)[1:-1]}", hint))
            continue
        try:
            values[key] = checks[key](value)
        except Wrong as wrong:
            problems.append(Problem(wrong.problem.what, f"{place}: {key}", wrong.problem.hint))
        except _Nested as nested:
            problems += [Problem(item.what, f"{place}: {key}{item.where}", item.hint) for item in nested.problems]
    return values


def _complaints(entry: Mapping[Any, Any], values: Mapping[str, Any], place: str) -> list[Problem]:
    """What is missing, and keys that this kind of connection does not have."""
    kind = values.get("connection")
    needed = ("target", "connection", *_NEEDED.get(kind or "", ()))
    found = [Problem(f"needs `{key}`", place, _HINTS.get(key, "")) for key in needed if key not in entry]
    for key, kinds in _ONLY.items():
        if kind and key in entry and kind not in kinds:
            found.append(
                Problem(f"a board with `connection: {kind}` has no {key}", f"{place}: {key}", f"only {' and '.join(kinds)} boards have")
            )
    return found


_HINTS = {
    "target": "such as linux-arm64; `edgec targets` lists all",
    "connection": f"one of {', '.join(KINDS)}",
    "address": "a host name, an IP address or an alias of ~/.ssh/config",
}


class _Nested(Exception):
    def __init__(self, problems: list[Problem]) -> None:
        super().__init__()
        self.problems = problems


def _of(kind: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            quotes = "write it in quotes" if kind is str and value is not None and not isinstance(value, (list, dict)) else ""
            raise Wrong(f"must be {_TYPES[kind]}, is {_type(value)}", quotes)
        return value

    return check


def _one_of(known: Callable[[], list[str]]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        word: str = _of(str)(value)
        if word not in known():
            raise Wrong(f"unknown: {shown(word)}", did_you_mean(word, known()))
        return word

    return check


def _matching(pattern: re.Pattern[str], hint: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        word: str = _of(str)(value)
        if not pattern.fullmatch(word):
            raise Wrong(f"{shown(word)} cannot be used", hint)
        return word

    return check


def _list_of(check: Callable[[Any], Any], what: str) -> Callable[[Any], tuple[Any, ...]]:
    def checked(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise Wrong(f"must be a list of {what}, is {_type(value)}", "such as [a, b]" if what == "words" else "such as [2, 3]")
        items = tuple(check(item) for item in value)
        if what != "words" and len(set(items)) != len(items):
            raise Wrong("names something twice")
        return items

    return checked


def _in_range(low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        number: int = _of(int)(value)
        if not low <= number <= high:
            raise Wrong(f"must be within {low} and {high}")
        return number

    return check


def _spoken(value: Any) -> str:
    """A word of a command."""
    word: str = _of(str)(value)
    if not word or printable(word) != word or "\n" in word:
        raise Wrong(f"{shown(word)} is no word of a command")
    return word


def _file(folder: Path) -> Callable[[Any], Path]:
    def check(value: Any) -> Path:
        text: str = _of(str)(value)
        if "PRIVATE KEY" in text or "\n" in text:
            raise Wrong("must be the path of a file, not what is in it", "key: ~/.ssh/id_ed25519")
        try:
            path = folder / Path(text).expanduser()
            missing = not text or not path.is_file()
        except (OSError, ValueError, RuntimeError) as error:  # too long, a zero byte, an unknown ~user
            raise Wrong(f"{shown(text)} is no path", "key: ~/.ssh/id_ed25519") from error
        if missing:
            raise Wrong(f"there is no file {shown(str(path))}", "the path is relative to the inventory; ~ is your home folder")
        return path.parent.resolve() / path.name if ".." in path.parts else path

    return check


def _work(value: Any) -> str:
    """A folder on the board. What would leave it, or mean something to a shell or a program there, is refused."""
    text: str = _of(str)(value)
    path = PurePosixPath(text)
    if not text or printable(text) != text or "\n" in text or "\\" in text or len(text) > 200:
        raise Wrong(f"{shown(text)} is no folder", "such as .cache/edgec")
    if ".." in path.parts or text.startswith(("~", "-")) or not path.name:
        raise Wrong(
            f"{shown(text)} is refused", "a folder of its own below the home folder, such as .cache/edgec, or an absolute path; no '..'"
        )
    return str(path)


def _limits(value: Any) -> Limits:
    entry = _of(dict)(value)
    problems: list[Problem] = []
    checks = {field.name: _in_range(1, 2**30) if field.name == "output" else _seconds(field.name == "wait") for field in fields(Limits)}
    values = _checked(entry, checks, "", problems)
    if problems:
        raise _Nested(problems)
    return Limits(**values)


def _seconds(none_is_fine: bool) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        if type(value) not in (int, float):
            raise Wrong(f"must be a number of seconds, is {_type(value)}")
        if not 0 <= value <= 10**6 or (value == 0 and not none_is_fine):
            raise Wrong("is no time to wait", "a number of seconds above 0, at most a million")
        return float(value)

    return check


_TYPES = {str: "text", int: "a whole number", bool: "true or false", float: "a number", list: "a list", dict: "keys and values"}
_WORDS = "no spaces or control characters, and not '-' first"
# key -> its check, which is given the folder that paths are relative to
_ENTRY: Mapping[str, Callable[[Path], Callable[[Any], Any]]] = {
    "target": lambda folder: _one_of(target_names),
    "connection": lambda folder: _one_of(lambda: list(KINDS)),
    "address": lambda folder: _matching(_ADDRESS, f"{_WORDS}; the user goes into `user`, the port into `port`"),
    "user": lambda folder: _matching(_WORD, _WORDS),
    "port": lambda folder: _in_range(1, 65535),
    "key": _file,
    "known_hosts": _file,
    "tags": lambda folder: _list_of(_matching(NAME, "letters, digits, '.', '_' and '-'"), "tags"),
    "cores": lambda folder: _list_of(_in_range(0, 1023), "whole numbers"),
    "prefix": lambda folder: _list_of(_spoken, "words"),
    "work": lambda folder: _work,
    "limits": lambda folder: _limits,
}


def _type(value: object) -> str:
    return "nothing" if value is None else _TYPES.get(type(value), type(value).__name__)


def shown(value: object) -> str:
    """What somebody wrote, on one line and short."""
    try:
        text = str(value)
    except ValueError:  # an integer of thousands of digits
        text = "a huge number"
    return repr(printable(text[:60]))
