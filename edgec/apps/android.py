"""The form `android`: a Gradle library module in android/, with the model's interface in Kotlin and Java, and the C below them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgec.apps.app import MOST_BOXES, MOST_THREADS, App, Tensor
from edgec.apps.names import camel, legal, pascal, quoted, quoted_java
from edgec.apps.picture import has_pictures, picture_files
from edgec.base.errors import UsageError
from edgec.base.harmless import in_a_comment
from edgec.base.version import __version__
from edgec.emit.c_text import C_TYPES, text_literal
from edgec.emit.templates import fill
from edgec.ir.types import DType
from edgec.package.draft import Draft
from edgec.package.parts import AndroidNames

# What Java holds such elements in: a primitive type. Unsigned numbers and halves keep their bits in the signed type of their width.
PRIMITIVES = {
    DType.FLOAT32: "float",
    DType.FLOAT64: "double",
    DType.FLOAT16: "short",
    DType.BFLOAT16: "short",
    DType.INT8: "byte",
    DType.INT16: "short",
    DType.INT32: "int",
    DType.INT64: "long",
    DType.UINT8: "byte",
    DType.UINT16: "short",
    DType.UINT32: "int",
    DType.UINT64: "long",
    DType.BOOL: "boolean",
}
SOURCES = "android/src/main/kotlin/{path}"
CORE = "android/src/main/java/{path}"  # what needs no Kotlin
PLAIN = "android/src/java/{path}"  # the interface once more: in archives in place of Kotlin's, where nothing compiles that
TESTS = "android/src/androidTest/kotlin/{path}"
SAMPLE = "android/sample/src/main"
# template of templates/apps/android -> where it goes in the package
TEMPLATES = {
    "Model.kt.j2": SOURCES + "/{class}.kt",
    "Model.java.j2": PLAIN + "/{class}.java",
    "Native.java.j2": CORE + "/{class}Native.java",
    "Processor.java.j2": CORE + "/Processor.java",
    "Tensor.java.j2": CORE + "/Tensor.java",
    "ModelException.java.j2": CORE + "/ModelException.java",
    "Background.kt.j2": SOURCES + "/Background.kt",
    "jni.c.j2": "android/src/main/cpp/{name}_jni.c",
    "AndroidManifest.xml.j2": "android/src/main/AndroidManifest.xml",
    "build.gradle.kts.j2": "android/build.gradle.kts",
    "settings.gradle.kts.j2": "android/settings.gradle.kts",
    "gradle.properties.j2": "android/gradle.properties",
    "gitignore.j2": "android/.gitignore",
    "CMakeLists.txt.j2": "android/CMakeLists.txt",
    "consumer-rules.pro.j2": "android/consumer-rules.pro",
    "exam_jni.c.j2": "android/src/androidTest/cpp/{name}_exam_jni.c",
    "Exam.kt.j2": TESTS + "/{class}Exam.kt",
    "ExamTest.kt.j2": TESTS + "/{class}ExamTest.kt",
    "sample.gradle.kts.j2": "android/sample/build.gradle.kts",
    "sample.xml.j2": SAMPLE + "/AndroidManifest.xml",
    "MainActivity.kt.j2": SAMPLE + "/kotlin/{path}/sample/MainActivity.kt",
}
PICTURE_TEMPLATES = {
    "Picture.java.j2": CORE + "/Picture.java",
    "Fitting.java.j2": CORE + "/Fitting.java",
    "AndroidPictures.java.j2": CORE + "/AndroidPictures.java",
    "AndroidPictures.kt.j2": SOURCES + "/AndroidPictures.kt",
}
SETS_TEMPLATES = {"Sets.java.j2": CORE + "/Sets.java"}
_LIST = "Collections.unmodifiableList(Arrays.{}asList({}))"  # in Java
ANSWERS = {"classify": "Label", "keyword": "Label", "detect": "Box", "segment": "Mask"}  # of a task, the class of what it gives
MIN_SDK = 21
MOST_TENSORS = 100  # methods of Java have at most 255 parameters
_JAVA = """
abstract assert boolean break byte case catch char class const continue default do double else enum extends final finally float for goto if
implements import instanceof int interface long native new package private protected public return short static strictfp super switch
synchronized this throw throws transient try void volatile while true false null
"""  # what neither a part of a package's name nor a parameter may be
_TYPES = """
Label Box Mask Tensor Picture Fitting Processor ModelException Answers Background AndroidPictures Outputs Companion Any Array Boolean
Byte Double Float Int Long Short String Unit Nothing List Set Map Pair BooleanArray ByteArray DoubleArray FloatArray IntArray LongArray
ShortArray ByteBuffer ByteOrder Closeable Collections IdentityHashMap IllegalArgumentException IllegalStateException RuntimeException
Exception Error Throwable Suppress JvmField JvmOverloads JvmStatic Math System Object Bitmap Image ImageProxy R BuildConfig Dispatchers
AbstractList ArrayList Arrays BufferedReader ByteArrayOutputStream FileInputStream HashSet IOException IndexOutOfBoundsException InputStream
InputStreamReader Integer Override SecurityException StandardCharsets
Charsets MainActivity Manifest Bundle TextView LinearLayout Executors PreviewView
"""  # what sources say themselves
# what methods say beside their parameters; outputs meet the first two only
_VALUES = "held answers picture most score overlap threshold resultIndices resultScores resultPlaces resultCount resultMask at"
_C_NAMES = "env self memory model status spans pool instance best keyword boxes mask linux unix"
# the same in packages of several sets of shapes
_SETS_TYPES, _SETS_VALUES, _SETS_C_NAMES = "Sets", "sizes setOf", "set sizes"


def android_files(app: App, draft: Draft) -> Draft:
    """With what the form adds. UsageError where the weights are not in the package's sources, or tensors are more than a method takes."""
    if draft.manifest.weights.form == "bin":
        raise UsageError("an Android library holds its weights", hint="leave out --weights bin")
    if len(app.inputs) + len(app.outputs) > MOST_TENSORS:
        raise UsageError(f"a method of Java takes at most {MOST_TENSORS} tensors, the model has more", hint="join some of them")
    context = _context(app)
    places = {"name": app.name, "class": str(context["class"]), "path": str(context["package"]).replace(".", "/")}
    templates = TEMPLATES | (PICTURE_TEMPLATES if context["picture"] else {}) | (SETS_TEMPLATES if app.sets else {})
    if app.task is not None:
        templates |= {"Answer.java.j2": f"{CORE}/{ANSWERS[app.task.kind]}.java"}
    found = {path.format(**places): fill("apps/android", template, context).encode() for template, path in templates.items()}
    found |= picture_files(app)
    names = AndroidNames(str(context["package"]), str(context["class"]), MIN_SDK)
    return draft.plus(found, replace(draft.manifest, android=names))


def package_name(app: App) -> str:
    """The Java package of the model's classes."""
    (name,) = legal([app.name], "kotlin", str, "model", _JAVA.split())
    return f"ai.edgec.{name}"


def class_name(app: App) -> str:
    """No name of _TYPES in other letters either: files beside each other would be one where systems do not tell them apart."""
    types = [*_TYPES.split(), *(_SETS_TYPES.split() if app.sets else [])]
    wanted = next((taken for taken in types if taken.lower() == pascal(app.name).lower()), app.name)
    (name,) = legal([wanted], "kotlin", pascal, "Model", types)
    return name


def mangled(name: str) -> str:
    """A qualified name of ASCII letters, digits and underscores as the names of native functions have it."""
    return name.replace("_", "_1").replace(".", "_")


def _context(app: App) -> dict[str, object]:
    """All that the templates of templates/apps/android read."""
    words = {*_JAVA.split(), *(_SETS_VALUES.split() if app.sets else [])}
    keys = legal([tensor.name for tensor in app.inputs], "kotlin", camel, "input", {*words, *_VALUES.split()})
    keys += legal([tensor.name for tensor in app.outputs], "kotlin", camel, "output", {*words, *_VALUES.split()[:2], *keys})
    tensors = (*app.inputs, *app.outputs)
    names = legal([tensor.identifier for tensor in tensors], "c", str, "tensor", f"{_C_NAMES} {_SETS_C_NAMES if app.sets else ''}".split())
    facts = [_tensor(place, *item) for place, item in enumerate(zip(tensors, keys, names, strict=True))]
    inputs, outputs = facts[: len(app.inputs)], facts[len(app.inputs) :]
    package, kind = package_name(app), class_name(app)
    return {
        "name": app.name,
        "NAME": app.name.upper(),
        "sizes": [", ".join(map(str, sizes)) for sizes in zip(*(tensor.sizes for tensor in tensors), strict=True)],
        "package": package,
        "class": kind,
        "native": mangled(f"{package}.{kind}Native"),
        "exam": mangled(f"{package}.{kind}Exam"),
        "version": __version__,
        "precision": app.precision,
        "inputs": inputs,
        "outputs": outputs,
        "tensors": facts,
        "declared": _declared(inputs),
        "given": ", ".join(str(tensor["key"]) for tensor in inputs),
        "labels": len(app.labels),
        "task": app.task,
        "stateful": app.stateful,
        "sets": app.sets,
        "which": f", set: Int = {_set_of(inputs)}" if app.sets else "",  # Kotlin's parameter
        "set_of": _set_of(inputs),
        "remaining": ", ".join(f"{tensor['key']}.remaining() / {tensor['width']}" for tensor in inputs),
        "of_picture": ", 1" if app.sets else "",  # pictures are of the first set
        "answers": ", ".join(f"model->{outputs[place]['c_name']}" for place in app.answer_places),
        "most_boxes": MOST_BOXES,
        "most_threads": MOST_THREADS,
        "picture": _picture(app, inputs),
        "min_sdk": MIN_SDK,
        "abis": ["arm64-v8a", "armeabi-v7a", "x86_64"],
        "weights_bytes": app.weights_bytes,
        "arena_bytes": app.arena_bytes,
    }


def _declared(tensors: Sequence[Mapping[str, object]]) -> str:
    return ", ".join(f"{tensor['key']}: {tensor['array']}" for tensor in tensors)


def _set_of(inputs: Sequence[Mapping[str, object]]) -> str:
    return f"setOf({', '.join(str(tensor['key']) for tensor in inputs)})"


def _lists(shapes: Sequence[Sequence[int]], inner: str, outer: str) -> str:
    """The shapes of all sets as one more argument, in expressions of Kotlin or Java; nothing where there is one set."""
    each = ", ".join(inner.format(", ".join(map(str, shape))) for shape in shapes)
    return f", {outer.format(each)}" if shapes else ""


def _picture(app: App, inputs: Sequence[Mapping[str, object]]) -> dict[str, object] | None:
    """What of pictures the templates know; None where no picture makes an input."""
    picture = app.picture
    if picture is None or not has_pictures(app):
        return None
    size = {"width": picture.width, "height": picture.height, "resize": picture.resize, "alone": len(inputs) == 1}
    return size | {key: inputs[app.picture_place][key] for key in ("key", "primitive", "array", "region", "c_type", "elements", "bytes")}


def _tensor(place: int, tensor: Tensor, key: str, c_name: str) -> dict[str, object]:
    """count, span: its elements and bytes, as C's function for a run finds them."""
    primitive, shape, width = PRIMITIVES[tensor.dtype], ", ".join(map(str, tensor.shape)), tensor.dtype.bytes
    counts = dict.fromkeys(tensor.sizes or [tensor.elements])
    elements, numbers = (" or ".join(str(count * unit) for count in counts) for unit in (1, width))
    of_set = ", by its set of shapes" if len(counts) > 1 else ""
    return {
        "key": key,
        "c_name": c_name,
        "literal": quoted(tensor.name),
        "java_literal": quoted_java(tensor.name),
        "comment": in_a_comment(tensor.described()),
        "codes": "" if tensor.scale is None else f", code q is (q - {tensor.zero_point}) * {float(tensor.scale)!r}",
        "dtype": tensor.dtype.value,
        "primitive": primitive,
        "array": f"{primitive.capitalize()}Array",
        "region": primitive.capitalize(),
        "c_type": C_TYPES[tensor.dtype],
        "shape": shape,
        "every_kotlin": _lists(tensor.shapes, "listOf({})", "listOf({})"),
        "every_java": _lists(tensor.shapes, _LIST.format("<Integer>", "{}"), _LIST.format("", "{}")),
        "elements": tensor.elements,
        "most_elements": tensor.most_elements,
        "count": f"sizes[set - 1][{place}]" if tensor.shapes else str(tensor.elements),
        "width": width,
        "bytes": tensor.bytes,
        "span": f"(size_t)sizes[set - 1][{place}] * {width}" if tensor.shapes else str(tensor.bytes),
        "wrong_array": text_literal(f"{key} must have {elements} elements{of_set}"),
        "wrong_buffer": text_literal(f"{key} must be a direct buffer of {numbers} bytes{of_set}, aligned to {width}"),
        "scale": "null" if tensor.scale is None else f"{float(tensor.scale)!r}f",
        "zero_point": tensor.zero_point,
    }
