"""edgec as users call it, for every room: the example model in a folder of its own, the program, and how it ended."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import edgec
from edgec.cli.main import main

ROOT = Path(__file__).parents[1]
DIGITS = ROOT / "examples" / "digits"
QUICK = ("--cc", "gcc -O0", "--target", "portable")


@dataclass(frozen=True)
class Ended:
    """A call of the program that ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output, which must be one JSON object of a known schema and nothing else."""
        facts = json.loads(self.out)
        assert facts["schema_version"] == 1
        return dict(facts)

    def failed(self, code: int, *words: str) -> None:
        """One clear error: the exit code of its family, its words, no traceback."""
        assert self.code == code, self.err
        assert self.err.count("error: ") == 1 and "Traceback" not in self.err
        for word in words:
            assert word in self.err


Program = Callable[..., Ended]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the example model and its data, which is the current one; no settings leak in."""
    for name in ("digits.onnx", "calibration.npz", "evaluation.npz"):
        shutil.copy(DIGITS / name, tmp_path / name)
    for name in [name for name in os.environ if name.startswith("EDGEC_") and name not in ("EDGEC_NO_SKIP", "EDGEC_CACHE")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def program(work: Path, capfd: pytest.CaptureFixture[str]) -> Program:
    """The program, in this process."""

    def call(*arguments: object) -> Ended:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        return Ended(code, *capfd.readouterr())

    return call


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, quantized and compiled for this machine; for reading only."""
    out = tmp_path_factory.mktemp("package") / "digits"
    edgec.build(DIGITS / "digits.onnx", calib=DIGITS / "calibration.npz", out=out, target="portable", cc="gcc -O0")
    return out


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
