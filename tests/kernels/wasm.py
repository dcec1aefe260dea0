"""Kernels in real WebAssembly: compiled for WASI, which gives them files, and run by Node."""

from __future__ import annotations

from pathlib import Path

SHIM = Path(__file__).parent / "wasi"
CLANG = ("clang", "--target=wasm32-wasi")
# Node 20 may crash at its end after a program of WASI, unless it compiles on the same thread
NODE = ("node", "--no-warnings", "--single-threaded", str(SHIM / "run.mjs"))
