"""measure on a board which variants of kernels compute a model's layers fastest, and record it for builds"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import rich.table

import edgec
from edgec.base.harmless import ending
from edgec.boards.board.inventory import FILE
from edgec.boards.farm.gates import us_text
from edgec.cli.bench import BUILD, declare_rounds
from edgec.cli.console import Console, table
from edgec.cli.settings import declare_settings, resolve_settings, settings_table

if TYPE_CHECKING:  # it loads most of edgec
    from edgec.verbs.tune import FasterLayer, Gain


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the ONNX file")
    parser.add_argument("--device", default=None, metavar="NAME", help="the board (the inventory's only one)")
    parser.add_argument(
        "--devices", type=Path, metavar="FILE", help=f"the inventory (default $EDGEC_DEVICES, else ./{FILE}, else this machine)"
    )
    parser.add_argument(
        "-o", "--out", type=Path, default=None, help="the record, gone on with where it is there (`tuned`, else tuned.json)"
    )
    parser.add_argument("--most-seconds", type=float, default=600.0, help="begin no try that would probably end later (600)")
    declare_rounds(parser.add_argument_group("how to measure"))
    farm = parser.add_argument_group("how to run")
    farm.add_argument("--accept-noise", action="store_true", help="go by unsteady measurements too")
    farm.add_argument("--allow-downgrade", action="store_true", help="also a version below the highest that the board has accepted")
    farm.add_argument("--retries", type=int, default=1, help="try a lost board again this often (1)")
    declare_settings(parser, BUILD, {"precision": "int8 with --calib, else fp32"})


def act(options: argparse.Namespace, console: Console) -> None:
    config = replace(resolve_settings(options), out=None)
    console.remark(settings_table(config, unheard=("target", "out", "tuned")))
    with console.progress() as progress:
        found = edgec.tune(
            options.model, device=options.device, inventory=options.devices, out=options.out, most_seconds=options.most_seconds,
            seconds=options.seconds, runs=options.runs, rounds=options.rounds, threads=options.threads, cores=options.cores,
            isa=options.isa, repeats=options.repeats, accept_noise=options.accept_noise, precision=options.precision, config=config,
            retries=options.retries, allow_downgrade=options.allow_downgrade, progress=progress, tell=console.note,
        )  # fmt: skip
    for note in found.notes:
        console.note(f"note: {note}")
    words = list(_words(found, options.model, config))
    layers = [(ending(one.name), one.calls, one.base, one.variant, *_ratio(one)) for one in found.faster]
    gains = [(one.threads, us_text(one.base_us), us_text(one.us), *_ratio(one)) for one in found.gains]
    shown: list[rich.table.Table | str] = []
    shown += [table("", ("layer", "calls", "variant", "faster", "ratio", "95 % interval"), layers), ""] if layers else []
    shown += [table("", ("threads", "before", "tuned", "ratio", "95 % interval"), gains), ""] if gains else []
    console.result({**asdict(found), "record": str(found.record), "exit_code": 0, "words": words}, [*shown, *words])


def _ratio(found: FasterLayer | Gain) -> tuple[str, str]:
    return f"{found.ratio:.3f}", f"{found.low:.3f} to {found.high:.3f}"


def _words(found: edgec.Tuned, model: Path, config: edgec.BuildConfig) -> Iterator[str]:
    """What it came to, and how to go on."""
    tried = f"{found.tried} tries for {found.layers} layers with a choice, with {found.vocabulary} on {found.device}"
    left = f"; {found.left} are left: the same command goes on with them" if found.left else ""
    yield f"{tried}{left}"
    if not found.faster:
        yield "nothing was surely faster than what the cost model chooses"
    elif not found.kept:
        yield "the whole package did not keep what its layers gained: builds choose by the cost model"
    if found.kept:
        yield f"record  {found.record}"
        calib = ["--calib", config.calib] if isinstance(config.calib, str) else []
        words = ["edgec", "build", str(model), "--target", found.target, "--precision", found.precision, *calib]
        words += ["--tuned", str(found.record)]
        yield f"next: {shlex.join(words)}"
