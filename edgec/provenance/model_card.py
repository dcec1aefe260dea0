"""MODEL_CARD.md: what a package is, for people, from the facts of its manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from edgec.provenance.card import FIELDS, OF_THE_FILE, printable

_MARKS = re.compile(r"([\\`*_{}\[\]<>()#!|~&$@])")
NO_LICENSE = "The model file names no license, and `[card]` of edgec.toml did not either: ask the model's author before passing it on."
AROUND = "What is said here is the model's. The sources around it were written by edgec and are their user's, without conditions."


def model_card(facts: Mapping[str, Any]) -> bytes:
    """The page for a manifest that holds everything but its list of files. Equal facts give equal bytes."""
    card: Mapping[str, str] = facts["card"]
    lines = [f"# {plain(card.get('title') or facts['name'])}", ""]
    lines += [plain(card["description"]), ""] if "description" in card else []
    shown = [key for key in (*FIELDS, *OF_THE_FILE) if key in card and key not in ("title", "description")]
    titles = FIELDS | OF_THE_FILE
    lines += table(("", ""), [(titles[key], plain(card[key])) for key in shown]) if shown else []
    lines += [] if "license" in card else [NO_LICENSE, ""]
    lines += [AROUND, ""]
    lines += ["## Tensors", ""]
    ports = [(kind, port) for kind in ("input", "output") for port in facts[f"{kind}s"]]
    lines += table(("", "name", "type", "shape", "codes"), [(kind, *_port(port)) for kind, port in ports])
    lines += ["## The package", "", *table(("", ""), list(_package(facts))), *_accuracy(facts)]
    lines += ["## Where it comes from", "", *table(("", "sha256"), list(_origin(facts)))]
    lines += ["`edgec verify` checks the package against `manifest.json`, which has the sha256 of every file."]
    return ("\n".join(lines) + "\n").encode()


def plain(text: object) -> str:
    """Text that means nothing in Markdown or HTML."""
    return _MARKS.sub(r"\\\1", printable(str(text)))


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Rows of cells that are plain already; ends with an empty line."""
    cells = [titles, ["---"] * len(titles), *rows]
    return [*(f"| {' | '.join(map(str, row))} |" for row in cells), ""]


def _port(port: Mapping[str, Any]) -> tuple[str, str, str, str]:
    shape = " x ".join(map(str, port.get("symbolic_shape", port["shape"]))) or "scalar"
    codes = f"(q - {port['zero_point']}) * {port['scale']!r}" if "scale" in port else ""
    return plain(port["name"]), port["dtype"], plain(shape), plain(codes)


def _package(facts: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    yield "Target", plain(facts["target"])
    yield "Precision", plain(facts["precision"])
    yield "Instruction sets", plain(", ".join(facts["vocabularies"]))
    yield "Working memory", f"{facts['arena']['bytes']:,} bytes"
    yield "Weights", f"{facts['weights']['bytes']:,} bytes"
    yield "Multiply-accumulates of a run", f"{facts['macs']:,}"
    if "task" in facts:
        task = facts["task"]
        yield "Task", plain(task.get("kind", "") if isinstance(task, Mapping) else task)


def _accuracy(facts: Mapping[str, Any]) -> list[str]:
    """What quantization did to the answers, as it was measured during the build."""
    if not facts.get("sqnr_db"):
        return []
    rows = [(plain(name), f"{ratio:.2f} dB") for name, ratio in facts["sqnr_db"].items()]
    words = "Signal-to-noise ratio of the quantized answers against the float model's, over samples of the calibration set:"
    return [words, "", *table(("output", "ratio"), rows)]


def _origin(facts: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    names = {
        "model_sha256": "model file",
        "network_sha256": "operators and weights",
        "calibration_sha256": "calibration samples",
        "options_sha256": "options of the build",
    }
    for key, name in names.items():
        yield name, f"`{facts[key]}`" if facts[key] else "none"
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    yield "made by", plain(versions)
