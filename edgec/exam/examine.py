"""The exam at the end of a build: given here, wherever this machine or an emulator can run the package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from edgec.base.errors import GateError, Problem
from edgec.base.output import FAILED, keep_aside
from edgec.package import GPU, Package


def examine_everywhere(package: Package, tell: Callable[[str, int, int], None]) -> tuple[str, ...]:
    """Examine a compiled package in each of its vocabularies that can run here, and on a GPU where one is found.

    Gives what was examined, GPU last; nothing where no program can run. GateError names every vocabulary that answered wrongly.
    """
    if not package.can_run:
        return ()
    isas = package.isas()
    places = [*isas, *([GPU] if package.finds_gpu() else [])]
    problems = []
    for index, place in enumerate(places):
        tell("examining", index, len(places))
        try:
            package.examine(gpu=True) if place == GPU else package.examine(isa=place)
            if package.target.form == "web" and place not in (isas[0], GPU):
                package.examine(isa=place, threads=2)  # another module
        except GateError as error:
            problems += [Problem(f"{place}: {error.summary}"), *error.problems]
    if problems:
        raise GateError("the package does not compute what the model does", problems, where=package.manifest.name)
    tell("examining", len(places), len(places))
    return tuple(places)


def failed(error: GateError, folder: Path, out: Path, *, keep: bool) -> GateError:
    """The error to raise for a package in `folder`, meant for `out`, that failed: it is gone, unless kept aside to be sent."""
    if not keep:
        hint = "this is a bug of edgec: send us the model, and with --keep-failed the package; nothing was written"
    else:
        place = keep_aside(folder, out, error.render())
        hint = f"this is a bug of edgec: send us {place}, where {FAILED} says what was wrong; no verb takes it for a package"
    return GateError(error.summary, error.problems, where=str(out), hint=hint)
