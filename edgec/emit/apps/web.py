"""The form `web`: an ES module with its declarations, a page to try it on, and the C that is compiled to WebAssembly."""

from __future__ import annotations

import json
from collections.abc import Mapping

from edgec.emit.apps.app import App, Tensor
from edgec.emit.apps.names import camel, comment, legal, pascal, quoted
from edgec.emit.c_text import C_TYPES
from edgec.emit.manifest import to_json
from edgec.emit.text import fill, runtime
from edgec.errors import UsageError
from edgec.ir.types import DType
from edgec.version import __version__

# What JavaScript holds such elements in; it has no halves and no bools of one byte
ARRAYS = {
    DType.FLOAT32: "Float32Array",
    DType.FLOAT64: "Float64Array",
    DType.FLOAT16: "Uint16Array",
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
    "exam.mjs.j2": "exam/{}_exam.mjs",
    "questions.c.j2": "exam/{}_questions.c",
}
MODULES = {"": "wasm128", "_baseline": "portable"}  # end of a module's name -> the vocabulary in it
_TAKEN = ("ModelError", "INPUTS", "OUTPUTS", "LABELS", "SIMD", "SECRET")  # names of the module's own


def web_files(app: App, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """What the form adds. UsageError where the weights are not in the package's sources."""
    manifest = json.loads(files["manifest.json"])
    if manifest["weights"]["form"] == "bin":
        raise UsageError("a WebAssembly module holds its weights", hint="leave out --weights bin")
    context = _context(app, manifest)
    found = {path.format(app.name): fill("apps/web", template, context).encode() for template, path in TEMPLATES.items()}
    found |= {f"src/web/{name}": runtime(f"web/{name}", app.name) for name in ("memory.c", "string.h")}
    manifest["made"] = [f"web/{app.name}{end}.wasm" for end in MODULES]
    return found | {"manifest.json": to_json(manifest)}


def _context(app: App, manifest: Mapping[str, object]) -> dict[str, object]:
    """All that the templates of templates/apps/web read."""
    keys = legal([tensor.name for tensor in app.inputs], "javascript", camel, "input")
    inputs = [_tensor(tensor, key) for tensor, key in zip(app.inputs, keys, strict=True)]
    keys = legal([tensor.name for tensor in app.outputs], "javascript", camel, "output")
    outputs = [_tensor(tensor, key) for tensor, key in zip(app.outputs, keys, strict=True)]
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
        "picture": app.picture,
        "vocabularies": manifest["vocabularies"],
        "weights_bytes": app.weights_bytes,
        "arena_bytes": app.arena_bytes,
    }


def class_name(app: App) -> str:
    (name,) = legal([app.name], "javascript", pascal, "Model", (*_TAKEN, *ARRAYS.values()))
    return name


def _tensor(tensor: Tensor, key: str) -> dict[str, object]:
    shape = ", ".join(map(str, tensor.shape))
    return {
        "key": key,
        "literal": quoted(tensor.name),
        "comment": comment(f"{tensor.name} {tensor.dtype.value}[{shape}]"),
        "dtype": tensor.dtype.value,
        "array": ARRAYS[tensor.dtype],
        "c_type": C_TYPES[tensor.dtype],
        "shape": shape,
        "elements": tensor.elements,
        "scale": "null" if tensor.scale is None else repr(float(tensor.scale)),
        "zero_point": tensor.zero_point,
    }
