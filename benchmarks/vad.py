"""Voice activity over streams: a package that keeps its state beside ONNX Runtime that is fed back its own, frame by frame.

    python benchmarks/vad.py MODELS WORK [--precision fp32 int8] [--rounds N] [--time-only]

MODELS holds silero_vad_16k_op15.onnx and vad_a/, 16 kHz recordings with labelled stretches. Every second recording calibrates int8. AUC is
by frames of 32 ms, each with the label of its middle. The largest difference is that of any probability from ONNX Runtime's. Times are of
one thread, in turns: of edgec as its exam program measures a run, of ONNX Runtime from call to return.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import wave
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime

import edgec
from edgec.package import Package

FRAME, CONTEXT, RATE = 512, 64, 16_000
STRETCH = 60  # frames of each recording that calibrate
SETTINGS = {"shape": {"input": (1, CONTEXT + FRAME), "state": (2, 1, 128)}, "constant": {"sr": RATE}, "state": {"state": "stateN"}}
PRECISIONS: Mapping[str, Mapping[str, object]] = {"fp32": {}, "int8": {"min_sqnr": 25}}  # squares of a spectrum need more than 8 bits


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("work", type=Path, help="folder for the packages; those that lie there are taken as they are")
    parser.add_argument("--precision", nargs="+", default=list(PRECISIONS), choices=PRECISIONS)
    parser.add_argument("--rounds", type=int, default=20, help="of timing; 0: only the answers")
    parser.add_argument("--time-only", action="store_true")
    options = parser.parse_args()
    model, recordings = options.models / "silero_vad_16k_op15.onnx", sorted((options.models / "vad_a").glob("*.wav"))
    reference, packages = Reference(model), {name: built(model, recordings[::2], name, options.work) for name in options.precision}
    if not options.time_only:
        judge(reference, packages, recordings)
    for name, package in packages.items() if options.rounds else ():
        times(name, package, reference, recordings[1], options.rounds)
    return 0


def built(model: Path, known: Sequence[Path], precision: str, work: Path) -> Package:
    out = work / f"vad-{precision}"
    if not out.exists():
        calib = {"calib": lambda: stretches(known)} if precision == "int8" else {}
        edgec.build(model, precision=precision, out=out, name="vad", **SETTINGS, **PRECISIONS[precision], **calib)  # type: ignore[arg-type]
    return Package(out)


def judge(reference: Reference, packages: Mapping[str, Package], recordings: Sequence[Path]) -> None:
    """AUC over all recordings, and over those that calibrate nothing."""
    said, expected = [labels(path) for path in recordings], [reference.stream(path) for path in recordings]
    streams = {"onnxruntime": expected, **{name: [heard(package, path) for path in recordings] for name, package in packages.items()}}
    for name, found in streams.items():
        whole, others = (auc(np.concatenate(said[first::step]), np.concatenate(found[first::step])) for first, step in ((0, 1), (1, 2)))
        apart = max(float(np.abs(one - other).max()) for one, other in zip(found, expected, strict=True))
        frames = sum(map(len, said))
        print(f"{name:12} AUC {whole:.4f} over {frames} frames, {others:.4f} where nothing calibrates, largest difference {apart:.2g}")


class Reference:
    """The model in ONNX Runtime on one thread."""

    def __init__(self, model: Path) -> None:
        choices = onnxruntime.SessionOptions()
        choices.intra_op_num_threads = choices.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(model), choices, providers=["CPUExecutionProvider"])

    def stream(self, path: Path, seconds: list[float] | None = None) -> np.ndarray:
        """The probability of each frame. seconds: gets how long each took."""
        state, rate, found = np.zeros((2, 1, 128), np.float32), np.array(RATE, np.int64), []
        for frame in frames(path):
            start = time.perf_counter()
            answer, state = self._session.run(None, {"input": frame, "state": state, "sr": rate})
            if seconds is not None:
                seconds.append(time.perf_counter() - start)
            found.append(float(answer[0, 0]))
        return np.array(found)


def heard(package: Package, path: Path) -> np.ndarray:
    with package.load() as run:
        return np.array([float(run(frame)[0][0, 0]) for frame in frames(path)])


def frames(path: Path) -> Iterator[np.ndarray]:
    """Each with the end of the one before in front."""
    with wave.open(str(path)) as opened:
        samples = np.frombuffer(opened.readframes(opened.getnframes()), np.int16).astype(np.float32) / 32768
    samples = np.concatenate([np.zeros(CONTEXT, np.float32), samples])
    for start in range(0, len(samples) - CONTEXT - FRAME + 1, FRAME):
        yield samples[None, start : start + CONTEXT + FRAME]


def stretches(paths: Sequence[Path]) -> Iterator[np.ndarray]:
    for path in paths:
        whole = list(frames(path))
        start = max((len(whole) - STRETCH) // 2, 0)
        yield from whole[start : start + STRETCH]


def labels(path: Path) -> np.ndarray:
    """Of each frame, whether somebody speaks in its middle: the file has begin, end and 0 or 1, one behind the other."""
    with path.with_suffix(".scv").open() as file:
        (row,) = list(csv.reader(file))
    ends, speech = np.array(row[2::3], float), np.array(row[3::3], int)
    middles = (np.arange(sum(1 for _ in frames(path))) + 0.5) * FRAME / RATE
    return speech[np.minimum(np.searchsorted(ends, middles), len(speech) - 1)]


def auc(truth: np.ndarray, scores: np.ndarray) -> float:
    """The chance that a frame with speech scores higher than one without: (sum of its n ranks - n (n + 1) / 2) / (n m), ties shared."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    yes = int(truth.sum())
    return float((ranks[truth == 1].sum() - yes * (yes + 1) / 2) / (yes * (len(truth) - yes)))


def times(precision: str, package: Package, reference: Reference, path: Path, rounds: int) -> None:
    """Microseconds of a frame, both in turns."""
    ours, theirs = list[float](), list[float]()
    for _ in range(rounds):
        ours += package.benchmark(0.2, samples=400)["samples_us"]
        reference.stream(path, seconds := list[float]())
        theirs += [1e6 * one for one in seconds]
    for name, found in ((precision, ours), ("onnxruntime", theirs)):
        least, median, late, worst = np.percentile(found, [0, 50, 99, 100])
        print(
            f"  {name:12} {least:8.1f} us at best, {median:8.1f} median, {late:8.1f} in 99 of 100, {worst:8.1f} worst, {len(found)} frames"
        )


if __name__ == "__main__":
    sys.exit(main())
