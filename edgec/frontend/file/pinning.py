"""Graph inputs with every dimension decided: by the file, by the user, or, for the batch, by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from edgec.base.errors import ModelError, Problem, UsageError, did_you_mean
from edgec.ir.types import Dim, DType, Symbol, TensorType
from edgec.ops.proto import coded_type

Shapes = Mapping[str, Sequence[int | Symbol]]
NAMELESS = ("?", "-1", "None")  # what exporters write where an axis has no name: two of them may differ
OPEN_HINT = "export the model with the real extent, or with a name for an axis that --shape decides"


def pin_inputs(inputs: Sequence[onnx.ValueInfoProto], shapes: Shapes) -> tuple[dict[str, TensorType], list[str]]:
    """Types of the inputs and what was assumed. UsageError lists every dimension that is open, with the flag that decides it."""
    names = [value.name for value in inputs]
    problems = [Problem(f"the model has no input {name!r}", "--shape", did_you_mean(name, names)) for name in shapes if name not in names]
    dtypes = {value.name: dtype_of(value) for value in inputs}
    dims = {value.name: dims_of(value, shapes.get(value.name)) for value in inputs}
    given = [name for name in names if name in shapes]
    for name in given:
        problems += _clashes(name, dims[name], shapes[name])
    if problems:
        raise UsageError("the given shapes do not fit the model", problems)
    bound: dict[str, Dim] = {}
    for name in given:
        bound.update((dim, extent) for dim, extent in zip(dims[name], shapes[name], strict=True) if isinstance(dim, str) and dim)
    notes: list[str] = []
    for name in names:
        first = dims[name][0] if dims[name] and name not in shapes else 0
        if isinstance(first, str) and first not in bound:
            notes.append(f"input {name}: batch dimension {first or '?'} is set to 1 (--shape {name}=... changes it)")
            if first:
                bound[first] = 1
    result, open_inputs = {}, []
    for name in names:
        shape = [_decide(name, place, dim, shapes, bound) for place, dim in enumerate(dims[name])]
        if None in shape:
            open_inputs.append(_open(name, dims[name], shape))
        result[name] = TensorType(dtypes[name], tuple(dim for dim in shape if dim is not None))
    if open_inputs:
        raise UsageError(f"{len(open_inputs)} input(s) have dimensions that are not fixed", open_inputs)
    return result, notes


def dtype_of(value: onnx.ValueInfoProto) -> DType:
    """Of one input."""
    where = f"input {value.name}"
    if not value.type.HasField("tensor_type"):
        raise ModelError("is not a tensor", where=where, hint="sequences, maps and optionals are not supported")
    try:
        return coded_type(value.type.tensor_type.elem_type)
    except ModelError as error:
        raise ModelError(error.summary, where=where) from None


def dims_of(value: onnx.ValueInfoProto, given: Sequence[int | Symbol] | None = None) -> list[int | str]:
    """Extents of one input; a string, possibly empty, for an open one. given: by the user, whose rank an input without a shape has."""
    if not value.type.tensor_type.HasField("shape"):
        if given is None:
            hint = f"--shape {value.name}=... with all of its dimensions, or export the model with declared input shapes"
            raise ModelError("has no shape, not even a rank", where=f"input {value.name}", hint=hint)
        return [""] * len(given)
    dims = value.type.tensor_type.shape.dim
    return [dim.dim_value if dim.dim_value > 0 or is_zero(dim) else _name(dim.dim_param) for dim in dims]


def _name(param: str) -> str:
    return "" if param in NAMELESS else param


def is_zero(dim: onnx.TensorShapeProto.Dimension) -> bool:
    return bool(dim.HasField("dim_value")) and dim.dim_value == 0


def _clashes(name: str, dims: list[int | str], given: Sequence[int | Symbol]) -> list[Problem]:
    where = f"--shape {name}={','.join(map(str, given))}"
    if len(given) != len(dims):
        return [Problem(f"has {len(given)} dimensions, the model's input {len(dims)}: {_text(dims)}", where)]
    if any(isinstance(dim, int) and dim < 1 for dim in given):
        return [Problem("every dimension must be at least 1", where)]
    if any(isinstance(have, int) and have != want for have, want in zip(dims, given, strict=True)):
        return [Problem(f"contradicts the model's own shape {_text(dims)}", where, "only open dimensions can be set")]
    return []


def _decide(name: str, place: int, dim: int | str, shapes: Shapes, bound: Mapping[str, Dim]) -> Dim | None:
    if isinstance(dim, int):
        return dim
    if name in shapes:
        return shapes[name][place]
    return bound.get(dim, 1 if place == 0 else None)


def _open(name: str, dims: list[int | str], shape: list[Dim | None]) -> Problem:
    example = ",".join("..." if dim is None else str(dim) for dim in shape)
    return Problem(f"its shape is {_text(dims)}", f"input {name}", f"--shape {name}={example}")


def _text(dims: Sequence[int | str]) -> str:
    return f"[{','.join(str(dim) or '?' for dim in dims)}]"
