"""The example model as a C++ application's developer gets it, written once in a session, and the running of programs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import edgec

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


@cache
def digits() -> Path:
    """With labels and as a single file too; not compiled."""
    folder = Path(mkdtemp(prefix="edgec-cpp-"))
    (folder / "labels.txt").write_text("\n".join(f"digit {number}" for number in range(10)), encoding="utf-8")
    settings = {"task": "classify", "labels": folder / "labels.txt", "calib": DIGITS / "calibration.npz", "single_file": True}
    edgec.build(DIGITS / "digits.onnx", target="portable", out=folder / "digits", samples=16, compile=False, **settings)
    return folder / "digits"


def call(folder: Path, *words: str | Path, environment: Mapping[str, str] | None = None, stdin: bytes | None = None) -> str:
    """What a program prints; it must succeed."""
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, check=False, env=environment, input=stdin)
    assert done.returncode == 0, done.stdout.decode()[-2000:] + done.stderr.decode()[-3000:]
    return done.stdout.decode()
