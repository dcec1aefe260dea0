"""Shaders to SPIR-V by a glslc that is started once: starting it takes as long as ten shaders do.

It is given many files, which it takes one after the other. Each of them is a pipe, filled when there is something to compile; that
glslc opens the next one says that it is done. A pipe is made only when its turn comes: a glslc that nobody feeds any more ends.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

from tests.conftest import require
from tests.contract.examiner import WHOLE

_FILES = 1000  # for one glslc


class _Compiler:
    def __init__(self, environment: str, switches: tuple[str, ...]) -> None:
        require("glslc", "spirv-val")
        self.keeper = tempfile.TemporaryDirectory(prefix="edgec-glslc-")
        self.folder, self.number, self.environment = Path(self.keeper.name), 0, environment
        names = [self._file(number).name for number in range(_FILES)]
        self._make_pipe()
        with (self.folder / "errors").open("wb") as errors:
            command = ["glslc", f"--target-env={environment}", "-O0", *switches, "-c", *names]
            self.process = subprocess.Popen(command, cwd=self.folder, stdout=errors, stderr=errors)
        self.pipe = self._opened()

    def _file(self, number: int) -> Path:
        return self.folder / f"{number}.comp"

    def _make_pipe(self) -> None:
        os.mkfifo(self._file(self.number))

    def _opened(self) -> int:
        """The writing end of the pipe, once glslc waits at its other end."""
        while True:
            try:
                pipe = os.open(self._file(self.number), os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                assert self.process.poll() is None, (self.folder / "errors").read_text()
                time.sleep(0.0005)
            else:
                os.set_blocking(pipe, True)
                return pipe

    def compile(self, source: str) -> bytes:
        code, errors = self.folder / f"{self.number}.comp.spv", self.folder / "errors"
        before = errors.stat().st_size
        self.number += 1
        self._make_pipe()
        with os.fdopen(self.pipe, "w") as file:
            file.write(source)
        self.pipe = self._opened()
        assert code.exists(), errors.read_text()[before:] + numbered(source)
        if WHOLE:
            done = subprocess.run(["spirv-val", "--target-env", self.environment, str(code)], capture_output=True, text=True)
            assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{numbered(source)}"
        return code.read_bytes()

    @property
    def is_used_up(self) -> bool:
        return self.number == _FILES - 1

    def end(self) -> None:
        """glslc finds an empty file, and then none."""
        os.close(self.pipe)
        self.process.wait()
        self.keeper.cleanup()


_compilers: dict[tuple[str, tuple[str, ...]], _Compiler] = {}


@atexit.register
def _end() -> None:
    for compiler in _compilers.values():
        compiler.end()


@cache
def compile_glsl(source: str, environment: str, switches: tuple[str, ...]) -> bytes:
    """SPIR-V. With WHOLE spirv-val has nothing against it; the validation layers, which have the same code, look at all that is run."""
    key = environment, switches
    if key in _compilers and _compilers[key].is_used_up:
        _compilers.pop(key).end()
    if key not in _compilers:
        _compilers[key] = _Compiler(environment, switches)
    return _compilers[key].compile(source)


def numbered(source: str) -> str:
    return "\n".join(f"{number:4} {line}" for number, line in enumerate(source.splitlines(), 1))
