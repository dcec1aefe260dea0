"""MODEL_CARD.md: what a package is, for people, from the facts of its manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from edgec.package.card import FIELDS, OF_THE_FILE, printable
from edgec.package.goal import AttemptFacts, GoalFacts, KeptLayer
from edgec.package.manifest import Manifest
from edgec.package.parts import Kept, Port
from edgec.package.pruning import PruningFacts

_MARKS = re.compile(r"([\\`*_{}\[\]<>()#!|~&$@])")
NO_LICENSE = "The model file names no license, and `[card]` of edgec.toml did not either: ask the model's author before passing it on."
AROUND = "What is said here is the model's. The sources around it were written by edgec and are their user's, without conditions."


def model_card(manifest: Manifest) -> bytes:
    """The page for a manifest that holds everything but its list of files. Equal facts give equal bytes."""
    card = manifest.card
    lines = [f"# {plain(card.get('title') or manifest.name)}", ""]
    lines += [plain(card["description"]), ""] if "description" in card else []
    shown = [key for key in (*FIELDS, *OF_THE_FILE) if key in card and key not in ("title", "description")]
    titles = FIELDS | OF_THE_FILE
    lines += table(("", ""), [(titles[key], plain(card[key])) for key in shown]) if shown else []
    lines += [] if "license" in card else [NO_LICENSE, ""]
    lines += [AROUND, ""]
    lines += ["## Tensors", ""]
    ports = [(kind, port) for kind, found in (("input", manifest.inputs), ("output", manifest.outputs)) for port in found]
    rows = [(kind, *_port(port)) for kind, port in ports] + [("state", *_state(kept)) for kept in manifest.states or ()]
    lines += table(("", "name", "type", "shape", "codes"), rows)
    lines += ["## The package", "", *table(("", ""), list(_package(manifest))), *_pruning(manifest.pruning)]
    lines += _accuracy(manifest)
    lines += ["## Where it comes from", "", *table(("", "sha256"), list(_origin(manifest)))]
    lines += ["`edgec verify` checks the package against `manifest.json`, which has the sha256 of every file."]
    return ("\n".join(lines) + "\n").encode()


def plain(text: object) -> str:
    """Text that means nothing in Markdown or HTML."""
    return _MARKS.sub(r"\\\1", printable(str(text)))


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Rows of cells that are plain already; ends with an empty line."""
    cells = [titles, ["---"] * len(titles), *rows]
    return [*(f"| {' | '.join(map(str, row))} |" for row in cells), ""]


def _port(port: Port) -> tuple[str, str, str, str]:
    shapes = port.shapes or [port.symbolic_shape or port.shape]
    shape = ", ".join(" x ".join(map(str, extents)) or "scalar" for extents in shapes)
    codes = f"(q - {port.zero_point}) * {port.scale!r}" if port.scale is not None else ""
    return plain(port.name), port.dtype, plain(shape), plain(codes)


def _state(kept: Kept) -> tuple[str, str, str, str]:
    return plain(f"{kept.name}, which is {kept.output} of the run before"), kept.dtype, " x ".join(map(str, kept.shape)) or "scalar", ""


def _package(manifest: Manifest) -> Iterable[tuple[str, str]]:
    yield "Target", plain(manifest.target)
    yield "Precision", plain(manifest.precision)
    yield "Instruction sets", plain(", ".join(manifest.vocabularies))
    yield "Working memory", f"{manifest.arena.bytes:,} bytes"
    yield "Weights", f"{manifest.weights.bytes:,} bytes"
    if manifest.coded_weights is not None:
        coded = manifest.coded_weights
        words = f"{coded.bits} bits, {coded.bytes:,} bytes with their scales where float32 had {coded.float_bytes:,}"
        yield f"Weights of {coded.layers} dense layers", words
    yield "Multiply-accumulates of a run", f"{manifest.macs:,}"
    if manifest.task is not None:
        yield "Task", plain(manifest.task.kind)


def _accuracy(manifest: Manifest) -> list[str]:
    """What quantization left of the model's answers, as it was measured during the build."""
    if not manifest.sqnr_db:
        return []
    agreement = manifest.agreement or {}
    rows = [
        (plain(name), f"{ratio:.2f} dB", f"{agreement[name]:.1%}" if name in agreement else "") for name, ratio in manifest.sqnr_db.items()
    ]
    source = "samples of the calibration set" if manifest.calibration_sha256 else "random inputs"
    model = "the model file" if manifest.pruning is None else "the pruned network in float"
    words = f"The package's answers against those of {model} in ONNX Runtime, over {manifest.compared or 0} {source}:"
    warnings = [f"- **Warning:** {plain(warning)}" for warning in manifest.warnings or ()]
    return [
        words,
        "",
        *table(("output", "signal-to-noise ratio", "same best class"), rows),
        *warnings,
        *([""] if warnings else []),
        *_steps(manifest),
        *_goal(manifest),
    ]


def _pruning(pruning: PruningFacts | None) -> list[str]:
    """Which channels are gone, and what that costs."""
    if pruning is None:
        return []
    judges = f"{pruning.samples} samples" + (" that nothing was fitted to" if pruning.apart else " that it was fitted to")
    words = f"Channels were removed from the model: {pruning.macs:.1%} of its multiply-accumulates and {pruning.parameters:.1%} of its"
    alike = "" if pruning.agreement is None else f", the same best class in {pruning.agreement:.1%}"
    cost = f"The pruned network against the model, both in float, over {judges}: {pruning.sqnr:.2f} dB{alike}."
    rows = [(plain(layer.node), layer.operator, layer.before, layer.after) for layer in pruning.layers]
    lines = [f"{words} parameters are gone. `model.pruned.onnx` is what is left, in float. {cost}", ""]
    return [*lines, f"- **Warning:** {plain(pruning.warning)}", "", *table(("layer", "operator", "channels", "left"), rows)]


def _steps(manifest: Manifest) -> list[str]:
    """What was tried beyond plain min-max."""
    if not manifest.quantization_steps:
        return []
    words = "Steps beyond plain min-max: the same ratio on samples that the step was not fitted to; it is undone where it does not help:"
    titles = ("step", "without", "everywhere", "kept", "kept in")
    rows = [
        (step.step, f"{step.before:.2f} dB", f"{step.everywhere:.2f} dB", f"{step.after:.2f} dB", f"{step.taken} of {step.places} places")
        for step in manifest.quantization_steps
    ]
    return [words, "", *table(titles, rows)]


def _origin(manifest: Manifest) -> Iterable[tuple[str, str]]:
    hashes = {
        "model file": manifest.model_sha256,
        "operators and weights": manifest.network_sha256,
        "calibration samples": manifest.calibration_sha256,
        "options of the build": manifest.options_sha256,
        **({"tuning record": manifest.tuned_sha256} if manifest.tuned_sha256 is not None else {}),
    }
    for name, value in (hashes | {f"operator {name}": value for name, value in (manifest.options.operators or {}).items()}).items():
        yield plain(name), f"`{value}`" if value else "none"
    versions = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    yield "made by", plain(versions)


def _goal(manifest: Manifest) -> list[str]:
    """What stays in float32 or gets 16 bits, and what accuracy costs."""
    goal = manifest.goal
    if goal is None:
        return []
    asked = [f"at least {goal.min_sqnr:g} dB"] if goal.min_sqnr is not None else []
    asked += [f"at most {goal.max_drop:.2%} of best classes changed"] if goal.max_drop is not None else []
    judges = f"{goal.samples} samples" + (" that nothing was fitted to" if goal.apart else "")
    words = f"For the goal ({' and '.join(asked)}, on {judges}) these layers are no int8; the last columns are with this one in int8:"
    kept = [
        (plain(one.node), one.type, f"{one.error:.1%}", f"{one.macs:.1%}", f"+{one.latency:.1%}", f"{one.bytes:,}", *_answers(one))
        for one in goal.kept
    ]
    tried = [(one.kept, one.wide, f"{one.float_macs:.1%}", f"{one.latency:.2f}", *_answers(one)) for one in _worthwhile(goal)]
    answers = ("signal-to-noise ratio", "best class changed")
    return [
        words, "", *table(("layer", "kept in", "of the error", "of the MACs", "time", "bytes int8 saves", *answers), kept),
        "Accuracy against time, which is estimated (1 with all layers in int8; a MAC in float counts as three, of 16 bits as two):",
        "", *table(("layers kept", "in int16", "MACs in float", "time", *answers), tried),
    ]  # fmt: skip


def _answers(found: AttemptFacts | KeptLayer) -> tuple[str, str]:
    return f"{found.sqnr:.2f} dB", "" if found.drop is None else f"{found.drop:.1%}"


def _worthwhile(goal: GoalFacts) -> list[AttemptFacts]:
    """Of all attempts those that no quicker one was as good as, and what the package is."""
    found: list[AttemptFacts] = []
    for one in sorted(goal.attempts, key=lambda one: (one.latency, -one.sqnr)):
        if not found or one.sqnr > max(known.sqnr for known in found) or (one.kept, one.sqnr) == (len(goal.kept), goal.after.sqnr):
            found.append(one)
    return found
