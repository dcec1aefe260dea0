"""Real models whole on a GPU: the same answers as the CPU's, no word from validation layers, and how fast both are.

    python benchmarks/gpu.py FOLDER [--only mobilenet ...] [--precision fp32 fp16 int8] [--device N] [--variant base]
        [--seconds 1] [--json FILE]

FOLDER holds models (see benchmarks/models.py). Each is built for --target in these precisions, int8 from one calibration; fp16 is fp32
with its tensors stored in float16 on the GPU. fp32 must be within 1e-3 of ONNX Runtime's answers (largest difference / largest magnitude),
fp16 within what its exam allows, int8 must be the CPU's bytes, and with Khronos' layers installed neither core nor synchronization
validation may find anything. Latencies are medians over rounds in which the GPU, one thread and all threads take turns; `start` is the time
from nothing to a device ready to run, without and with a cache of compiled shaders. Without a GPU all of it runs on lavapipe, where only
the answers mean something. Exit code 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

import onnxruntime
from models import SUBJECTS, Feed, Subject, feed, find, photographs

import edgec
from edgec.base.codec import encode
from edgec.base.errors import EdgecError
from edgec.package.running import exam_program

LIMIT = 1e-3
NAMES = ("mobilenetv2", "squeezenet", "ultraface", "yolox", "resnet8", "sed_unet", "superres", "kws_dscnn")
LAYER_FOLDERS = ("/usr/share/vulkan/explicit_layer.d", "/etc/vulkan/explicit_layer.d", "/usr/local/share/vulkan/explicit_layer.d")
CORE = {"VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation"}
SYNCHRONIZATION = {**CORE, "VK_LAYER_ENABLES": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT"}
LONGEST = 1200  # seconds of one program
ROUNDS = 3


@dataclass(frozen=True)
class Line:
    """A row of the table. difference: the worst of an exam. loads_per_mac: words that convolutions and products read. messages: of core
    and of synchronization validation."""

    model: str
    precision: str
    verdict: str
    gpu_calls: int = 0
    cpu_calls: int = 0
    segments: int = 0
    barriers: int = 0
    shaders: int = 0
    spirv_kib: float = 0.0
    loads_per_mac: float = 0.0
    difference: float = 0.0
    messages: str = "-"
    start_ms: float = 0.0
    cached_ms: float = 0.0
    gpu_us: float = 0.0
    one_thread_us: float = 0.0
    all_threads_us: float = 0.0
    onnxruntime_us: float = 0.0
    because: str = ""
    device: str = ""


def main() -> int:
    options = parse()
    lines = []
    print(heading(), flush=True)
    for subject in SUBJECTS:
        if any(name in subject.name for name in (options.only or NAMES)):
            for precision in options.precision:
                lines.append(measure(subject, precision, options))
                print(row(lines[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n", encoding="utf-8")
    for line in lines:
        if line.because:
            print(f"{line.model} {line.precision} on the CPU: {line.because}")
    for device in sorted({line.device for line in lines if line.device}):
        print(f"on {device}, {options.target}, {os.cpu_count()} threads at most")
    return int(any(line.verdict != "ok" for line in lines) or not lines)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default="linux-vulkan")
    parser.add_argument("--only", nargs="+", default=[], help="models whose name holds one of these words")
    parser.add_argument("--precision", nargs="+", default=["fp32", "int8"], choices=("fp32", "fp16", "int8"))
    parser.add_argument("--device", type=int, help="the n-th one of the system, from 1")
    parser.add_argument("--variant", help="of the shaders: base, bytes or dot4")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each latency measurement")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def measure(subject: Subject, precision: str, options: argparse.Namespace) -> Line:
    """Build, examine on both, and time one model."""
    path = find(subject, options.folder)
    if path is None:
        return Line(subject.name, precision, "missing")
    feeds = [feed(subject, path, photo) for photo in photographs(subject, options.folder)]
    work = Path(tempfile.mkdtemp(prefix="edgec-gpu-"))
    try:
        shape = {name: array.shape for name, array in feeds[0].items()}
        calibration = None if precision == "fp32" else lambda: iter(feeds[3:])
        build = {"target": options.target, "precision": precision, "calib": calibration, "shape": shape}
        build |= {"precision": "fp32", "gpu_precision": "float16"} if precision == "fp16" else {}
        package = edgec.build(path, **build, out=work / "net", name="net")
        return examined(subject.name, precision, package, options, theirs(path, feeds[0], options))
    except (EdgecError, subprocess.SubprocessError) as problem:
        return Line(subject.name, precision, str(problem).replace("\n", " ")[:200])
    finally:
        shutil.rmtree(work, ignore_errors=True)


def examined(name: str, precision: str, package: edgec.Package, options: argparse.Namespace, onnxruntime_us: float) -> Line:
    program = exam_program(package.directory, package.target)
    gpu = ["--gpu", *(["--gpu-device", str(options.device)] if options.device else [])]
    gpu += ["--gpu-variant", options.variant] if options.variant else []
    here = package.examine()
    there, core = asked(program, gpu, CORE if has_layers() else {})
    problems = differences(precision, here, there)
    messages = "-"
    if has_layers():
        _, synchronization = asked(program, gpu, SYNCHRONIZATION)
        messages = f"{len(core)} {len(synchronization)}"
        problems += [text[:200] for text in (*core[:1], *synchronization[:1])]
    start, cached = starts(program, gpu, package.directory / "cache")
    speeds = latencies(program, {"gpu": gpu, "one": [], "all": ["--threads", str(os.cpu_count() or 1)]}, options.seconds)
    facts = encode(package.manifest.gpu)
    on_gpu = [call for call in facts["calls"] if call["on"] == "gpu"]
    products = [call for call in on_gpu if call["macs"]]
    because = Counter(call["because"] for call in facts["calls"] if call["on"] == "cpu")
    reasons = ", ".join(f"{count} {words}" for words, count in because.items())
    return Line(
        name, precision, "; ".join(problems) or "ok", len(on_gpu), len(facts["calls"]) - len(on_gpu), len(facts["segments"]),
        len(facts["barriers"]), facts["shaders"], spirv_bytes(package.directory) / 1024,
        sum(call["loads"] for call in products) / max(sum(call["macs"] for call in products), 1),
        max(output["difference"] for vector in there["vectors"] for output in vector["outputs"]), messages, start, cached,
        speeds["gpu"], speeds["one"], speeds["all"], onnxruntime_us, reasons, there["gpu"],
    )  # fmt: skip


def asked(program: Sequence[str], words: Sequence[str], environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """What an exam finds, and what validation layers say of it. EdgecError when it does not come to its end."""
    done = subprocess.run(
        [*program, "--json", *words], capture_output=True, text=True, env={**os.environ, **environment}, timeout=LONGEST, check=False
    )
    try:
        return dict(json.loads(done.stdout)), done.stderr.splitlines()
    except ValueError as error:
        raise EdgecError(f"the exam ended with status {done.returncode}: {done.stderr[-300:]}") from error


def differences(precision: str, here: Mapping[str, Any], there: Mapping[str, Any]) -> list[str]:
    """Why the GPU's answers are not good enough."""
    answers = [[output for vector in found["vectors"] for output in vector["outputs"]] for found in (here, there)]
    if precision == "int8":
        same = [one["sha256"] for one in answers[0]] == [other["sha256"] for other in answers[1]]
        return ([] if same else ["other bytes than the CPU's"]) + ([] if there["passed"] else ["other bytes than the evaluator's"])
    limit = LIMIT if precision == "fp32" else inf
    far = [f"differs by {output['difference']:.2g}" for output in answers[1] if not output["difference"] <= limit]
    return far or ([] if there["passed"] else ["the exam failed"])


def has_layers() -> bool:
    return any(Path(folder).glob("*khronos_validation*.json") for folder in LAYER_FOLDERS if Path(folder).is_dir())


def starts(program: Sequence[str], gpu: Sequence[str], cache: Path) -> tuple[float, float]:
    """Milliseconds of a start without a cache of compiled shaders, and of the second one with it. (The first one fills it.)"""

    def once(words: Sequence[str]) -> float:
        start = time.perf_counter()
        subprocess.run([*program, *gpu, *words, "--gpu-name"], capture_output=True, timeout=LONGEST, check=True)
        return (time.perf_counter() - start) * 1e3

    first, _, second = once([]), once(["--gpu-cache", str(cache)]), once(["--gpu-cache", str(cache)])
    return first, second


def latencies(program: Sequence[str], kinds: Mapping[str, Sequence[str]], seconds: float) -> dict[str, float]:
    """Median microseconds of a run of each kind; they take turns, so that what slows the machine slows all of them."""
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(ROUNDS):
        for kind, words in kinds.items():
            found[kind].append(asked(program, ["--bench", str(seconds / ROUNDS), *words], {})[0]["p50_us"])
    return {kind: median(times) for kind, times in found.items()}


def spirv_bytes(folder: Path) -> int:
    """As they are in the library: packed."""
    text = (folder / "src/net_shaders.c").read_text(encoding="utf-8")
    return sum(len(array.split(",")) for array in re.findall(r"uint8_t code\d+\[\] = \{(.*?)\};", text, re.S))


def theirs(path: Path, one: Feed, options: argparse.Namespace) -> float:
    """ONNX Runtime's median latency on the float model, on CUDA; 0 where it has none."""
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        return 0.0
    session = onnxruntime.InferenceSession(str(path), providers=["CUDAExecutionProvider"])
    times: list[float] = []
    session.run(None, one)
    stop = time.perf_counter() + options.seconds
    while time.perf_counter() < stop or len(times) < 3:
        start = time.perf_counter()
        session.run(None, one)
        times.append(time.perf_counter() - start)
    return median(times) * 1e6


# field of Line -> (heading, format)
COLUMNS = {
    "model": ("model", "<18"),
    "precision": ("", "<4"),
    "gpu_calls": ("gpu", "4"),
    "cpu_calls": ("cpu", "4"),
    "segments": ("segments", "8"),
    "barriers": ("barriers", "8"),
    "spirv_kib": ("SPIR-V KiB", "10.0f"),
    "loads_per_mac": ("loads/MAC", "9.4f"),
    "difference": ("differs", "8.1e"),
    "messages": ("messages", ">8"),
    "start_ms": ("start ms", "8.0f"),
    "cached_ms": ("cached ms", "9.0f"),
    "gpu_us": ("GPU us", "10.0f"),
    "one_thread_us": ("1 thread us", "11.0f"),
    "all_threads_us": ("threads us", "10.0f"),
    "onnxruntime_us": ("CUDA us", "7.0f"),
    "verdict": ("", ""),
}


def heading() -> str:
    return " ".join(f"{words:{'<' if '<' in form else '>'}{form.strip('<>ef').split('.')[0]}}" for words, form in COLUMNS.values())


def row(line: Line) -> str:
    return " ".join(f"{getattr(line, name):{form}}" for name, (_, form) in COLUMNS.items())


if __name__ == "__main__":
    sys.exit(main())
