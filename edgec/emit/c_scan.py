"""What a C source says: the names that it declares at file scope. For the package's own sources, not for any C there is."""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMENT_OR_STRING = r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
# Comments and strings match as a whole, so that words in them are none
WORDS_IN_CODE = re.compile(rf"{_COMMENT_OR_STRING}|\b[A-Za-z_]\w*\b", re.DOTALL)
# directives, and lines that a macro makes functions of, have no semicolon
_NO_CODE = re.compile(rf"{_COMMENT_OR_STRING}|^[ \t]*#(?:[^\n\\]|\\.)*|^[A-Z_]+\([^()\n]*\)$", re.DOTALL | re.MULTILINE)
_BRACES = re.compile(r"[{};]")
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")
_NAME = r"([A-Za-z_]\w*)"


def declared(text: str) -> set[str]:
    """Functions, variables, types, tags and constants of enumerations; macros are not among them."""
    code = _ATTRIBUTE.sub("", _NO_CODE.sub(lambda match: '""' if match[0][0] in "\"'" else " ", text))
    return {name for head, body, tail in _declarations(code) for name in _names(head.strip(), body, tail.strip())}


def _declarations(code: str) -> Iterator[tuple[str, str, str]]:
    """(before the braces, in them, behind them until the semicolon) of everything at file scope."""
    depth, start, opened, closed = 0, 0, -1, -1
    for match in _BRACES.finditer(code):
        place, sign = match.start(), match[0]
        if sign == "{":
            opened = place if depth == 0 else opened
            depth += 1
        elif sign == "}":
            depth -= 1
            closed = place if depth == 0 else closed
            if depth == 0 and "(" in _before_value(code[start:opened]):  # a function ends without a semicolon
                yield code[start:opened], code[opened + 1 : place], ""
                start, opened = place + 1, -1
        elif depth == 0:
            if opened < 0:
                yield code[start:place], "", ""
            else:
                yield code[start:opened], code[opened + 1 : closed], code[closed + 1 : place]
            start, opened = place + 1, -1


def _before_value(head: str) -> str:
    return head.split("=")[0]


def _names(head: str, body: str, tail: str) -> Iterator[str]:
    tag = re.search(rf"\b(?:struct|union|enum)\s+{_NAME}$", head)
    if tag and body:
        yield tag[1]
    if re.search(r"\benum\b[\w\s]*$", head):
        yield from (name for item in body.split(",") for name in re.findall(rf"^\s*{_NAME}", item))
    kind_alone = re.search(r"\b(?:struct|union|enum)\b(?:\s+\w+)?$", head)  # what it declares stands behind the braces, if at all
    yield from _declarators(tail if kind_alone else head)
    if "=" in head:  # more variables behind a value in braces
        yield from _declarators(tail)


def _declarators(text: str) -> Iterator[str]:
    pointer = re.search(rf"\(\s*\*\s*{_NAME}\s*\)\s*\(", text)
    function = pointer or re.search(rf"{_NAME}\s*\(", _before_value(text))
    if function:
        yield function[1]
        return
    for item in re.sub(r"=[^,]*", "", text).split(","):
        yield from re.findall(rf"{_NAME}\s*(?:\[[^\]]*\]\s*)*$", item.strip())
