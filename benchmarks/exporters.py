"""Networks of PyTorch, Keras and TensorFlow Lite straight into packages, by their real exporters: answers beside the library's own.

    python benchmarks/exporters.py [--folder FOLDER] [--only torch keras]

Makes a virtual environment for each library with edgec and its extra (PyTorch's takes six gigabytes), once, and runs itself there. A row
says what was given, how long the build took, and the largest difference between the package and the library, by the largest answer.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from environments import environment

import edgec
from edgec.cache.folder import cache_folder

ROOT = Path(__file__).parents[1]
EXTRAS = {"torch": "torch", "keras": "keras,tflite"}
IMAGE = np.random.default_rng(0).normal(size=(1, 3, 32, 32)).astype(np.float32)
Case = tuple[str, object, dict[str, Any], np.ndarray, np.ndarray]  # what it is, the model, arguments, the input, the library's answer


def torch_cases(folder: Path) -> Iterator[Case]:
    import torch
    from torch import nn

    network = nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 9)
    )
    example = (torch.from_numpy(IMAGE),)
    wanted = network.eval()(*example).detach().numpy()
    program = torch.export.export(network, example)
    torch.export.save(program, folder / "network.pt2")
    yield "torch module", network.train(), {"example_inputs": example}, IMAGE, wanted
    yield "torch exported program", program, {}, IMAGE, wanted
    yield "network.pt2", folder / "network.pt2", {"trust_model": True}, IMAGE, wanted


def keras_cases(folder: Path) -> Iterator[Case]:
    import keras
    import tensorflow

    layers = keras.layers
    network = keras.Sequential(
        [layers.Input((32, 32, 3), 1), layers.Conv2D(16, 3), layers.LeakyReLU(), layers.GlobalAveragePooling2D(), layers.Dense(9)]
    )
    image = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1))
    wanted = np.asarray(network(image))
    network.save(folder / "network.keras")
    (folder / "network.tflite").write_bytes(tensorflow.lite.TFLiteConverter.from_keras_model(network).convert())
    yield "keras model", network, {}, image, wanted
    yield "network.keras", folder / "network.keras", {"trust_model": True}, image, wanted
    yield "network.tflite", folder / "network.tflite", {}, image, wanted


CASES: Mapping[str, Callable[[Path], Iterator[Case]]] = {"torch": torch_cases, "keras": keras_cases}


def measure(library: str) -> None:
    with tempfile.TemporaryDirectory() as made:
        for place, (what, model, words, image, wanted) in enumerate(CASES[library](Path(made))):
            began = time.perf_counter()
            package = edgec.build(model, precision="fp32", out=Path(made) / str(place), cache=False, **words)
            took = time.perf_counter() - began
            with package.load() as runner:
                (found,) = runner({package.inputs[0].name: image})
            print(f"{what:24} {took:6.1f} s  {np.abs(found - wanted).max() / np.abs(wanted).max():.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="of the environments, instead of one in the cache")
    parser.add_argument("--only", nargs="+", choices=EXTRAS, default=list(EXTRAS))
    parser.add_argument("--here", choices=EXTRAS, help="measure this library, in this environment")
    options = parser.parse_args()
    if options.here:
        measure(options.here)
        return
    for library in options.only:
        folder = options.folder or cache_folder("exporters")
        python = environment(folder / library, ["--editable", f"{ROOT}[{EXTRAS[library]}]"])
        subprocess.run([python, __file__, "--here", library], check=True)


if __name__ == "__main__":
    sys.exit(main())
