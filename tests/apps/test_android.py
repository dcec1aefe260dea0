"""Android packages in Kotlin, compiled by the real compiler and run on a real JVM with every check of the native interface."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgec.apps.android import android_files, class_name, mangled, package_name
from edgec.apps.app import App, Tensor
from edgec.apps.names import quoted_java
from edgec.base.errors import UsageError
from edgec.ir.types import DType
from tests.apps import element_types
from tests.apps.androids import HOSTILE, LABELS, SMALL, TRIED, drive, make_all
from tests.apps.drafts import empty_draft
from tests.apps.ways import ALL, WAYS, expected, images, shape
from tests.conftest import once

pytestmark = pytest.mark.thorough

CLOSED = "IllegalStateException: the model is closed"
WRONG = "IllegalArgumentException: "


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return once(shared / "android", make_all)


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, str]:
    lines = (folder / "said.txt").read_text(encoding="utf-8").split("\n")
    return dict(line.split("\t", 1) for line in lines if "\t" in line)


def test_neither_compiler_nor_machine_has_anything_to_say(folder: Path, said: dict[str, str]) -> None:
    """Warnings of -Xcheck:jni go to standard output."""
    assert (folder / "compiler.txt").read_text(encoding="utf-8") == ""
    assert (folder / "noise.txt").read_text(encoding="utf-8") == "exit 0"
    lines = (folder / "said.txt").read_text(encoding="utf-8").strip().split("\n")
    assert said["end"] == "reached" and all("\t" in line for line in lines), [line for line in lines if "\t" not in line]


def test_the_exam_passes_with_one_thread_and_several(said: dict[str, str]) -> None:
    assert (
        said["exam"] == said["exam.threads"] == said["mixed.exam"] == "[]"
        and said["threads"] == "3"
        and said["isa"] in ("sse41", "neon", "dotprod", "i8mm", "neon32")
    )


def test_the_readme_s_program_answers(folder: Path) -> None:
    done = drive(folder, folder / "libraries", "-Xcheck:jni", "ReadmeKt")
    assert re.fullmatch(r"with \w+: logits\[0\] = -?\d+\.\d+\n", done.stdout), done.stdout + done.stderr


def test_halves_bfloats_and_doubles_are_arrays_of_the_jvm(said: dict[str, str]) -> None:
    for name, right in element_types.expected().items():
        assert said[f"mixed.{name}"] == str(right.reshape(-1).view(f"<i{right.itemsize}").tolist())


def test_a_wrong_answer_fails_the_exam(folder: Path, shared: Path, tmp_path: Path) -> None:
    """One byte of the weights, in the native library; and of every expected answer of another model."""
    for name in ("libdigits.so", "libdigits_exam.so", "libmixed.so", "libmixed_exam.so"):
        shutil.copy(folder / "libraries" / name, tmp_path)
    element_types.spoil(tmp_path / "libmixed_exam.so", element_types.answers(element_types.packaged(shared)))
    library = bytearray((tmp_path / "libdigits.so").read_bytes())
    weights = (folder / "digits/src/digits_weights.bin").read_bytes()
    place = library.index(weights[1000:1064])
    library[place : place + 64] = bytes(byte ^ 0x55 for byte in library[place : place + 64])
    (tmp_path / "libdigits.so").write_bytes(library)
    done = drive(folder, tmp_path, "-Xcheck:jni", "DriverKt", str(folder), "exam")
    assert done.returncode == 0 and "vector 0: logits is wrong" in done.stdout
    wrong = ", ".join(f"vector 0: {name} is wrong" for name in element_types.OUTPUTS)
    assert f"mixed.exam\t[{wrong}]\n" in done.stdout


def test_answers_are_those_of_the_c_functions(folder: Path, said: dict[str, str]) -> None:
    library = ctypes.CDLL(str(folder / "libraries/libdigits.so"))
    memory, instance = np.zeros(1 << 16, np.uint8), np.zeros(4096, np.uint8)
    arena = (memory.ctypes.data + 63) // 64 * 64
    assert library.digits_init(instance.ctypes.data_as(ctypes.c_void_p), ctypes.c_void_p(arena), ctypes.c_size_t(60000)) == 0
    for number, image in enumerate(np.fromfile(folder / "images.bin", np.float32).reshape(-1, 64)):
        logits, best = np.zeros(10, np.float32), np.zeros(3, np.dtype([("index", np.int32), ("score", np.float32)]))
        addresses = [ctypes.c_void_p(array.ctypes.data) for array in (instance, image, logits, best)]
        assert library.digits_run(*addresses[:3]) == 0 and library.digits_classify(addresses[2], 3, addresses[3]) == 0
        assert said[f"run.{number}"] == said[f"direct.{number}"] == _bits(logits)
        assert said[f"classify.{number}"] == " ".join(f"{item['index']}:{_bits(item['score'])}" for item in best)
    assert said["inside"] == said["run.1"] and said["background"] == "|".join(said[f"run.{number}"] for number in range(4))
    assert said["most.all"] == "10" and said["label"] == "true" and said["labels"] == "|".join(LABELS)
    assert said["facts"] == "image float32 [1, 1, 8, 8] 64 null 0"


def _bits(values: np.ndarray) -> str:
    return " ".join(f"{number:08x}" for number in np.atleast_1d(values).view(np.uint32))


@pytest.mark.parametrize(
    ("act", "words"),
    {
        "short": f"{WRONG}image must have 64 elements",
        "long": f"{WRONG}logits must have 10 elements",
        "heap": f"{WRONG}image must be a direct buffer",
        "order": f"{WRONG}image must be in native byte order",
        "bytes": f"{WRONG}image must be a direct buffer of 256 bytes, aligned to 4",
        "odd": f"{WRONG}image must be a direct buffer of 256 bytes, aligned to 4",
        "readonly": f"{WRONG}logits is written to and must not be read-only",
        "overlap": f"{WRONG}an output shares memory with another buffer",
        "most": f"{WRONG}most must be above 0",
        "no threads": f"{WRONG}threads must be from 1 to 64",
        "many threads": f"{WRONG}threads must be from 1 to 64",
        "closed": CLOSED,
        "closed.direct": CLOSED,
        "closed.classify": CLOSED,
        "native.null": CLOSED,
        "native.heap": CLOSED,
        "native.zeros": CLOSED,
        "native.small": CLOSED,
        "native.closed": CLOSED,
        "native.twice": CLOSED,
        "native.open": f"{WRONG}the memory is too small",
        "native.open.threads": f"{WRONG}the memory is too small",
        "native.array": f"{WRONG}image must have 64 elements",
        "native.buffer": f"{WRONG}image must be a direct buffer of 256 bytes, aligned to 4",
        "native.indices": f"{WRONG}as many indices as classes",
        "native.status": f"{WRONG}as many indices as classes",
        "native.label": "0",
        "native.bytes": "-1",
        "native.fit.null": f"{WRONG}the memory is too small",
        "native.fit.heap": f"{WRONG}the memory is too small",
        "native.fit.small": f"{WRONG}the memory is too small",
        "native.fit.pixels": f"{WRONG}as many numbers as pixels",
        "native.fit.none": f"{WRONG}as many numbers as pixels",
        "native.fit.tensor": f"{WRONG}as many numbers as the input has",
        "native.fit.sizes": "[5, 5, 5, 0]",
        "native.fit.bytes": "[0, 0, 0, 0]",
        "native.box": f"{WRONG}four sides",
        "refused": "ModelException: 1 a pointer is NULL or a number is out of its range",
        "picture.size": f"{WRONG}a picture of 2 x 2 has 4 pixels, not 3",
        "picture.empty": f"{WRONG}a picture of 0 x 2 is empty",
        "way.long": f"{WRONG}a picture of 1 x 1000000 is too large, or too long and narrow",
        "rotated.45": f"{WRONG}degrees must be 0, 90, 180 or 270, not 45",
        "rgba.short": f"{WRONG}pixels has 17 bytes, must have 27",
        "yuv.short": f"{WRONG}y has 8 bytes, must have 15",
        "box.nan": f"{WRONG}score must be a number",
        "box.many": f"{WRONG}most must be from 1 to 1000",
    }.items(),
)
def test_what_is_wrong_is_an_exception_in_words(act: str, words: str, said: dict[str, str]) -> None:
    assert said[act] == words


def test_threads_and_the_garbage_collector_do_no_harm(said: dict[str, str]) -> None:
    assert said["crowd.wrong"] == "0" and said["crowd.closed"] == "[the model is closed]" and said["after"] == said["run.0"]


def test_a_processor_is_known_by_what_the_kernel_says_of_it(said: dict[str, str]) -> None:
    """In either file; what one core lacks the processor lacks."""
    assert said["hwcap.vector"] == f"[{1 << 20 | 3}, {1 << 13}]"
    assert said["hwcap.words"] == f"[{1 << 20 | 2}, {1 << 13}]" and said["hwcap.mixed"] == "[2, 0]" and said["hwcap.none"] == "[0, 0]"


def test_frames_of_cameras_become_pictures(said: dict[str, str]) -> None:
    pixels = np.arange(1, 7).reshape(2, 3)
    for turns in range(4):
        turned = np.rot90(pixels, -turns)
        assert said[f"rotated.{90 * turns}"] == f"{turned.shape[1]} {turned.shape[0]} {turned.ravel().tolist()}"
    assert said["rgba"] == "[010203, fffefd, 040506, 08090a]"
    bright, blue, red = np.array([0, 100, 200, 255, 16, 30]), np.array([0, 0, -38, 0, 0, -38]), np.array([0, 0, 112, 0, 0, 112])
    colors = np.stack([bright + 1.402 * red, bright - 0.344136 * blue - 0.714136 * red, bright + 1.772 * blue], axis=1)
    expected = np.clip(np.floor(colors + 0.5), 0, 255).astype(np.uint8)
    assert said["yuv"] == f"[{', '.join(bytes(color).hex() for color in expected)}]"


def test_every_byte_of_a_picture_is_that_of_c(folder: Path, said: dict[str, str], tmp_path: Path) -> None:
    right = expected([folder / name for name in TRIED], tmp_path)
    found = {name: [bytes.fromhex(said[f"{name}.{place}"]) for place in range(len(images()))] for name in TRIED}
    assert found == right


def test_a_package_without_pictures_has_none_of_it(folder: Path) -> None:
    assert not [
        path for path in (folder / "areas").rglob("*") if path.name.endswith(("Pictures.java", "Fitting.java", "_picture.c", "_picture.h"))
    ]
    assert "icture" not in (folder / "areas/android/src/main/cpp/areas_jni.c").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in TRIED if name in ALL[: len(WAYS)]])
def test_pictures_are_brought_to_size_as_for_calibration(name: str, said: dict[str, str]) -> None:
    """Pillow may resize rows or columns first where it changes the proportions: one level of a pixel apart."""
    how = WAYS[ALL.index(name)]
    for place, image in enumerate(images()):
        found = np.frombuffer(bytes.fromhex(said[f"{name}.{place}"]), np.float32).reshape(shape(how))
        apart = float(np.abs(found - how.apply(image, shape(how))).max())
        assert apart <= (1.001 * float(how.affine()[0].max()) if how.resize == "stretch" else 0.0), image.shape


def test_tasks_give_what_can_be_shown(said: dict[str, str]) -> None:
    assert said["box.0"] == "Box(left=8.0, top=4.0, right=24.0, bottom=12.0, index=1, label=dog, score=0.90024954)"
    assert said["box.1"].startswith("Box(left=0.0, top=24.0, right=8.0, bottom=32.0, index=0, label=cat, score=0.731")
    assert said["box.picture.0"].startswith("Box(left=32.0, top=0.0, right=96.0, bottom=16.0, index=1, label=dog")
    assert said["box.all"] == "2" and "box.2" not in said and said["mask"] == "3 2 [0, 1, 0, 0, 1, 0]"
    assert said["heard"].startswith("Label(index=0, label=cat, score=0.98") and said["heard.sure"] == "null"
    assert said["heard.anew"] == said["heard"], "a reset forgets what was heard, too"
    assert said["heard.reset"].startswith("Label(index=1, label=dog, score=0.95")


def test_hostile_names_and_every_kind_of_array(said: dict[str, str]) -> None:
    assert said["hostile.names"] == "|".join((HOSTILE, "class", "held", "b"))
    assert said["hostile.float"] == "[3.0, 4.0, 5.0, 6.0]" and said["hostile.class"] == "[false, false, true, false]"
    assert said["hostile.long"] == "[2, 4, 6, -9223372036854775808]" and said["hostile.bool"] == "[true, false, true]"


def test_the_interface_in_java_answers_as_that_in_kotlin(folder: Path, said: dict[str, str]) -> None:
    lines = (folder / "plain.txt").read_text(encoding="utf-8").strip().split("\n")
    plain = dict(line.split("\t", 1) for line in lines)
    own = {"none": "IndexOutOfBoundsException: there is no class 10", "alike": "true", "picture": "true"}
    assert plain == {name: own.get(name, said.get(name)) for name in plain} and plain["end"] == "reached"


def test_the_interface_in_java_has_every_method_of_that_in_kotlin(folder: Path) -> None:
    """And no other but the field `labels`, which Kotlin has as a property."""
    names = [json.loads((folder / name / "manifest.json").read_text(encoding="utf-8"))["android"] for name in ("digits", *SMALL)]
    classes = [f"{item['package']}.{item['class']}{part}" for item in names for part in ("", "$Outputs")]
    found = [_public(folder / "plain", classes), _public(folder / "classes", classes)]
    assert found[0] == found[1] and "public java.util.List<ai.edgec.digits.Label> classify(ai.edgec.digits.Picture, int);" in found[0]


def _public(classes: Path, names: list[str]) -> list[str]:
    """What can be called of classes, but what Kotlin alone can call."""
    command = [str(shutil.which("javap")), "-public", "-cp", str(classes), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = (line.strip().replace("final ", "") for line in done.stdout.splitlines())
    hidden = re.compile(r"Companion|access\$|\$default|DefaultConstructorMarker|List<java.lang.String> labels;|^Compiled from")
    return sorted(line for line in lines if not hidden.search(line))


def test_names_in_java_s_literals_end_nothing() -> None:
    """Java reads an escape in hexadecimal as the letter itself, before it knows of literals."""
    assert quoted_java('a"\\u0022\n\u2028\U0001f600') == '"a\\042\\134u0022\\012\\u2028\\ud83d\\ude00"'


def _app(name: str, inputs: int = 1) -> App:
    ports = tuple(Tensor(f"x{number}", f"x{number}", DType.FLOAT32, (1,)) for number in range(inputs))
    return App(name, "fp32", ports, (Tensor("y", "y", DType.FLOAT32, (1,)),), 0, 0, 0)


def test_names_of_packages_and_classes_are_legal_in_java_too() -> None:
    assert package_name(_app("native")) == "ai.edgec.native_2" and package_name(_app("fun")) == "ai.edgec.fun_"
    assert class_name(_app("label")) == "Label_2" and class_name(_app("mobilenet_v2")) == "MobilenetV2"
    assert class_name(_app("ANSWERS")) == "Answers_2", "file systems may not tell it from Answers"
    assert mangled("ai.edgec.a_b.A_2Native") == "ai_edgec_a_1b_A_12Native"


@pytest.mark.parametrize(
    ("app", "form", "words"), [(_app("net"), "bin", "holds its weights"), (_app("net", 200), "c", "at most 100 tensors")]
)
def test_what_android_cannot_take_is_refused(app: App, form: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        android_files(app, empty_draft("net", form))
