"""Real models as Android libraries, on a JVM here: the exam, pictures through classify and detect, latencies beside C, and sizes.

    python -m benchmarks.android FOLDER [--pictures 20] [--runs 30]

FOLDER has mobilenetv2-1.0.onnx with imagenet_calib.npz and imagenet_eval.npz, and yolox_nano_416.onnx with pictures in coco_val_a/.
Both are built in INT8 with fused pre-processing. Outputs of pictures are compared with those that the package's C gives to Python,
byte for byte: pictures go through Kotlin and the C below it there, and through Pillow here. Exit code 1 when something differs. Times
are the best of all runs, on one thread. The Kotlin compiler is the tests'.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import edgec
from edgec.package import Package
from edgec.quant.given.preprocess import Preprocess
from tests.apps.android_stubs import write_stubs
from tests.apps.androids import ABI, drive, link_exam
from tests.apps.kotlin_compiler import compile_kotlin

IMAGENET = {"mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375], "shorter": 256}
COCO = {"color": "bgr", "resize": "letterbox", "anchor": "top-left", "fill": 114}
DRIVER = """
import java.io.DataInputStream
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.security.MessageDigest

fun best(runs: Int, work: () -> Unit): Double = List(runs) { kotlin.system.measureNanoTime(work) }.min() / 1e6

fun main(args: Array<String>) {
    val folder = File(args[0])
    val pictures = DataInputStream(File(folder, "pictures.bin").inputStream().buffered()).use { data ->
        List(data.readInt()) { PACKAGE.Picture(data.readInt(), data.readInt(), IntArray(data.readInt()) { data.readInt() }) }
    }
    PACKAGE.CLASS().use { model ->
        println("exam\\t${PACKAGE.CLASSExam.problems(model)}")
        pictures.forEachIndexed { i, picture ->
            val answer = model.run(picture).OUTPUT
            val bytes = ByteBuffer.allocate(4 * answer.size).order(ByteOrder.LITTLE_ENDIAN)
            answer.forEach { bytes.putFloat(it) }
            println("answer.$i\\t" + MessageDigest.getInstance("SHA-256").digest(bytes.array()).joinToString("") { "%02x".format(it) })
            println("task.$i\\t" + model.TASK(picture).joinToString("; "))
        }
        val input = PACKAGE.CLASS.fromPicture(pictures[0])
        val given = ByteBuffer.allocateDirect(input.size).put(input).flip() as ByteBuffer
        val taken = ByteBuffer.allocateDirect(4 * model.run(input).OUTPUT.size).order(ByteOrder.nativeOrder())
        println("fit\\t" + best(RUNS) { PACKAGE.CLASS.fromPicture(pictures[0]) })
        println("arrays\\t" + best(RUNS) { model.run(input) })
        println("direct\\t" + best(RUNS) { model.runDirect(given, taken) })
    }
}
"""


@dataclass(frozen=True)
class Case:
    stem: str
    task: str
    preprocess: dict[str, Any]


CASES = (Case("mobilenetv2-1.0", "classify", IMAGENET), Case("yolox_nano_416", "detect", COCO))


def pictures_of(case: Case, folder: Path, count: int) -> list[np.ndarray]:
    if case.task == "detect":
        return [np.asarray(Image.open(path).convert("RGB")) for path in sorted((folder / "coco_val_a").glob("*.jpg"))[:count]]
    return list(np.load(folder / "imagenet_eval.npz")["x"][:count])


def calibration(case: Case, folder: Path, scratch: Path) -> Path:
    """A folder of pictures."""
    out = scratch / f"{case.stem}-pictures"
    out.mkdir()
    for number, image in enumerate(np.load(folder / "imagenet_calib.npz")["x"][:16] if case.task == "classify" else []):
        Image.fromarray(image).save(out / f"{number}.png")
    return out if case.task == "classify" else folder / "coco_val_a"


def encoded(pictures: list[np.ndarray]) -> bytes:
    """How many; then width, height, number of pixels and the pixels of each."""
    parts = [np.array([len(pictures)], ">i4").tobytes()]
    for image in pictures:
        red, green, blue = np.moveaxis(image.astype(np.int32), 2, 0)
        parts += [
            np.array([image.shape[1], image.shape[0], red.size], ">i4").tobytes(),
            (red << 16 | green << 8 | blue).astype(">i4").tobytes(),
        ]
    return b"".join(parts)


def answers(package: Package, case: Case, pictures: list[np.ndarray]) -> list[str]:
    """Hashes of what the package's C gives."""
    how, shape = Preprocess.parse(case.preprocess | {"color": "rgb"}), package.inputs[0].shape
    nchw = (shape[0], shape[3], *shape[1:3])
    with package.load() as run:
        return [hashlib.sha256(run(how.pixels(picture, nchw)[None])[0].tobytes()).hexdigest() for picture in pictures]


def measure(case: Case, given: argparse.Namespace, scratch: Path) -> bool:
    """Print what is found of a model; whether all is as it must be."""
    out, libraries = scratch / case.stem, scratch / f"{case.stem}-libraries"
    calib = calibration(case, given.folder, scratch)
    settings = {"task": case.task, "preprocess": case.preprocess, "fuse_preprocess": True, "samples": 16}
    package = edgec.build(given.folder / f"{case.stem}.onnx", target="android", calib=calib, out=out, **settings)
    facts, pictures = package.manifest, pictures_of(case, given.folder, given.pictures)
    libraries.mkdir()
    (libraries / f"lib{facts.name}.so").write_bytes((out / f"build/android/jni/{ABI}/lib{facts.name}.so").read_bytes())
    link_exam(out, libraries)
    (out / "pictures.bin").write_bytes(encoded(pictures))
    names = {"PACKAGE": facts.android.package, "CLASS": facts.android.class_, "TASK": case.task, "RUNS": str(given.runs)}
    text = DRIVER.replace("OUTPUT", facts.outputs[0].identifier)
    for word, name in names.items():
        text = text.replace(word, name)
    (out / "Driver.kt").write_text(text, encoding="utf-8")
    stubs = write_stubs(scratch / "stubs")
    compile_kotlin(out / "classes", stubs, *(out / "android/src" / part for part in ("main", "androidTest")), out / "Driver.kt")
    done = drive(out, libraries, "-XX:TieredStopAtLevel=4", "DriverKt", str(out))
    assert done.returncode == 0, done.stderr[-2000:]
    said = dict(line.split("\t", 1) for line in done.stdout.splitlines() if "\t" in line)
    expected = answers(package, case, pictures)
    alike = sum(said.get(f"answer.{number}") == answer for number, answer in enumerate(expected))
    best = package.benchmark(2.0, runs=given.runs)["min_us"] / 1e3
    passed = said.get("exam") == "[]"
    times = [float(said[way]) for way in ("arrays", "direct", "fit")]
    print(f"{case.stem}: exam on the JVM {'passed' if passed else 'FAILED'}, {alike} of {len(pictures)} pictures with the same bytes")
    print(f"  {case.task}: {said['task.0'][:160]}")
    print(
        f"  ms a run: C {best:.2f}, Kotlin with arrays {times[0]:.2f}, direct {times[1]:.2f}; making the input of a picture {times[2]:.2f}"
    )
    for path in sorted((out / "build/android/jni").glob("*/*.so")):
        size, weights = path.stat().st_size, facts.weights.bytes
        print(f"  {path.parent.name:<12} {size:>10,} bytes, {(size - weights) / 1e3:.0f} KB more than the weights")
    return passed and alike == len(pictures)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", type=int, default=20)
    parser.add_argument("--runs", type=int, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="edgec-android-") as scratch:
        right = [measure(case, given, Path(scratch)) for case in CASES]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
