"""Tuning records: read as the words of a stranger, and written so that what is undecided is nobody's loss."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgec.base.errors import UsageError
from edgec.records.tuning import Compared, TunedBoard, TunedLayer, Tuning, read_tuning

LAYER = TunedLayer("panels", {"winograd": Compared(5.0, 10.0, 0.5, 0.4, 0.6)}, "winograd")
PI = TunedBoard("Cortex-A72", "neon", ("neon",), "gcc 12", "0.1.0", {"conv_int8: a layer": LAYER})


def changed(**facts: Any) -> dict[str, Any]:
    """The record of one board as JSON, with this in the place of some of it."""
    raw: dict[str, Any] = json.loads(Tuning(boards=(PI,)).text)
    for place, value in facts.items():
        *path, last = place.split("__")
        inner: Any = raw
        for part in path:
            inner = inner[int(part)] if part.isdigit() else inner[part]
        inner[last] = value
    return raw


def write(path: Path, raw: object) -> Path:
    path.write_text(json.dumps(raw), encoding="utf-8")
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    text = Tuning(boards=(PI, replace(PI, vocabulary="dotprod", layers={}))).text
    (tmp_path / "tuned.json").write_bytes(text)
    tuning, found = read_tuning(tmp_path / "tuned.json")
    assert found == text == tuning.text and tuning.boards[0] == PI
    assert tuning.boards[0].choices == {"conv_int8: a layer": "winograd"}


def test_builds_go_by_the_board_that_was_tuned_last() -> None:
    """Of those with the same instruction sets; one that nobody finished tuning does not come before it."""
    other = replace(PI, processor="Cortex-A53")
    assert Tuning(boards=(PI,)).board(("neon", "dotprod")) is None
    tuning = Tuning().plus(PI, decided=True).plus(replace(other, layers={}), decided=False)
    assert tuning.board(("neon",)) == PI and tuning.like(replace(other, layers={"x": LAYER})).layers == {}
    tuning = tuning.plus(other, decided=False)
    assert tuning.boards == (other, PI)
    assert tuning.plus(other, decided=True).boards == (PI, other) and tuning.plus(PI, decided=True).boards == (other, PI)


WRONG = {
    "nothing": None,
    "a list": [],
    "another file": {"schema_version": 1, "name": "digits"},
    "another kind": changed(kind="edgec bench"),
    "another version": changed(schema_version=2),
    "a truth for a version": changed(schema_version=True),
    "an unknown key": changed(boards__0__more=1),
    "a layer that is none": changed(boards__0__layers={"x": "winograd"}),
    "a variant with a way out": changed(boards__0__layers={"x": {"base": "panels", "tried": {}, "variant": "../../conv"}}),
    "a variant of code": changed(boards__0__layers={"x": {"base": "panels", "tried": {}, "variant": "panels;}"}}),
    "a variant that is a number": changed(boards__0__layers={"x": {"base": "panels", "tried": {}, "variant": 1}}),
    "a name over two lines": changed(boards__0__layers={"x\ny": {"base": "panels", "tried": {}}}),
    "escapes": changed(boards__0__processor="\x1b[2Jx"),
    "an endless name": changed(boards__0__processor="x" * 70000),
    "a time of nothing": changed(boards__0__layers={"x": {"base": "a", "tried": {"b": {**vars(LAYER.tried["winograd"]), "us": 0}}}}),
    "a time for ever": changed(boards__0__layers={"x": {"base": "a", "tried": {"b": {**vars(LAYER.tried["winograd"]), "us": 1e300}}}}),
}


@pytest.mark.parametrize("raw", WRONG.values(), ids=WRONG.keys())
def test_what_is_no_record_is_refused_in_words(raw: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a record of edgec tune"):
        read_tuning(write(tmp_path / "tuned.json", raw))


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"\xff\xfe", b"[" * 100000, b" " * ((1 << 24) + 1)], ids=range(7)
)
def test_what_is_no_json_is_refused_in_words(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "tuned.json").write_bytes(text)
    with pytest.raises(UsageError, match="not a record of edgec tune"):
        read_tuning(tmp_path / "tuned.json")


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, words in {"pipe": "is no file", ".": "is no file", "none": "no such file"}.items():
        with pytest.raises(UsageError, match=words):
            read_tuning(tmp_path / name)
