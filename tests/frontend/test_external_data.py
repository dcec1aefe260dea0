"""External data is read from the model's folder and from nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from edgec.base.errors import ModelError
from edgec.frontend import from_proto, load_model

from .models import model, node, weights


def with_external(folder: Path, **entries: str) -> Path:
    """A model whose weights `w`, 4x3 floats, lie where `entries` say."""
    proto = model([node("MatMul", "x w", "y")], {"x": [1, 4]}, ["y"])
    tensor = TensorProto(name="w", dims=[4, 3], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    proto.graph.initializer.append(tensor)
    folder.mkdir(exist_ok=True)
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


@pytest.mark.parametrize("location", ["weights.bin", "sub/weights.bin", "./weights.bin"])
def test_files_inside_of_the_folder(tmp_path: Path, location: str) -> None:
    w = weights(4, 3)
    (tmp_path / "sub").mkdir()
    (tmp_path / location).write_bytes(b"\0" * 64 + w.tobytes())
    graph = load_model(with_external(tmp_path, location=location, offset="64", length="48")).graph
    np.testing.assert_array_equal(graph.constants["w"], w)


def test_paths_that_lead_out(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(weights(4, 3).tobytes())
    for location in ("../secret.bin", str(tmp_path / "secret.bin"), "a/../../secret.bin", "", "C:\\secret.bin", "..\\secret.bin"):
        with pytest.raises(ModelError, match=r"leads out of the model's folder|goes through"):
            load_model(with_external(tmp_path / "model", location=location))


def test_a_folder_is_no_data_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    with pytest.raises(ModelError, match="its data path 'sub' is a folder"):
        load_model(with_external(tmp_path, location="sub"))


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_links_that_lead_out(tmp_path: Path, linked: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.bin").write_bytes(weights(4, 3).tobytes())
    (tmp_path / "model").mkdir()
    if linked == "file":
        os.symlink(tmp_path / "outside" / "secret.bin", tmp_path / "model" / "w.bin")
    else:
        os.symlink(tmp_path / "outside", tmp_path / "model" / "sub")
    location = "w.bin" if linked == "file" else "sub/secret.bin"
    with pytest.raises(ModelError, match="symbolic link"):
        load_model(with_external(tmp_path / "model", location=location))


@pytest.mark.parametrize(("kind", "bits"), [("INT4", 4), ("UINT2", 2)])
def test_codes_that_share_a_byte(tmp_path: Path, kind: str, bits: int) -> None:
    if not hasattr(onnx.TensorProto, kind):
        pytest.skip(f"this onnx has no {kind}")
    (tmp_path / "w.bin").write_bytes(bytes([0b01_10_00_11]))
    path = with_external(tmp_path, location="w.bin")
    proto = onnx.load(path, load_external_data=False)
    tensor, proto.opset_import[0].version = proto.graph.initializer[0], onnx.defs.onnx_opset_version()
    tensor.data_type, tensor.dims[:] = onnx.TensorProto.DataType.Value(kind), [8 // bits]
    proto.graph.node[0].CopyFrom(onnx.helper.make_node("Identity", ["w"], ["y"]))
    proto.graph.output[0].ClearField("type")
    path.write_bytes(proto.SerializeToString())
    found = load_model(path)
    assert found.graph.constants["y"].tolist() == ([3, 6] if bits == 4 else [3, 0, 2, 1])
    assert f"output y: its numbers, {kind.lower()} in the model, come as {'int8' if bits == 4 else 'uint8'}" in found.notes


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"location": "absent.bin"}, "does not exist"),
        ({"location": "w.bin"}, "has 40 bytes, 48 are needed"),
        ({"location": "w.bin", "length": "40"}, "40 bytes are declared"),
        ({"location": "w.bin", "offset": "-8"}, "is no number"),
        ({"location": "w.bin", "offset": "9999999999"}, "are needed"),
        ({"location": "w.bin", "offset": "9" * 5000}, "is no number"),
        ({"location": "w.bin", "offset": "²"}, "is no number"),
        ({"location": "w" * 5000}, "does not exist"),
        ({"location": "w\0.bin"}, "does not exist"),
    ],
)
def test_missing_and_wrong_bytes(tmp_path: Path, entries: dict[str, str], message: str) -> None:
    (tmp_path / "w.bin").write_bytes(b"\0" * 40)
    with pytest.raises(ModelError, match=rf"tensor w: .*{message}"):
        load_model(with_external(tmp_path, **entries))


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ([3, -4], r"its shape \[3, -4\] has an extent below 0"),
        ([-3, -4], r"its shape \[-3, -4\] has an extent below 0"),
        ([1 << 32] * 999, "its shape of 999 extents needs more bytes than any file has"),
    ],
)
def test_shapes_of_no_data(tmp_path: Path, dims: list[int], message: str) -> None:
    (tmp_path / "w.bin").write_bytes(b"\0" * 48)
    path = with_external(tmp_path, location="w.bin")
    proto = onnx.load(path, load_external_data=False)
    proto.graph.initializer[0].dims[:] = dims
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(ModelError, match=f"tensor w: {message}"):
        load_model(path)


def test_a_model_without_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="came without a folder"):
        from_proto(onnx.load(with_external(tmp_path, location="w.bin"), load_external_data=False))


def test_a_place_that_is_no_text(tmp_path: Path) -> None:
    path = with_external(tmp_path, location="aaaa.bin")
    path.write_bytes(path.read_bytes().replace(b"aaaa.bin", b"\xbcaaa.bin"))
    with pytest.raises(ModelError, match="tensor w: the place of its data is not UTF-8"):
        load_model(path)
