"""Web packages for tests: the example model built once in a session, and programs in Node that use a package."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import edgec
from tests.conftest import require

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
PREPROCESS = {"color": "gray", "resize": "letterbox", "scale": 16 / 255}


@cache
def digits() -> Path:
    """The example model for the web, with labels and pictures."""
    folder = Path(mkdtemp(prefix="edgec-web-"))
    (folder / "labels.txt").write_text("\n".join(f'digit {number} \u2603"</script>' for number in range(10)), encoding="utf-8")
    settings = {"task": "classify", "calib": DIGITS / "calibration.npz", "labels": folder / "labels.txt", "preprocess": PREPROCESS}
    return built(DIGITS / "digits.onnx", folder / "digits", **settings)


def built(model: Path, out: Path, **settings: Any) -> Path:
    """A package compiled quickly."""
    require("clang", "wasm-ld", "node")
    edgec.build(model, target="wasm", out=out, cc="clang --target=wasm32 -O0", **settings)
    return out


def node(package: Path, code: str, *arguments: str) -> Any:
    """What an ES module with `code` in it, which sees the package's module as `m`, gives to `show`."""
    name = json.loads((package / "manifest.json").read_text(encoding="utf-8"))["name"]
    address = json.dumps((package / "web" / f"{name}.mjs").as_uri())
    program = f"import * as m from {address};\nconst show = (value) => console.log(JSON.stringify(value));\n{code}\n"
    command = [str(shutil.which("node")), "--input-type=module", "-e", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
