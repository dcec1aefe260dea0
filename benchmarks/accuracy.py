"""Scores INT8 builds on labelled data: top-1, agreement with float, signal-to-noise ratio; build time and memory; and how far
the exported model.int8.onnx in ONNX Runtime agrees with the package.

    python benchmarks/accuracy.py FOLDER [--only mobilenet ...] [--target host] [--observer mse]

FOLDER holds the models and data sets named below: an .npz has images `x`, uint8 [N,H,W,C] or [N,H,W], and labels `y`; the detector's
folder has pictures with YOLO-format labels beside them.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from detection import letterbox, mean_average_precision
from PIL import Image

import edgec
from edgec.exam.comparison import compare_answers
from edgec.exam.reference import FloatModel
from edgec.frontend import load_model

Feed = dict[str, np.ndarray]
IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


@dataclass(frozen=True)
class Task:
    """A model, the data that scores it, the data that calibrates it (None: the first images of other data), and its arithmetic."""

    model: str
    evaluation: str
    calibration: str | None
    arithmetic: str  # imagenet: normalized NCHW; nchw, nhwc: raw 0..255


TASKS = {
    "mobilenet": Task("mobilenetv2-1.0.onnx", "imagenet_eval.npz", "imagenet_calib.npz", "imagenet"),
    "squeezenet": Task("squeezenet1.1.onnx", "imagenet_eval.npz", "imagenet_calib.npz", "imagenet"),
    "mnist": Task("mnist-8.onnx", "mnist_test_5000.npz", None, "nchw"),
    "resnet8": Task("resnet8_cifar10.onnx", "cifar10_test_2000.npz", None, "nhwc"),
}
# title, key of the row, width, format
COLUMNS = (
    ("images", "images", 8, "d"), ("fp32", "fp32", 8, ".2%"), ("int8", "int8", 8, ".2%"), ("agree", "agreement", 8, ".2%"),
    ("SQNR dB", "sqnr_db", 9, ".2f"), ("build s", "seconds", 9, ".1f"), ("peak MB", "peak_mb", 9, ".0f"),
    ("engine =", "engine_equal", 10, ".3%"), ("steps", "engine_steps", 7, ".2f"),
    ("far", "engine_far", 5, "d"), ("arg-max", "engine_argmax", 9, ".2%"),
)  # fmt: skip
ENGINE_IMAGES = 300
HELD_BACK = 200  # images that calibrate, and do not count, where there is no calibration set


def feed(name: str, image: np.ndarray, arithmetic: str) -> Feed:
    picture = image.astype(np.float32).reshape(*image.shape[:2], -1)
    if arithmetic == "nhwc":
        return {name: picture[None]}
    if arithmetic == "imagenet":
        picture = ((picture / 255 - IMAGENET["mean"]) / IMAGENET["std"]).astype(np.float32)
    return {name: np.ascontiguousarray(picture.transpose(2, 0, 1)[None])}


def score(folder: Path, task: Task, **settings: Any) -> dict[str, Any]:
    """Build, then compare on every evaluation image."""
    data = np.load(folder / task.evaluation)
    images, labels = data["x"], data["y"]
    known = np.load(folder / task.calibration)["x"] if task.calibration else images[:HELD_BACK]
    if task.calibration is None:
        images, labels = images[HELD_BACK:], labels[HELD_BACK:]
    graph = load_model(folder / task.model).graph
    name = graph.inputs[0]

    def samples() -> Iterator[Feed]:
        return (feed(name, image, task.arithmetic) for image in known)

    with tempfile.TemporaryDirectory() as out:
        start = time.monotonic()
        package = edgec.build(folder / task.model, calib=samples, out=Path(out) / "package", **settings)
        seconds = time.monotonic() - start
        package.examine()
        with package.load() as runner:
            found = compare_answers(
                graph.outputs,
                (feed(name, image, task.arithmetic) for image in images),
                FloatModel(graph),
                lambda sample: runner(sample),
                labels,
            )
        first = found.outputs[0]
        agreement = engine_agreement(package, (feed(name, image, task.arithmetic) for image in images[:ENGINE_IMAGES]))
    facts = {"images": found.samples, "fp32": found.accuracy["fp32"][0], "int8": found.accuracy["package"][0]}
    facts |= {"agreement": first.agreement, "sqnr_db": first.sqnr_db, "seconds": seconds}
    return facts | {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024} | agreement


def engine_agreement(package: edgec.Package, feeds: Iterator[Feed]) -> dict[str, float]:
    """ONNX Runtime on model.int8.onnx against the package: the share of equal values, the largest difference in steps of the output,
    how many samples differ by more than one step, and the share of equal arg-max among the samples whose two best values in ONNX Runtime
    differ by more than one step."""
    session = onnxruntime.InferenceSession(package.directory / "model.int8.onnx", providers=["CPUExecutionProvider"])
    equal, steps, clear, agreeing, far = [], 0.0, 0, 0, 0
    with package.load() as runner:
        for sample in feeds:
            ours, theirs = runner(sample)[0].ravel(), session.run(None, sample)[0].ravel()
            gaps = np.diff(np.unique(np.concatenate([ours, theirs])))
            step = float(gaps[gaps > gaps.max(initial=1.0) * 1e-6].min(initial=np.inf))
            equal.append(float(np.mean(ours == theirs)))
            apart = float(np.abs(ours - theirs).max()) / step
            steps, far = max(steps, apart), far + int(apart > 1.001)
            best = np.sort(theirs)[-2:]
            if best[1] - best[0] > step * 1.001:
                clear += 1
                agreeing += int(ours.argmax() == theirs.argmax())
    return {"engine_equal": float(np.mean(equal)), "engine_steps": steps, "engine_far": far, "engine_argmax": agreeing / max(clear, 1)}


def score_detector(folder: Path, **settings: Any) -> tuple[float, float]:
    """mAP50 of the float model and of the INT8 build, calibrated on letterboxed photographs of another set."""
    photos = np.load(folder / "imagenet_calib.npz")["x"]
    model = folder / "yolox_nano_416.onnx"
    reference = FloatModel(load_model(model).graph)
    with tempfile.TemporaryDirectory() as out:
        package = edgec.build(
            model,
            calib=lambda: ({"images": letterbox(Image.fromarray(photo), 416)[0]} for photo in photos),
            out=Path(out) / "package",
            **settings,
        )
        package.examine()
        with package.load() as runner:
            found = mean_average_precision(lambda image: runner(image)[0], folder / "coco_val_a")
    return mean_average_precision(lambda image: reference({"images": image})[0], folder / "coco_val_a"), found


def main() -> None:
    parser = argparse.ArgumentParser(description="Scores INT8 builds on labelled data.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[*TASKS, "yolox"], choices=[*TASKS, "yolox"])
    parser.add_argument("--target", default="host")
    parser.add_argument("--observer", default=None)
    options = parser.parse_args()
    print(f"{'':12}" + "".join(f"{title:>{width}}" for title, _, width, _ in COLUMNS))
    for name in options.only:
        if name == "yolox":
            reference, found = score_detector(options.folder, target=options.target, observer=options.observer)
            print(f"{name:12}mAP50 fp32 {reference:.3f}, int8 {found:.3f}", flush=True)
            continue
        row = score(options.folder, TASKS[name], target=options.target, observer=options.observer)
        print(f"{name:12}" + "".join(f"{row[key]:{width}{form}}" for _, key, width, form in COLUMNS), flush=True)


if __name__ == "__main__":
    main()
