"""The package as one header and one source, single/NAME.h and single/NAME.c: `cc -O2 app.c NAME.c` is all that an application needs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from edgec.base.version import __version__
from edgec.emit.c_scan import WORDS_IN_CODE, declared
from edgec.emit.templates import fill, runtime
from edgec.package.draft import Draft
from edgec.package.manifest import Content, Manifest

_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


def single_files(draft: Draft) -> dict[str, bytes]:
    """Path -> content, made of the package's files; it must be for a target without a GPU, whose host is more than one source."""
    files, manifest = draft.files, draft.manifest
    name = manifest.name
    headers = _headers(name, files)
    context = {
        "name": name,
        "NAME": name.upper(),
        "version": __version__,
        "target": manifest.target,
        "parts": [_without_includes(_text(files[path])) for path in headers if not path.endswith("_pool.h")],
        "pool": _without_includes(_text(files[f"include/{name}_pool.h"])),
        "prologue": _prologue(name),
        "old_clang": {"dotprod", "i8mm", "fp16"} & set(manifest.vocabularies),
        "sections": _sections(name, files, manifest),
        "pool_source": _without_includes(_text(files[f"src/{name}_pool.c"])),
    }
    return {f"single/{name}.{end}": fill("apps/cpp", f"single.{end}.j2", context).encode() for end in ("h", "c")}


def _headers(name: str, files: Mapping[str, Content]) -> list[str]:
    """The public headers of C, the package's own first."""
    first = f"include/{name}.h"
    return [first, *sorted(path for path in files if re.fullmatch(rf"include/{name}_\w+\.h", path))]


@dataclass(frozen=True)
class Section:
    """A source as it stands in the single one: its own headers in it, with names that no other section has, and the macros that it ends."""

    title: str
    text: str
    macros: tuple[str, ...]


def _sections(name: str, files: Mapping[str, Content], manifest: Manifest) -> list[Section]:
    """All sources but the pool, which shares the names of file scope with them."""
    texts = {path: _text(files[path]).replace(_prologue(name) + "\n", "") for path in _sources(name, files, manifest)}
    counts = Counter(word for text in (*texts.values(), _text(files[f"src/{name}_pool.c"])) for word in declared(text))
    known = {path.rsplit("/", 1)[1] for path in _headers(name, files)}
    found = []
    for path, text in texts.items():
        prefix = path.removeprefix(f"src/{name}").removesuffix(".c").strip("_") or "model"
        names = {word: f"{prefix}_{word}" for word in declared(text) if counts[word] > 1}
        macros = {word for word in _MACRO.findall(text) if not word.startswith("__")}  # those are the compiler's
        found.append(Section(path, _inline(_renamed(text, names), files, known).strip(), tuple(sorted(macros))))
    return found


def _sources(name: str, files: Mapping[str, Content], manifest: Manifest) -> list[str]:
    first = [f"src/{name}.c", f"src/{name}_dispatch.c"]
    kernels = [f"src/{name}_kernels_{isa}.c" for isa in manifest.vocabularies]
    weights, pool = f"src/{name}_weights.c", f"src/{name}_pool.c"
    parts = sorted(path for path in files if re.fullmatch(rf"src/{name}_\w+\.c", path) and path not in {*first, *kernels, weights, pool})
    return [*first, *parts, *kernels, *([] if manifest.weights.form == "bin" else [weights])]


def _text(content: Content) -> str:
    return str(content, "utf-8")


def _prologue(name: str) -> str:
    return runtime("c/prologue.h", name).decode().strip()


def _without_includes(text: str) -> str:
    """Without the package's own headers, which stand before it."""
    return _INCLUDE.sub("", text).strip()


def _inline(text: str, files: Mapping[str, Content], known: set[str]) -> str:
    """The source with its headers in it; one that is in `known` stands earlier, and new ones join it."""

    def content(match: re.Match[str]) -> str:
        header = match[1]
        if header in known:
            return ""
        known.add(header)
        return _inline(_text(files[f"src/{header}"]), files, known)

    return _INCLUDE.sub(content, text)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Other words for these in the code; comments and strings stay as they are."""
    return WORDS_IN_CODE.sub(lambda match: names.get(match[0], match[0]), text)
