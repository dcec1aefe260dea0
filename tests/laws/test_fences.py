"""Who may import whom, and which outside libraries live in which rooms."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "edgec"

# room -> the rooms below it; a room may import itself, its floor and these
MAY_IMPORT = {
    "base": set(),
    "cache": {"base"},
    "records": {"base"},
    "ir": {"base"},
    "program": {"base", "ir"},
    "kernels": {"ir", "program"},
    "targets": {"base"},
    "ops": {"base", "ir", "program"},
    "operators": {"base"},
    "frontend": {"base", "ir", "ops", "program"},
    "exporters": {"base", "cache", "frontend", "settings"},
    "export": {"base", "ir", "ops"},
    "passes": {"base", "ir", "ops", "program"},
    "integer": {"base", "ir", "ops", "program"},
    "quant": {"base", "export", "integer", "ir", "ops", "passes", "records"},
    "prune": {"base", "exam", "ir", "ops", "quant"},
    "oracle": {"base"},
    "isolation": {"base", "frontend", "ir", "passes", "quant"},
    "lower": {"base", "integer", "ir", "kernels", "ops", "program", "targets"},
    "schedule": {"ir", "kernels", "program", "targets"},
    "emit": {"base", "ir", "kernels", "package", "program", "targets"},
    "toolchain": {"base", "cache", "package", "targets"},
    "boards": {"base", "package", "records", "targets"},
    "reports": {"base", "records"},
    "exam": {"base", "boards", "emit", "export", "ir", "ops", "oracle", "package", "program", "quant", "records", "schedule"},
    "package": {"base", "records", "targets"},
    "settings": {"base", "package", "quant"},
    "provenance": {"base", "package"},
    "apps": {"base", "cache", "emit", "ir", "package", "program", "quant", "targets", "toolchain"},
    "verbs": {
        "base",
        "boards",
        "emit",
        "exam",
        "exporters",
        "frontend",
        "integer",
        "ir",
        "isolation",
        "lower",
        "package",
        "pipeline",
        "program",
        "provenance",
        "quant",
        "records",
        "reports",
        "schedule",
        "settings",
        "targets",
    },
    "pipeline": {
        "apps",
        "base",
        "cache",
        "emit",
        "exam",
        "export",
        "frontend",
        "integer",
        "ir",
        "isolation",
        "lower",
        "operators",
        "package",
        "program",
        "provenance",
        "prune",
        "quant",
        "records",
        "schedule",
        "settings",
        "targets",
        "toolchain",
    },
    "__main__": {"cli"},
    "cli": {"base", "boards", "cache", "exam", "isolation", "package", "pipeline", "records", "reports", "settings", "targets", "verbs"},
}
# rooms inside of a room -> those beside it that each may import; the files beside them see all, and none of the rooms sees those
MAY_IMPORT_INSIDE = {
    "base": {"output": {"errors"}},
    "frontend": {
        "file": set(),
        "translation": set(),
        "movement": {"translation"},
        "windows": {"arithmetic", "translation"},
        "signal": {"translation"},
        "control": {"file", "movement", "translation"},
        "selection": {"translation", "windows"},
        "arithmetic": {"translation"},
        "quantized": {"arithmetic", "translation", "windows"},
        "domains": {"control", "quantized", "translation", "windows"},
    },
    "quant": {
        "scope": set(),
        "given": {"scope"},
        "ranges": {"given", "scope"},
        "runs": {"given", "ranges"},
        "channels": {"runs", "scope"},
        "codes": {"given", "ranges", "runs", "scope"},
        "decisions": {"channels", "codes", "given", "ranges", "runs", "scope"},
        "trials": {"decisions", "given", "runs"},
        "fits": {"channels", "codes", "decisions", "given", "ranges", "runs", "scope", "trials"},
        "findings": {"channels", "decisions", "given", "ranges", "runs", "trials"},
        "floats": {"channels", "decisions", "findings", "fits", "given", "runs", "scope", "trials"},
        "search": {"channels", "codes", "decisions", "fits", "floats", "given", "ranges", "runs", "scope", "trials"},
    },
    "boards": {
        "connect": {"device"},
        "board": {"connect", "device"},
        "deploy": {"board", "connect", "device"},
        "farm": {"board", "connect", "deploy", "device"},
    },
}
# library -> the rooms (or rooms inside of a room) that may import it
LIBRARIES = {
    "onnx": {"exporters", "frontend", "export", "operators", "oracle", "ops"},
    "onnxruntime": {"export/runtime.py"},
    "jinja2": {"emit", "reports"},
    "paramiko": {"boards/connect"},
    "cryptography": {"provenance"},
    "distributed": {"boards/farm"},
    "subprocess": {"exporters", "isolation", "toolchain", "boards/connect", "package"},
    "pickle": set(),
}


def imports(path: Path) -> list[str]:
    """Every absolute module that a file imports, anywhere in it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [node.module] + [f"{node.module}.{alias.name}" for alias in node.names if node.module == "edgec"]
    return found


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_every_room_has_its_fence() -> None:
    """Nothing lies loose but the targets, which everything below reads, the names of the package itself, and its program."""
    rooms = {room(path) for path in FILES} - {"__init__"}
    assert rooms == set(MAY_IMPORT)
    assert {path.name for path in ROOT.glob("*.py")} == {"__init__.py", "__main__.py", "targets.py"}


def test_the_command_line_prints_and_never_computes() -> None:
    assert not [path for path in FILES if room(path) == "cli" and {"numpy", "onnx", "onnxruntime"} & set(imports(path))]


FILES = sorted(path for path in ROOT.rglob("*.py") if "_data" not in path.parts)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_what_lies_below_it(path: Path) -> None:
    home = room(path)
    for module in imports(path):
        parts = module.split(".")
        if parts[0] == "edgec" and len(parts) > 1 and home in MAY_IMPORT:
            assert parts[1] in MAY_IMPORT[home] | {home}, f"{home} may not import {module}"
        if parts[0] == "edgec" and len(parts) > 1 and parts[1] == "cli":
            assert home in ("cli", "__main__"), "nobody imports cli"


@pytest.mark.parametrize("home", MAY_IMPORT_INSIDE)
def test_rooms_inside_of_a_room_import_only_what_lies_below_them(home: str) -> None:
    fences = MAY_IMPORT_INSIDE[home]
    inside = [path.relative_to(ROOT / home) for path in FILES if room(path) == home and path.parent != ROOT / home]
    assert {path.parts[0] for path in inside} == set(fences)
    for path in inside:
        others = {module.split(".")[2] for module in imports(ROOT / home / path) if module.startswith(f"edgec.{home}.")}
        assert others <= fences[path.parts[0]] | {path.parts[0]}, f"{home}/{path} may not import {others}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_libraries_stay_in_their_rooms(path: Path) -> None:
    homes = {room(path), "/".join(path.relative_to(ROOT).parts[:2])}
    for module in imports(path):
        library = module.split(".")[0]
        assert library not in LIBRARIES or homes & LIBRARIES[library], f"{path.relative_to(ROOT)} may not import {library}"
