"""One model, one question, every form of package: do all give the same bytes? `python benchmarks/apps.py FOLDER [--shots FOLDER]`

FOLDER has mobilenetv2-1.0.onnx and yolox_nano_416.onnx, with imagenet_calib.npz (see benchmarks/models.py). Each is built in INT8 from one
calibration for this machine, `ios` and `wasm`, classifying or detecting, and answers one picture: in C through the exam program, in C++
through the class, through the C target of the Swift package here and on arm64 under QEMU, in Node and in headless Chromium. A line for each
has the sha256 of all outputs. The Swift is parsed, the Objective-C goes through clang, the exam of every package passes. The JVM and Python
have commands of their own: benchmarks/android.py and benchmarks/wheels.py. --shots keeps the pages' pictures. Exit code 1: bytes differ.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from models import SUBJECTS, feed, find, photographs
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import edgec
from edgec.package import Package
from edgec.package.running import exam_program
from tests.apps.pages import browse, served
from tests.apps.swifts import lists, mistakes
from tests.gpu.fake_metal import parse_host

# model -> what it does, and how pictures become its inputs
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    "mobilenetv2": ("classify", {"shorter": 224, "scale": 1 / 255, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}),
    "yolox": ("detect", {"resize": "letterbox", "anchor": "top-left", "fill": 114, "color": "bgr"}),
}
SAMPLES = 16  # that calibrate
TARGETS = {"host": {}, "ios": {"weights": "c"}, "wasm": {}}
CPP = """
#include "model.hpp"
#include <cstdio>
int main() {
    model::Inputs inputs;
    auto &[question] = inputs;
    if (std::fread(question.data(), sizeof question[0], question.size(), stdin) != question.size()) return 1;
    const model::Outputs outputs = model::Model().run(inputs);
    const auto &[answer] = outputs;
    return std::fwrite(answer.data(), sizeof answer[0], answer.size(), stdout) != answer.size();
}
"""
SWIFT_C = """
#include "model_app.h"
#include <stdio.h>
int main(void) {
    struct model_app *app;
    if (model_app_open(1, 0, &app) != MODEL_OK || fread(model_app_tensor(app, 0), INPUT, 1, stdin) != 1) return 1;
    if (model_app_run(app) != MODEL_OK) return 1;
    const size_t bytes[] = {OUTPUTS};
    for (int i = 0; i < (int)(sizeof bytes / sizeof bytes[0]); i++) fwrite(model_app_tensor(app, i + 1), bytes[i], 1, stdout);
    model_app_close(app);
    return 0;
}
"""
PAGE = """
    const { Model } = await import("./model.mjs");
    const model = await Model.load();
    const question = Uint8Array.from(atob(await (await fetch("question.txt")).text()), (letter) => letter.charCodeAt(0));
    const answer = model.run({ [Object.keys(Model.inputs)[0]]: new Float32Array(question.buffer) });
    const parts = Object.values(answer).map((output) => new Uint8Array(output.buffer, output.byteOffset, output.byteLength));
    const whole = new Uint8Array(await new Blob(parts).arrayBuffer());
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
    return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
"""


def call(*command: object, folder: Path, stdin: bytes = b"") -> bytes:
    done = subprocess.run([str(word) for word in command], cwd=folder, input=stdin, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed with status {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout


def in_cpp(package: Package, question: bytes, scratch: Path) -> bytes:
    """Of a model with one input and one output."""
    (scratch / "app.cpp").write_text(CPP)
    library = package.directory / "build/libmodel.a"
    words = ["g++", "-std=c++17", "-O2", f"-I{package.directory / 'include'}", "app.cpp", library, "-pthread", "-o", "app-cpp"]
    call(*words, folder=scratch)
    return call(scratch / "app-cpp", folder=scratch, stdin=question)


def in_swift_c(package: Package, question: bytes, scratch: Path, compiler: str, emulator: Sequence[str]) -> bytes:
    """Through the sources that Package.swift lists, and no others."""
    core, exam = lists((package.directory / "Package.swift").read_text())
    sizes = ", ".join(str(tensor.bytes) for tensor in package.outputs)
    (scratch / "app.c").write_text(SWIFT_C.replace("INPUT", str(package.inputs[0].bytes)).replace("OUTPUTS", sizes))
    sources = [f"src/{name}" for name in core["sources"]] + [f"exam/{name}" for name in exam["sources"]]
    words = [compiler, "-std=c99", "-O2", "-Iinclude", "-Isrc", "-Iexam", "-Iexam/apple", *sources, scratch / "app.c"]
    call(*words, *(["-static"] if emulator else []), "-pthread", "-o", scratch / "app-swift", folder=package.directory)
    return call(*emulator, scratch / "app-swift", folder=scratch, stdin=question)


def in_chromium(package: Package, question: bytes, photo: np.ndarray, scratch: Path, shot: Path | None) -> str:
    """What the page's own code says, while the page itself answers the photograph."""
    web = Path(shutil.copytree(package.directory / "web", scratch / "web"))
    (web / "question.txt").write_text(base64.b64encode(question).decode())
    Image.fromarray(photo).save(web / "photo.png")
    with served(web, PAGE) as address:
        text, picture = browse(f"{address}/index.html?picture=photo.png", scratch)
    print(f"{'':<14}the page says: {html.unescape(re.findall(r'<output[^>]*>(.*?)</output>', text, re.DOTALL)[0])[:160]!r}")
    if shot is not None:
        shutil.copy(picture, shot)
    return str(json.loads(html.unescape(re.findall(r"<pre>(.*?)</pre>", text, re.DOTALL)[-1])))


def read_sources(package: Package) -> None:
    """The Swift package's own languages, as far as no Apple compiler is needed: a parser, and clang with stand-ins for Apple's headers."""
    wrong = [path.name for path in package.directory.rglob("*.swift") if mistakes(path.read_bytes())]
    if wrong:
        raise SystemExit(f"these files do not parse: {', '.join(wrong)}")
    parse_host(package.directory, "-fobjc-arc", "-fobjc-runtime=ios-13.0")


def answers(name: str, folder: Path, scratch: Path, shots: Path | None) -> Mapping[str, str]:
    """sha256 of all outputs, by environment."""
    subject = next(subject for subject in SUBJECTS if name in subject.name)
    (task, preprocess), model = MODELS[name], find(subject, folder)
    photos = list(islice(photographs(subject, folder), SAMPLES + 1))
    fed = [feed(subject, model, photo) for photo in photos]
    calib = {key: np.concatenate([one[key] for one in fed[:SAMPLES]]) for key in fed[0]}
    question = np.ascontiguousarray(next(iter(fed[SAMPLES].values())), np.float32).tobytes()
    packages = {
        target: edgec.build(
            model, target=target, name="model", calib=calib, task=task, preprocess=preprocess, out=scratch / target, **extra
        )
        for target, extra in TARGETS.items()
    }
    for target, package in packages.items():
        package.examine()
        print(f"{name:<14}{target:<14}the exam passed", flush=True)
    read_sources(packages["ios"])
    print(f"{name:<14}{'ios':<14}its Swift parses, its Objective-C compiles", flush=True)
    ways = {"Swift C": ("gcc", ()), "Swift C arm64": ("aarch64-linux-gnu-gcc", ("qemu-aarch64", "-cpu", "max"))}
    found = {
        "C": call(*exam_program(packages["host"].directory, packages["host"].target), "--run", folder=scratch, stdin=question),
        "C++": in_cpp(packages["host"], question, scratch),
        **{way: in_swift_c(packages["ios"], question, scratch, *words) for way, words in ways.items()},
        "Node": call(*exam_program(packages["wasm"].directory, packages["wasm"].target), "--run", folder=scratch, stdin=question),
    }
    hashes = {way: hashlib.sha256(output).hexdigest() for way, output in found.items()}
    shot = None if shots is None else shots / f"{name}.png"
    return {**hashes, "Chromium": in_chromium(packages["wasm"], question, photos[SAMPLES], scratch, shot)}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shots", type=Path)
    given = parser.parse_args()
    same = True
    for name in MODELS:
        with tempfile.TemporaryDirectory(prefix="edgec-apps-") as scratch:
            found = answers(name, given.folder, Path(scratch), given.shots)
        for way, digest in found.items():
            print(f"{name:<14}{way:<14}{digest[:16]}  {'' if digest == found['C'] else 'OTHER BYTES'}", flush=True)
        same = same and len(set(found.values())) == 1
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
