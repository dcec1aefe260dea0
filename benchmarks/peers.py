"""edgec beside other engines on the same models: all take turns on the same cores, each in a process of its own with bound buffers.

    python benchmarks/peers.py MODEL.onnx... [--precision fp32 int8] [--threads 1 2] [--isa avx512vnni|avxvnni|avx2] [--json FILE]

The peers get a virtual environment of their own, in the cache folder or --environment; pip needs a registry for that, once. In INT8 all
run the model.int8.onnx that edgec makes with --calib (else with pictures beside the model, else with random numbers). ratio: the best
peer's time / edgec's, more than 1 is a win, with a 95 % interval by resampling the rounds; a peer whose column is in parentheses does not
count: OpenVINO without a cap on its instructions (`openvino*`), and engines that have no such cap where --isa is not the processor's best.
A time in parentheses, with how far its answer is from edgec's (root mean square, of the output's range), does not count either: that is
more than benchmarks/answers.py allows, .1 % in float, in INT8 .5 % or twice of what quantization changes in edgec's answer. oneDNN's
sums of codes without VNNI saturate at 16 bits, for one. A model of which no peer's time counts has no ratio.
Worst model first; status 1 when a model could not be compared. On a machine that computes other things too: many short turns with
--figure minimum, or for one thread --clock cpu, which stands still while somebody else has the core (not with minima: now and then it
stands still too long).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from answers import distance, read, tolerance
from contestants import prepare
from environments import environment
from rounds import FIGURES, LIMIT, Ratio, Turns, geometric_mean, interleaved, ratio_of

from edgec.base.errors import EdgecError
from edgec.cache.folder import cache_folder
from edgec.package import Package

ENGINES = Path(__file__).with_name("peer_engines.py")
PACKAGES = (("numpy", "onnxruntime"), ("openvino",), ("MNN",), ("ncnn",), ("--no-deps", "pnnx"))
CAPS = {"avx512vnni": "AVX512_CORE_VNNI", "avxvnni": "AVX2_VNNI", "avx2": "AVX2", "sse41": "SSE41"}
US = "edgec"


@dataclass(frozen=True)
class Peer:
    """A column. capped: it can be kept to a set of instructions, by oneDNN's variable; free: it is shown without that, and never counts."""

    name: str
    engine: str
    precisions: tuple[str, ...] = ("fp32", "int8")
    capped: bool = False
    free: bool = False


PEERS = (  # not among them: ai-edge-litert, which reads no ONNX
    Peer("onnxruntime", "onnxruntime"),
    Peer("openvino", "openvino", capped=True),
    Peer("openvino*", "openvino", free=True),
    Peer("mnn", "mnn"),
    Peer("ncnn", "ncnn", ("fp32",)),  # pnnx has no QuantizeLinear
)


@dataclass(frozen=True)
class Row:
    """rivals: those whose time counts. wrong: how far the answers are from edgec's of those that are timed and do not count for it."""

    model: str
    precision: str
    threads: int
    isa: str
    rivals: tuple[str, ...]
    ratio: Ratio
    wrong: dict[str, float] = field(default_factory=dict)


def main() -> int:
    options = parse()
    python = environment(options.environment or cache_folder("peers"), *PACKAGES)
    rows: list[Row] = []
    with ExitStack() as stack:
        stack.callback(finish, rows, options)  # also after a Ctrl-C: what was measured is shown
        work = options.work or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="edgec-peers-")))
        work.mkdir(parents=True, exist_ok=True)
        for path, precision in product(options.models, options.precision):
            try:
                rows += compare(path, precision, python, work, options)
            except (EdgecError, RuntimeError) as error:
                print(f"{path.stem} {precision}: {error}".splitlines()[0], file=sys.stderr)
    return 0 if len([row for row in rows if row.rivals]) == len(options.models) * len(options.precision) * len(options.threads) else 1


def finish(rows: list[Row], options: argparse.Namespace) -> None:
    for precision, threads in product(options.precision, options.threads):
        show([row for row in rows if (row.precision, row.threads) == (precision, threads)])
    if options.json:
        options.json.write_text(json.dumps([as_json(row) for row in rows], indent=1) + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--precision", nargs="+", default=["fp32", "int8"], choices=("fp32", "int8"))
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--cores", type=int, nargs="+", help="to run on: as many of them as there are threads; default: the last ones")
    parser.add_argument("--isa", choices=CAPS, help="edgec's vocabulary, and the cap of who can be capped; default: the best one here")
    parser.add_argument("--target", default="host")
    parser.add_argument("--calib", help="samples for all models, as edgec quantize takes them")
    parser.add_argument("--peers", nargs="+", choices=[peer.name for peer in PEERS], default=[peer.name for peer in PEERS])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--turn", type=float, default=0.1, help="seconds of an engine in a round")
    parser.add_argument("--figure", choices=FIGURES, default="median", help="of each turn's runs, and of all turns")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for an answer of an engine; one that needs more is left out")
    parser.add_argument("--environment", type=Path, help="folder of the peers' virtual environment")
    parser.add_argument("--work", type=Path, help="folder to keep models and packages in; quantized models there are used again")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.clock == "cpu" and options.threads != [1]:
        parser.error("--clock cpu adds up all threads: it is for --threads 1")
    return options


def compare(path: Path, precision: str, python: Path, work: Path, options: argparse.Namespace) -> Iterator[Row]:
    """A row for each number of threads."""
    model, inputs, package = prepare(path, precision, options.calib, options.target, work)
    peers = [peer for peer in PEERS if peer.name in options.peers and precision in peer.precisions]
    most = Package(package).isas()[-1]
    isa = options.isa or most
    for threads in options.threads:
        cores = (options.cores or sorted(os.sched_getaffinity(0)))[-threads:]
        question = {"inputs": str(inputs), "threads": threads, "cores": cores, "isa": isa, "clock": options.clock}
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="edgec-answers-")))
            engine = partial(start, stack, options.limit)
            engines = {US: engine(Path(sys.executable), {**question, "engine": US, "model": str(package)}, {}, folder / US)}
            for peer in peers:
                cap = {"ONEDNN_MAX_CPU_ISA": CAPS[isa]} if peer.capped and isa in CAPS else {}
                asked = {**question, "engine": peer.engine, "model": str(model)}
                engines[peer.name] = engine(python, asked, cap, folder / peer.name)
            for name in [name for name in engines if "error" in engines[name].ready]:
                print(f"{path.stem} {precision}, {threads} threads: without {name}: {engines[name].ready['error']}", file=sys.stderr)
                del engines[name]
            if US not in engines:
                continue
            asked = {**question, "engine": "onnxruntime", "model": str(work / f"{path.stem}.onnx")}
            exact = engine(python, asked, {}, folder / "exact")
            wrong = mistaken(folder, [name for name in engines if name != US], precision, "error" not in exact.ready)
            exact.close()
            for name in [name for name, apart in wrong.items() if apart == math.inf]:
                print(f"{path.stem} {precision}, {threads} threads: without {name}: its outputs are not edgec's", file=sys.stderr)
                engines.pop(name).close()
            times, died = interleaved({name: engine.times for name, engine in engines.items()}, options.rounds, options.turn)
            for name, why in died.items():
                print(f"{path.stem} {precision}, {threads} threads: without {name}: it {why}", file=sys.stderr)
            if US in died:
                continue
        counting = [peer for peer in peers if peer.name in times and peer.name not in wrong]
        rivals = tuple(peer.name for peer in counting if peer.capped or (isa == most and not peer.free))
        row = Row(path.stem, precision, threads, isa, rivals, ratio_of(times, US, rivals, options.figure), wrong)
        print(f"{row.model} {precision}, {threads} threads: {row.ratio.ratio:.2f}", file=sys.stderr, flush=True)
        yield row


def mistaken(folder: Path, names: list[str], precision: str, knows_exact: bool) -> dict[str, float]:
    """How far the answers are from edgec's of the engines that are further away than right ones; answers lie in NAME.npz."""
    ours = read(folder / f"{US}.npz")
    if not any(np.ptp(output) for output in ours):
        print("all elements of each output are alike: such answers do not tell who computes rightly", file=sys.stderr)
    allowed = tolerance(precision, ours, read(folder / "exact.npz") if knows_exact else None)
    found = {name: distance(read(folder / f"{name}.npz"), ours) for name in names}
    return {name: apart for name, apart in found.items() if apart > allowed}


def start(
    stack: ExitStack, limit: float, python: Path, question: dict[str, Any], environment: dict[str, str], answers: Path
) -> Turns:  # fmt: skip
    """An engine that ends with the stack; its outputs are in the file `answers`.npz. limit: of seconds for each of its answers."""
    engine = Turns([str(python), str(ENGINES), json.dumps({**question, "answers": f"{answers}.npz"})], environment, limit)
    stack.callback(engine.close)
    return engine


def show(rows: list[Row]) -> None:
    """A table for one precision and number of threads."""
    if not rows:
        return
    peers = [peer for peer in PEERS if any(peer.name in row.ratio.us for row in rows)]
    titles = [peer.name if any(peer.name in row.rivals for row in rows) else f"({peer.name})" for peer in peers]
    first = rows[0]
    print(f"\n{first.precision}, {first.threads} threads, {first.isa}: microseconds, and best peer / edgec")
    print("| model | edgec | " + " | ".join(titles) + " | best | ratio | 95 % |\n|" + "---|" * (len(titles) + 5))
    for row in sorted(rows, key=lambda row: row.ratio.ratio):
        one = row.ratio
        cells = [f"{one.us[US]:.1f}", *(cell(row, peer.name) for peer in peers)]
        ratio = f"{one.best} | {one.ratio:.2f} | {one.low:.2f} to {one.high:.2f}" if row.rivals else "- | - | -"
        print(f"| {row.model} | {' | '.join(cells)} | {ratio} |")
    if not any(row.rivals for row in rows):
        return
    mean, low, high = geometric_mean([row.ratio for row in rows if row.rivals])
    print(f"| geometric mean | {'| ' * (len(peers) + 2)}| {mean:.2f} | {low:.2f} to {high:.2f} |", flush=True)


def cell(row: Row, peer: str) -> str:
    """A peer's time, in parentheses with how wrong its answer is where that is so."""
    if peer not in row.ratio.us:
        return "-"
    time = f"{row.ratio.us[peer]:.1f}"
    return f"({time}: {row.wrong[peer]:.1%} off)" if peer in row.wrong else time


def as_json(row: Row) -> dict[str, object]:
    one = row.ratio
    place = {"model": row.model, "precision": row.precision, "threads": row.threads, "isa": row.isa}
    known = {"best": one.best, "ratio": one.ratio, "low": one.low, "high": one.high} if row.rivals else {}
    return {**place, "us": one.us, "wrong": row.wrong, **known}


if __name__ == "__main__":
    sys.exit(main())
