"""`python -m tests.fuzz mutants --seconds 3600 --seed 7 --workers 1`: run a fuzzer and say what it found; exit code 1 for finds."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from pathlib import Path

from tests.fuzz.frame import Tally, fuzz
from tests.fuzz.graphs import AMONG

FUZZERS = ("mutants", "graphs")
EVERY = 60  # seconds between two lines of progress


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("fuzzer", choices=FUZZERS)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="a fresh one by default; it is printed")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--count", type=int, default=1 << 60, help="trials at most")
    parser.add_argument("--finds", type=Path, default=Path("build/fuzz"), help="folder for what reproduces them (build/fuzz)")
    parser.add_argument("--among", default="", metavar="Loop,Scan", help="operators that graphs are drawn around")
    options = parser.parse_args()
    os.environ[AMONG] = options.among
    print(f"{options.fuzzer}: seed {options.seed}", flush=True)
    said = time.monotonic()

    def tell(tally: Tally) -> None:
        nonlocal said
        if time.monotonic() - said > EVERY:
            said = time.monotonic()
            print(f"[{tally.trials}] {next(tally.lines())}; {len(tally.finds)} finds", flush=True)

    finds = options.finds.absolute() / f"{options.fuzzer}-{options.seed}"
    tally = fuzz(
        options.fuzzer, options.seed, seconds=options.seconds, finds=finds, workers=options.workers, first=options.first,
        count=options.count, tell=tell,
    )  # fmt: skip
    print("\n".join(tally.lines()))
    if tally.finds:
        print(f"what reproduces them lies in {finds}")
    return 1 if tally.finds else 0


if __name__ == "__main__":
    sys.exit(main())
