"""What the verbs print with."""

from __future__ import annotations

import io
import json
import re

import pytest
import rich.console

from edgec.base.errors import ModelError, Problem, did_you_mean
from edgec.cli.console import Console, bytes_text, table
from edgec.cli.progress import STAGES as OF_A_BUILD
from edgec.cli.progress import ProgressDisplay, expected


def test_numbers_that_json_lacks_become_null(capsys: pytest.CaptureFixture[str]) -> None:
    Console(json=True).result({"sqnr": float("inf"), "list": [float("nan"), 1.5], "nested": {"a": (1, 2)}})
    text = capsys.readouterr().out
    assert "Infinity" not in text and json.loads(text) == {"schema_version": 1, "sqnr": None, "list": [None, 1.5], "nested": {"a": [1, 2]}}


def test_tables_fold_nothing_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    Console().result({}, [table("title", ["name", "count"], [("x" * 300, 12), ("[red]y[/]", 3)]), "a line [bold] :a:"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].rstrip() == "title" and lines[2] == "x" * 300 + "     12" and lines[3].startswith("[red]y[/]")
    assert lines[4] == "a line [bold] :a:"


def test_errors_quote_no_more_than_a_person_reads() -> None:
    text = "a" * 60_000 + "z"
    for error in (
        ModelError(f"{text!r} fits nothing", where=text, hint=f"did you mean {text!r}?"),
        ModelError("much is wrong", [Problem(f"no node is named {text!r}", f"{place}{text} (Add)", "another name") for place in range(3)]),
    ):
        said = str(error)
        assert len(said) < 4000 and "characters ...]" in said and said.count("aaaz") >= 2, said
        assert str(ModelError(error.summary, error.problems, where=error.where, hint=error.hint)) == said


@pytest.mark.parametrize(("count", "text"), [(12, "12 bytes"), (2048, "2.0 KiB (2,048 bytes)"), (3 * 2**20, "3.0 MiB (3,145,728 bytes)")])
def test_sizes(count: int, text: str) -> None:
    assert bytes_text(count) == text


Stages = list[tuple[str, int, int]]
STAGES: Stages = [
    ("reading the model", 0, 1),
    ("reading the model", 1, 1),
    ("ranges", 7, 0),
    ("rounding", 3, 4),
    ("compiling", 1, 2),
    ("examining", 1, 1),
]


def shown(
    *, terminal: bool, enabled: bool = True, shares: dict[str, int] | None = None, stages: Stages = STAGES, apart: bool = False
) -> str:
    stream = io.StringIO()
    console = rich.console.Console(file=stream, force_terminal=terminal, width=80, color_system=None)
    with ProgressDisplay(console, enabled=enabled, shares=shares, apart=apart) as progress:
        for stage, done, total in stages:
            progress(stage, done, total)
            progress._line.refresh()
    return stream.getvalue()


def test_progress_is_one_line_a_stage_without_a_terminal() -> None:
    lines = [line.partition("] ")[2] for line in shown(terminal=False, shares=expected(["int8"])).splitlines() if line]
    assert lines == ["reading the model", "ranges", "rounding", "compiling", "examining"]


def test_progress_is_one_line_on_a_terminal() -> None:
    """With the stage, its share, how much of it and of all is done, and the time."""
    text = shown(terminal=True, shares=expected(["int8", "compile"]))
    for words in ("ranges 7 (", "rounding 75% (", "% of all)", "compiling 50% (", "0:00 of about 0:00", "done ", "100%"):
        assert words in text
    totals = [int(found) for found in re.findall(r" (\d+)% \d:\d\d", text)]
    assert totals == sorted(totals) and totals[-1] == 100
    assert text.count("\n") == 1, "nothing but that line is left"


def test_a_verb_without_known_stages_shows_each_by_itself() -> None:
    text = shown(terminal=True)
    assert "rounding 75%" in text and "of all" not in text


def test_boards_have_a_line_each_however_they_take_turns() -> None:
    turns: Stages = [(board, done, 4) for done in range(1, 5) for board in ("attic", "cellar")]
    lines = [line.partition("] ")[2] for line in shown(terminal=False, stages=turns, apart=True).splitlines() if line]
    assert lines == ["attic", "cellar"]
    text = shown(terminal=True, stages=turns, apart=True)
    assert re.search(r"attic 75% .*\ncellar 50% .*", text) and re.search(r"attic 100% .*\ncellar 100% .*\n\S*$", text)


def test_only_what_a_build_does_is_expected() -> None:
    assert list(expected([])) == ["reading the model", "lowering", "writing the exam", "emitting", "found in the cache"]
    assert "asking the model" in expected(["float"]) and "ranges" not in expected(["float", "compile"])
    assert expected({word for _, word in OF_A_BUILD.values()}).keys() == OF_A_BUILD.keys()


def test_quiet_shows_no_progress() -> None:
    assert shown(terminal=True, enabled=False) == ""


def test_nodes_with_one_problem_share_a_line() -> None:
    lacking = [Problem("has no implementation", f"/{name} (Det, opset 11)", "leave it out") for name in "abcde"]
    others = [
        Problem("has no implementation", "/f (TopK, opset 11)", "leave it out"),
        Problem("is missing", "image"),
        Problem("is missing", "size"),
    ]
    assert str(ModelError("7 things", [*lacking, *others])).splitlines()[1:] == [
        "  /a, /b, /c and 2 more (Det, opset 11): has no implementation    hint: leave it out",
        "  /f (TopK, opset 11): has no implementation    hint: leave it out",
        "  image: is missing",
        "  size: is missing",
    ]


def test_a_hint_names_what_is_near_or_the_few_that_there_are() -> None:
    many = [f"word{number}" for number in range(80)]
    assert did_you_mean("word7", many) == "did you mean 'word7'?" and did_you_mean("x", many) == ""
    assert did_you_mean("x", ["a", "b"]) == "known: a, b"
