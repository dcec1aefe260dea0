"""Wheels for tests: built quickly, installed beside each other, and Pythons of other processors to run them."""

from __future__ import annotations

import functools
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

import edgec
from edgec.apps.wheel_archive import make_wheels
from tests.conftest import require

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
PREPROCESS = {"color": "gray", "resize": "letterbox", "scale": 16 / 255}
LABELS = [f'digit {number} \u2603"""\\' for number in range(10)]
# Debian's name of a processor -> qemu's, and the folder of its libraries
PROCESSORS = {"arm64": ("qemu-aarch64", "aarch64-linux-gnu"), "armhf": ("qemu-arm", "arm-linux-gnueabihf")}


def digits(folder: Path) -> None:
    """The example model in `folder`/digits, with a wheel for each processor."""
    (folder / "labels.txt").write_text("\n".join(LABELS), encoding="utf-8")
    settings = {"task": "classify", "labels": folder / "labels.txt", "calib": DIGITS / "calibration.npz", "preprocess": PREPROCESS}
    require("gcc", "aarch64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc")
    with quickly():
        edgec.build(DIGITS / "digits.onnx", target="universal", out=folder / "digits", cc="gcc -O0", wheel=True, **settings)


def built(model: Path, out: Path, **settings: Any) -> Path:
    """A package of which only the wheel for this machine is compiled."""
    require("gcc")
    with quickly(), mock.patch("edgec.pipeline.finish.compile_package"), mock.patch("edgec.apps.wheel_archive._EVERY_ABI", ("x86_64",)):
        edgec.build(model, target="portable", out=out, cc="gcc", wheel=True, **settings)
    return out


@contextmanager
def quickly() -> Iterator[None]:
    """Wheels whose libraries are not optimized."""
    with mock.patch("edgec.pipeline.finish.make_wheels", functools.partial(make_wheels, optimize="-O0")):
        yield


def wheel_of(package: Path, machine: str = "x86_64") -> Path:
    (found,) = (package / "dist").glob(f"*_{machine}.whl")
    return found


def install(wheel: Path, folder: Path, *flags: str) -> None:
    """By pip, without a network."""
    words = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-q", "--no-index", "--no-deps", "--no-compile"]
    done = subprocess.run([*words, *flags, "--target", str(folder), str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def imported(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that is installed in `folder`."""
    monkeypatch.syspath_prepend(str(folder))
    for known in [known for known in sys.modules if known.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, known)
    return importlib.import_module(name)


def examined(*words: str, folder: Path, module: str = "digits", **environment: str) -> tuple[int, Any]:
    """What `python -m digits --json` says of the module in `folder`; words: a command that is Python."""
    command = [*(words or (sys.executable,)), "-B", "-m", module, "--seconds", "0", "--json"]
    path = os.pathsep.join([str(folder), *filter(None, [environment.pop("PYTHONPATH", "")])])
    done = subprocess.run(command, env={**os.environ, **environment, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def foreign_python(folder: Path, processor: str) -> None:
    """Debian's Python and numpy for another processor, unpacked in `folder`/root; apt's own settings and state are left alone."""
    apt = folder / "apt"
    for path in ("state/lists/partial", "cache/archives/partial"):
        (apt / path).mkdir(parents=True)
    (apt / "status").touch()
    (apt / "apt.conf").write_text(
        f'Dir::State "{apt}/state"; Dir::State::status "{apt}/status"; Dir::Cache "{apt}/cache"; Acquire::Languages "none";\n'
        f'APT::Architecture "{processor}"; APT::Architectures {{"{processor}";}}; APT::Sandbox::User "root";\n',
        encoding="utf-8",
    )
    fetch = ["install", "--download-only", "--no-install-recommends", "-y", "python3-numpy"]
    for words in (["update"], fetch):
        done = subprocess.run(
            ["apt-get", "-qq", *words], env={**os.environ, "APT_CONFIG": f"{apt}/apt.conf"}, capture_output=True, text=True, check=False
        )
        assert words == ["update"] or done.returncode == 0, done.stderr  # another repository may know nothing of the processor
    for package in sorted((apt / "cache/archives").glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(folder / "root")], check=True)


def python_command(folder: Path, processor: str) -> tuple[list[str], dict[str, str]]:
    """Python of foreign_python() as a command, and what it must find in its environment."""
    emulator, libraries = PROCESSORS[processor]
    root = folder / "root"
    path = ":".join(f"{root}/usr/lib/{libraries}/{name}" for name in ("blas", "lapack"))
    return [emulator, "-L", str(root), "-E", f"LD_LIBRARY_PATH={path}", f"{root}/usr/bin/python3"], {
        "PYTHONPATH": f"{root}/usr/lib/python3/dist-packages"
    }
