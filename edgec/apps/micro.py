"""The form `micro`: the C package as a component of ESP-IDF, a module of Zephyr, a library of Arduino and of PlatformIO, and an exam that
runs without a system."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, replace

from edgec.apps.app import App, Tensor
from edgec.base.errors import UsageError
from edgec.base.version import __version__
from edgec.emit.c_text import C_TYPES
from edgec.emit.constants import ALIGNMENT
from edgec.emit.package import STACK_BYTES
from edgec.emit.templates import fill, runtime
from edgec.ir.types import DType
from edgec.package.card import printable as one_line
from edgec.package.draft import Draft
from edgec.targets import Target, command_of, load_target

# template of templates/apps/micro -> where it goes in the package; those in place of the C package's own come first
TEMPLATES = {
    "CMakeLists.txt.j2": "CMakeLists.txt",
    "Makefile.j2": "Makefile",
    "library.properties.j2": "library.properties",
    "sketch.ino.j2": "examples/{0}/{0}.ino",
    "module.yml.j2": "zephyr/module.yml",
    "Kconfig.j2": "zephyr/Kconfig",
    "zephyr.cmake.j2": "zephyr/CMakeLists.txt",
    "board.h.j2": "exam/{}_board.h",
    "board.ld.j2": "exam/{}_board.ld",
}
# source of runtimes/ -> where it goes: what the exam needs where there is no system and no C library
RUNTIMES = {
    "micro/exam.c": "exam/{}_exam.c",
    "micro/text.h": "exam/{}_text.h",
    "micro/board.c": "exam/board.c",
    "micro/semihosting.h": "exam/semihosting.h",
    "freestanding/arm.c": "exam/arm.c",
    "freestanding/memory.c": "exam/memory.c",
    "freestanding/string.h": "exam/string.h",
}
# files of the C package that need threads, files or an assembler that finds one
_LEFT_OUT = (
    "include/{}.hpp", "include/{}_pool.h", "src/{}_pool.c", "src/{}_weights.S", "src/{}_weights.bin",
    "exam/{}_files.h", "exam/{}_machine.h", "exam/{}_process.h", "exam/{}_timing.h", "exam/{}_exam_gpu.h",
)  # fmt: skip


@dataclass(frozen=True)
class Board:
    """What the emulated board has; sizes as linkers read them."""

    flash: str
    flash_bytes: str
    ram: str
    ram_bytes: str
    hz: str


def micro_files(app: App, draft: Draft) -> Draft:
    """With what the form adds, and without what needs a system. UsageError where the weights are not in the package's sources."""
    manifest = draft.manifest
    if manifest.weights.form == "bin":
        raise UsageError("a microcontroller has its weights in flash", hint="leave out --weights bin")
    left_out = {path.format(app.name) for path in _LEFT_OUT}
    files = {path: content for path, content in draft.files.items() if path not in left_out and not path.startswith("packaging/")}
    kept = Draft(files, replace(manifest, weights=replace(manifest.weights, form="c")))
    sources = sorted(path for path in files if re.fullmatch(r"src/\w+\.c", path))
    headers = sorted(path.removeprefix("include/") for path in files if path.startswith("include/"))
    context = _context(app, load_target(manifest.target), sources)
    found = {path.format(app.name): fill("apps/micro", template, context).encode() for template, path in TEMPLATES.items()}
    found |= {path.format(app.name): runtime(source, app.name) for source, path in RUNTIMES.items()}
    found |= {f"src/{header}": f'#include "../include/{header}" /* Arduino looks for headers here */\n'.encode() for header in headers}
    found |= {"library.json": _json(_platformio(app)), "idf_component.yml": _yaml(_component(app))}
    return kept.plus(found)


def _context(app: App, target: Target, sources: list[str]) -> dict[str, object]:
    """All that the templates of templates/apps/micro read."""
    tensors = [*app.inputs, *app.outputs]
    return {
        "name": app.name,
        "NAME": app.name.upper(),
        "version": __version__,
        "sources": sources,
        "inputs": [_tensor(app, tensor, "INPUT") for tensor in app.inputs],
        "outputs": [_tensor(app, tensor, "OUTPUT") for tensor in app.outputs],
        "sets": app.sets,
        "tensor_bytes": sum(-(-tensor.most_elements * tensor.dtype.bytes // ALIGNMENT) * ALIGNMENT for tensor in tensors),
        "stack_bytes": STACK_BYTES,
        "board": Board(*target.board),
        "target": target,
        "run": shlex.join(command_of(target.emulator, f"build/{app.name}_exam")),
        "card": _card(app),
    }


def _tensor(app: App, tensor: Tensor, role: str) -> dict[str, object]:
    macro = f"{app.name}_{role}_{tensor.identifier}".upper()
    return {
        "field": f"tensor_{tensor.identifier}",
        "macro": macro,
        "count": str(tensor.elements) if tensor.shapes else f"{macro}_ELEMENTS",  # of a run
        "c_type": C_TYPES[tensor.dtype],
        "printed": "" if tensor.dtype not in (DType.INT64, DType.UINT64) else "(long)",
    }


def _card(app: App) -> dict[str, str]:
    """What every one of the manifests has. They are read line by line; a version is three numbers, an address leads to a page."""
    version, url = app.card.get("version", ""), app.card.get("url", "")
    title = one_line(app.card.get("title", "")) or f"The neural network {app.name}"
    return {
        "version": version if re.fullmatch(r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}", version) else "1.0.0",
        "title": title,
        "description": one_line(app.card.get("description", "")) or f"{title}, compiled to C99 by edgec {__version__}",
        "author": one_line(app.card.get("author", "")) or "edgec",
        "license": one_line(app.card.get("license", "")),
        "url": one_line(url) if url.startswith(("https://", "http://")) else "",
    }


def _platformio(app: App) -> dict[str, object]:
    card = _card(app)
    return {
        "$schema": "https://raw.githubusercontent.com/platformio/platformio-core/develop/platformio/assets/schema/library.json",
        "name": app.name,
        "version": card["version"],
        "description": card["description"],
        "authors": [{"name": card["author"]}],
        **{key: card[field] for key, field in (("license", "license"), ("homepage", "url")) if card[field]},
        "frameworks": "*",
        "platforms": "*",
        "headers": f"{app.name}.h",
        "build": {"includeDir": "include", "srcDir": "src"},
        "export": {"exclude": ["exam", "build", "model.int8.onnx", "calibration.json"]},
    }


def _component(app: App) -> dict[str, str]:
    card = _card(app)
    return {key: card[key] for key in ("version", "description", "license", "url") if card[key]}


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def _yaml(fields: dict[str, str]) -> bytes:
    """A string of JSON is one of YAML too."""
    return "".join(f"{key}: {json.dumps(text, ensure_ascii=False)}\n" for key, text in fields.items()).encode()
