"""The exam that travels with a package: questions, expected answers, and the program that asks them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from edgec.base.errors import Problem, UsageError
from edgec.base.harmless import without_controls
from edgec.base.version import __version__
from edgec.emit.c_text import C_TYPES, float_literal, text_literal
from edgec.emit.constants import ALIGNMENT, c_source, layout_constants
from edgec.emit.render_c import Scope, render
from edgec.emit.templates import render_template, runtime
from edgec.ir.types import DType
from edgec.package.manifest import sha256
from edgec.program.expr import Const, Expr, Size, binary, bound, const, most, product, select
from edgec.program.offload import GPU_TOLERANCE
from edgec.program.program import Port, Program
from edgec.program.titles import titles
from edgec.targets import Target

_HEADERS = ("files.h", "machine.h", "process.h", "timing.h")  # of the exam program, in runtimes/exam
_MOVED = {  # types of outputs that need not be exact
    DType.FLOAT32: "EXAM_FLOAT", DType.FLOAT64: "EXAM_DOUBLE", DType.FLOAT16: "EXAM_HALF", DType.BFLOAT16: "EXAM_BFLOAT",
    DType.INT32: "EXAM_INT32", DType.INT64: "EXAM_INT64",
}  # fmt: skip
_TYPES = _MOVED | {DType.INT8: "EXAM_INT8", DType.UINT8: "EXAM_UINT8", DType.INT16: "EXAM_INT16", DType.UINT16: "EXAM_UINT16"}
STEPS = {DType.FLOAT16: 2.0**-10, DType.BFLOAT16: 2.0**-7}  # between neighbours, as a share of the number: a tie may go either way
TINY = 1e-30  # instead of a largest magnitude that is less


@dataclass(frozen=True)
class ExamData:
    """Questions and answers, by ONNX name: inputs[i] must give outputs[i]. An output is `exact` (equal bytes; integers are, but for
    those of 32 and 64 bits that rounding moves) or within `tolerance`, the largest difference divided by the largest magnitude expected,
    and a step of its type in STEPS.

    tolerances: of each question, where it is more. gpu_tolerances: the same for a GPU's answers; where there are none, what any GPU's
    float32 may be off by. anew: places of questions before which a model's states are forgotten; elsewhere each follows the one before.
    least: of some outputs what their largest magnitude counts as where it is smaller. cut: integers that floats of such a tolerance were
    cut to, which may be off by one more.
    """

    inputs: Sequence[Mapping[str, np.ndarray]]
    outputs: Sequence[Mapping[str, np.ndarray]]
    exact: Mapping[str, bool]
    tolerance: float = 1e-4
    tolerances: Sequence[float] = ()
    gpu_tolerances: Sequence[float] = ()
    anew: Sequence[int] = ()
    least: Mapping[str, float] = field(default_factory=dict)
    cut: Collection[str] = ()

    @property
    def on_cpu(self) -> list[float]:
        """The tolerance of each question."""
        return [max(self.tolerance, one) for one in self.tolerances or [0.0] * len(self.inputs)]

    @property
    def on_gpu(self) -> list[float]:
        """The tolerance of each question to a GPU."""
        return list(map(max, self.on_cpu, self.gpu_tolerances or [GPU_TOLERANCE] * len(self.inputs)))

    def is_exact(self, name: str, kind: DType) -> bool:
        """Whether an output of that type is right by its bytes alone."""
        if name in self.cut and kind in _TYPES:
            return False
        return self.exact.get(name, False) or kind not in _MOVED

    def limits(self, outputs: Mapping[str, DType], tolerances: Sequence[float]) -> list[list[float]]:
        """For each question, whose tolerances these are, what each output may be off by, as a share of the largest magnitude expected."""
        found = []
        for answer, tolerance in zip(self.outputs, tolerances, strict=True):
            found.append([self._limit(name, kind, largest(answer[name]), tolerance) for name, kind in outputs.items()])
        return found

    def _limit(self, name: str, kind: DType, most: float, tolerance: float) -> float:
        share = max(1.0, self.least.get(name, 0.0) / max(most, TINY))
        return tolerance * share + (1 / max(most, TINY) if name in self.cut else STEPS.get(kind, 0.0))


def largest(array: np.ndarray) -> float:
    """Of what is finite."""
    return float(np.abs(array[np.isfinite(array)].astype(np.float64)).max(initial=0.0))


def emit_exam(program: Program, target: Target, data: ExamData) -> dict[str, bytes]:
    """Path -> content of the exam's files."""
    _check(program, data)
    blob = bytearray()
    vectors = [_vector(program, inputs, outputs, blob) for inputs, outputs in zip(data.inputs, data.outputs, strict=True)]
    name = program.name
    ports = [*program.inputs, *program.outputs]
    context: dict[str, object] = {
        "name": name,
        "NAME": name.upper(),
        "version": __version__,
        "arch": target.arch,
        "vocabularies": target.vocabularies,
        "inputs": program.inputs,
        "outputs": program.outputs,
        "sizes": program.sizes,
        "usual_sizes": [1 if _has_sets(program) else size.bound for size in program.sizes],
        "exam_ports": [_port(program, port, data.is_exact(port.name, port.dtype)) for port in ports],
        "calls": [text_literal(" ".join(without_controls(title).split())) for title in titles(program)],
        "vectors": [{**vector, "anew": int(place in data.anew)} for place, vector in enumerate(vectors)],
        "full": [bound(product(port.shape)) * port.dtype.bytes for port in ports],
        "limits": _limits(program, data, data.on_cpu),
        "gpu_limits": _limits(program, data, data.on_gpu),
        "weights_sha256": sha256(layout_constants(program)),
    }
    return {
        f"exam/{name}_exam.h": render_template("exam.h.j2", context),
        f"exam/{name}_exam.c": runtime("exam/exam.c", name),
        **{f"exam/{name}_{header}": runtime(f"exam/{header}", name) for header in _HEADERS},
        f"exam/{name}_sha256.h": runtime("c/sha256.h", name),
        f"exam/{name}_exam_gpu.h": runtime("exam/gpu.h" if target.gpu else "exam/no_gpu.h", name),
        f"exam/{name}_vectors.c": c_source(f"{name}_vectors", bytes(blob) or bytes(ALIGNMENT), "inputs and expected outputs"),
    }


def _check(program: Program, data: ExamData) -> None:
    """Every tensor of every vector must be there, with the package's type and a shape that its sizes allow."""
    problems = []
    if len(data.inputs) != len(data.outputs):
        problems.append(Problem(f"{len(data.inputs)} sets of inputs, {len(data.outputs)} of outputs"))
    for ports, sets in ((program.inputs, data.inputs), (program.outputs, data.outputs)):
        for index, values in enumerate(sets):
            for port in ports:
                where = f"vector {index}, {port.name}"
                value = values.get(port.name)
                if value is None:
                    problems.append(Problem("is missing", where))
                elif value.dtype != port.dtype.numpy or value.ndim != len(port.shape) or not _fits(port, value):
                    expected = f"{port.dtype.value}[{','.join(str(bound(extent)) for extent in port.shape)}]"
                    problems.append(Problem(f"is {value.dtype}{list(value.shape)}, must be {expected}", where))
    if problems:
        raise UsageError("the exam's data do not fit the package", problems)


def _fits(port: Port, value: np.ndarray) -> bool:
    if port.shapes:
        return value.shape in port.shapes
    pairs = zip(value.shape, port.shape, strict=True)
    return all(size == bound(extent) if isinstance(extent, Const) else size <= bound(extent) for size, extent in pairs)


def _vector(program: Program, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray], blob: bytearray) -> dict[str, object]:
    """Append a vector's tensors to `blob`; its sizes, and each tensor's place."""
    tensors, sizes = [], {size.name: size.bound for size in program.sizes}
    for ports, values in ((program.inputs, inputs), (program.outputs, outputs)):
        for port in ports:
            array = np.asarray(values[port.name], order="C")
            sizes |= {extent.name: count for extent, count in zip(port.shape, array.shape, strict=True) if isinstance(extent, Size)}
            content = array.astype(array.dtype.newbyteorder("<")).tobytes()
            tensors.append({"offset": len(blob), "bytes": len(content)})
            blob += content + bytes(-len(content) % ALIGNMENT)
    if _has_sets(program):
        sizes = {program.sizes[0].name: _set_of(program, {**inputs, **outputs})}
    return {"sizes": [sizes[size.name] for size in program.sizes], "tensors": tensors}


def _limits(program: Program, data: ExamData, tolerances: Sequence[float]) -> list[str]:
    rows = data.limits({port.name: port.dtype for port in program.outputs}, tolerances)
    return [", ".join(float_literal(limit, "") for limit in row) for row in rows]


def _has_sets(program: Program) -> bool:
    """Whether a run says which of several sets of shapes it has."""
    return any(port.shapes for port in program.ports)


def _set_of(program: Program, values: Mapping[str, np.ndarray]) -> int:
    """The number of the set of shapes that these tensors have."""
    ports = [*program.inputs, *program.outputs]
    columns = zip(*(port.shapes for port in ports), strict=True)
    shapes = tuple(values[port.name].shape for port in ports)
    return next(number for number, found in enumerate(columns, 1) if found == shapes)


def _elements(program: Program, port: Port) -> Expr:
    """How many a run's sizes give it."""
    if not port.shapes:
        return product(tuple(most(extent) for extent in port.shape))
    *others, last = enumerate(map(prod, port.shapes), 1)
    found: Expr = const(last[1])
    for number, count in reversed(others):
        found = select(binary("eq", program.sizes[0], number), count, found)
    return found


def _port(program: Program, port: Port, exact: bool) -> dict[str, object]:
    return {
        "name": text_literal(port.name),
        "bytes": bound(product(port.shape)) * port.dtype.bytes,
        "elements": render(_elements(program, port), Scope({})),
        "element_bytes": port.dtype.bytes,
        "type": _TYPES.get(port.dtype, "EXAM_BYTES"),
        "exact": int(exact),
        "qualifier": "const " if port in program.inputs else "",
        "c_type": C_TYPES[port.dtype],
    }
