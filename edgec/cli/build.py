"""optimize, quantize, emit and compile a model into a package, and examine it"""

from __future__ import annotations

import argparse
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich.table

import edgec
from edgec.cli.console import Console, bytes_text, table
from edgec.cli.goal import ALL_IN_INT8, goal_tables
from edgec.cli.inspect import refuse, tables
from edgec.cli.progress import expected
from edgec.cli.pruning import pruning_tables
from edgec.cli.settings import declare_settings, resolve_settings
from edgec.settings.config import BuildConfig
from edgec.settings.facts import settings_facts

if TYPE_CHECKING:
    from edgec.package import Package
    from edgec.package.manifest import Manifest
    from edgec.pipeline.prepare import Plan
    from edgec.verbs.inspect import Inspection

_TOLD_APART = (
    "notes",
    "goal",
    "pruning",
    "sqnr_db",
    "agreement",
    "compared_samples",
    "warnings",
    "coded_weights",
    "latency_us",
    "isa",
    "next",
)
MOST_OUTPUTS = 5
MOMENT = 0.1  # seconds that the latency is measured for


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the ONNX file")
    declare_settings(parser)
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and what the model holds, and stop")


def act(options: argparse.Namespace, console: Console) -> None:
    config = resolve_settings(options)
    plan = edgec.plan(options.model, config=config)
    if options.dry_run:
        _dry_run(plan, edgec.inspect(options.model, config=config), console)
        return
    console.remark(_plan(plan))
    with console.progress(expected(_words(config))) as progress:
        package = edgec.build(options.model, config=config, progress=progress)
    for note in package.notes:
        console.note(f"note: {note}")
    manifest, speed = package.manifest, _speed(package)
    facts = {
        **_facts(package),
        **({"latency_us": speed["p50_us"], "isa": speed["isa"]} if speed else {}),
        "next": _next(package, options.model, config),
    }
    rows = _rows(facts) + _coded_rows(manifest) + (_answer_rows(manifest) if manifest.compared else [])
    rows += [("latency", f"{speed['p50_us']:,.1f} us on this machine: median, one thread, {speed['isa']}")] if speed else []
    rows += [("goal", ALL_IN_INT8)] if config.goal is not None and manifest.goal is None else []
    goal = goal_tables(asdict(manifest.goal)) if manifest.goal is not None else []
    pruning = pruning_tables(asdict(manifest.pruning)) if manifest.pruning is not None else []
    warnings = [f"warning: {warning}" for warning in manifest.warnings or ()]
    console.result(facts, [table("", ["", ""], rows), *pruning, *goal, *warnings, f"next: {facts['next']}"])


def _words(config: BuildConfig) -> list[str]:
    """What decides which stages there are."""
    known = {
        "int8" if config.precision == "int8" else "float": True,
        "goal": config.goal is not None,
        "prune": config.prune is not None,
        "compile": config.compile,
        "wheel": config.wheel,
    }
    return [word for word, true in known.items() if true]


def _speed(package: Package) -> dict[str, Any]:
    """What the exam program measures here in a moment; nothing where it was not run, or an emulator runs it."""
    return package.benchmark(MOMENT) if package.examined and not package.target.emulator else {}


def _next(package: Package, model: Path, config: BuildConfig) -> str:
    """The command that leads on from here."""
    place = str(package.directory)
    if package.examined and isinstance(config.calib, str):
        return shlex.join(["edgec", "compare", str(model), place, "--data", config.calib])
    if package.examined or not config.compile:
        return shlex.join(["edgec", "inspect", place])
    return f"{shlex.join(['edgec', 'deploy', place, '--device'])} NAME"


def _plan(plan: Plan) -> rich.table.Table:
    """What is planned, and where it was decided."""
    origins = plan.origins
    return table("", ["", "", ""], [(key, value, origins.get(key, "")) for key, value in plan.facts.items() if value is not None])


def _dry_run(plan: Plan, found: Inspection, console: Console) -> None:
    """The plan and the inspection; the error that the build would end with, where that is known already."""
    facts = {"plan": plan.facts, "settings": settings_facts(plan.config), **found.facts}
    console.result(facts, [_plan(plan), *tables(found)])
    refuse(found, plan.model)


def _facts(package: Package) -> dict[str, object]:
    from edgec.package import GPU

    manifest = package.manifest
    wheels = [str(package.directory / path) for path in manifest.made or () if path.endswith(".whl")]
    return {
        "package": str(package.directory),
        "target": manifest.target,
        "precision": manifest.precision,
        "arena_bytes": manifest.arena.bytes,
        "weights_bytes": manifest.weights.bytes,
        "macs": manifest.macs,
        "exam": "passed" if package.examined else "not run here",
        "examined": [place for place in package.examined if place != GPU],
        **({"exam_gpu": "passed" if GPU in package.examined else "not run here"} if package.has_gpu else {}),
        **({"wheels": wheels} if wheels else {}),
        **({"coded_weights": asdict(manifest.coded_weights)} if manifest.coded_weights is not None else {}),
        **_answers(manifest),
        **({"goal": asdict(manifest.goal)} if manifest.goal is not None else {}),
        **({"pruning": asdict(manifest.pruning)} if manifest.pruning is not None else {}),
        "notes": package.notes,
    }


def _answers(manifest: Manifest) -> dict[str, object]:
    """What a quantized package's answers still have of the model's."""
    if manifest.compared is None:
        return {}
    scores = {"sqnr_db": dict(manifest.sqnr_db), "agreement": dict(manifest.agreement or {}), "compared_samples": manifest.compared}
    return {**scores, "warnings": list(manifest.warnings or ())}


def _rows(facts: dict[str, object]) -> list[tuple[str, object]]:
    shown = {key.removesuffix("_bytes"): bytes_text(int(str(value))) if key.endswith("_bytes") else value for key, value in facts.items()}
    apart = {"examined": ", ", "wheels": "\n"}
    rows = [(key, apart[key].join(value) if isinstance(value, list) else value) for key, value in shown.items() if key not in _TOLD_APART]
    return [(key, f"{value:,}" if isinstance(value, int) else value) for key, value in rows]


def _coded_rows(manifest: Manifest) -> list[tuple[str, object]]:
    """What --weight-bits did."""
    coded = manifest.coded_weights
    if coded is None:
        return []
    words = f"{coded.bits} bits in {coded.layers} layers: {bytes_text(coded.bytes)} instead of {bytes_text(coded.float_bytes)}"
    return [("coded weights", words)]


def _answer_rows(manifest: Manifest) -> list[tuple[str, object]]:
    """The outputs that are furthest from the model's."""
    known = manifest.agreement or {}
    rows: list[tuple[str, object]] = []
    for name, ratio in sorted(manifest.sqnr_db.items(), key=lambda item: item[1])[:MOST_OUTPUTS]:
        same = f", the same best class in {known[name]:.0%}" if name in known else ""
        rows.append(("answers", f"{name}: SQNR {ratio:.1f} dB{same}, of {manifest.compared} samples"))
    return rows
