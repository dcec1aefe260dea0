"""Files of operators, as they can be judged without running them, or loading ONNX."""

from __future__ import annotations

from pathlib import Path

from edgec.base.errors import UsageError

PAGE = "docs/custom-operators.md"


def check_path(path: Path) -> None:
    """UsageError for what is no Python file."""
    if not path.is_file():
        raise UsageError("is a folder" if path.is_dir() else "no such file", where=str(path), hint=f"give a Python file, see {PAGE}")
    if path.suffix != ".py":
        raise UsageError("is no Python file", where=str(path), hint=f"operators are defined in a .py file, see {PAGE}")
