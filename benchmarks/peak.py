"""The most that one core of this machine can do in each vocabulary, and how much of it every layer of a package reaches.

    python benchmarks/peak.py [PACKAGE...] [--isa avx512vnni ...] [--rounds 20] [--core 1]

fp32 and int8 in 1e9 multiply-accumulates a second, stores in 1e9 bytes. Peak and layers take turns, and of both the best counts: clocks
wander. Of packages the layers are listed with their part of the peak of their precision, the longest first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import edgec

SOURCE = Path(__file__).with_suffix(".c")
SECONDS = 0.2  # of a profile in each round
Rates = dict[str, float]


def compiled(folder: Path, compiler: str) -> Path:
    program = folder / "peak"
    subprocess.run([compiler, "-O2", str(SOURCE), "-o", str(program)], check=True)
    return program


def rates(program: Path, isa: str) -> Rates:
    lines = subprocess.run([program, isa], check=True, capture_output=True, text=True).stdout.splitlines()
    return {word: float(rate) for word, rate in (line.split() for line in lines)}


def better(known: Mapping[str, float], new: Mapping[str, float]) -> Rates:
    return {word: max(known.get(word, 0.0), rate) for word, rate in new.items()}


def show(package: edgec.Package, times: list[float], peak: Rates) -> None:
    calls = sorted(zip(package.manifest.calls, times, strict=True), key=lambda pair: -pair[1])
    print(
        f"\n{package.directory}: {sum(times):.0f} us in {len(calls)} calls\n| call | kernel | MMAC | us | GMAC/s | % of peak |\n"
        + "|---" * 6
        + "|"
    )
    for call, us in calls:
        rate, most = call.macs / us / 1e3, peak["int8" if "int8" in call.kernel else "fp32"]
        cells = f"{call.macs / 1e6:.2f} | {us:.1f} | {rate:.1f} | {100 * rate / most:.0f}" if call.macs else f"- | {us:.1f} | - | -"
        print(f"| {call.name} | {call.kernel} | {cells} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", type=Path)
    parser.add_argument("--isa", nargs="+", default=["avx512vnni", "avxvnni", "avx2", "sse41"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--cc", default="cc")
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    packages = [edgec.Package(path) for path in options.packages]
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder), options.cc)
        for isa in options.isa:
            peak: Rates = {}
            best = [[float("inf")] * len(package.manifest.calls) for package in packages]
            for _ in range(options.rounds):
                peak = better(peak, rates(program, isa))
                for package, times in zip(packages, best, strict=True):
                    times[:] = [min(time, us) for time, (_, _, us) in zip(times, package.profile(SECONDS, isa=isa), strict=True)]
            print(f"{isa}: " + ", ".join(f"{word} {rate:.1f}" for word, rate in peak.items()), flush=True)
            for package, times in zip(packages, best, strict=True):
                show(package, times, peak)


if __name__ == "__main__":
    main()
