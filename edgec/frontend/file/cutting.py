"""The part of a model that is wanted: between tensors in its middle, with inputs whose value is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

from edgec.base.budget import spend_constant
from edgec.base.errors import Problem, UsageError, did_you_mean
from edgec.base.part import Constant, Part
from edgec.frontend.file.pinning import dims_of, dtype_of
from edgec.frontend.file.structure import reads

FEW = 20  # names that a hint may list
VIEWER = "a viewer of ONNX files, such as netron.app, shows its tensors"


def cut(model: onnx.ModelProto, part: Part) -> list[str]:
    """Leave that part of the model; what was assumed. Inputs that nothing in it needs go with the rest. UsageError names every problem."""
    graph = model.graph
    made = {name for node in graph.node for name in node.output if name}
    weights = {tensor.name for tensor in graph.initializer}
    own = {value.name for value in graph.input if value.name not in weights}
    problems = [_unknown(name, "--output", made | own) for name in part.outputs if name not in made | own]
    problems += [Problem("is given twice", f"--output {name}") for name, count in Counter(part.outputs).items() if count > 1]
    for name in part.inputs:
        if name in own:
            problems.append(Problem("is an input already", f"--input {name}", "--shape pins its shape, --constant its numbers"))
        elif name not in made:
            problems.append(_unknown(name, "--input", made))
    if problems:
        raise UsageError("the model cannot be cut there", problems)
    if not part.is_cut:
        return []
    found, notes = _declared(model, part)
    for node in graph.node:
        for place, name in enumerate(node.output):
            if name in part.inputs:
                node.output[place] = _fresh(f"{name}_before_the_cut", made)
    if part.outputs:
        del graph.output[:]
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in part.outputs)
    needed = _needed(graph)
    unread = [Problem("nothing that is left reads it", f"--input {name}", "cut further back") for name in part.inputs if name not in needed]
    if unread:
        raise UsageError("the model cannot be cut there", unread)
    kept = [value for value in graph.input if value.name in needed]
    del graph.input[:]
    graph.input.extend([*kept, *found])
    return notes


def fix(model: onnx.ModelProto, constants: Mapping[str, Constant]) -> dict[str, np.ndarray]:
    """Turn these inputs into constants; their arrays. UsageError names every problem."""
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = {value.name: value for value in graph.input if value.name not in weights}
    problems = [_unknown(name, "--constant", inputs) for name in constants if name not in inputs]
    arrays = {}
    for name in [name for name in constants if name in inputs]:
        try:
            arrays[name] = _array(inputs[name], constants[name])
        except (ValueError, TypeError, OverflowError) as error:
            problems.append(Problem(str(error), f"--constant {name}"))
    if problems:
        raise UsageError("the constants do not fit the model", problems)
    kept = [value for value in graph.input if value.name not in arrays]
    del graph.input[:]
    graph.input.extend(kept)
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in sorted(arrays.items()))
    return arrays


def _array(value: onnx.ValueInfoProto, given: Constant) -> np.ndarray:
    """In the type and shape of an input; one number fills whatever the file says of it, an open axis counting as 1."""
    dtype, dims, found = dtype_of(value).numpy, dims_of(value), np.asarray(given)
    fixed, is_open = [dim for dim in dims if isinstance(dim, int)], any(isinstance(dim, str) for dim in dims)
    if found.size == 1:
        spend_constant(prod(fixed) * dtype.itemsize, f"input {value.name}")
        found = np.full([dim if isinstance(dim, int) else 1 for dim in dims], found.reshape(-1)[0])
    elif prod(fixed) and len(dims) - len(fixed) <= 1 and (found.size % prod(fixed) == 0 if is_open else found.size == prod(fixed)):
        found = found.reshape([dim if isinstance(dim, int) else -1 for dim in dims])
    else:
        raise ValueError(f"has {found.size} numbers, the input is [{','.join(str(dim) or '?' for dim in dims)}]")
    with np.errstate(all="ignore"):
        result = np.asarray(found.astype(dtype))
    if dtype.kind != "f" and not np.array_equal(result.astype(found.dtype), found):
        raise ValueError(f"is no {dtype.name}")
    return result


def _unknown(name: str, flag: str, known: Iterable[str]) -> Problem:
    what, words = "input" if flag == "--constant" else "tensor", list(known)
    hint = did_you_mean(name, words) if not name.endswith(".onnx") else "the file to write is -o, --out"
    return Problem(f"the model has no such {what}", f"{flag} {name}", VIEWER if len(words) >= FEW and hint.startswith("known") else hint)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _needed(graph: onnx.GraphProto) -> set[str]:
    """All that the outputs depend on."""
    producers = {name: node for node in graph.node for name in node.output if name}
    found: set[str] = set()
    stack = [value.name for value in graph.output]
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += reads(producers[name]) if name in producers else []
    return found


def _declared(model: onnx.ModelProto, part: Part) -> tuple[list[onnx.ValueInfoProto], list[str]]:
    """The new inputs as the file or ONNX's shape inference knows them, with the given shapes; and what had to be assumed."""
    known = {value.name: value for value in (*model.graph.value_info, *model.graph.output)}
    if any(name not in known for name in part.inputs):
        try:
            inferred = shape_inference.infer_shapes(model, data_prop=True).graph
            known |= {value.name: value for value in (*inferred.value_info, *inferred.output)}
        except Exception:  # of a model that it does not follow it says nothing
            known = dict(known)
    values, notes, problems = [], [], []
    for name, given in part.inputs.items():
        tensor = known[name].type.tensor_type if name in known else onnx.TypeProto.Tensor()
        if not tensor.elem_type:
            notes.append(f"input {name}: nothing says its element type, float32 is assumed")
        dims = [dim.dim_value or dim.dim_param for dim in tensor.shape.dim] if tensor.HasField("shape") else None
        if given is None and dims is None:
            problems.append(Problem("nothing says its shape", f"--input {name}", f"write --input {name}=1,3,224,224"))
        elif given is not None and dims is not None and not _fits(given, dims):
            told = ",".join(str(dim or "?") for dim in dims)
            problems.append(Problem(f"the model has [{told}] there", f"--input {name}={','.join(map(str, given))}"))
        values.append(helper.make_tensor_value_info(name, tensor.elem_type or TensorProto.FLOAT, dims if given is None else list(given)))
    if problems:
        raise UsageError("the model cannot be cut there", problems)
    return values, notes


def _fits(given: Sequence[int], dims: Sequence[int | str]) -> bool:
    return len(given) == len(dims) and all(isinstance(dim, str) or dim == extent for extent, dim in zip(given, dims, strict=True))
