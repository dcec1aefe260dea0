"""What it costs to hand work to another thread, what a core does meanwhile, and what that makes of whole packages on two threads.

python benchmarks/handover.py PACKAGE ... [--rounds 7] [--seconds 0.3]

Microseconds until another thread is there, that has just worked or had two milliseconds to fall asleep, and of calling it where nobody
waits for it; then of each package and set of instructions its multiply-accumulates a nanosecond, and how long a run takes on one thread, on
two that share every step, and on two as the package shares them by itself (NAME_set_shares). Turns are interleaved, and the
ratios of medians count. The numbers of edgec/program/effort.py and `Vocabulary.pace` come from here.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edgec.package import Package

NOTHING = r"""
#define _GNU_SOURCE
#include "NAME_pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 400 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int32_t there;

static void nothing(void *argument, int32_t part, int32_t parts) { (void)argument, (void)part, (void)parts; }

static void meet(void *argument, int32_t part, int32_t parts) {
    (void)argument, (void)part;
    __atomic_add_fetch(&there, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&there, __ATOMIC_RELAXED) < parts) continue;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    void *const memory = malloc(MACRO_POOL_BYTES(2));
    struct NAME_pool *const pool = NAME_pool_start(memory, MACRO_POOL_BYTES(2), 2);
    double times[ROUNDS];
    for (int way = 0; way < 4; way++) {
        const int pause = way % 2, meeting = way < 2;
        for (int round = 0; round < ROUNDS; round++) {
            if (pause != 0) usleep(2000);
            there = 0;
            const double start = now();
            NAME_pool_parallel_for(pool, meeting ? meet : nothing, NULL, 2);
            times[round] = now() - start;
        }
        qsort(times, ROUNDS, sizeof times[0], ascending);
        printf("%s %s: ", meeting ? "met" : "called", pause ? "asleep" : "awake");
        printf("%.2f us at best, %.2f in the median\n", times[0], times[ROUNDS / 2]);
    }
    NAME_pool_stop(pool);
    return 0;
}
"""

WAYS = {"one": ("--threads", "1"), "every step": ("--threads", "2", "--least", "0"), "by itself": ("--threads", "2")}


def hand_over(package: Package) -> str:
    """What NOTHING says of the package's pool here."""
    name = package.manifest.name
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "nothing.c"), Path(folder, "nothing")
        source.write_text(NOTHING.replace("NAME", name).replace("MACRO", name.upper()), encoding="utf-8")
        root = package.directory
        library = str(root / f"build/lib{name}.a")
        subprocess.run(["cc", "-std=gnu11", "-O2", f"-I{root}/include", str(source), library, "-pthread", "-o", str(program)], check=True)
        return subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout


def compared(package: Package, isa: str, rounds: int, seconds: float) -> dict[str, float]:
    """The median of the turns' medians of each of WAYS."""
    program = package.directory / f"build/{package.manifest.name}_exam"
    turns: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, words in WAYS.items():
            command = [str(program), "--json", "--isa", isa, "--bench", str(seconds), *words]
            turns[way].append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["p50_us"])
    return {way: median(found) for way, found in turns.items()}


def rows(packages: Sequence[Package], rounds: int, seconds: float) -> Iterator[str]:
    yield f"{'package':24}{'MACs':>12}  {'with':12}{'MAC/ns':>8}{'one, us':>10}{'every step':>12}{'by itself':>12}"
    for package in packages:
        able = subprocess.run(
            [str(package.directory / f"build/{package.manifest.name}_exam"), "--isas"], capture_output=True, text=True, check=True
        )
        for isa in able.stdout.split():
            us, macs = compared(package, isa, rounds, seconds), package.manifest.macs
            ratios = [us[way] / us["one"] for way in ("every step", "by itself")]
            whole = f"{package.manifest.name:24}{macs:12}  {isa:12}{macs / us['one'] / 1000:8.1f}{us['one']:10.1f}"
            yield f"{whole}{ratios[0]:12.2f}{ratios[1]:12.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+", type=Package)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3)
    options = parser.parse_args()
    print(hand_over(options.packages[0]), end="")
    for row in rows(options.packages, options.rounds, options.seconds):
        print(row, flush=True)


if __name__ == "__main__":
    main()
