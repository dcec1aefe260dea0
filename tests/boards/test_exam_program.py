"""The exam on a board: what passes, what fails, and what is no answer at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgec.base.errors import DeviceError
from edgec.boards.board.exam_program import ProgramFailed, examine, start, verdict
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.connect.trouble import BoardTimeout
from edgec.boards.deploy.parcel import open_parcel
from edgec.boards.device import Device, Limits
from tests.boards.boards import Board
from tests.boards.deploying import deploy

Packages = Callable[..., Path]
GOOD: dict[str, Any] = {
    "schema_version": 1,
    "name": "digits",
    "vectors": [{"index": 0, "outputs": [{"exact": True, "passed": True, "difference": 0, "sha256": "a" * 64}], "passed": True}],
    "weights_sha256": "b" * 64,
    "weights_passed": True,
    "isa": "portable",
    "threads": 1,
    "passed": True,
}


@pytest.fixture(scope="module")
def board_line(shared_board: Board) -> Iterator[Connection]:
    connection = connect(shared_board.device())
    yield connection
    connection.close()


@pytest.fixture(params=["local", "ssh"])
def line(request: pytest.FixtureRequest, tmp_path: Path) -> Connection:
    if request.param == "ssh":
        over: Connection = request.getfixturevalue("board_line")
        return over
    return connect(Device("board", "host", "local", work=str(tmp_path / "work"), limits=Limits(run=60)))


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """A program on the board that plays the exam."""

    def make(text: str) -> str:
        path = tmp_path / "digits_exam"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return make


def saying(text: str, status: int = 0) -> str:
    return f"cat <<'END'\n{text}\nEND\nexit {status}"


def test_a_package_passes_its_exam_with_every_vocabulary_and_equal_hashes(line: Connection, package: Packages) -> None:
    parcel = open_parcel(package("host"))
    program = deploy(line, parcel).program
    results = [examine(line, program, isa=parcel.vocabularies[0]), examine(line, program, threads=2)]
    assert [(result.passed, result.exact, result.difference) for result in results] == [(True, True, 0.0)] * 2
    assert results[0].isa == parcel.vocabularies[0]
    assert results[0].hashes == results[1].hashes
    assert len(results[0].hashes) == results[0].vectors
    assert verdict(results[0]) == ""


def test_a_float_package_passes_within_its_tolerance(line: Connection, package: Packages) -> None:
    result = examine(line, deploy(line, open_parcel(package("host", "fp32"))).program)
    assert (result.passed, result.exact) == (True, False)
    assert 0 <= result.difference < 1e-4


@pytest.mark.parametrize("target", ["rpi4", "rpi-32bit"])
def test_a_foreign_package_passes_behind_a_prefix(line: Connection, package: Packages, needs: Callable[..., None], target: str) -> None:
    emulator = {"rpi4": "qemu-aarch64", "rpi-32bit": "qemu-arm"}[target]
    needs(emulator)
    native = examine(line, deploy(line, open_parcel(package("host"))).program)
    program = deploy(line, open_parcel(package(target))).program
    line.device = replace(line.device, prefix=(emulator,))
    try:
        result = examine(line, program)
    finally:
        line.device = replace(line.device, prefix=())
    assert result.passed
    assert result.hashes == native.hashes  # the same bits everywhere


def test_a_program_for_another_processor_cannot_start_and_that_is_named_as_the_reason(
    line: Connection, package: Packages, tmp_path: Path
) -> None:
    data = bytearray((package("host") / "build/digits_exam").read_bytes())
    data[18:20] = b"\xf7\0"  # BPF, which no machine runs and no emulator is registered for
    program = tmp_path / "digits_exam"
    program.write_bytes(data)
    program.chmod(0o755)
    with pytest.raises(ProgramFailed, match="cannot start") as caught:
        examine(line, str(program))
    assert caught.value.where == "board"
    assert "another processor" in caught.value.hint


def test_one_wrong_byte_fails_the_exam_and_is_a_result(line: Connection, package: Packages, tmp_path: Path) -> None:
    data = bytearray((package("host") / "build/digits_exam").read_bytes())
    weights = (package("host") / "src/digits_weights.bin").read_bytes()
    at = data.find(weights[:64])
    data[at + 8] ^= 0x55
    program = tmp_path / "digits_exam"
    program.write_bytes(data)
    program.chmod(0o755)
    result = examine(line, str(program))
    assert not result.passed
    assert "the exam failed with vocabulary" in verdict(result)


def test_a_difference_beyond_the_tolerance_is_told(line: Connection, script: Callable[[str], str]) -> None:
    output = {"exact": False, "passed": False, "difference": 0.25, "sha256": "a" * 64}
    wrong = {**GOOD, "passed": False, "vectors": [{"index": 0, "outputs": [output], "passed": False}]}
    result = examine(line, script(saying(json.dumps(wrong), 1)))
    assert (result.passed, result.exact, result.difference) == (False, False, 0.25)
    assert "largest difference is 0.25" in verdict(result)


@pytest.mark.parametrize(
    ("number", "name", "hint"),
    [(4, "SIGILL", "lacks an instruction"), (9, "SIGKILL", "out of memory"), (11, "SIGSEGV", "another vocabulary")],
)
def test_a_program_that_a_signal_ends_names_the_signal(
    line: Connection, script: Callable[[str], str], number: int, name: str, hint: str
) -> None:
    with pytest.raises(ProgramFailed, match=f"killed by signal {name}") as caught:
        examine(line, script(f"echo last words >&2; kill -{number} $$"))
    assert hint in caught.value.hint
    assert "last words" in str(caught.value)


def test_a_program_that_fails_is_quoted(line: Connection, script: Callable[[str], str]) -> None:
    with pytest.raises(ProgramFailed, match=r"ended with status 1\b") as caught:
        examine(line, script("printf '\\033[31mdigits_exam: out of memory\\n' >&2; exit 1"))
    assert [problem.what for problem in caught.value.problems] == ["digits_exam: out of memory"]


def test_a_program_that_is_not_there_cannot_start(line: Connection) -> None:
    with pytest.raises(ProgramFailed, match="cannot start") as caught:
        examine(line, "/nowhere/digits_exam")
    assert caught.value.where == "board"


def test_a_program_that_hangs_ends_within_its_time(line: Connection, script: Callable[[str], str]) -> None:
    impatient = connect(replace(line.device, limits=replace(line.device.limits, run=1)))
    with closing(impatient), pytest.raises(BoardTimeout, match="1 s"):
        examine(impatient, script("sleep 60"))


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != key}


def with_output(**changes: Any) -> dict[str, Any]:
    output = {**GOOD["vectors"][0]["outputs"][0], **changes}
    return {**GOOD, "vectors": [{"index": 0, "outputs": [output], "passed": True}]}


TEXTS = ["", "hello", "null", "[]", "{}", "{", "[" * 5000, json.dumps(GOOD) * 2, "\\x00\\xff", "<html><script>alert(1)</script>"]
LIES = [
    *[without(key) for key in ("vectors", "isa", "passed", "weights_passed")],
    *[{**GOOD, **change} for change in ({"schema_version": 2}, {"schema_version": "1"}, {"passed": 1}, {"isa": "<b>"}, {"isa": None})],
    *[{**GOOD, **change} for change in ({"vectors": {}}, {"vectors": [7]}, {"weights_passed": False})],
    *[with_output(**change) for change in ({"passed": False}, {"sha256": "xyz"}, {"exact": "yes"})],
    *[with_output(exact=False, difference=number) for number in (float("nan"), -1, 10**400, True, None)],
]
INFINITE = json.dumps(with_output(exact=False)).replace('"difference": 0', '"difference": 1e999')
GARBAGE = [*TEXTS, *map(json.dumps, LIES), INFINITE]


@pytest.mark.parametrize("text", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_is_said_to_be_garbage(tmp_path: Path, script: Callable[[str], str], text: str) -> None:
    here = connect(Device("board", "host", "local", work=str(tmp_path / "work")))
    with pytest.raises(ProgramFailed, match="answered with garbage") as caught:
        examine(here, script(saying(text)))
    assert caught.value.where == "board"
    assert caught.value.hint
    assert len(str(caught.value)) < 3000


def test_escape_codes_in_garbage_are_shown_harmless(line: Connection, script: Callable[[str], str]) -> None:
    with pytest.raises(ProgramFailed) as caught:
        examine(line, script("printf '\\033]0;evil\\007\\033[2Jboo\\n'"))
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", str(caught.value)) is None
    assert "boo" in str(caught.value)


def test_a_flood_is_an_error_and_not_a_full_memory(line: Connection, script: Callable[[str], str]) -> None:
    small = connect(replace(line.device, limits=replace(line.device.limits, output=100_000)))
    with closing(small), pytest.raises(DeviceError, match="more than 100000 bytes"):
        examine(small, script("yes '{\"schema_version\": 1}'"))


def test_any_start_of_the_program_gives_its_json(line: Connection, package: Packages) -> None:
    program = deploy(line, open_parcel(package("host"))).program
    facts = start(line, program, "--bench", "0.01")
    assert facts["name"] == "digits"
    assert facts["runs"] >= 1
    with pytest.raises(ProgramFailed, match="ended with status 1") as caught:
        start(line, program, "--isa", "sse9")
    assert "sse9" in str(caught.value)


def test_arguments_reach_the_program_as_they_are(line: Connection, script: Callable[[str], str]) -> None:
    facts = start(line, script('printf \'{"schema_version": 1, "words": "%s|%s|%s"}\' "$1" "$2" "$3"'), "a b", "$HOME;*")
    assert facts["words"] == "--json|a b|$HOME;*"
