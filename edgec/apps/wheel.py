"""What a Python wheel is made of: python/MODULE (typed, over ctypes and numpy), python/NAME-VERSION.dist-info, and the C between them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from edgec.apps.app import App, Tensor
from edgec.apps.names import legal, pascal, snake
from edgec.apps.picture import has_pictures, picture_files
from edgec.base.codec import encode
from edgec.base.errors import UsageError
from edgec.base.harmless import in_a_comment
from edgec.base.version import __version__
from edgec.emit.constants import ALIGNMENT
from edgec.emit.exam import ExamData
from edgec.emit.templates import fill
from edgec.ir.types import DType
from edgec.package.draft import Draft
from edgec.package.manifest import Origin, sha256

# template of templates/apps/python -> where it goes in the module
TEMPLATES = {"init.py.j2": "__init__.py", "main.py.j2": "__main__.py", "library.py.j2": "_library.py"}
MOST_BOXES = 100_000  # that one call can give
MOST_THREADS = 1024
EXAM_BYTES = 1024 * 1024  # of inputs and answers in a wheel, but for its first question
_RESULTS = {"": [], "classify": ["Label"], "keyword": ["Label"], "detect": ["Box"], "segment": []}
# what the module says itself
_TAKEN_CLASSES = """
Tensor Label Box Image ModelError LABELS MOST_THREADS NDArray Any List Mapping MappingProxyType Optional Tuple TracebackType Type Union
ValueError TypeError RuntimeError BaseException
"""
_NUMPY = {DType.BOOL: "np.bool_", DType.BFLOAT16: "ml_dtypes.bfloat16"}  # where the name is not numpy's own
# what an environment has, which a model must not replace
_TAKEN_MODULES = "edgec ml_dtypes numpy pip pkg_resources setuptools test wheel PIL"
_TAKEN_KEYS = """
most threshold score overlap answers best boxes box found heard mask count least shared width height int is_picture picture_size
"""
_VERSION = re.compile(r"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){0,4}", re.ASCII)  # that needs no normal form
# fields of METADATA -> what the model's card calls them
_CARD = {"Summary": "title", "Author": "author", "License": "license"}
Context = dict[str, Any]


def wheel_files(app: App, exam: ExamData, draft: Draft) -> dict[str, bytes]:
    """What a wheel adds to the package's files. UsageError where the weights are not in its sources."""
    manifest = draft.manifest
    if manifest.weights.form == "bin":
        raise UsageError("a wheel holds its weights", hint="leave out --weights bin")
    context = _context(app, version_of(app, draft)) | {"fields": _fields(app, manifest.card)}
    folder = f"python/{context['module']}"
    found = {f"{folder}/{path}": fill("apps/python", template, context).encode() for template, path in TEMPLATES.items()}
    found |= {f"python/{app.name}_python.c": fill("apps/python", "python.c.j2", context).encode(), f"{folder}/py.typed": b""}
    if context["picture"]:
        found |= {f"python/{path.rpartition('/')[2]}": content for path, content in picture_files(app).items()}
        found |= {f"{folder}/_picture.py": fill("apps/python", "picture.py.j2", context).encode()}
    questions, data = exam_of(app, exam, manifest.weights.sha256)
    found |= {f"{folder}/exam.json": (json.dumps(questions, indent=1) + "\n").encode(), f"{folder}/exam.bin": data}
    information = f"python/{context['file_name']}-{context['package_version']}.dist-info"
    return found | {f"{information}/METADATA": fill("apps/python", "METADATA.j2", context).encode()}


def version_of(app: App, draft: Draft) -> str:
    """What the model's card says, else 1.0.0; then what tells this build of the model from another, the same for all processors.

    So pip puts a new build in the place of an old one, and nothing else.
    """
    declared, said = draft.manifest.card.get("version", ""), encode(draft.manifest)
    facts = {key: said[key] for key in (*(field.name for field in fields(Origin)), "task", "labels") if key in said}
    content = json.dumps([facts, app.labels], sort_keys=True).encode() + draft.files.get("model.int8.onnx", b"")
    return f"{declared if _VERSION.fullmatch(declared) else '1.0.0'}+m{sha256(content)[:12]}"


def exam_of(app: App, exam: ExamData, weights: str) -> tuple[dict[str, Any], bytes]:
    """The questions and where their bytes lie. Answers that must be exact are known by their hashes, others as numbers."""
    blob, vectors = bytearray(), list[dict[str, Any]]()

    def put(array: np.ndarray) -> int:
        start = len(blob)
        content = array.astype(array.dtype.newbyteorder("<")).tobytes()
        blob.extend(content + bytes(-len(content) % ALIGNMENT))
        return start

    def answer(tensor: Tensor, array: np.ndarray, limit: float) -> dict[str, Any]:
        if exam.is_exact(tensor.name, tensor.dtype):
            return {"sha256": sha256(np.asarray(array, order="C").tobytes())}
        return {"offset": put(array), "limit": limit}

    limits = exam.limits({tensor.name: tensor.dtype for tensor in app.outputs}, exam.on_cpu)
    for inputs, outputs, row in zip(exam.inputs, exam.outputs, limits, strict=True):
        places = [put(inputs[tensor.name]) for tensor in app.inputs]
        answers = [answer(tensor, outputs[tensor.name], limit) for tensor, limit in zip(app.outputs, row, strict=True)]
        more: dict[str, int] = {"anew": len(vectors) in exam.anew} if app.stateful else {}
        if app.sets:
            more |= {"set": next(place for place in range(app.sets) if _is_of(app, place, inputs))}
        vectors.append({"inputs": places, "outputs": answers, **more})
        if len(blob) * (len(vectors) + 1) > EXAM_BYTES * len(vectors):
            break
    return {"weights_sha256": weights, "vectors": vectors}, bytes(blob)


def _is_of(app: App, place: int, inputs: Mapping[str, np.ndarray]) -> bool:
    """Whether the inputs have the shapes of a set."""
    return all(tensor.shapes[place] == inputs[tensor.name].shape for tensor in app.inputs)


def _context(app: App, version: str) -> Context:
    """All that the templates of templates/apps/python read."""
    (module,) = legal([app.name], "python", snake, "model", {*sys.stdlib_module_names, *_TAKEN_MODULES.split()})
    (class_name,) = legal([app.name], "python", pascal, "Model", _TAKEN_CLASSES.split())
    keys = legal([tensor.name for tensor in app.inputs], "python", snake, "input", _TAKEN_KEYS.split())
    inputs = [_tensor(tensor, key) for tensor, key in zip(app.inputs, keys, strict=True)]
    names = legal([tensor.name for tensor in app.outputs], "python", snake, "output")
    outputs = [_tensor(tensor, key) for tensor, key in zip(app.outputs, names, strict=True)]
    picture = _picture(app, inputs)
    kind = app.task.kind if app.task else ""
    return {
        "name": app.name,
        "NAME": app.name.upper(),
        "module": module,
        "class": class_name,
        "distribution": _distribution(app.name).replace("_", "-"),
        "file_name": _distribution(app.name),
        "package_version": version,
        "version": __version__,
        "precision": app.precision,
        "library": library_name(app.name),
        "inputs": inputs,
        "outputs": outputs,
        "bfloats": any(tensor.dtype is DType.BFLOAT16 for tensor in (*app.inputs, *app.outputs)),
        "keys": ", ".join(keys),
        "given": ", ".join(_parameter(tensor, picture) for tensor in inputs),
        "labels": [ascii(label) for label in app.labels],
        "task": app.task,
        "stateful": app.stateful,
        "sets": app.sets,
        "answers": [f"answers[{place}].ctypes.data" for place in app.answer_places],
        "picture": picture,
        "detects_in_pictures": picture is not None and kind == "detect",
        "public": sorted([class_name, f"{class_name}Outputs", "ModelError", "Tensor", *(["LABELS"] if kind else []), *_RESULTS[kind]]),
        "most_boxes": MOST_BOXES,
        "most_threads": MOST_THREADS,
        "alignment": ALIGNMENT,
        "weights_bytes": app.weights_bytes,
    }


def _fields(app: App, card: Mapping[str, Any]) -> dict[str, str]:
    """Lines of METADATA, each in one line whatever the card holds."""
    said = {field: " ".join(re.sub(r"[^\w -~]", " ", str(card.get(key, ""))).split()) for field, key in _CARD.items()}
    return {"Summary": f"The model {app.name} ({app.precision}), ready to run"} | {field: text for field, text in said.items() if text}


def library_name(name: str) -> str:
    return f"lib{name}.so"


def _distribution(name: str) -> str:
    """As file names of wheels have it; never what a wheel is installed with, or by."""
    plain = re.sub(r"[-_.]+", "_", name).lower().strip("_")
    return f"{plain}_model" if plain in (*_TAKEN_MODULES.lower().split(), "pillow") else plain


def _parameter(tensor: Context, picture: Context | None) -> str:
    array = f"NDArray[{tensor['numpy']}]"
    takes_pictures = picture is not None and picture["key"] == tensor["key"]
    return f"{tensor['key']}: " + (f"Union[{array}, NDArray[np.uint8], Image]" if takes_pictures else array)


def _picture(app: App, inputs: list[Context]) -> Context | None:
    if app.picture is None or not has_pictures(app):
        return None
    place = app.picture_place
    size = {"height": app.picture.height, "width": app.picture.width, "channels": app.picture.channels}
    return size | {"place": place, **{key: inputs[place][key] for key in ("key", "numpy", "shape")}}


def _tensor(tensor: Tensor, key: str) -> Context:
    shape = ", ".join(map(str, tensor.shape))
    return {
        "key": key,
        "literal": ascii(tensor.name),
        "numpy": _NUMPY.get(tensor.dtype, f"np.{tensor.dtype.value}"),
        "shape": f"{shape}," if len(tensor.shape) == 1 else shape,
        "type": f"{tensor.dtype.value}[{shape}]",
        "scaled": "" if tensor.scale is None else f", {float(tensor.scale)!r}, {tensor.zero_point}",
        "shapes": f", shapes={tensor.shapes!r}" if tensor.shapes else "",
        "comment": in_a_comment(tensor.described()),
    }
