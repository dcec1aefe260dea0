"""The form `web`: an ES module with its declarations, a page to try it on, and the C that is compiled to WebAssembly."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgec.apps.app import MOST_BOXES, App, Tensor
from edgec.apps.names import camel, legal, pascal, quoted
from edgec.apps.picture import MOST, has_pictures, most_bytes, picture_files
from edgec.base.errors import UsageError
from edgec.base.harmless import in_a_comment
from edgec.base.version import __version__
from edgec.emit.c_text import C_TYPES
from edgec.emit.templates import fill, runtime
from edgec.ir.types import DType
from edgec.package.draft import Draft
from edgec.package.manifest import Manifest
from edgec.toolchain.wasm import MOST_MEMORY, STACK_BYTES

# What JavaScript holds such elements in; it has no halves and no bools of one byte
ARRAYS = {
    DType.FLOAT32: "Float32Array",
    DType.FLOAT64: "Float64Array",
    DType.FLOAT16: "Uint16Array",
    DType.BFLOAT16: "Uint16Array",
    DType.INT8: "Int8Array",
    DType.INT16: "Int16Array",
    DType.INT32: "Int32Array",
    DType.INT64: "BigInt64Array",
    DType.UINT8: "Uint8Array",
    DType.UINT16: "Uint16Array",
    DType.UINT32: "Uint32Array",
    DType.UINT64: "BigUint64Array",
    DType.BOOL: "Uint8Array",
}
# template of templates/apps/web -> where it goes in the package
TEMPLATES = {
    "web.c.j2": "src/web/{}_web.c",
    "model.mjs.j2": "web/{}.mjs",
    "model.d.ts.j2": "web/{}.d.mts",
    "thread.mjs.j2": "web/{}_thread.mjs",
    "worker.mjs.j2": "web/{}_worker.mjs",
    "worker.d.ts.j2": "web/{}_worker.d.mts",
    "index.html.j2": "web/index.html",
    "exam.mjs.j2": "exam/{}_exam.mjs",
    "questions.c.j2": "exam/{}_questions.c",
    "Makefile.j2": "Makefile",
}
RUNTIMES = ("memory.c", "string.h", "pthread.h", "sched.h", "threads.c")
MODULES = ("", "_threads", "_baseline")  # ends of the modules' names
RELAXED_MODULES = ("_relaxed", "_threads_relaxed")  # and of those for relaxed dot products, in packages that have them
THREADS, USUAL_THREADS = 8, 4  # most of an instance, and most where nobody asks for a number: phones have few processors that are fast
WORTH_THREADS = 2_000_000  # multiply-accumulates of a run; what has less takes as long to hand over as to compute
PAGE = 65536
_CARD = {"description": "description", "author": "author", "license": "license", "homepage": "url"}  # field of package.json -> of the card
# task -> the methods that ask a model, and the type of what its own one gives
_METHODS: dict[str, tuple[list[str], list[str]]] = {
    "": (["run"], []),
    "classify": (["run", "classify"], ["Label"]),
    "keyword": (["run", "keyword", "resetKeyword"], ["Label"]),
    "detect": (["run", "detect"], ["Box"]),
    "segment": (["run", "segment"], ["Mask"]),
}
_TAKEN = """
ModelError INPUTS OUTPUTS LABELS ISAS SIMD RELAXED SECRET THREADS PAGES NEEDED NAME METHODS
ERRORS ARRAYS WIDTHS SETS
TensorFacts Pixels Picture Label Box Mask Source Isa LoadOptions SetOptions Exclude BufferSource CanvasImageSource
Object Array Math Map Set Symbol Promise Number Error TypeError RangeError URL URLSearchParams Response WebAssembly DataView
TextDecoder SharedArrayBuffer Atomics Worker ArrayBuffer OffscreenCanvas Element WorkerGlobalScope Uint8ClampedArray Buffer ImageData
"""  # what the modules say themselves


def web_files(app: App, draft: Draft) -> Draft:
    """With what the form adds. UsageError where the weights are not in the package's sources."""
    manifest = draft.manifest
    if manifest.weights.form == "bin":
        raise UsageError("a WebAssembly module holds its weights", hint="leave out --weights bin")
    draft = draft.plus(picture_files(app))
    constants = sum(
        len(content) for path, content in draft.files.items() if path.endswith((".c", ".h")) and not path.endswith("_weights.c")
    )
    context = _context(app, manifest) | {"shared_pages": _shared_pages(app, constants)}
    found = {path.format(app.name): fill("apps/web", template, context).encode() for template, path in TEMPLATES.items()}
    found["web/package.json"] = (json.dumps(_npm(app), indent=1, ensure_ascii=False) + "\n").encode()
    found |= {f"src/web/{name}": runtime(f"web/{name}", app.name) for name in RUNTIMES}
    return draft.plus(found, replace(manifest, made=_modules(app, manifest)))


def _modules(app: App, manifest: Manifest) -> tuple[str, ...]:
    """Their paths in the package."""
    ends = (*MODULES, *RELAXED_MODULES) if _has_relaxed(manifest) else MODULES
    return tuple(f"web/{app.name}{end}.wasm" for end in ends)


def _has_relaxed(manifest: Manifest) -> bool:
    return any(isa.startswith("relaxed") for isa in manifest.vocabularies)


def _context(app: App, manifest: Manifest) -> dict[str, object]:
    """All that the templates of templates/apps/web read."""
    keys = legal([tensor.name for tensor in app.inputs], "javascript", camel, "input")
    inputs = [_tensor(tensor, key) for tensor, key in zip(app.inputs, keys, strict=True)]
    keys = legal([tensor.name for tensor in app.outputs], "javascript", camel, "output")
    outputs = [_tensor(tensor, key) for tensor, key in zip(app.outputs, keys, strict=True)]
    picture = _picture(app, inputs)
    more = [*(["Picture"] if picture else []), *(["SetOptions"] if app.sets else [])]
    methods, types = _METHODS[app.task.kind if app.task else ""]
    return {
        "name": app.name,
        "NAME": app.name.upper(),
        "class": class_name(app),
        "version": __version__,
        "precision": app.precision,
        "inputs": inputs,
        "outputs": outputs,
        "tensors": [*inputs, *outputs],
        "arrays": sorted({(tensor["dtype"], tensor["array"]) for tensor in (*inputs, *outputs)}),
        "labels": [quoted(label) for label in app.labels],
        "task": app.task,
        "stateful": app.stateful,
        "sets": app.sets,
        "answers": ", ".join(f"tensor_{len(inputs) + place}" for place in app.answer_places),
        "most_boxes": MOST_BOXES,
        "stack_bytes": STACK_BYTES,
        "most_threads": THREADS,
        "usual_threads": USUAL_THREADS if manifest.macs >= WORTH_THREADS else 1,
        "most_memory": MOST_MEMORY,
        "picture": picture,
        "methods": [*methods, *(["fromPicture"] if picture else []), *(["reset"] if app.stateful else [])],
        "types": sorted(["LoadOptions", f"{class_name(app)}Inputs", f"{class_name(app)}Outputs", *more, *types]),
        "given": f"{class_name(app)}Inputs" + (" | Picture" if picture else ""),
        "vocabularies": manifest.vocabularies,
        "modules": _modules(app, manifest),
        "relaxed": _has_relaxed(manifest),
        "weights_bytes": app.weights_bytes,
        "arena_bytes": app.arena_bytes,
    }


def _shared_pages(app: App, source_bytes: int) -> int:
    """Pages of memory that are enough for the module of several threads; what is too much is never touched, and costs nothing.

    No constant of C takes more than four bytes for each of its text, and results are shorter than the answers that they are made of.
    """
    tensors = sum(tensor.most_elements * 8 for tensor in (*app.inputs, *app.outputs))
    arena = app.arena_bytes + (THREADS - 1) * app.scratch_bytes
    pictures = 0 if app.picture is None or not has_pictures(app) else most_bytes(app.picture, app.input(app.picture.input)) + 4 * MOST
    return (app.weights_bytes + arena + 2 * tensors + pictures + (THREADS + 1) * STACK_BYTES + 4 * source_bytes) // PAGE + 16


def _picture(app: App, inputs: Sequence[Mapping[str, object]]) -> dict[str, object] | None:
    """What of pictures JavaScript knows; None where there is none, or where the input holds several."""
    picture = app.picture
    if picture is None or not has_pictures(app):
        return None
    place = app.picture_place
    size = {"width": picture.width, "height": picture.height, "resize": picture.resize, "most": MOST}
    return size | {"place": place, "key": inputs[place]["key"], "array": inputs[place]["array"]}


def class_name(app: App) -> str:
    (name,) = legal([app.name], "javascript", pascal, "Model", {*_TAKEN.split(), *ARRAYS.values()})
    return name


def _npm(app: App) -> dict[str, object]:
    """A package as npm and bundlers take it, with the model's card. npm wants names in lower case, and versions of three numbers."""
    module, worker, thread = f"./{app.name}", f"./{app.name}_worker", f"./{app.name}_thread"
    version = app.card.get("version", "")
    return {
        "name": app.name.lower().strip("_") or "model",
        "version": version if re.fullmatch(r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}", version) else "1.0.0",
        **{field: app.card[key] for field, key in _CARD.items() if key in app.card and _fits(key, app.card[key])},
        "type": "module",
        "sideEffects": [f"{worker}.mjs", f"{thread}.mjs"],
        "exports": {
            ".": {"types": f"{module}.d.mts", "default": f"{module}.mjs"},
            "./worker": {"types": f"{worker}.d.mts", "default": f"{worker}.mjs"},
            "./*.wasm": "./*.wasm",
        },
        "files": ["*.mjs", "*.d.mts", "*.wasm"],
    }


def _fits(key: str, text: str) -> bool:
    """Pages show an address as a link, which must lead to a page and run nothing."""
    return key != "url" or text.startswith(("https://", "http://"))


def _tensor(tensor: Tensor, key: str) -> dict[str, object]:
    shape = ", ".join(map(str, tensor.shape))
    return {
        "key": key,
        "literal": quoted(tensor.name),
        "codes": "" if tensor.scale is None else f": code q is (q - {tensor.zero_point}) * {float(tensor.scale)!r}",
        "comment": in_a_comment(tensor.described()),
        "dtype": tensor.dtype.value,
        "array": ARRAYS[tensor.dtype],
        "c_type": C_TYPES[tensor.dtype],
        "shape": shape,
        "elements": tensor.elements,
        "most_elements": tensor.most_elements,
        "shapes": json.dumps(tensor.shapes),
        "sizes": json.dumps(tensor.sizes),
        "scale": "null" if tensor.scale is None else repr(float(tensor.scale)),
        "zero_point": tensor.zero_point,
    }
