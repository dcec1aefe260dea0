"""docs/devices.md: the commands that need no board of somebody's are run, in order; what it says of numbers is the code's own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from edgec.boards.board.measure import Options
from edgec.boards.board.validity import BUSY, MOST_DROP, WIDEST
from edgec.boards.farm.gates import MARGIN
from edgec.cli.verbs import parse
from edgec.records.results import STATUSES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/devices.md").read_text(encoding="utf-8")
COMMANDS = [line.partition("#")[0].strip() for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S) for line in block.splitlines()]


def test_every_command_is_understood() -> None:
    ours = [command.split()[1:] for command in COMMANDS if command.startswith("edgec ")]
    assert len(ours) > 10
    for words in ours:
        assert parse(words).verb == words[0]


def test_what_needs_no_board_works(tmp_path: Path) -> None:
    """The first bench, its report in four forms, and a history."""
    digits = ROOT / "examples" / "digits"
    shutil.copy(digits / "digits.onnx", tmp_path)
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    build = f"edgec build -q --target portable --cc 'gcc -O1' --calib {digits / 'calibration.npz'} -o digits digits.onnx"
    bench = next(command for command in COMMANDS if command == "edgec bench digits --all")
    report, history = (command for command in COMMANDS if command.startswith("edgec report"))
    quick = f"{bench} --seconds 0.1 --runs 5 --rounds 2 --threads 1"
    moved = "mkdir monday tuesday; cp bench-digits/results.jsonl monday; cp bench-digits/results.jsonl tuesday"
    for command in (build, quick, report, moved, history):
        done = subprocess.run(["sh", "-ec", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert all((tmp_path / name).stat().st_size > 300 for name in ("report.html", "summary.md", "junit.xml", "trace.json", "history.html"))


def test_numbers_and_words_are_the_codes_own() -> None:
    options = Options()
    assert f"rounds ({options.rounds})" in PAGE and f"{options.runs} runs and {options.seconds:g} seconds" in PAGE
    assert f"a load of {BUSY} or more" in PAGE and f"than {WIDEST * 100:.0f} %" in PAGE and f"more than {MOST_DROP * 100:.0f} %" in PAGE
    assert "by a factor of three" in PAGE and MARGIN == 3
    assert all(f"`{status}`" in PAGE.partition("Verdicts are")[2].partition("The exit code")[0] for status in STATUSES)
