"""Models whose samples are no photographs, for benchmarks/quantizers.py: how each is loaded, and samples made of recordings and tokens.

Half 0 of the recordings and groups of sentences calibrates, half 1 is what is measured on: nothing is in both.
"""

from __future__ import annotations

import wave
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import onnxruntime
from vad import RATE, SETTINGS, frames

from edgec.base.part import Constant

Feed = dict[str, np.ndarray]
Samples = Callable[[Path, int, int], Iterator[Feed]]  # the folder of models and data, which half, how many at most
VOICE, SENTENCES = "silero_vad_16k_op15.onnx", "minilm_pairs.npz"
TOKENS = 11  # that the decoder knows: the rows of its embedding
GROUP = 3  # sentences that are compared with one another
REACH = 5.0  # the largest number that micro_kws' input can hold: its scale is 10 / 255


@dataclass(frozen=True)
class Source:
    """A model file, the shapes of its inputs, those of them that are constants, and what the others see."""

    name: str
    samples: Samples
    shape: Mapping[str, Sequence[int]]
    constant: Mapping[str, Constant] = field(default_factory=dict)


def recordings(folder: Path, half: int) -> list[Path]:
    return sorted((folder / "vad_a").glob("*.wav"))[half::2]


def seconds(name: str, features: Callable[[np.ndarray], np.ndarray]) -> Samples:
    """Seconds spread over all recordings, as `features` hear them."""

    def samples(folder: Path, half: int, count: int) -> Iterator[Feed]:
        files = recordings(folder, half)
        each = -(-count // len(files))
        for serial in range(count):
            with wave.open(str(files[serial % len(files)])) as opened:
                audio = np.frombuffer(opened.readframes(opened.getnframes()), np.int16).astype(np.float32) / 32768
            begin = max(0, len(audio) - RATE) * (serial // len(files)) // max(1, each - 1)
            yield {name: features(audio[begin:])}

    return samples


def energies(audio: np.ndarray) -> np.ndarray:
    """Logarithms of 40 mel bands in each of 49 frames."""
    windows = np.stack([audio[320 * step :][:640] * np.hanning(640) for step in range(49)])
    power = np.abs(np.fft.rfft(windows, 1024)) ** 2
    edges = 700 * (10 ** (np.linspace(28, 2595 * np.log10(1 + 4000 / 700), 42) / 2595) - 1) / RATE * 1024
    bins = np.arange(513)
    banks = np.stack(
        [
            np.clip(np.minimum((bins - a) / (b - a), (c - bins) / (c - b)), 0, 1)
            for a, b, c in zip(edges, edges[1:], edges[2:], strict=False)
        ]
    )
    return np.log(power @ banks.T + 1e-6)


def cepstra(audio: np.ndarray) -> np.ndarray:
    """Ten cepstral coefficients in each frame."""
    turns = np.cos(np.pi / 40 * np.outer(np.arange(10), np.arange(40) + 0.5)) * (2 / 40) ** 0.5
    return (energies(audio) @ turns.T)[None, :, :, None].astype(np.float32)


def standardized(audio: np.ndarray) -> np.ndarray:
    """Three standard deviations reach what the input can hold."""
    heard = energies(audio)
    return ((heard - heard.mean()) / heard.std() * (REACH / 3)).reshape(1, -1).astype(np.float32)


def streamed(folder: Path, half: int, count: int) -> Iterator[Feed]:
    """Frames spread over all recordings, each with the state that the float model has come to there."""
    session = onnxruntime.InferenceSession(str(folder / VOICE), providers=["CPUExecutionProvider"])
    files, rate = recordings(folder, half), np.array(RATE, np.int64)
    each, heard = -(-count // len(files)), []
    for path in files:
        state, whole = np.zeros((2, 1, 128), np.float32), list[Feed]()
        for frame in frames(path):
            whole.append({"input": frame, "state": state})
            (state,) = session.run(["stateN"], {**whole[-1], "sr": rate})
        heard.append([whole[(2 * place + 1) * len(whole) // (2 * each)] for place in range(each)])
    return islice((one for places in zip(*heard, strict=True) for one in places), count)


def tokens(folder: Path, half: int, count: int) -> Iterator[Feed]:
    dice = np.random.default_rng(half)
    return ({"input_ids": dice.integers(0, TOKENS, (1, 8))} for _ in range(count))


def sentences(folder: Path, half: int, count: int) -> Iterator[Feed]:
    stored = np.load(folder / SENTENCES)
    pairs = {name: stored[name] for name in ("input_ids", "attention_mask")}
    numbers = [number for number in range(len(pairs["input_ids"])) if number // GROUP % 2 == half]
    return ({name: array[number][None] for name, array in pairs.items()} for number in numbers[:count])


SOURCES = (
    Source("kws_dscnn", seconds("input_1", cepstra), {"input_1": (1, 49, 10, 1)}),
    Source(Path(VOICE).stem, streamed, SETTINGS["shape"], SETTINGS["constant"]),
    Source("tiny_decoder_nextnode", tokens, {}),
    Source("micro_kws_m_qoperator", seconds("serving_default_input:0", standardized), {}),
    Source("minilm", sentences, {"input_ids": (1, 64), "attention_mask": (1, 64)}),
)
