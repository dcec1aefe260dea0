"""docs/custom-operators.md: its files, commands and checks, run as a reader would."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from edgec.operators import CustomOperator
from edgec.operators.finding import GROUP
from tests.calling import ROOT

PAGE = (ROOT / "docs" / "custom-operators.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(PAGE) if kind == language]


def test_the_example_is_built_in_float_and_in_8_bits_and_answers_as_numpy_does(tmp_path: Path) -> None:
    operators, make, check, *_ = blocks("python")
    (tmp_path / "acme.py").write_text(operators)
    (tmp_path / "make.py").write_text(make)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CC": "gcc -O0", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    (commands,) = blocks("sh")
    for command in commands.splitlines():
        program, *words = shlex.split(command)
        module = ["-m", "edgec"] if program == "edgec" else []
        called = [sys.executable, *module, *words]
        done = subprocess.run(called, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert "misread" not in done.stderr, "ONNX Runtime runs the file itself"
    subprocess.run([sys.executable, "-c", check], cwd=tmp_path, check=True)


def test_the_other_blocks_define_operators() -> None:
    names = dict[str, object]()
    operators, _, _, *others = blocks("python")
    for block in (operators, *others):
        exec(block, names)
    found = [str(item) for item in names.values() if isinstance(item, CustomOperator)]
    assert found == ["com.acme::Snake", "com.acme::Gate", "com.acme::Halve"]
    (entry,) = blocks("toml")
    assert list(tomllib.loads(entry)["project"]["entry-points"]) == [GROUP]
