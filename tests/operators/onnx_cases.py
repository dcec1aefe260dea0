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
    """Every case, in the order of their names."""
    found = [_case(item.name, item.model, *item.data_sets[0], item) for item in collect_testcases(None)]
    for kind in MODEL_KINDS:
        for item in load_model_tests(kind=kind):
            folder = Path(item.model_dir)
            found.append(_case(item.name, onnx.load(folder / "model.onnx"), *_data(folder / "test_data_set_0"), item))
    return tuple(sorted(found, key=lambda case: case.name))


def _case(name: str, model: onnx.ModelProto, inputs: list[object], outputs: list[object], item: object) -> Case:
    """`inputs` is empty when one of them is no tensor of numbers: such a model must be refused, whatever it is fed."""
    initializers = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in initializers]
    feeds, expected = _tensors(inputs), _tensors(outputs)
    rtol, atol = (getattr(item, key) for key in ("rtol", "atol"))
    operator = model.graph.node[0].op_type if len(model.graph.node) == 1 else _title(name)
    return Case(name, operator, model, dict(zip(names, feeds, strict=False)), expected, rtol, max(atol, 1e-5), fixable=True)


def _tensors(values: list[object]) -> list[np.ndarray]:
    """Some cases hold tensors in the file's form; of sequences and texts nothing is left."""
    arrays = [numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value for value in values]
    if not all(map(_is_of_numbers, arrays)):
        return []
    return [np.asarray(value) for value in arrays]


def _is_of_numbers(value: object) -> bool:
    if isinstance(value, (list, dict)):
        return False
    dtype = np.asarray(value).dtype
    return dtype.kind in NUMBERS or dtype.name == "bfloat16"


def _title(name: str) -> str:
    """For cases of several nodes: what they are called after."""
    return f"({name.removeprefix('test_').partition('_')[0]})"


def _data(folder: Path) -> tuple[list[object], list[object]]:
    """The inputs and outputs of one data set."""
    return tuple([_read(path) for path in sorted(folder.glob(f"{which}_*.pb"), key=_number)] for which in ("input", "output"))  # type: ignore[return-value]


def _number(path: Path) -> int:
    return int(path.stem.rpartition("_")[2])


def _read(path: Path) -> onnx.TensorProto:
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor
