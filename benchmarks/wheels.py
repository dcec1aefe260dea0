"""Wheels of real models: their sizes, equal answers in Python on this machine and on 64-bit ARM under qemu, and what Python costs.

    python benchmarks/wheels.py FOLDER [--pictures 4] [--seconds 2] [--rounds 5]

FOLDER has mobilenetv2-1.0.onnx with imagenet_calib.npz and imagenet_eval.npz, and yolox_nano_416.onnx with coco_val_a. Both are built in
INT8 with `--wheel` for this machine and for linux-arm64. Debian's Python and numpy for arm64 are fetched by apt. The bytes of all outputs,
and what the task says of them, are compared for each picture with those of the package itself. The package's own program and Python take
turns in being timed (one thread); of each the fastest run counts. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import edgec
from edgec.package import Package
from tests.apps.wheels import foreign_python, install, python_command, wheel_of

MODELS: dict[str, dict[str, Any]] = {
    "mobilenetv2-1.0": {
        "task": "classify",
        "preprocess": {"scale": 1 / 255, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "shorter": 256},
    },
    "yolox_nano_416": {
        "task": "detect",
        "preprocess": {"resize": "letterbox", "anchor": "top-left", "fill": 114, "color": "bgr"},
    },
}
ASK = """
import hashlib, importlib, json, sys
import numpy as np
module = importlib.import_module(sys.argv[1])
(kind,) = (value for value in vars(module).values() if isinstance(value, type) and hasattr(value, "from_picture"))
model = kind(threads=int(sys.argv[3]))
data, found = np.load(sys.argv[2]), []
for name in sorted(data.files):
    outputs = vars(model.run(data[name]))
    said = getattr(model, sys.argv[4])(data[name])
    hashed = hashlib.sha256(b"".join(array.tobytes() for array in outputs.values())).hexdigest()
    found.append([hashed, repr(said)])
print(json.dumps([model.isa, found]))
"""


def pictures(folder: Path, stem: str, count: int) -> list[np.ndarray]:
    if stem.startswith("mobilenet"):
        return list(np.load(folder / "imagenet_eval.npz")["x"][:count])
    return [np.asarray(Image.open(path).convert("RGB")) for path in sorted((folder / "coco_val_a").rglob("*.jpg"))[:count]]


def samples(folder: Path, stem: str, scratch: Path) -> str:
    """What to calibrate with: pictures that are not asked about."""
    if stem.startswith("mobilenet"):
        return str(folder / "imagenet_calib.npz")
    chosen = scratch / "pictures"
    chosen.mkdir()
    for path in sorted((folder / "coco_val_a").rglob("*.jpg"))[-16:]:
        (chosen / path.name).symlink_to(path.resolve())
    return str(chosen)


def asked(words: list[str], environment: dict[str, str], site: Path, module: str, data: Path, threads: int, method: str) -> tuple[str, Any]:
    """The set of instructions in use, and for each picture the hash of the outputs and what the task says."""
    path = os.pathsep.join(filter(None, [str(site), environment.get("PYTHONPATH", "")]))
    command = [*words, "-c", ASK, module, str(data), str(threads), method]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    isa, found = json.loads(done.stdout)
    return isa, found


def examined(site: Path, module: str, seconds: float) -> dict[str, Any]:
    words = [sys.executable, "-m", module, "--json", "--seconds", str(seconds)]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def timed(package: Package, site: Path, module: str, given: argparse.Namespace) -> str:
    """The package's own program and Python, taking turns."""
    native, python = [], []
    for _ in range(given.rounds):
        native.append(package.benchmark(given.seconds / given.rounds)["min_us"])
        python.append(examined(site, module, given.seconds / given.rounds)["min_us"])
    return f"{min(native) / 1e3:.2f} ms in C, {min(python) / 1e3:.2f} ms in Python ({min(python) / min(native):.3f} times)"


def answers(package: Package, module: Any, images: list[np.ndarray]) -> list[str]:
    """Hashes of the package's outputs for the inputs that the wheel makes of pictures."""
    with package.load() as run:
        return [hashlib.sha256(b"".join(array.tobytes() for array in run(module.tensor_of(image)))).hexdigest() for image in images]


def compare(folder: Path, stem: str, python: tuple[list[str], dict[str, str]], scratch: Path, given: argparse.Namespace) -> bool:
    """Print a model's lines; whether all answers are the same."""
    images, settings = pictures(folder, stem, given.pictures), MODELS[stem]
    data = scratch / "pictures.npz"
    np.savez(data, **{f"{index:03}": image for index, image in enumerate(images)})
    settings |= {"calib": samples(folder, stem, scratch), "samples": 16, "wheel": True}
    packages, sites = {}, {}
    for target, machine in (("x86-64", "x86_64"), ("linux-arm64", "aarch64")):
        packages[target] = edgec.build(folder / f"{stem}.onnx", target=target, out=scratch / target, **settings)
        wheel = wheel_of(packages[target].directory, machine)
        print(f"{stem}: {wheel.name}, {wheel.stat().st_size:,} bytes", flush=True)
        sites[target] = scratch / f"site-{target}"
        platform = [f"--platform={tag}" for tag in wheel.stem.split("-")[4].split(".")]
        install(wheel, sites[target], "--only-binary=:all:", *platform)
    module, method = packages["x86-64"].manifest.name, settings["task"]
    found = {}
    for where, (words, environment), site, threads in (
        ("Python here", ([sys.executable], {}), "x86-64", 1),
        ("Python here", ([sys.executable], {}), "x86-64", 3),
        ("Python on arm64", python, "linux-arm64", 2),
    ):
        isa, found[where, threads] = asked(words, environment, sites[site], module, data, threads, method)
        print(f"{stem}: {where}, {isa}, {threads} thread(s): {found[where, threads][0][1][:90]}", flush=True)
    sys.path.insert(0, str(sites["x86-64"]))
    expected = answers(packages["x86-64"], __import__(f"{module}._picture", fromlist=["tensor_of"]), images)
    first = next(iter(found.values()))
    same = all(other == first for other in found.values()) and [hashed for hashed, _ in first] == expected
    print(f"{stem}: {'the same bytes everywhere' if same else 'OTHER BYTES'}, {len(images)} pictures", flush=True)
    print(f"{stem}: {timed(packages['x86-64'], sites['x86-64'], module, given)}", flush=True)
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each way, over all rounds")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="edgec-wheels-") as scratch:
        foreign = Path(scratch) / "python"
        foreign.mkdir()
        foreign_python(foreign, "arm64")
        same = []
        for stem in MODELS:
            (Path(scratch) / stem).mkdir()
            same.append(compare(given.folder, stem, python_command(foreign, "arm64"), Path(scratch) / stem, given))
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
