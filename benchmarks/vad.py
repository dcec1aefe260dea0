"""Voice activity over streams: a package that keeps its state beside ONNX Runtime that is fed back its own, frame by frame.

    python benchmarks/vad.py MODELS WORK [--precision fp32 int8] [--rounds N] [--time-only]

MODELS holds silero_vad_16k_op15.onnx and vad_a/, 16 kHz recordings with labelled stretches. Every second recording calibrates int8. AUC is
by frames of 32 ms, each with the label of its middle. The largest difference is that of any probability from ONNX Runtime's. Times are of
one thread, in turns, of every frame of a recording: of both in Python, from call to return, edgec by the module of its wheel.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import sys
import time
import wave
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import onnxruntime

import edgec

FRAME, CONTEXT, RATE = 512, 64, 16_000
STRETCH = 60  # frames of each recording that calibrate
SETTINGS = {"shape": {"input": (1, CONTEXT + FRAME), "state": (2, 1, 128)}, "constant": {"sr": RATE}, "state": {"state": "stateN"}}
Step = Callable[[np.ndarray], Any]  # a frame -> its probability
Open = Callable[[], Step]  # a stream from its start
PRECISIONS = ("fp32", "int8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("work", type=Path, help="folder for the packages; those that lie there are taken as they are")
    parser.add_argument("--precision", nargs="+", default=list(PRECISIONS), choices=PRECISIONS)
    parser.add_argument("--rounds", type=int, default=20, help="of timing; 0: only the answers")
    parser.add_argument("--time-only", action="store_true")
    options = parser.parse_args()
    model, recordings = options.models / "silero_vad_16k_op15.onnx", sorted((options.models / "vad_a").glob("*.wav"))
    opened = {"onnxruntime": reference(model), **{name: package(model, recordings[::2], name, options.work) for name in options.precision}}
    if not options.time_only:
        judge(opened, recordings)
    if options.rounds:
        times(opened, recordings[1], options.rounds)
    return 0


def package(model: Path, known: Sequence[Path], precision: str, work: Path) -> Open:
    """The package, as an application in Python has it; it is built where it is not there."""
    out, name = work / precision, f"vad_{precision}"
    if not out.exists():
        calib = {"calib": lambda: stretches(known)} if precision == "int8" else {}
        edgec.build(model, precision=precision, out=out, name=name, wheel=True, **SETTINGS, **calib)  # type: ignore[arg-type]
    (wheel,) = (out / "dist").glob("*.whl")
    ZipFile(wheel).extractall(work / "site")
    sys.path.insert(0, str(work / "site"))
    (model_class,) = (item for key, item in vars(importlib.import_module(name)).items() if key.lower() == name.replace("_", ""))

    def opened() -> Step:
        instance = model_class(threads=1)
        return lambda frame: instance.run(frame).output

    return opened


def reference(model: Path) -> Open:
    """The model in ONNX Runtime."""
    choices = onnxruntime.SessionOptions()
    choices.intra_op_num_threads = choices.inter_op_num_threads = 1
    session, rate = onnxruntime.InferenceSession(str(model), choices, providers=["CPUExecutionProvider"]), np.array(RATE, np.int64)

    def opened() -> Step:
        state = np.zeros((2, 1, 128), np.float32)

        def step(frame: np.ndarray) -> np.ndarray:
            nonlocal state
            answer, state = session.run(None, {"input": frame, "state": state, "sr": rate})
            return answer

        return step

    return opened


def stream(opened: Open, path: Path, microseconds: list[float] | None = None) -> np.ndarray:
    """The probability of each frame. microseconds: gets how long each took."""
    step, found = opened(), list[float]()
    for frame in frames(path):
        start = time.perf_counter()
        answer = step(frame)
        if microseconds is not None:
            microseconds.append(1e6 * (time.perf_counter() - start))
        found.append(float(answer[0, 0]))
    return np.array(found)


def judge(opened: Mapping[str, Open], recordings: Sequence[Path]) -> None:
    """AUC over all recordings, and over those that calibrate nothing."""
    said = [labels(path) for path in recordings]
    streams = {name: [stream(start, path) for path in recordings] for name, start in opened.items()}
    for name, found in streams.items():
        whole, others = (auc(np.concatenate(said[first::step]), np.concatenate(found[first::step])) for first, step in ((0, 1), (1, 2)))
        apart = max(float(np.abs(one - other).max()) for one, other in zip(found, streams["onnxruntime"], strict=True))
        count = sum(map(len, said))
        print(f"{name:12} AUC {whole:.4f} over {count} frames, {others:.4f} where nothing calibrates, largest difference {apart:.2g}")


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


def times(opened: Mapping[str, Open], path: Path, rounds: int) -> None:
    """Microseconds of a frame, all in turns; the first round warms up."""
    found: dict[str, list[float]] = {name: [] for name in opened}
    for number in range(rounds + 1):
        for name, start in opened.items():
            stream(start, path, found[name] if number else None)
    for name, microseconds in found.items():
        least, median, late = np.percentile(microseconds, [0, 50, 99])
        print(f"  {name:12} {least:8.1f} us at best, {median:8.1f} median, {late:8.1f} in 99 of 100, {len(microseconds)} frames")


if __name__ == "__main__":
    sys.exit(main())
