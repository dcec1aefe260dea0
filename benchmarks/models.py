"""Builds real models and prints one table: does it build, does the exam pass, error against ONNX Runtime, sizes, latency.

    python benchmarks/models.py FOLDER [--target host] [--only mnist mobilenet ...] [--precision fp32 int8] [--threads 1] [--json FILE]

FOLDER holds the models named below; one that is missing gets a line that says so. The nine `light` graphs come from the onnx
package. The error is max|a - b| / max|b| of the worst output on three inputs, and SQNR is over the same. Exit code 1 when something failed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import onnx.backend.test
import onnxruntime
from PIL import Image

import edgec
from edgec.base.errors import EdgecError

FP32_LIMIT = 1e-4
CALIBRATION_SAMPLES = 32
Feed = dict[str, np.ndarray]


# Inputs. Each function takes a photograph, uint8 [224, 224, 3], and gives the model's input.


def torchvision(photo: np.ndarray) -> np.ndarray:
    scaled = (photo.astype(np.float32) / 255 - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    return scaled.astype(np.float32).transpose(2, 0, 1)[None]


def resized(photo: np.ndarray, width: int, height: int) -> np.ndarray:
    return np.asarray(Image.fromarray(photo).resize((width, height), Image.Resampling.BILINEAR), np.float32)


def yolox(photo: np.ndarray) -> np.ndarray:
    return resized(photo, 416, 416)[:, :, ::-1].transpose(2, 0, 1)[None].copy()


def ultraface(photo: np.ndarray) -> np.ndarray:
    return ((resized(photo, 320, 240) - 127) / 128).transpose(2, 0, 1)[None].astype(np.float32)


def keras(photo: np.ndarray) -> np.ndarray:
    return (photo.astype(np.float32) / 127.5 - 1)[None]


def cifar(photo: np.ndarray) -> np.ndarray:
    return resized(photo, 32, 32)[None]


def gray(width: int, scale: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda photo: (resized(photo, width, width).mean(axis=2) / np.float32(scale))[None, None].astype(np.float32)


def plain(photo: np.ndarray) -> np.ndarray:
    return photo.astype(np.float32).transpose(2, 0, 1)[None] - 128


def spectrum(photo: np.ndarray) -> np.ndarray:
    """Not speech, but of the size and range that a keyword spotter sees."""
    return ((resized(photo, 10, 49).mean(axis=2) - 128) / 8)[None, :, :, None].astype(np.float32)


@dataclass(frozen=True)
class Subject:
    """A model file and what its input looks like."""

    name: str
    prepare: Callable[[np.ndarray], np.ndarray]
    shape: tuple[int, ...] | None = None  # pins a dynamic input
    data: str | None = None  # .npz of its own photographs, when not the ImageNet ones
    int8: bool = True


SUBJECTS = (
    Subject("mobilenetv2-1.0", torchvision, (1, 3, 224, 224)),
    Subject("mobilenet_v2_keras_deq", keras),
    Subject("squeezenet1.1", torchvision),
    Subject("yolox_nano_416", yolox),
    Subject("ultraface-RFB-320", ultraface),
    Subject("resnet8_cifar10", cifar, (1, 32, 32, 3), "cifar10_test_2000.npz"),
    Subject("mnist-8", gray(28, 1.0), data="mnist_test_5000.npz"),
    Subject("kws_dscnn", spectrum, (1, 49, 10, 1)),
    Subject("sed_unet", gray(224, 255.0), (1, 1, 224, 224)),
    Subject("superres3x", gray(74, 255.0), (1, 1, 74, 74)),
)
LIGHT = tuple(
    Subject(f"light_{name}", plain, int8=False)
    for name in ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19", "zfnet512")
)


@dataclass(frozen=True)
class Line:
    """One row of the table; None where it could not be measured."""

    model: str
    precision: str
    status: str
    error: float | None = None
    sqnr_db: float | None = None
    weights_kib: float | None = None
    arena_kib: float | None = None
    build_s: float | None = None
    us: float | None = None
    onnxruntime_us: float | None = None
    isa: str = ""


def main() -> int:
    options = parse()
    lines = []
    print(heading(), flush=True)
    for subject in (*SUBJECTS, *LIGHT):
        if options.only and not any(word in subject.name for word in options.only):
            continue
        for precision in options.precision:
            if precision == "fp32" or subject.int8:
                lines.append(measure(subject, precision, options))
                print(row(lines[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n", encoding="utf-8")
    return int(any(line.status != "ok" for line in lines))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default="host")
    parser.add_argument("--only", nargs="+", default=[], help="models whose name holds one of these words")
    parser.add_argument("--precision", nargs="+", default=["fp32", "int8"], choices=("fp32", "int8"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each latency measurement")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def measure(subject: Subject, precision: str, options: argparse.Namespace) -> Line:
    """Build, examine, compare and time one model."""
    path = find(subject, options.folder)
    if path is None:
        return Line(subject.name, precision, "missing")
    feeds = [feed(subject, path, photo) for photo in photographs(subject, options.folder)]
    work = Path(tempfile.mkdtemp(prefix="edgec-models-"))
    start = time.perf_counter()
    try:
        calibration = (lambda: iter(feeds[3:])) if precision == "int8" else None
        shape = {name: array.shape for name, array in feeds[0].items()}
        package = edgec.build(path, target=options.target, precision=precision, calib=calibration, out=work / "package", shape=shape)
        took = time.perf_counter() - start
        facts = package.manifest
        package.examine(threads=options.threads)
        with package.load(threads=options.threads) as runner:
            answers = [runner(one) for one in feeds[:3]]
        speed = package.benchmark(options.seconds, threads=options.threads)
        session, theirs = reference(path, options)
        error, sqnr = compare([session.run(None, one) for one in feeds[:3]], answers)
        status = "ok" if precision == "int8" or error <= FP32_LIMIT else "INACCURATE"
        return Line(subject.name, precision, status, error, sqnr, facts.weights_bytes / 1024, facts.arena_bytes / 1024, took,
                    speed["p50_us"], theirs(feeds[0]), speed["isa"])  # fmt: skip
    except EdgecError as problem:
        return Line(subject.name, precision, str(problem).replace("\n", " ")[:160])
    finally:
        shutil.rmtree(work, ignore_errors=True)


def find(subject: Subject, folder: Path) -> Path | None:
    light = Path(onnx.backend.test.__file__).parent / "data" / "light"
    paths = (folder / f"{subject.name}.onnx", light / f"{subject.name}.onnx")
    return next((path for path in paths if path.exists()), None)


@cache
def _images(path: Path) -> np.ndarray:
    return np.load(path)["x"][: CALIBRATION_SAMPLES + 3]


def photographs(subject: Subject, folder: Path) -> Iterable[np.ndarray]:
    """Photographs of the folder, else noise; the first three are for comparing, the others for calibrating."""
    path = folder / (subject.data or "imagenet_calib.npz")
    if path.exists():
        images = _images(path)
        images = images.reshape(len(images), 28, 28, 1).repeat(3, axis=3) if images[0].size == 784 else images
        return list(images.astype(np.uint8))
    return list(np.random.default_rng(0).integers(0, 256, (8, 224, 224, 3), np.uint8))


def feed(subject: Subject, path: Path, photo: np.ndarray) -> Feed:
    """The model's one real input, in its pinned shape."""
    model = onnx.load(str(path), load_external_data=False)
    weights = {tensor.name for tensor in model.graph.initializer}
    (name,) = (value.name for value in model.graph.input if value.name not in weights)
    array = subject.prepare(photo)
    return {name: array.reshape(subject.shape or array.shape)}


def reference(path: Path, options: argparse.Namespace) -> tuple[onnxruntime.InferenceSession, Callable[[Feed], float]]:
    """ONNX Runtime on the original file, and a function that gives its median latency in microseconds."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])

    def latency(one: Feed) -> float:
        times: list[float] = []
        stop = time.perf_counter() + options.seconds
        while time.perf_counter() < stop or len(times) < 3:
            start = time.perf_counter()
            session.run(None, one)
            times.append(time.perf_counter() - start)
        return float(np.median(times)) * 1e6

    return session, latency


def compare(expected: list[list[np.ndarray]], answers: list[list[np.ndarray]]) -> tuple[float, float]:
    """(largest max|a - b| / max|b| of an output, SQNR in dB of the worst output over all inputs)."""
    errors, ratios = [], []
    for wanted, got in zip(zip(*expected, strict=True), zip(*answers, strict=True), strict=True):
        want, have = (np.stack(values).astype(np.float64) for values in (wanted, got))
        errors += [np.abs(a - b).max() / max(np.abs(b).max(), 1e-30) for a, b in zip(have, want, strict=True)]
        ratios.append(np.sum(want**2) / max(np.sum((have - want) ** 2), 1e-300))
    return float(max(errors)), float(10 * np.log10(max(min(ratios), 1e-30)))


COLUMNS = ("error", "sqnr_db", "weights_kib", "arena_kib", "build_s", "us", "onnxruntime_us")


def heading() -> str:
    return f"{'model':<20} {'':<5}" + "".join(f"{name.replace('_', ' '):>16}" for name in COLUMNS) + "  isa, status"


def row(line: Line) -> str:
    cells = "".join(f"{'-' if (value := getattr(line, name)) is None else f'{value:.4g}':>16}" for name in COLUMNS)
    return f"{line.model:<20} {line.precision:<5}{cells}  {line.isa} {line.status}"


if __name__ == "__main__":
    sys.exit(main())
