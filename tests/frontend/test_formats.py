"""Files of other formats: what they are is told by their content, and so is the command that makes an ONNX file of them."""

from __future__ import annotations

import os
import pickle
import shlex
import struct
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

import edgec
from edgec.base.errors import ModelError, UsageError
from edgec.frontend.file.formats import refuse_foreign
from tests.calling import DIGITS

HEADER = b'{"weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
# what a file holds -> words of the error; Core ML: version 8, a description and a network in field 500
FILES = {
    "a TensorFlow Lite model": (b"\x1c\0\0\0TFL3" + bytes(64), "tf2onnx.convert --tflite 'a model.bin' --output 'a model.onnx'"),
    "in ONNX Runtime's own format": (b"\x1c\0\0\0ORTM" + bytes(64), "that it was made from"),
    "an HDF5 file, as Keras writes them": (b"\x89HDF\r\n\x1a\n" + bytes(64), "format="),
    "a safetensors file": (struct.pack("<Q", len(HEADER)) + HEADER + bytes(4), "load_file("),
    "a Core ML model": (b"\x08\x08\x12\x02\x0a\0\xa2\x1f\x04abcd", "convert_coreml"),
    "a frozen TensorFlow graph": (b"\x0a\x03\x0a\x01x\x0a\x03\x0a\x01y\x22\x02\x08\x01", "--graphdef"),
    "the graph of a TensorFlow SavedModel": (b"\x08\x01\x12\x03abc", "give the folder"),
    "a GGUF file of a language model": (b"GGUF\3\0\0\0", "does not serve"),
    "a pickled Python object": (pickle.dumps({"a": 1}), "skl2onnx"),
    "a pickled PyTorch network": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02ctorch.nn.modules.linear\nLinear\n", "weights_only"),
    "a PyTorch checkpoint": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02}q\0.", "load_state_dict"),
    "a pointer of Git LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
    "a web page": (b"<!DOCTYPE html><title>404", "download"),
}
ARCHIVES = {
    "a Keras model": (["metadata.json", "config.json", "model.weights.h5"], "keras.saving"),
    "a program of torch.export": (["serialized_exported_program.json", "version"], "torch.export.load"),
    "a TorchScript program": (["net/data.pkl", "net/constants.pkl", "net/code/__torch__.py"], "torch.jit.load"),
    "a PyTorch checkpoint": (["net/data.pkl", "net/data/0", "net/version"], "load_state_dict"),
    "a file of arrays": (["image.npy"], "--calib"),
}


@pytest.mark.parametrize("what", FILES)
def test_a_file_is_known_by_its_content(what: str, tmp_path: Path) -> None:
    content, words = FILES[what]
    path = tmp_path / "a model.bin"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        refuse_foreign(path)
    text = str(caught.value).replace(f"{tmp_path}/", "")
    assert f"a model.bin: is {what}, not an ONNX file    hint: " in text and words in text


def test_a_file_that_only_calls_itself_onnx_is_not_overwritten_by_the_command(tmp_path: Path) -> None:
    path = tmp_path / "net.ONNX"
    path.write_bytes(b"\x1c\0\0\0TFL3" + bytes(64))
    with pytest.raises(ModelError) as caught:
        refuse_foreign(path)
    assert str(caught.value).endswith("--output net-exported.onnx")


def test_a_path_that_holds_the_words_of_the_command_stays_one_word(tmp_path: Path) -> None:
    path = tmp_path / "a;touch HACKED;ONNX FILE.tflite"
    path.write_bytes(b"\x1c\0\0\0TFL3" + bytes(64))
    with pytest.raises(ModelError) as caught:
        refuse_foreign(path)
    (problem,) = caught.value.problems
    assert shlex.split(problem.what)[-3:] == [str(path), "--output", "a;touch HACKED;ONNX FILE.onnx"]


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    for verb in (edgec.build, edgec.plan, edgec.quantize, edgec.inspect):
        with pytest.raises(UsageError, match="is no file"):
            verb(tmp_path / "pipe.onnx", precision="int8", calib=np.zeros((1, 64), np.float32))


@pytest.mark.parametrize("what", ARCHIVES)
def test_an_archive_is_known_by_its_members(what: str, tmp_path: Path) -> None:
    members, words = ARCHIVES[what]
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for name in members:
            archive.writestr(name, b"x")
    with pytest.raises(ModelError, match=f"is {what}, not") as caught:
        refuse_foreign(tmp_path / "model.zip")
    assert words in str(caught.value)


def test_a_folder_of_tensorflow_is_known(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01")
    with pytest.raises(ModelError, match="SavedModel, not an ONNX file"):
        edgec.inspect(tmp_path)


def test_onnx_files_and_what_nobody_knows_are_left_to_the_reader(tmp_path: Path) -> None:
    refuse_foreign(DIGITS / "digits.onnx")
    refuse_foreign(tmp_path / "missing")
    refuse_foreign(tmp_path)
    whole = (DIGITS / "digits.onnx").read_bytes()
    generator = np.random.default_rng(0)
    for content in (b"", b"\0", b"PK\x03\x04", whole[:100], whole[:5000], *(generator.bytes(40) for _ in range(50))):
        (tmp_path / "part").write_bytes(content)
        refuse_foreign(tmp_path / "part")


def test_commands_of_python_are_python(tmp_path: Path) -> None:
    """Quoted once for the shell and once for Python, whatever the file is called."""
    path = tmp_path / "it's a $(model).keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.weights.h5", b"x")
    with pytest.raises(ModelError) as caught:
        refuse_foreign(path)
    (problem,) = caught.value.problems
    echoed = subprocess.run(
        ["sh", "-c", problem.what.replace("python", "printf %s", 1).replace(" -c ", " ", 1)], capture_output=True, text=True
    )
    compile(echoed.stdout, "command", "exec")
    assert repr(str(path)) in echoed.stdout and repr("it's a $(model).onnx") in echoed.stdout
