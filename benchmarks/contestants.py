"""What engines are compared on: a float model with fixed shapes, edgec's model.int8.onnx of it, inputs, and edgec's packages of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from models import LIGHT, SUBJECTS, Feed, feed, photographs

import edgec

SAMPLES = 16
INTEGERS = (onnx.TensorProto.INT32, onnx.TensorProto.INT64)


def samples_of(path: Path) -> list[Feed]:
    """Inputs of a model: for those that benchmarks/models.py knows what it prepares of the pictures beside them, else random numbers."""
    known = next((subject for subject in (*SUBJECTS, *LIGHT) if subject.name == path.stem), None)
    if known is not None:
        return [feed(known, path, photo) for photo in list(photographs(known, path.parent))[:SAMPLES]]
    rng = np.random.default_rng(0)
    return [{value.name: random(value.type.tensor_type, rng) for value in real_inputs(onnx.load(str(path)))} for _ in range(SAMPLES)]


def real_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in weights]


def random(kind: Any, rng: np.random.Generator) -> np.ndarray:
    """Normally distributed numbers, or small indices; a dimension without a number is 1."""
    shape = [dimension.dim_value or 1 for dimension in kind.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
    return (rng.integers(0, 2, shape) if kind.elem_type in INTEGERS else rng.standard_normal(shape)).astype(dtype)


def pinned(path: Path, sample: Feed, out: Path) -> Path:
    """The same model with the sample's shapes, which some engines need."""
    model = onnx.load(str(path))
    for value in real_inputs(model):
        for dimension, extent in zip(value.type.tensor_type.shape.dim, sample[value.name].shape, strict=True):
            dimension.dim_value = extent
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    onnx.save(onnx.shape_inference.infer_shapes(model), str(out))
    return out


def prepare(path: Path, precision: str, calib: str | None, target: str, work: Path) -> tuple[Path, Path, Path]:
    """(ONNX file for the peers, inputs, edgec's package). A model.int8.onnx that an earlier call left in `work` is used again."""
    samples = samples_of(path)
    inputs, exact = work / f"{path.stem}.npz", work / f"{path.stem}.onnx"
    np.savez(inputs, allow_pickle=False, **samples[0])
    model = pinned(path, samples[0], exact)
    if precision == "int8":
        model = work / f"{path.stem}.int8.onnx"
        data: str | Callable[[], Iterable[Feed]] = calib or (lambda: iter(samples))
        if not model.exists():
            edgec.quantize(exact, calib=data, out=model, effort="fast")
    package = edgec.build(model, target=target, precision=precision, out=work / f"{path.stem}-{precision}-{target}", name="net", force=True)
    return model, inputs, package.directory
