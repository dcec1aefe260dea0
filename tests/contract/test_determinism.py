"""Equal model, calibration data and options give equal bytes: in another process, with other hash seeds, on lesser processors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgec.frontend import from_proto
from tests.contract.examiner import WHOLE
from tests.contract.subjects import FAMILIES, SEED, samples_of
from tests.nets import MODELS

ROOT = Path(__file__).parents[2]
HERE = FAMILIES if WHOLE else ("squeezenet", "unet")
WAYS = (("mse", "x86-64"), ("entropy", "rpi4"))  # which families have in turns
BUILD = (
    "import sys, edgec\n"
    "model, calib, out, observer, target = sys.argv[1:]\n"
    "edgec.build(model, calib=calib, out=out, observer=observer, target=target, compile=False)\n"
)
# What numpy chose of this processor at run time
FEATURES = " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))  # type: ignore[call-overload]
# All at once: where they differ, one after the other tells which
OTHER = {
    "PYTHONHASHSEED": "7",
    "NPY_DISABLE_CPU_FEATURES": FEATURES,
    "OPENBLAS_NUM_THREADS": "1",
    "OPENBLAS_CORETYPE": "Nehalem",
    "OMP_NUM_THREADS": "1",
}


def build(family: str, folder: Path, environment: dict[str, str], observer: str, target: str) -> dict[str, bytes]:
    """The files of a package that a fresh process builds."""
    model, calib, out = folder / f"{family}.onnx", folder / "calib.npz", folder / "package"
    folder.mkdir()
    proto = MODELS[family](SEED)
    onnx.save(proto, model)
    samples = samples_of(from_proto(proto).graph, count=3)
    np.savez(calib, **{name: np.concatenate([sample[name] for sample in samples]) for name in samples[0]})
    command = [sys.executable, "-c", BUILD, str(model), str(calib), str(out), observer, target]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "NPY_DISABLE_CPU_FEATURES" not in done.stderr, done.stderr
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


@pytest.mark.sampled
@pytest.mark.parametrize(("family", "observer", "target"), [(family, *WAYS[n % len(WAYS)]) for n, family in enumerate(HERE)])
def test_two_builds_are_byte_identical(family: str, observer: str, target: str, tmp_path: Path) -> None:
    assert FEATURES or sys.platform != "linux"
    first = build(family, tmp_path / "first", {"PYTHONHASHSEED": "1"}, observer, target)
    assert {"manifest.json", "model.int8.onnx", "calibration.json", f"src/{family}.c"} <= set(first)
    again = build(family, tmp_path / "again", OTHER, observer, target)
    assert list(again) == list(first)
    assert [path for path in first if first[path] != again[path]] == []
