"""Virtual environments for tools that edgec is compared with: made once, apart from edgec's own, because their packages disagree."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path


def environment(folder: Path, *groups: Sequence[str]) -> Path:
    """The Python of an environment in `folder` with these groups of pip's words. CalledProcessError when the first group cannot be
    installed (pip needs a registry for that, once); of the others it is said in a line."""
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        venv.create(folder, with_pip=True, clear=True)
        for group in groups:
            print(f"installing {' '.join(group)} into {folder}", file=sys.stderr, flush=True)
            done = subprocess.run([python, "-m", "pip", "install", "--quiet", *group], check=group is groups[0])
            if done.returncode:
                print(f"not to be had here: {' '.join(group)}", file=sys.stderr, flush=True)
        ready.touch()
    return python
