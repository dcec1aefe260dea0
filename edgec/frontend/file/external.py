"""Tensors whose bytes lie in files beside the model; nothing outside of the model's own folder is ever read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
import onnx
from onnx import helper

from edgec.base.budget import BudgetError, spend_constant
from edgec.base.errors import ModelError, Problem

DAMAGED = "the file is damaged: copy or export it again"
_NARROW = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4}  # bits of what shares a byte, by numpy's name
MOST = 1 << 62  # bytes; of more not even the number may be printed


def tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """All tensors of a graph: initializers, attributes, and those of its branches."""
    yield from graph.initializer
    for node in graph.node:
        yield from _of_node(node)


def _of_node(node: onnx.NodeProto) -> Iterator[onnx.TensorProto]:
    for item in node.attribute:
        if item.HasField("t"):
            yield item.t
        yield from item.tensors
        for branch in [item.g] if item.HasField("g") else item.graphs:
            yield from tensors(branch)


def load_external(model: onnx.ModelProto, base: Path | None) -> list[Problem]:
    """Read all external tensors into the model; what cannot be read is a Problem."""
    everything = [*tensors(model.graph), *(tensor for function in model.functions for node in function.node for tensor in _of_node(node))]
    problems = []
    for tensor in everything:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            try:
                _load(tensor, base)
            except BudgetError:
                raise
            except ModelError as error:
                problems.append(Problem(error.summary, f"tensor {tensor.name}", error.hint))
    return problems


def _load(tensor: onnx.TensorProto, base: Path | None) -> None:
    entries = {item.key: item.value for item in tensor.external_data}
    if base is None:
        raise ModelError("its data is in another file, and the model came without a folder", hint="load the model from its path")
    if any(isinstance(text, bytes) for text in (*entries, *entries.values())):  # so protobuf hands on what is not UTF-8
        raise ModelError("the place of its data is not UTF-8", hint=DAMAGED)
    if any(size < 0 for size in tensor.dims):
        raise ModelError(f"its shape {list(tensor.dims)} has an extent below 0", hint=DAMAGED)
    path = _inside(base, entries.get("location", ""))
    expected = -(-prod(tensor.dims) * _bits_of(tensor) // 8)
    if expected > MOST:
        raise ModelError(f"its shape of {len(tensor.dims)} extents needs more bytes than any file has", hint=DAMAGED)
    offset, length = _number(entries, "offset", 0), _number(entries, "length", expected)
    if length != expected:
        raise ModelError(f"{length} bytes are declared, its shape {list(tensor.dims)} needs {expected}")
    if offset + length > path.stat().st_size:
        raise ModelError(f"{path.name} has {path.stat().st_size} bytes, {offset + length} are needed", hint="copy the whole file again")
    spend_constant(length, f"tensor {tensor.name}")
    with path.open("rb") as file:
        file.seek(offset)
        tensor.raw_data = file.read(length)
    tensor.data_location = onnx.TensorProto.DEFAULT
    del tensor.external_data[:]


def _number(entries: dict[str, str], key: str, default: int) -> int:
    text = entries.get(key, "")
    if text and not re.fullmatch(r"[0-9]{1,19}", text):
        raise ModelError(f"its {key} {text[:30]!r} is no number of bytes")
    return int(text) if text else default


def _bits_of(tensor: onnx.TensorProto) -> int:
    """Of one element; of numpy's arrays each has a byte at least."""
    try:
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.data_type))
        return _NARROW.get(dtype.name, 8 * int(dtype.itemsize))
    except (KeyError, TypeError):
        raise ModelError(f"element type {tensor.data_type} is not supported") from None


def _inside(base: Path, location: str) -> Path:
    """The file, when it is a plain one inside the model's folder: not absolute, no `..`, no link on the way."""
    parts = PurePosixPath(location).parts
    hint = "external data must lie in the model's own folder"
    if not location or PurePosixPath(location).is_absolute() or PureWindowsPath(location).drive or "\\" in location or ".." in parts:
        raise ModelError(f"its data path {location!r} leads out of the model's folder", hint=hint)
    path, found = base, False
    try:
        for part in parts:
            path = path / part
            if path.is_symlink():
                raise ModelError(f"its data path {location!r} goes through a symbolic link", hint=hint)
        found = path.is_file()
        if path.is_dir():
            raise ModelError(f"its data path {location!r} is a folder", hint=hint)
    except (OSError, ValueError):  # too long for a name, or with a zero byte in it
        location = location[:100]
    if not found:
        raise ModelError(f"its data file {location!r} does not exist", hint="copy it beside the model")
    return path
