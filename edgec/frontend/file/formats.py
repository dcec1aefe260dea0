"""Files that hold a model and are not ONNX: what they are, by their content, and the command that makes an ONNX file of them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from edgec.base.errors import ModelError, Problem

HEAD, TAIL = 1 << 16, 1 << 20  # bytes at a file's ends that are looked at: an archive lists its members in the last ones
MOST_FIELDS = 4096  # of a protobuf message, that are looked at
SHAPE = "1, 3, 224, 224"  # stands for the input's shape, which such files do not say


@dataclass(frozen=True)
class Foreign:
    """command: makes an ONNX file of it, in a shell, or in Python where it is a `script`; FILE and ONNX stand for paths.

    remark: what the user has to know, or to fill in. packages: where these are installed, edgec runs the command itself; they are the
    `extra` of edgec. runs_code: what loads such a file may run code that it holds.
    """

    what: str
    command: str = ""
    remark: str = "this exports it"
    script: bool = True
    packages: tuple[str, ...] = ()
    extra: str = ""
    runs_code: bool = False

    def error(self, path: Path) -> ModelError:
        """What the file at `path` is, and the next step."""
        stem = f"{path.stem}-exported" if path.suffix.lower() == ".onnx" else path.stem  # never over the file itself
        command = self._filled(path, Path(f"{stem}.onnx"))
        shown = f"python -c {shlex.quote(command)}" if self.script else command
        return ModelError(f"is {self.what}, not an ONNX file", [Problem(shown)] if command else (), where=str(path), hint=self._hint())

    def words(self, path: Path, target: Path) -> list[str]:
        """The command's: of a script, that alone."""
        command = self._filled(path, target)
        return [command] if self.script else shlex.split(command)

    def _filled(self, path: Path, target: Path) -> str:
        quoted = repr if self.script else shlex.quote
        named = {"FILE": quoted(str(path)), "ONNX": quoted(str(target))}
        return re.sub("FILE|ONNX", lambda word: named[word[0]], self.command)  # at once: the paths may hold these words

    def _hint(self) -> str:
        if not self.packages:
            return self.remark
        trust = ", with --trust-model, since loading it may run code that it holds" if self.runs_code else ""
        return f"{self.remark}; edgec does so itself where edgec[{self.extra}] is installed{trust}"


_FILL = f"this exports it, with your input's shape in place of {SHAPE}"
_CLASS = f"{_FILL}, and your own class: the file has the weights alone"
_SAMPLE = f"(torch.randn({SHAPE}),), ONNX"
_LOADED = "from YOUR_CODE import NETWORK; network = NETWORK(); network.load_state_dict"

TORCHSCRIPT = Foreign(
    "a TorchScript program", f"import torch; torch.onnx.export(torch.jit.load(FILE).eval(), {_SAMPLE}, dynamo=False)", _FILL
)
TORCH_EXPORT = Foreign(
    "a program of torch.export", "import torch; torch.onnx.export(torch.export.load(FILE), f=ONNX, dynamo=True)",
    packages=("torch", "onnxscript"), extra="torch", runs_code=True,
)  # fmt: skip
TORCH_MODULE = Foreign(
    "a pickled PyTorch network",
    f"import torch; torch.onnx.export(torch.load(FILE, map_location='cpu', weights_only=False).eval(), {_SAMPLE}, dynamo=True)",
    f"{_FILL}, where its class can be imported; a pickle runs code, so load none of strangers",
)
TORCH_WEIGHTS = Foreign(
    "a PyTorch checkpoint",
    f"import torch; {_LOADED}(torch.load(FILE, map_location='cpu')); torch.onnx.export(network.eval(), {_SAMPLE}, dynamo=True)",
    _CLASS,
)
SAFETENSORS = Foreign(
    "a safetensors file",
    "import torch; from safetensors.torch import load_file; "
    f"{_LOADED}(load_file(FILE)); torch.onnx.export(network.eval(), {_SAMPLE}, dynamo=True)",
    _CLASS,
)
_CONVERTER = ("tf2onnx", "tensorflow")
KERAS = Foreign(
    # exporters take networks alone that were called
    "a Keras model", "import keras; network = keras.saving.load_model(FILE); network(network.inputs); network.export(ONNX, format='onnx')",
    packages=("keras", *_CONVERTER), extra="keras", runs_code=True,
)  # fmt: skip
HDF5 = Foreign("an HDF5 file, as Keras writes them", KERAS.command, "this exports it, where it is a whole model and not the weights alone")
TFLITE = Foreign(
    "a TensorFlow Lite model", "python -m tf2onnx.convert --tflite FILE --output ONNX", script=False,
    packages=_CONVERTER, extra="tflite",
)  # fmt: skip
SAVED_MODEL = Foreign("a TensorFlow SavedModel", "python -m tf2onnx.convert --saved-model FILE --output ONNX", script=False)
SAVED_GRAPH = Foreign(
    "the graph of a TensorFlow SavedModel", remark="give the folder that it lies in: the error then says how it is exported"
)
FROZEN = Foreign(
    "a frozen TensorFlow graph",
    "python -m tf2onnx.convert --graphdef FILE --inputs INPUT:0 --outputs OUTPUT:0 --output ONNX",
    "this exports it, with the names of its own inputs and outputs",
    script=False,
)
CORE_ML = Foreign(
    "a Core ML model",
    "import coremltools, onnxmltools; "
    "onnxmltools.utils.save_model(onnxmltools.convert_coreml(coremltools.utils.load_spec(FILE)), ONNX)",
)  # fmt: skip
ML_PACKAGE = Foreign("a Core ML package", remark="nothing converts it: export the network that it was made from")
PICKLE = Foreign(
    "a pickled Python object",
    "import joblib, skl2onnx; open(ONNX, 'wb').write(skl2onnx.to_onnx(joblib.load(FILE), SAMPLES[:1]).SerializeToString())",
    "this exports a model of scikit-learn, with an array of its inputs as SAMPLES; a pickle runs code, so load none of strangers",
)
ONNX_RUNTIME = Foreign("in ONNX Runtime's own format", remark="give the ONNX file that it was made from")
GGUF = Foreign("a GGUF file of a language model", remark="edgec does not serve language models")
ARRAYS = Foreign("a file of arrays", remark="give it with --calib, and the model's ONNX file")
LFS_POINTER = Foreign("a pointer of Git LFS", "git lfs pull --include FILE", "this brings the file itself", script=False)
PAGE = Foreign("a web page", remark="the download failed: the page says why")

# The first bytes of a file, from a position, and what they tell; the later rows where no earlier one does
_MAGIC = (
    (4, b"TFL3", TFLITE),
    (4, b"ORTM", ONNX_RUNTIME),
    (0, b"\x89HDF\r\n\x1a\n", HDF5),
    (0, b"GGUF", GGUF),
    (0, b"\x93NUMPY", ARRAYS),
    (0, b"version https://git-lfs.github.com/spec", LFS_POINTER),
    (0, b"<!DOCTYPE html", PAGE),
    (0, b"<!doctype html", PAGE),
    (0, b"<html", PAGE),
)
_ARCHIVE = b"PK\x03\x04"
_MEMBERS = (  # of an archive: what their names tell
    (b"model.weights.h5", KERAS),
    (b"serialized_exported_program.json", TORCH_EXPORT),
    (b"/archive_format", TORCH_EXPORT),
    (b"/constants.pkl", TORCHSCRIPT),
    (b"/data.pkl", TORCH_WEIGHTS),
    (b".npy", ARRAYS),
)
_TORCH_PICKLE = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # the number before everything that torch.save wrote before it wrote archives
_PICKLES = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
_NETWORK = b"torch.nn.modules"


def refuse_foreign(path: Path) -> None:
    """ModelError where the file or folder at `path` is one of the known formats."""
    found = foreign_of(path)
    if found is not None:
        raise found.error(path)


def foreign_of(path: Path) -> Foreign | None:
    """Which of the known formats the file or folder at `path` has; it is looked at, not loaded."""
    with suppress(OSError, ValueError):
        if path.is_dir():
            return _of_folder(path)
        if path.is_file():  # no pipe, which may never end
            return _of_file(path)
    return None


def _of_folder(path: Path) -> Foreign | None:
    if (path / "saved_model.pb").is_file():
        return SAVED_MODEL
    return ML_PACKAGE if path.suffix == ".mlpackage" and (path / "Manifest.json").is_file() else None


def _of_file(path: Path) -> Foreign | None:
    with path.open("rb") as stream:
        head, size = stream.read(HEAD), os.fstat(stream.fileno()).st_size
        known = next((found for place, magic, found in _MAGIC if head.startswith(magic, place)), None)
        if known is not None:
            return known
        if head.startswith(_ARCHIVE):
            stream.seek(max(0, size - TAIL))
            tail = stream.read(TAIL)
            found = next((found for name, found in _MEMBERS if name in tail), None)
            return TORCH_MODULE if found is TORCH_WEIGHTS and _NETWORK in head else found
        if head.startswith(_PICKLES):
            if _NETWORK in head:
                return TORCH_MODULE
            return TORCH_WEIGHTS if head.startswith(_TORCH_PICKLE) else PICKLE
        if head[8:10] == b'{"' and int.from_bytes(head[:8], "little") < size:
            return SAFETENSORS
        stream.seek(0)
        return _of_message(stream, size)


def _of_message(stream: BinaryIO, size: int) -> Foreign | None:
    """By the fields of a protobuf message: ONNX has its graph in 7, Core ML a network in one from 200 on, a frozen TensorFlow graph its
    nodes in 1, a SavedModel its version there and graphs in 2."""
    fields = dict(_fields(stream, size))
    if 7 in fields or 1 not in fields:
        return None
    if any(number >= 200 for number in fields):
        return CORE_ML
    if fields[1] == 2 and fields.keys() <= {1, 2, 3, 4}:
        return FROZEN
    return SAVED_GRAPH if fields == {1: 0, 2: 2} else None


def _fields(stream: BinaryIO, size: int) -> Iterator[tuple[int, int]]:
    """(number, kind of encoding) of the message's first fields; ValueError where it is no message."""
    for _ in range(MOST_FIELDS):
        if stream.tell() == size:
            return
        number, kind = divmod(_varint(stream), 8)
        if not number or kind not in (0, 1, 2, 5):
            raise ValueError("no message")
        yield number, kind
        if kind == 0:
            _varint(stream)
        else:
            stream.seek({1: 8, 5: 4}[kind] if kind != 2 else _varint(stream), os.SEEK_CUR)
        if stream.tell() > size:
            raise ValueError("cut off")


def _varint(stream: BinaryIO) -> int:
    number = 0
    for shift in range(0, 70, 7):
        byte = stream.read(1)
        if not byte:
            break
        number |= (byte[0] & 127) << shift
        if byte[0] < 128:
            return number
    raise ValueError("no number")
