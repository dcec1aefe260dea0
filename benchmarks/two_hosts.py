"""Two hosts deploy to one board and roll it back, and are killed, paused for longer than a lock lives and cut off at random.

    python benchmarks/two_hosts.py --seconds 600 [--seed N]

The board is a real sshd on this machine. Exit code 1, and what was seen, when there ever were two owners or a torn version.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import edgec  # noqa: E402
from edgec.targets import load_target  # noqa: E402
from edgec.toolchain import compile_package  # noqa: E402
from tests.boards.boards import start_board  # noqa: E402
from tests.boards.rivals import Host, Referee  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    digits = ROOT / "examples/digits"
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "digits"
        edgec.build(digits / "digits.onnx", calib=str(digits / "calibration.npz"), out=package, samples=32, compile=False)
        compile_package(package, load_target("host"), optimize="-O1")
        board = start_board(Path(folder) / "board")
        facts = (board.address, board.port, str(board.key), str(board.known_hosts), str(board.work), str(package))
        hosts = [Host(name, *facts, diary=f"{folder}/{name}", seed=options.seed + at) for at, name in enumerate(("ada", "bob"))]
        referee = Referee(hosts, random.Random(options.seed), board.kill_sessions, Counter(), [])
        try:
            referee.fight(options.seconds)
        finally:
            board.stop()
    for what, count in sorted(referee.counts.items()):
        print(f"{count:8,} {what}")
    print("\n".join(referee.errors) or "never two owners, never a torn version")
    return 1 if referee.errors else 0


if __name__ == "__main__":
    sys.exit(main())
