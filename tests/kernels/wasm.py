"""Kernels in real WebAssembly: compiled for WASI, which gives them files, and run by Node."""

from __future__ import annotations

from pathlib import Path

SHIM = Path(__file__).parent / "wasi"
CLANG = ("clang", "--target=wasm32-wasi")
# V8's direct calls of node:wasi's functions damage its heap (Node 20: four runs of ten crash); without them every call takes the safe way
NODE = ("node", "--no-warnings", "--no-turbo-fast-api-calls", str(SHIM / "run.mjs"))


def relaxed(behaviour: str) -> tuple[str, ...]:
    """Flags by which clang, given -mrelaxed-simd, takes the dot product of tests/kernels/wasi/relaxed.h, of an engine that behaves so."""
    return ("-U__clang_major__", "-D__clang_major__=17", f"-DRELAXED={behaviour}", "-include", str(SHIM / "relaxed.h"))
