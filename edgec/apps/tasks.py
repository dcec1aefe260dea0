"""C functions that read a model's answer: include/NAME_task.h and src/NAME_task.c, from a Task, the Program's outputs and the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from edgec.apps.app import Task, Tensor, tensors
from edgec.base.harmless import in_a_comment
from edgec.base.version import __version__
from edgec.emit.c_text import C_TYPES, float_literal, text_literal
from edgec.emit.render_c import HALVES
from edgec.emit.templates import fill, runtime
from edgec.ir.types import DType
from edgec.package.draft import Draft
from edgec.package.manifest import sha256
from edgec.package.parts import Labels, TaskFacts
from edgec.program.program import Program

KEYWORD_ANSWERS = 4
MASK_BLOCK = 256  # pixels whose best classes are looked for together
STRIDES = (8, 16, 32)  # of the grids of anchors
PARAMETERS = {1: ("answer",), 2: ("scores", "places")}  # how the functions call the outputs that they read
Context = dict[str, Any]

_SUMMARIES = {
    "classify": "the classes that the model is most sure of",
    "keyword": "the word that was spoken lately",
    "detect": "boxes around the things in a picture",
    "segment": "the class of each pixel",
}
_SCORES = {
    "softmax": "Scores are the softmax of the answer.",
    "sigmoid": "Scores are the sigmoid of the answer.",
    "none": "Scores are the answer's own.",
}


def task_files(program: Program, task: Task, labels: Sequence[str]) -> dict[str, bytes]:
    """Path -> content. `labels` are none, or one for each class."""
    name, outputs = program.name, tensors(program.outputs)
    found = [next(tensor for tensor in outputs if tensor.name == wanted) for wanted in task.outputs]
    context = _context(name, task, labels, found)
    header = fill("apps/task", "task.h.j2", context).encode()
    return {f"include/{name}_task.h": header, f"src/{name}_task.c": fill("apps/task", "task.c.j2", context).encode()}


def add_task(draft: Draft, program: Program, task: Task, labels: Sequence[str]) -> Draft:
    """The package with the task's functions."""
    size = (task.height, task.width) if task.height else (None, None)
    facts = TaskFacts(task.kind, task.head, task.activation, tuple(task.outputs), task.classes, *size)
    text = "".join(f"{label}\n" for label in labels).encode()
    known = Labels(len(labels), sha256(text)) if labels else None
    return draft.plus(task_files(program, task, labels), replace(draft.manifest, task=facts, labels=known))


def grids(height: int, width: int, strides: Sequence[int] = STRIDES) -> list[tuple[int, int, int]]:
    """Rows, columns and stride of each grid of anchors over an input."""
    return [(-(-height // stride), -(-width // stride), stride) for stride in strides]


def _context(name: str, task: Task, labels: Sequence[str], found: Sequence[Tensor]) -> Context:
    outputs = [_output(tensor, parameter) for tensor, parameter in zip(found, PARAMETERS[len(found)], strict=True)]
    common: Context = {
        "name": name,
        "NAME": name.upper(),
        "version": __version__,
        "prologue": runtime("c/prologue.h", name).decode().strip(),
        "summary": _SUMMARIES[task.kind],
        "kind": task.kind,
        "head": task.head,
        "activation": task.activation,
        "classes": task.classes,
        "height": task.height,
        "width": task.width,
        "labels": [text_literal(label) for label in labels],
        "outputs": outputs,
        "answer": outputs[0],
    }
    return common | _KINDS[task.kind](task, found, outputs)


def _output(tensor: Tensor, identifier: str) -> Context:
    """How C reads an output as floats."""
    shape = ",".join(map(str, tensor.shape))
    return {
        "identifier": identifier,
        "c_type": C_TYPES[tensor.dtype],
        "read": f"task_read_{identifier}",
        "value": _value(tensor, f"{identifier}[i]"),
        "comment": in_a_comment(f"{tensor.name} {tensor.dtype.value}[{shape}]"),
    }


def _value(tensor: Tensor, element: str) -> str:
    if tensor.scale is not None:
        return f"(float)((int32_t){element} - {tensor.zero_point}) * {float_literal(tensor.scale)}".replace("- -", "+ ")
    if tensor.dtype in HALVES:
        return f"edgec_{HALVES[tensor.dtype]}_to_float({element})"
    return element if tensor.dtype is DType.FLOAT32 else f"(float){element}"


def _classify(task: Task, found: Sequence[Tensor], outputs: Sequence[Context]) -> Context:
    return {"bounded": task.activation != "none", "score_words": _SCORES[task.activation], "answers": KEYWORD_ANSWERS}


def _segment(task: Task, found: Sequence[Tensor], outputs: Sequence[Context]) -> Context:
    pixels = task.height * task.width
    words = {
        "threshold": "1 where the answer is above " + ("a half" if task.activation == "none" else "0"),
        "numbers": "the answer itself",
    }
    last = task.head == "nhwc"
    return {
        "pixels": pixels,
        "block": min(MASK_BLOCK, pixels),
        "threshold": "0.5f" if task.activation == "none" else "0.0f",
        "mask_words": words.get(task.head, "the one with the highest value; the lower class where two are equal"),
        "pixel_index": f"pixel * {task.classes}" if last else "pixel",
        "class_index": "i" if last else f"i * {pixels}",
    }


def _detect(task: Task, found: Sequence[Tensor], outputs: Sequence[Context]) -> Context:
    scores, places = outputs[0], outputs[-1]
    shape = [tensor.shape[-2:] for tensor in found]
    columns = task.head == "columns"
    anchors, fields = shape[0][::-1] if columns else shape[0]
    stride, field = (1, anchors) if columns else (fields, 1)
    background = fields - task.classes  # what stands before the scores: the box and the objectness, or the background
    read = f"{scores['read']}({scores['identifier']}, first + {4 * field})"
    value = {"none": "x", "sigmoid": "edgec_sigmoidf(x)", "softmax": "edgec_expf(x - top) / sum"}[task.activation]
    objectness = (read if task.activation == "none" else f"edgec_sigmoidf({read})") if background == 5 else None
    return {
        "anchors": anchors,
        "candidates": anchors * task.classes,
        "scores": scores | {"anchor_stride": stride, "fields": fields},
        "places": places | {"anchor_stride": stride if len(found) == 1 else 4, "field_stride": field},
        "objectness": objectness,
        "score_index": f"{background * field} + k * {field}" if field > 1 else f"{background} + k",
        "score": value if objectness is None else f"objectness * {value}",
        "levels": _levels(task) if task.head == "yolox" else [],
        "height_literal": float_literal(task.height),
        "width_literal": float_literal(task.width),
        "detect_parameters": ", ".join(f"const {item['c_type']} *{item['identifier']}" for item in outputs),
        "detect_arguments": ", ".join(item["identifier"] for item in outputs),
        "nothing": " || ".join(f"{item['identifier']} == NULL" for item in outputs),
    }


def _levels(task: Task) -> list[Context]:
    begin, levels = 0, []
    for rows, columns, stride in grids(task.height, task.width):
        levels.append({"begin": begin, "columns": columns, "stride": float_literal(stride)})
        begin += rows * columns
    return levels


_KINDS = {"classify": _classify, "keyword": _classify, "detect": _detect, "segment": _segment}
