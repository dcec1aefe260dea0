"""docs/contributing.md: each of its changes, made in a copy of the sources, is there to be used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
CHANGE = re.compile(r"^(?:New, `([^`]+)`|In `([^`]+)`, behind `([^`]+)`):\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
USE = """
import sys
import edgec
from edgec.boards.farm.gates import Gates
from edgec.cli.main import main
from edgec.cli.verbs import grammar
from edgec.records.results import Latency

package = edgec.build("model.onnx", precision="fp32", target="sticker", compile=False, remark="for Ada", out="package")
assert "for Ada" in package.manifest.notes
assert package.directory.joinpath("sticker.txt").read_text() == package.manifest.name + "\\n"
assert edgec.weigh(package) == package.manifest.weights.bytes
assert "words to keep in the package's notes (none)" in " ".join(grammar(("build",))[1]["build"].format_help().split())
assert main(["weigh", "package"]) == 0 and main(["build", "model.onnx", "--remark", "x", "--precision", "int4"]) == 2
latency = Latency(1, (), "portable", 1, 1, 1.0, *[3.0] * 9, 7.0, 1 << 20, (3.0,), (3.0,))
assert [gate.passed for limit in (5, 9) for gate in Gates(max_cold_us=limit).judge("board", "package", [latency], None)] == [False, True]
"""


def changed(folder: Path) -> None:
    """A copy of the sources with every change of the page."""
    shutil.copytree(ROOT / "edgec", folder / "edgec", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "targets", folder / "targets")
    for name in ("templates", "runtimes"):
        (folder / name).symlink_to(ROOT / name)
    for new, path, anchor, body in CHANGE.findall(PAGE):
        file = folder / (new or path)
        if new:
            assert not file.exists()
            file.write_text(body, encoding="utf-8")
            continue
        text = file.read_text(encoding="utf-8")
        assert text.count(f"{anchor}\n") == 1, f"{path}: {anchor}"
        file.write_text(text.replace(f"{anchor}\n", f"{anchor}\n{body}"), encoding="utf-8")


def test_the_four_changes_work(tmp_path: Path) -> None:
    assert len(CHANGE.findall(PAGE)) == PAGE.count("```") // 2 == 13
    changed(tmp_path)
    shutil.copy(ROOT / "examples/digits/digits.onnx", tmp_path / "model.onnx")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert " bytes" in done.stdout


def test_the_page_names_rooms_and_tests_that_are_there() -> None:
    named = set(re.findall(r"`((?:edgec|tests|docs)/[\w/.]+)`", CHANGE.sub("", PAGE)))
    assert {"tests/verbs", "tests/settings", "tests/boards/test_gates.py", "tests/apps", "tests/cli", "tests/docs"} <= named
    assert not {path for path in named if not (ROOT / path).exists()}


def test_rooms_of_tests_have_the_names_of_rooms() -> None:
    """Beside those for what is no room of the sources."""
    rooms = {path.name for path in (ROOT / "edgec").iterdir() if (path / "__init__.py").exists()}
    tests = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("test_*.py"))}
    assert tests - rooms == {"benchmarks", "contract", "distribution", "docs", "fuzz", "gpu", "laws"}
