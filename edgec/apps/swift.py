"""The form `swift`: the package is a Swift package too, for applications on iPhones, iPads and Macs, with a class made for the model."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import PurePosixPath

from edgec.apps.app import MOST_BOXES, MOST_THREADS, App, Tensor
from edgec.apps.names import camel, legal, pascal, quoted_swift
from edgec.apps.picture import has_pictures, picture_files
from edgec.base.errors import UsageError
from edgec.base.harmless import in_a_comment
from edgec.base.version import __version__
from edgec.emit.c_text import C_TYPES
from edgec.emit.constants import ALIGNMENT
from edgec.emit.templates import fill
from edgec.ir.types import DType
from edgec.package.draft import Draft
from edgec.package.parts import SwiftNames

# How Swift calls such elements, and which property of an NSNumber gives one; a half or bfloat is its bits, which no NSNumber has
ELEMENTS = {
    DType.FLOAT32: ("Float", "floatValue"),
    DType.FLOAT64: ("Double", "doubleValue"),
    DType.FLOAT16: ("UInt16", ""),
    DType.BFLOAT16: ("UInt16", ""),
    DType.INT8: ("Int8", "int8Value"),
    DType.INT16: ("Int16", "int16Value"),
    DType.INT32: ("Int32", "int32Value"),
    DType.INT64: ("Int64", "int64Value"),
    DType.UINT8: ("UInt8", "uint8Value"),
    DType.UINT16: ("UInt16", "uint16Value"),
    DType.UINT32: ("UInt32", "uint32Value"),
    DType.UINT64: ("UInt64", "uint64Value"),
    DType.BOOL: ("UInt8", "uint8Value"),
}
# template of templates/apps/swift -> where it goes in the package
SOURCES = {
    "app.h.j2": "include/{name}_app.h",
    "app.c.j2": "src/{name}_app.c",
    "app.modulemap.j2": "src/apple/module.modulemap",
    "questions.h.j2": "exam/apple/{name}_questions.h",
    "questions.c.j2": "exam/{name}_questions.c",
    "questions.modulemap.j2": "exam/apple/module.modulemap",
    "model.swift.j2": "swift/{module}/{class}.swift",
    "tests.swift.j2": "swift/{module}Tests/{class}Tests.swift",
    "view.swift.j2": "swift/example/{class}View.swift",
}
PICTURES = {"pictures.swift.j2": "swift/{module}/{class}Pictures.swift"}
ARRAYS = {"arrays.swift.j2": "swift/{module}/{class}Arrays.swift"}
_TAKEN = """
Input Output Label Box Mask ModelError TensorFacts PixelFormat View Text Button Task VStack State Set
Array Bool Double Float Int Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 UInt String Character Error Equatable Sendable Sequence Result
Element Optional OpaquePointer UnsafeBufferPointer UnsafeRawBufferPointer UnsafeMutableRawPointer LocalizedError NSLock DispatchQueue Data
Foundation Swift Dispatch Metal CoreML CoreVideo CoreGraphics XCTest XCTestCase SwiftUI PhotosUI PhotosPicker PhotosPickerItem UIImage
UIGraphicsImageRenderer CGImage CGContext CGColorSpace CGImageAlphaInfo CGRect CVPixelBuffer OSType MLMultiArray NSNumber
Bundle Calendar Date DateInterval Decimal Dimension Expression FileHandle FileManager Formatter Host IndexPath IndexSet InputStream Locale
Measurement Notification Operation OutputStream Pipe Port Predicate Process ProcessInfo Progress RunLoop Scanner Selector Stream Thread
TimeInterval TimeZone Timer URL UUID Unit
"""  # what the sources say themselves, and names of Foundation's, which applications import beside the model


def swift_files(app: App, draft: Draft) -> Draft:
    """With what the form adds. UsageError where the weights are not in the package's sources."""
    manifest = draft.manifest
    if manifest.weights.form == "bin":
        raise UsageError("a Swift package holds its weights", hint="leave out --weights bin")
    context = _context(app)
    templates = dict(SOURCES)
    if context["picture"] is not None:
        templates |= PICTURES
    if all(tensor["number"] for tensor in context["inputs"]):  # type: ignore[attr-defined]
        templates |= ARRAYS
    names = {key: context[key] for key in ("name", "module", "class")}
    added = {path.format(**names): fill("apps/swift", template, context).encode() for template, path in templates.items()}
    added |= picture_files(app)
    added["Package.swift"] = fill("apps/swift", "Package.swift.j2", context | _lists({*draft.files, *added}, app.name)).encode()
    return draft.plus(added, replace(manifest, swift=SwiftNames(str(context["module"]), str(context["class"]))))


def _lists(paths: set[str], name: str) -> dict[str, object]:
    """Which files SwiftPM compiles and which it must be told to leave alone; Metal's two hosts depend on the system."""
    hosts = {f"{name}_metal.m", f"{name}_metal_none.c"}
    core, exam = ({PurePosixPath(path).name for path in paths if PurePosixPath(path).parent.name == folder} for folder in ("src", "exam"))
    asked = {f"{name}_questions.c", f"{name}_vectors.c"}
    sources = {file for file in core if file.endswith(".c")} - hosts
    return {
        "gpu": hosts <= core,
        "sources": sorted(sources),
        "left_out": sorted(file for file in core - sources - hosts if not file.endswith(".h")),
        "exam_sources": sorted(asked),
        "exam_left_out": sorted(file for file in exam - asked if not file.endswith(".h")),
    }


def class_name(app: App) -> str:
    (name,) = legal([app.name], "swift", pascal, "Model", frozenset(_TAKEN.split()))
    return name


def _context(app: App) -> dict[str, object]:
    """All that the templates of templates/apps/swift read."""
    keys = [
        *legal([tensor.name for tensor in app.inputs], "swift", camel, "input"),
        *legal([tensor.name for tensor in app.outputs], "swift", camel, "output"),
    ]
    tensors = [_tensor(tensor, key, place < len(app.inputs)) for place, (tensor, key) in enumerate(zip(_all(app), keys, strict=True))]
    name = class_name(app)
    return {
        "name": app.name,
        "NAME": app.name.upper(),
        "class": name,
        "module": f"{name}Model",
        "core": f"C{name}",
        "questions": f"C{name}Questions",
        "version": __version__,
        "precision": app.precision,
        "inputs": tensors[: len(app.inputs)],
        "outputs": tensors[len(app.inputs) :],
        "tensors": tensors,
        "task": app.task,
        "stateful": app.stateful,
        "sets": app.sets,
        "keyword": app.task is not None and app.task.kind == "keyword",
        "answers": ", ".join(_answer(app, place) for place in app.answer_places),
        "most_boxes": MOST_BOXES,
        "most_threads": MOST_THREADS,
        "alignment": ALIGNMENT,
        "picture": _picture(app, tensors),
        "gpu": app.gpu == "metal",
        "card": [in_a_comment(f"{key}: {app.card[key]}") for key in ("title", "version", "author", "license", "url") if key in app.card],
    }


def _all(app: App) -> tuple[Tensor, ...]:
    return (*app.inputs, *app.outputs)


def _answer(app: App, place: int) -> str:
    """The output in C, among the tensors of an instance."""
    return f"(const {C_TYPES[app.outputs[place].dtype]} *)(void *)app->tensors[{len(app.inputs) + place}]"


def _picture(app: App, tensors: list[dict[str, object]]) -> dict[str, object] | None:
    if app.picture is None or not has_pictures(app):
        return None
    return asdict(app.picture) | {key: tensors[app.picture_place][key] for key in ("key", "element", "elements")}


def _tensor(tensor: Tensor, key: str, is_input: bool) -> dict[str, object]:
    shape = ", ".join(map(str, tensor.shape))
    element, number = ELEMENTS[tensor.dtype]
    return {
        "key": key,
        "is_input": is_input,
        "literal": quoted_swift(tensor.name),
        "comment": in_a_comment(tensor.described()),
        "codes": "" if tensor.scale is None else f": code q is (q - {tensor.zero_point}) * {float(tensor.scale)!r}",
        "dtype": tensor.dtype.value,
        "element": element,
        "number": number,
        "c_type": C_TYPES[tensor.dtype],
        "shape": shape,
        "elements": tensor.elements,
        "shapes": json.dumps(tensor.shapes),
        "most_bytes": tensor.most_elements * tensor.dtype.bytes,
        "scale": "nil" if tensor.scale is None else repr(float(tensor.scale)),
        "zero_point": tensor.zero_point,
    }
