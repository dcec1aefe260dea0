"""What --task says of real models: a detector's mean average precision with boxes from the package's C and from numpy, a classifier's
top-1 with the package's own classes, and the time of one call.

    python benchmarks/tasks.py FOLDER [--target host]

FOLDER holds yolox_nano_416.onnx with pictures in coco_val_a/, and mobilenetv2-1.0.onnx with imagenet_eval.npz. Packages are float.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from accuracy import feed
from detection import KEPT, OVERLAP, SCORE, Boxes, mean_average_precision

import edgec
from edgec.package import Package

IMAGES = 100


class Class(ctypes.Structure):
    _fields_ = (("index", ctypes.c_int32), ("score", ctypes.c_float))


class Box(ctypes.Structure):
    _fields_ = (*((side, ctypes.c_float) for side in ("left", "top", "right", "bottom", "score")), ("index", ctypes.c_int32))


class Reader:
    """The task's function in the package's library; adds up the time that it takes."""

    def __init__(self, package: Package, function: str) -> None:
        name = package.manifest.name
        library = ctypes.CDLL(str(package.directory / "build" / f"lib{name}.so"))
        self.function = getattr(library, f"{name}_{function}")
        self.seconds, self.calls = 0.0, 0

    def __call__(self, answer: np.ndarray, *arguments: Any) -> None:
        array = np.ascontiguousarray(answer, np.float32)
        begin = time.perf_counter()
        status = self.function(array.ctypes.data_as(ctypes.c_void_p), *arguments)
        self.seconds, self.calls = self.seconds + time.perf_counter() - begin, self.calls + 1
        assert status == 0, status

    @property
    def microseconds(self) -> float:
        return self.seconds / self.calls * 1e6


def detect(package: Package, folder: Path) -> str:
    reader = Reader(package, "detect")

    def decoder(rows: np.ndarray, size: int, ratio: float) -> Boxes:
        boxes, found = (Box * KEPT)(), ctypes.c_int32()
        reader(rows, ctypes.c_float(SCORE), ctypes.c_float(OVERLAP), KEPT, boxes, ctypes.byref(found))
        table = np.array([[box.left, box.top, box.right, box.bottom, box.score, box.index] for box in boxes[: found.value]]).reshape(-1, 6)
        return Boxes(table[:, :4] / ratio, table[:, 4], table[:, 5].astype(int))

    with package.load() as runner:
        ours = mean_average_precision(lambda image: runner(image)[0], folder, decoder=decoder)
        theirs = mean_average_precision(lambda image: runner(image)[0], folder)
    return f"mAP50 with C {ours:.4f}, with numpy {theirs:.4f}; a call takes {reader.microseconds:.0f} us, above score {SCORE}"


def classify(package: Package, folder: Path) -> str:
    data, reader, best, right = np.load(folder / "imagenet_eval.npz"), Reader(package, "classify"), (Class * 5)(), 0
    with package.load() as runner:
        for image, label in zip(data["x"][:IMAGES], data["y"][:IMAGES], strict=True):
            reader(runner(feed("input", image, "imagenet"))[0], 5, best)
            right += best[0].index == label
    return f"top-1 of {IMAGES} images {right / IMAGES:.2f}; a call takes {reader.microseconds:.0f} us"


def main() -> None:
    parser = argparse.ArgumentParser(description="Scores the functions that --task adds, on real models.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default="host")
    options = parser.parse_args()
    for task, model, score, data in (
        ("classify", "mobilenetv2-1.0.onnx", classify, options.folder),
        ("detect", "yolox_nano_416.onnx", detect, options.folder / "coco_val_a"),
    ):
        with tempfile.TemporaryDirectory() as scratch:
            package = edgec.build(options.folder / model, target=options.target, precision="fp32", out=Path(scratch) / "package", task=task)
            print(f"{model} --task {task}: {score(package, data)}")


if __name__ == "__main__":
    main()
