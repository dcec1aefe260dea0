"""Swift packages that take several sets of shapes: the C that their class calls, and what the class says of the sets."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.apps.swifts import MANUAL, SEVERAL, lists, mistakes, several

FLAGS = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-Isrc", "-Iexam", "-Iexam/apple"]


@pytest.mark.parametrize(
    ("compiler", "flag", "emulator"),
    [("gcc", "-fsanitize=address,undefined", ""), ("aarch64-linux-gnu-gcc", "-static", "qemu-aarch64")],
)
def test_every_set_passes_the_exam_through_the_class_s_c(
    compiler: str, flag: str, emulator: str, needs: Callable[..., None], tmp_path: Path
) -> None:
    """In any order, with one thread and with two; numbers of no set are refused, and nothing is written past a set's own sizes."""
    needs(compiler, *([emulator] if emulator else []))
    package, program = several("rows"), str(tmp_path / "program")
    core, exam = lists((package / "Package.swift").read_text(encoding="utf-8"))
    sources = [*(f"src/{file}" for file in core["sources"]), *(f"exam/{file}" for file in exam["sources"]), str(SEVERAL / "several.c")]
    done = subprocess.run(
        [compiler, flag, *FLAGS, *sources, "-lpthread", "-o", program], cwd=package, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    done = subprocess.run([*([emulator] if emulator else []), program], capture_output=True, text=True, check=False)
    assert done.stdout == "0 wrong\n" and done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_the_class_knows_the_sets() -> None:
    """It reads no tensor further than its set goes."""
    text = (several("rows") / "swift/RowsModel/Rows.swift").read_text(encoding="utf-8")
    assert "shapes: [[1, 5], [2, 5], [4, 5]])" in text and "public var set: Int?" in text
    assert text.count("Self.elements(Self.outputs[") == 3 and "rows_app_run(app, Int32(set))" in text
    arrays = (several("rows") / "swift/RowsModel/RowsArrays.swift").read_text(encoding="utf-8")
    assert "self.init(x: _0, mask: _1, set: _set)" in arrays, "a MLMultiArray has a shape"


def test_programs_of_several_sets_are_good_swift() -> None:
    """`python -m tests.apps.try_swift` has them compiled, and the tests run."""
    assert not mistakes((SEVERAL / "SeveralTests.swift").read_bytes())
    (shown,) = re.findall(r"```swift\n(import EncoderModel.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    assert not mistakes(shown.encode()) and "set: 3" in shown
