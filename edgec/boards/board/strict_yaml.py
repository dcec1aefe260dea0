"""YAML as people mean it: a key that is there twice is an error, and nothing expands, so that no small file becomes a large one."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

from edgec.base.errors import Problem

MOST_BYTES = 256 * 1024
MOST_DEPTH = 12


class Unreadable(Exception):
    """The text is not YAML, or has what is refused; the message says what and in which line."""


class _Loader(yaml.SafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.twice: list[tuple[int, str]] = []  # line and key

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise Unreadable(f"line {self._line()}: an alias (*name); write the value out")
        if self.depth >= MOST_DEPTH:
            raise Unreadable(f"line {self._line()}: nested more than {MOST_DEPTH} deep")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def _line(self) -> int:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        return int(mark.line) + 1

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                raise Unreadable(f"line {key.start_mark.line + 1}: a merge key (<<); write the values out")
            word = str(key.value)
            self.twice += [(key.start_mark.line + 1, word)] if word in seen else []
            seen.add(word)
        return super().construct_mapping(node, deep)


def parse(text: str) -> tuple[Any, list[Problem]]:
    """The one document of `text`, and a problem, with its line, for each key that a mapping has twice. Unreadable for all else."""
    if len(text) > MOST_BYTES:
        raise Unreadable(f"longer than {MOST_BYTES // 1024} KiB")
    try:
        loader = _Loader(text)
        try:
            value = loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise Unreadable(f"{line}{error.problem or error.context}") from error
    except (
        yaml.YAMLError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:  # PyYAML's constructors let a wrong date through as ValueError
        raise Unreadable(str(error).splitlines()[0]) from error
    return value, [Problem(f"{word!r} is there twice", f"line {line}", "rename or remove one of them") for line, word in loader.twice]
