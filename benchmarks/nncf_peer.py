"""NNCF's post-training quantization with its defaults, in a virtual environment of its own.

    VENV/bin/python benchmarks/nncf_peer.py FLOAT.onnx SAMPLES.npz INT8.onnx

SAMPLES.npz holds one array for each input, the samples along a new first axis. `quantize_by_nncf` makes the environment where it is missing
(pip needs a registry for that, once) and runs this file in it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from environments import environment

PACKAGES = ("nncf==3.4.0", "onnx", "onnxruntime")


def quantize_by_nncf(model: bytes, feeds: Iterable[dict[str, np.ndarray]], folder: Path | None = None) -> bytes:
    """The float model as NNCF quantizes it. RuntimeError with its last words when it does not."""
    from edgec.cache.folder import cache_folder  # not there where this file runs by itself

    python, samples = environment(folder or cache_folder("nncf"), PACKAGES), list(feeds)
    with tempfile.TemporaryDirectory() as work:
        exact, data, stored = (Path(work) / name for name in ("float.onnx", "samples.npz", "int8.onnx"))
        exact.write_bytes(model)
        np.savez(data, allow_pickle=False, **{name: np.stack([sample[name] for sample in samples]) for name in samples[0]})
        done = subprocess.run([python, __file__, exact, data, stored], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no reason given"])[-1])
        return stored.read_bytes()


def main() -> int:
    import nncf
    import onnx

    exact, data, stored = sys.argv[1:]
    arrays = dict(np.load(data))
    samples = [{name: np.asarray(array[index]) for name, array in arrays.items()} for index in range(len(next(iter(arrays.values()))))]
    onnx.save(nncf.quantize(onnx.load(exact), nncf.Dataset(samples), subset_size=len(samples)), stored)
    return 0


if __name__ == "__main__":
    sys.exit(main())
