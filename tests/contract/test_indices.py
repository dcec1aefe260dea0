"""Whatever an index is when a package runs, it reads its own memory only; where it is out of range the run says so."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgec
from edgec.exam.questions import exam_inputs
from edgec.frontend import from_proto
from edgec.ir.types import Symbol
from edgec.targets import load_target
from tests.conftest import require
from tests.contract.asking import STATUS, Arrays, ask
from tests.contract.examiner import available
from tests.gpu.packages import lavapipe

X86_64, PORTABLE, ARM32 = load_target("x86-64"), load_target("portable"), load_target("rpi-32bit")
FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
OK, BAD_INDEX = STATUS["OK"], STATUS["BAD_INDEX"]
FAR = (2**31 - 1, -(2**31), 2**32, 2**32 + 1, -(2**32), 2**40 + 3, 2**63 - 1, -(2**63))
FLOATS = (np.nan, np.inf, -np.inf, 3e38, -3e38, 4294967296.0, 2147483648.0, -2147483904.0, -0.9, 1e-40)
ROUNDS = 40
EVERYWHERE = ("embedding",)  # cases for all vocabularies, the others have the portable one


@dataclass(frozen=True)
class Case:
    """A model with indices, which of its inputs they are, along how long an axis, and what the numbers given become before."""

    name: str
    model: onnx.ModelProto
    index: str
    extent: int
    answer: Callable[[Arrays, np.ndarray], np.ndarray]
    made: Callable[[np.ndarray], np.ndarray] = np.asarray


def model_of(nodes: list[onnx.NodeProto], inputs: dict[str, tuple[int, list[Any]]], **constants: np.ndarray) -> onnx.ModelProto:
    given = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    output = helper.make_tensor_value_info("y", FLOAT, None)
    known = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "indices", given, [output], known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node(op: str, *inputs: str, output: str = "y", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs, [output], **attributes)


def taken(axis: int, arrays: Arrays, index: np.ndarray) -> np.ndarray:
    return np.take(arrays["x"], index, axis)


TABLE = np.random.default_rng(3).standard_normal((11, 4)).astype(np.float32)
CASES = (
    Case("inner", model_of([node("Gather", "x", "i", axis=1)], {"x": (FLOAT, [2, 5]), "i": (INT64, [3])}), "i", 5, partial(taken, 1)),
    Case("scalar", model_of([node("Gather", "x", "i", axis=0)], {"x": (FLOAT, [4, 3]), "i": (INT32, [])}), "i", 4, partial(taken, 0)),
    Case(
        "embedding", model_of([node("Gather", "table", "i", output="e"), node("Neg", "e")], {"i": (INT64, [1, 70])}, table=TABLE), "i", 11,
        lambda arrays, index: -TABLE[index],
    ),
    Case(
        "cast",
        model_of([node("Cast", "f", to=INT64, output="i"), node("Gather", "x", "i", axis=0)], {"x": (FLOAT, [7, 2]), "f": (FLOAT, [4])}),
        "f", 7, partial(taken, 0), lambda f: np.trunc(f),
    ),
    Case(
        "absolute", model_of([node("Abs", "n", output="i"), node("Gather", "x", "i", axis=0)], {"x": (FLOAT, [3, 9]), "n": (INT32, [5])}),
        "n", 3, partial(taken, 0), lambda n: np.abs(n.astype(np.int64)),
    ),
    Case(
        "twice", model_of([node("Gather", "route", "i", output="j"), node("Gather", "x", "j", axis=1)],
                          {"x": (FLOAT, [2, 6]), "i": (INT64, [4])}, route=np.array([5, -6, 0], np.int64)),
        "i", 3, lambda arrays, index: arrays["x"][:, np.array([5, 0, 0])[index]],
    ),
    Case(
        "elements", model_of([node("GatherElements", "x", "i", axis=1)], {"x": (FLOAT, [3, 5, 2]), "i": (INT32, [2, 7, 2])}), "i", 5,
        lambda arrays, index: np.take_along_axis(arrays["x"][:2], np.where(index < 0, index + 5, index), 1),
    ),
    Case(
        "nd", model_of([node("GatherND", "x", "i", batch_dims=1)], {"x": (FLOAT, [2, 4, 4, 3]), "i": (INT64, [2, 5, 2])}), "i", 4,
        lambda arrays, index: arrays["x"][np.arange(2)[:, None], index[..., 0], index[..., 1]],
    ),
    Case(
        "scattered", model_of([node("ScatterND", "x", "i", "u", reduction="add")],
                              {"x": (FLOAT, [4, 2]), "i": (INT64, [6, 1]), "u": (FLOAT, [6, 2])}),
        "i", 4, lambda arrays, index: added(arrays["x"], index[:, 0], arrays["u"]),
    ),
    Case(
        "scattered_elements", model_of([node("ScatterElements", "x", "i", "u", axis=1)],
                                       {"x": (FLOAT, [2, 70]), "i": (INT32, [2, 1]), "u": (FLOAT, [2, 1])}),
        "i", 70, lambda arrays, index: put(arrays["x"], index, arrays["u"]),
    ),
)  # fmt: skip


def added(data: np.ndarray, rows: np.ndarray, updates: np.ndarray) -> np.ndarray:
    result = data.copy()
    np.add.at(result, rows, updates)
    return result


def put(data: np.ndarray, index: np.ndarray, updates: np.ndarray) -> np.ndarray:
    result = data.copy()
    np.put_along_axis(result, np.where(index < 0, index + data.shape[1], index).astype(np.int64), updates, 1)
    return result


def questions(case: Case) -> list[Arrays]:
    """Half of them have indices that are all in range, the others may have any bytes."""
    generator = np.random.default_rng(5)
    ports = {item.name: item.type.tensor_type for item in case.model.graph.input}
    found = []
    for turn in range(ROUNDS):
        arrays: dict[str, np.ndarray] = {}
        for name, port in ports.items():
            shape = [dim.dim_value for dim in port.shape.dim]
            kind = helper.tensor_dtype_to_np_dtype(port.elem_type)
            if name != case.index:
                arrays[name] = generator.standard_normal(shape).astype(kind)
                continue
            value = generator.integers(-case.extent, case.extent, shape).astype(kind)
            if turn % 2:
                near = [case.extent, case.extent - 1, -case.extent, -case.extent - 1]
                pool = (
                    FLOATS if kind == np.float32 else [item for item in (*near, *FAR) if np.iinfo(kind).min <= item <= np.iinfo(kind).max]
                )
                wild = np.frombuffer(generator.bytes(kind.itemsize * max(value.size, 1)), kind)[: value.size].reshape(shape)
                drawn = generator.choice(np.array(pool, kind), shape)
                value = np.where(generator.random(shape) < 0.5, value, np.where(generator.random(shape) < 0.5, wild, drawn)).astype(kind)
            arrays[name] = value
        found.append(arrays)
    return found


def judge(case: Case, arrays: Arrays, status: int, got: np.ndarray) -> int:
    """An answer is right: BAD_INDEX if and only if an index is out of range. A float that no int64 holds may become any index."""
    index = case.made(arrays[case.index])
    if index.dtype.kind == "f" and not (np.abs(index) < 2.0**62).all():
        assert status in (OK, BAD_INDEX)
        return 0
    if not ((index >= -case.extent) & (index < case.extent)).all():
        assert status == BAD_INDEX, (case.name, arrays[case.index])
        return 1
    assert status == OK, (case.name, arrays[case.index])
    assert np.array_equal(got, case.answer(arrays, index.astype(np.int64)))
    return 0


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.thorough] * (n % 2)) for n, case in enumerate(CASES)], ids=lambda case: case.name
)
def test_any_bytes_as_indices_stay_inside(case: Case, tmp_path: Path) -> None:
    require("gcc")
    target = X86_64 if case.name in EVERYWHERE else PORTABLE
    asked, sets = ask(case.model, f"any_{case.name}", target, tmp_path), questions(case)
    for isa in filter(available, target.vocabularies):
        for threads in (1, 3):
            answers = asked(sets, isa, threads)
            bad = sum(judge(case, arrays, status, got["y"]) for arrays, (status, got) in zip(sets, answers, strict=True))
            assert bad > 0


def test_nor_on_32_bits(tmp_path: Path) -> None:
    """Where a pointer has 32 bits an index of 64 would be cut."""
    require("arm-linux-gnueabihf-gcc", "qemu-arm")
    case = CASES[0]
    asked, sets = ask(case.model, "any_arm", ARM32, tmp_path, "arm-linux-gnueabihf-gcc"), questions(case)
    for arrays, (status, got) in zip(sets, asked(sets, "neon32", 2), strict=True):
        judge(case, arrays, status, got["y"])


@pytest.mark.parametrize("index", [3, -1, -3])
def test_a_constant_index_into_a_symbolic_axis_depends_on_the_size(index: int, tmp_path: Path) -> None:
    require("gcc")
    model = model_of([node("Gather", "x", "i", axis=0)], {"x": (FLOAT, ["N", 3])}, i=np.array([index], np.int64))
    asked = ask(model, "symbolic_index", PORTABLE, tmp_path, shapes={"x": (Symbol("N", 4), 3)})
    sizes = [1, 2, 3, 4, 0, -1, -(2**31), 5, 2**31 - 1]
    sets = [{"x": np.arange(3 * min(max(n, 1), 4), dtype=np.float32).reshape(-1, 3)} for n in sizes]
    for n, arrays, (status, got) in zip(sizes, sets, asked(sets, "portable", 1, [[n] for n in sizes]), strict=True):
        if not 1 <= n <= 4:
            assert status == STATUS["BAD_SIZE"]
        elif not -n <= index < n:
            assert status == BAD_INDEX
        else:
            assert status == OK and np.array_equal(got["y"], arrays["x"][[index]])


def test_an_exam_asks_with_indices_that_there_are() -> None:
    """Also where they come in another type or shape; ONNX Runtime answers no others."""
    nodes = [node("Cast", "i", to=INT64, output="w"), node("Unsqueeze", "w", "axes", output="u"), node("Gather", "x", "u", axis=1)]
    model = model_of(nodes, {"x": (FLOAT, [2, 3]), "i": (INT32, [40])}, axes=np.array([0]))
    graph = from_proto(model).graph
    for seed in range(3):
        for vector in exam_inputs(graph, None, seed):
            assert set(vector["i"].tolist()) == {-3, -2, -1, 0, 1, 2}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    session.run(None, vector)


@pytest.mark.parametrize(
    ("kind", "extent", "least", "most"), [(TensorProto.BOOL, 3, 0, 1), (TensorProto.UINT8, 300, 0, 255), (TensorProto.INT8, 200, -128, 127)]
)
def test_an_exam_asks_only_with_indices_of_the_type(kind: int, extent: int, least: int, most: int) -> None:
    nodes = [node("Cast", "i", to=INT64, output="w"), node("Gather", "x", "w", axis=1)]
    model = model_of(nodes, {"x": (FLOAT, [2, extent]), "i": (kind, [3000])})
    for vector in exam_inputs(from_proto(model).graph, None, 0):
        assert (vector["i"].min(), vector["i"].max()) == (least, most)


def test_a_gpu_reads_places_that_the_processor_has_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("gcc", "glslangValidator", "spirv-val")
    for name, value in lavapipe().items():
        monkeypatch.setenv(name, value)
    case = CASES[0]
    onnx.save(case.model, tmp_path / "inner.onnx")
    package = edgec.build(tmp_path / "inner.onnx", target="linux-vulkan", precision="fp32", cc="gcc -O0", out=tmp_path / "package")
    places = [call.on for call in package.manifest.gpu.calls] if package.manifest.gpu else []
    assert places == ["cpu", "gpu"]
    refused = 0
    for arrays in questions(case)[:12]:
        given = b"".join(arrays[port.name].tobytes() for port in package.manifest.inputs)
        command = [tmp_path / "package" / "build" / "inner_exam", "--gpu", "--run"]
        done = subprocess.run(command, input=given, capture_output=True, check=False)
        index = arrays["i"]
        if ((index >= -5) & (index < 5)).all():
            assert done.returncode == 0, done.stderr
            assert np.array_equal(np.frombuffer(done.stdout, np.float32).reshape(2, 3), np.take(arrays["x"], index, 1))
        else:
            assert done.returncode == 1 and b"lies outside of its axis" in done.stderr
            refused += 1
    assert 0 < refused < 12
