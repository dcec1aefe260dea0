"""The backend tests of the onnx package: those of single operators, and the small models among the others."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import load_model_tests

from tests.operators.case import Case

MODEL_KINDS = ("simple", "pytorch-operator", "pytorch-converted")
NUMBERS = "fiub"  # numpy's kinds: floats, integers, booleans


@cache
def onnx_cases() -> tuple[Case, ...]:
    """Every case whose tensors are arrays of numbers, in the order of their names."""
    found = [_case(item.name, item.model, *item.data_sets[0], item) for item in collect_testcases(None)]
    for kind in MODEL_KINDS:
        for item in load_model_tests(kind=kind):
            folder = Path(item.model_dir)
            found += [_case(item.name, onnx.load(folder / "model.onnx"), *_data(folder / "test_data_set_0"), item)]
    return tuple(sorted((case for case in found if case is not None), key=lambda case: case.name))


def _case(name: str, model: onnx.ModelProto, inputs: list[object], outputs: list[object], item: object) -> Case | None:
    if not all(_is_tensor(value) for value in (*inputs, *outputs)):
        return None
    initializers = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in initializers]
    feeds = {key: np.asarray(array) for key, array in zip(names, inputs, strict=False)}
    rtol, atol = (getattr(item, key) for key in ("rtol", "atol"))
    operator = model.graph.node[0].op_type if len(model.graph.node) == 1 else _title(name)
    return Case(name, operator, model, feeds, [np.asarray(array) for array in outputs], rtol, max(atol, 1e-5))


def _is_tensor(value: object) -> bool:
    return not isinstance(value, (list, dict)) and np.asarray(value).dtype.kind in NUMBERS


def _title(name: str) -> str:
    """For cases of several nodes: what they are called after."""
    return f"({'_'.join(name.removeprefix('test_').split('_')[:2])})"


def _data(folder: Path) -> tuple[list[object], list[object]]:
    """The inputs and outputs of one data set; what is no tensor of numbers is a list."""
    return tuple([_tensor(path) for path in sorted(folder.glob(f"{which}_*.pb"), key=_number)] for which in ("input", "output"))  # type: ignore[return-value]


def _number(path: Path) -> int:
    return int(path.stem.rpartition("_")[2])


def _tensor(path: Path) -> object:
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor) if tensor.data_type else []
