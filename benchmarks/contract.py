"""The INT8 contract on real models: one model.int8.onnx, every target and vocabulary, one sha256 for the outputs of each vector.

    python benchmarks/contract.py FOLDER [--only mobilenet ...]

FOLDER holds models (see benchmarks/models.py). Each is quantized once; its model.int8.onnx is then built for every target below and
examined there, through qemu where needed; the exams compare with the integer evaluator. Exit code 1 when any bytes differ.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from models import SUBJECTS, Subject, feed, find, photographs

import edgec
from edgec.base.errors import EdgecError

# target -> vocabularies to force, or None for the one that init chooses there
RUNS: dict[str, tuple[str | None, ...]] = {
    "x86-64": ("sse41", "avx2", "avxvnni", "avx512vnni"),
    "portable": (None,),
    "rpi3": (None,),
    "rpi4": (None,),
    "rpi5": (None,),
    "linux-arm64": (None,),
    "rpi-32bit": (None,),
    "linux-riscv64": (None,),
}


def hashes(package: edgec.Package, isa: str | None) -> tuple[str, str]:
    """The vocabulary that ran, and all of the exam's output hashes as one text."""
    found = package.examine(isa=isa)
    return found["isa"], " ".join(output["sha256"][:12] for vector in found["vectors"] for output in vector["outputs"])


def check(subject: Subject, folder: Path, work: Path) -> bool:
    """Quantize once, examine everywhere; prints a line for each run."""
    path = find(subject, folder)
    if path is None:
        print(f"{subject.name:20} missing")
        return False
    feeds = [feed(subject, path, photo) for photo in photographs(subject, folder)]
    shape = {name: array.shape for name, array in feeds[0].items()}
    model = work / "model.int8.onnx"
    edgec.quantize(path, calib=lambda: iter(feeds[3:]), shape=shape, out=model)
    answers: dict[str, str] = {}
    for target, isas in RUNS.items():
        package = edgec.build(model, target=target, out=work / target, name="net")
        arena = package.manifest.arena
        ratio = arena.bytes / arena.live_bound_bytes
        for isa in isas:
            try:
                ran, answer = hashes(package, isa)
            except EdgecError as error:
                ran, answer = isa or "?", f"FAILED {error}"
            answers[f"{target} {ran}"] = answer
            print(f"{subject.name:20} {target:14} {ran:12} arena/bound {ratio:.3f}  {answer[:76]}", flush=True)
    return len(set(answers.values())) == 1 and not any(answer.startswith("FAILED") for answer in answers.values())


def main() -> int:
    parser = argparse.ArgumentParser(description="The INT8 contract on real models.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    wrong = []
    for subject in SUBJECTS:
        if not options.only or any(word in subject.name for word in options.only):
            with tempfile.TemporaryDirectory() as work:
                wrong += [] if check(subject, options.folder, Path(work)) else [subject.name]
    print(f"wrong: {', '.join(wrong)}" if wrong else "every model has one sha256 for each output")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
