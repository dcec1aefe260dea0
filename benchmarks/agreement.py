"""Does `edgec bench` on this machine measure what the exam program says when one starts it by hand?

    python benchmarks/agreement.py [--rounds 10] [--seconds 10] [--models FOLDER]

Rounds of the bench (deployed and started through the local connector) and direct starts of `NAME_exam --bench` take turns. A line for
each model: the bench's p50 with its own 95 % interval, the median of the direct starts' medians, whether that lies within, and the
ratio of the pairs, direct / bench, with its 95 % interval. All are built in float: examples/digits, and mobilenetv2-1.0.onnx where
FOLDER has it. Exit code 1 when a direct figure lies outside.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import edgec
from edgec.boards.board.intervals import paired_ratio
from edgec.boards.board.measure import Options, measure
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.delivery import deploy
from edgec.boards.deploy.lock import hold
from edgec.boards.deploy.parcel import open_parcel
from edgec.boards.device import Device
from edgec.boards.farm.gates import us_text

DIGITS = Path(__file__).parents[1] / "examples/digits/digits.onnx"
HEAD = f"{'model':<20}{'bench p50':>12}{'95 % interval':>28}{'direct p50':>12}  {'within':<8}{'ratio':>7}  95 % interval"


def agree(model: Path, folder: Path, options: Options) -> bool:
    """Measure one model both ways, print its line, and tell whether the direct figure lies within the bench's interval."""
    package = edgec.build(model, precision="fp32", out=folder / model.stem)
    parcel, device = open_parcel(package.directory), Device("local", "host", "local", work=str(folder / "work"))
    medians: list[float] = []

    def direct() -> None:
        """One start by hand, between two rounds: the text that people read says the same as the JSON."""
        command = [str(package.directory / parcel.program), "--bench", str(options.seconds / options.rounds)]
        said = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
        medians.append(float(said[said.index("p50") + 1]))

    connection = connect(device)
    with hold(connection, "benchmarks/agreement.py"):
        program = deploy(connection, parcel).program
        ((found,),) = measure(connection, [program], options, renew=direct)
    connection.close()
    ratio, low, high = paired_ratio(found.medians_us, medians)
    theirs, interval = median(medians), f"{us_text(found.low_us)} to {us_text(found.high_us)}"
    within = found.low_us <= theirs <= found.high_us
    figures = f"{us_text(found.p50_us):>12}{interval:>28}{us_text(theirs):>12}  {'yes' if within else 'NO':<8}{ratio:7.4f}"
    print(f"{model.stem:<20}{figures}  {low:.4f} to {high:.4f}", flush=True)
    return within


def models(folder: Path | None) -> Iterator[Path]:
    yield DIGITS
    if folder is not None and (folder / "mobilenetv2-1.0.onnx").is_file():
        yield folder / "mobilenetv2-1.0.onnx"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each way to measure, over all rounds")
    parser.add_argument("--models", type=Path, default=None, metavar="FOLDER")
    given = parser.parse_args()
    print(HEAD)
    with tempfile.TemporaryDirectory(prefix="edgec-agreement-") as folder:
        results = [agree(model, Path(folder), Options(given.seconds, rounds=given.rounds)) for model in models(given.models)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
