"""Equal shares against blocks on two cores, one of which a program makes slow: for whoever has no processor of big and little cores.

sudo python benchmarks/uneven_cores.py PACKAGE ... [--isa avx2] [--busy 20] [--idle 40] [--rounds 5] [--seconds 0.1]

The program has core 1 for some microseconds, sleeps for others, and comes before all else, so that a run there takes two or three times as
long; --busy 0 leaves both cores alike. Runs come before all programs but that one, which wants root. `edgec bench --each-core` asks boards
whose cores do differ.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edgec.package import Package

SLOWING = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

int main(int count, char **words) {
    const double busy = count > 2 ? atof(words[1]) : 0.0, end = now() + 30e6;
    const struct timespec idle = {0, count > 2 ? atol(words[2]) * 1000 : 0};
    const struct sched_param first = {10};
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(1, &core);
    if (sched_setaffinity(0, sizeof core, &core) != 0 || sched_setscheduler(0, SCHED_FIFO, &first) != 0) return 1;
    prctl(PR_SET_TIMERSLACK, 1ul);
    while (now() < end) {
        for (const double stop = now() + busy; now() < stop;) continue;
        nanosleep(&idle, NULL);
    }
    return 0;
}
"""

WAYS = {
    "core 0": ("--threads", "1", "--cores", "0"),
    "core 1": ("--threads", "1", "--cores", "1"),
    "shares": ("--threads", "2", "--cores", "0,1", "--blocks", "1"),
    "blocks": ("--threads", "2", "--cores", "0,1", "--blocks", "8"),
}


@contextmanager
def slowed(program: Path, busy: int, idle: int) -> Iterator[None]:
    """Core 1 meanwhile."""
    running = subprocess.Popen([str(program), str(busy), str(idle)]) if busy else None
    time.sleep(0.05)
    try:
        yield
    finally:
        if running is not None:
            running.kill()
            running.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+", type=Package)
    parser.add_argument("--isa", default=None)
    parser.add_argument("--busy", type=int, default=20)
    parser.add_argument("--idle", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1)
    options = parser.parse_args()
    first = ["chrt", "-f", "5"]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "slowing")
        subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", str(program)], input=SLOWING, text=True, check=True)
        for package in options.packages:
            exam = [str(package.directory / f"build/{package.manifest.name}_exam"), "--json", "--bench", str(options.seconds)]
            exam += ["--isa", options.isa] if options.isa else []
            us: dict[str, list[float]] = {way: [] for way in WAYS}
            for _ in range(options.rounds):
                with slowed(program, options.busy, options.idle):
                    for way, words in WAYS.items():
                        done = subprocess.run([*first, *exam, *words], capture_output=True, check=True)
                        us[way].append(json.loads(done.stdout)["p50_us"])
                time.sleep(0.2)  # for the others
            times = ", ".join(f"{way} {median(found):.0f} us" for way, found in us.items())
            ratio = median(blocks / shares for blocks, shares in zip(us["blocks"], us["shares"], strict=True))
            print(f"{package.manifest.name}: {times}; blocks / shares {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
