"""What a model's answer means, for `--task`: decided from the outputs' shapes and the operators that make them, and its labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from math import prod
from pathlib import Path

from edgec.apps.app import Task
from edgec.apps.labels import read_labels
from edgec.apps.tasks import grids
from edgec.base.classes import class_count
from edgec.base.errors import ModelError, Problem, UsageError
from edgec.ir.graph import Graph

MOST_ANCHORS, MOST_CANDIDATES = 1 << 24, 1 << 30
MASK_CLASSES = 256

# operators that move or code values, and make no score of them
_MOVES = frozenset(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split", "Gather", "Concat"))
_CODINGS = frozenset(("Identity", "Dropout", "Cast", "Clip", "QuantizeLinear", "DequantizeLinear"))
# operators behind which a head begins
_LAYERS = frozenset(("Conv", "ConvTranspose", "MatMul", "Gemm", "MatMulInteger", "ConvInteger", "LSTM", "GRU", "RNN"))
_ARITHMETIC = frozenset(("Exp", "Mul", "Add", "Sub", "Pow", "Div"))
_PROBABILITIES = frozenset(("Softmax", "Sigmoid", "HardSigmoid"))

_RECOGNIZED = {
    "classify": ("one float output with one value for each class: [1,C], [C] or [1,C,1,1]",),
    "keyword": ("one float output with one value for each word: [1,C], [C] or [1,C,1,1]",),
    "detect": (
        "YOLOX: [1,N,5+C], N cells of grids of strides 8, 16 and 32, decoded or not",
        "YOLOv5 and the like, decoded: [1,N,5+C], N three times those cells",
        "YOLOv8 and the like, decoded: [1,4+C,N]",
        "SSD and the like, decoded: scores [1,N,1+C] (the background first) and boxes [1,N,4] (left, top, right, bottom from 0 to 1)",
    ),
    "segment": (
        "[1,C,H,W] or [1,H,W,C]: a value for each class",
        "[1,1,H,W], [1,H,W,1] or [1,H,W] of floats: one class, and the rest",
        "the same of integers: numbers of classes",
    ),
}


@dataclass(frozen=True)
class Wanted:
    """The kind of task that is asked for, a file of labels, and whether the package's own tensors have their channels last."""

    kind: str
    labels: Path | None = None
    channels_last: bool = False


def find_task(graph: Graph, wanted: Wanted) -> tuple[Task, tuple[str, ...]]:
    """The task of the imported model, and one label for each class or none.

    ModelError with what is recognized and what was found where no output fits, UsageError where the labels don't.
    """
    labels = read_labels(wanted.labels)
    refuse_dynamic(graph, wanted.kind)
    found = list(_FINDERS[wanted.kind](graph, wanted, labels))
    if len(found) != 1:
        outputs = [f"{name!r} {graph.types[name]}" for name in graph.answered]
        problems = [Problem(words, "recognized") for words in _RECOGNIZED[wanted.kind]]
        problems += [Problem(words, "this model has") for words in outputs]
        why = "several outputs fit" if found else "no output fits"
        raise ModelError(
            f"the model's answer is not understood as --task {wanted.kind}: {why}", problems, hint="leave --task out, and read the outputs"
        )
    task = found[0]
    return task, fit_labels(task, labels, wanted.labels)


def find_tasks(graphs: Sequence[Graph], wanted: Wanted) -> tuple[Task, tuple[str, ...]]:
    """The one task of a model that was imported in several sets of shapes, and its labels. As find_task; UsageError where sets differ."""
    task, labels = find_task(graphs[0], wanted)
    for number, graph in enumerate(graphs[1:], 2):
        try:
            found, _ = find_task(graph, wanted)
        except ModelError as error:
            raise ModelError(f"{error.summary}, in set {number} of shapes", error.problems, where=error.where, hint=error.hint) from error
        said = [(field.name, getattr(task, field.name), getattr(found, field.name)) for field in fields(Task)]
        problems = [
            Problem(f"is {other}, and {one} in the first set", f"{name}, set {number} of shapes")
            for name, one, other in said
            if one != other
        ]
        if problems:
            what = f"--task {wanted.kind} is for answers that are alike in all sets of shapes"
            raise UsageError(what, problems, where="--also-shape", hint="build a package for each, or leave --task out")
    return task, labels


def refuse_dynamic(graph: Graph, task: str) -> None:
    """The functions of a task are made for tensors of one size."""
    free = sorted({str(size) for name in (*graph.given, *graph.answered) for size in graph.shape(name) if not isinstance(size, int)})
    if free:
        problems = [Problem("is only known when it runs", f"size {size}", "pin the shape with --shape NAME=...") for size in free]
        raise UsageError(f"--task {task} needs sizes that are fixed", problems)


def fit_labels(task: Task, labels: Sequence[str], path: Path | None) -> tuple[str, ...]:
    """One label for each class, or none. A background that the task itself knows of may be in the file or not."""
    if task.head == "ssd" and len(labels) == task.classes + 1:
        return tuple(labels[1:])
    if task.head == "threshold" and len(labels) == 1:
        return ("background", labels[0])
    if labels and len(labels) != task.classes:
        words = f"holds {len(labels)} labels, and the model has {task.classes} classes"
        raise UsageError(words, where=str(path), hint="give one label in a line, in the order of the classes")
    return tuple(labels)


def _fixed(graph: Graph, value: str) -> tuple[int, ...]:
    return tuple(int(extent) for extent in graph.shape(value))  # type: ignore[arg-type]  # refuse_dynamic has looked


def _head(graph: Graph, output: str) -> frozenset[str]:
    """The operators between the last layers with weights and an output."""
    seen, waiting, operators = set[str](), [output], set[str]()
    while waiting:
        name = waiting.pop()
        node = graph.producer(name)
        if name in seen or node is None or node.op in _LAYERS:
            continue
        seen.add(name)
        operators.add(node.op)
        waiting += node.inputs
    return frozenset(operators)


def activation_of(graph: Graph, output: str, missing: str = "softmax") -> str:
    """What makes scores of an output: "none" where the model's last operator has done it, else `missing`."""
    node = graph.producer(output)
    while node is not None and node.op in _MOVES | _CODINGS:
        node = graph.producer(node.inputs[0])
    normalized = node is not None and node.op == "Div" and graph.producer(node.inputs[0], "Exp") is not None
    return "none" if normalized or (node is not None and node.op in _PROBABILITIES) else missing


Finder = Callable[[Graph, Wanted, Sequence[str]], Iterator[Task]]


def _find_classes(graph: Graph, wanted: Wanted, labels: Sequence[str]) -> Iterator[Task]:
    for name in graph.answered:
        shape = _fixed(graph, name)
        count = class_count(shape, 1) if shape else 0
        if count and graph.dtype(name).is_float:
            yield Task(wanted.kind, "scores", (name,), count, activation=activation_of(graph, name, "softmax" if count > 1 else "sigmoid"))


def _find_mask(graph: Graph, wanted: Wanted, labels: Sequence[str]) -> Iterator[Task]:
    picture = _input_size(graph)
    for name in graph.answered:
        shape, numbers = _fixed(graph, name), not graph.dtype(name).is_float
        if len(shape) not in (3, 4) or shape[0] != 1 or min(shape[-2:]) < 1:
            continue
        layout = "nchw" if len(shape) == 3 else _layout(shape, picture, len(labels))
        planes = 1 if len(shape) == 3 else shape[1 if layout == "nchw" else 3]
        height, width = shape[-2:] if layout == "nchw" else shape[1:3]
        if numbers and planes == 1:
            yield Task("segment", "numbers", (name,), len(labels) or MASK_CLASSES, height, width)
        elif planes == 1:
            yield Task("segment", "threshold", (name,), 2, height, width, activation_of(graph, name, "sigmoid"))
        elif planes <= MASK_CLASSES:
            last = layout == "nhwc" or wanted.channels_last
            yield Task("segment", "nhwc" if last else "nchw", (name,), planes, height, width)


def _layout(shape: Sequence[int], picture: tuple[int, int] | None, labels: int) -> str:
    """Where the classes are: beside two extents in the ratio of the picture, else where there are as many as labels, else the fewest."""
    sides = {"nchw": (shape[2], shape[3], shape[1]), "nhwc": (shape[1], shape[2], shape[3])}
    fits = [name for name, (height, width, _) in sides.items() if picture and height * picture[1] == width * picture[0]]
    if len(fits) == 1:
        return fits[0]
    named = [name for name, (_, _, classes) in sides.items() if classes == labels]
    return named[0] if len(named) == 1 else min(sides, key=lambda name: sides[name][2])


def _input_size(graph: Graph) -> tuple[int, int] | None:
    """Height and width of the first input that is a picture."""
    for name in graph.given:
        shape = _fixed(graph, name)
        if len(shape) == 4 and (shape[1] in (1, 3, 4) or shape[3] in (1, 3, 4)):
            return (shape[2], shape[3]) if shape[1] in (1, 3, 4) else (shape[1], shape[2])
    return None


def _find_boxes(graph: Graph, wanted: Wanted, labels: Sequence[str]) -> Iterator[Task]:
    size = _input_size(graph)
    shapes = {name: _fixed(graph, name) for name in graph.answered if graph.dtype(name).is_float}
    rows = {name: shape[-2:] for name, shape in shapes.items() if len(shape) in (2, 3) and prod(shape) == prod(shape[-2:])}
    if size is None:
        return
    for task in (*_one_output(graph, rows, size), *_two_outputs(graph, rows, size)):
        anchors = rows[task.outputs[-1]][1 if task.head == "columns" else 0]
        if anchors <= MOST_ANCHORS and anchors * task.classes <= MOST_CANDIDATES:
            yield task


def _one_output(graph: Graph, rows: dict[str, tuple[int, ...]], size: tuple[int, int]) -> Iterator[Task]:
    """The YOLO families, told apart by the number of anchors, and by whether the last layer's offsets are made boxes."""
    cells = sum(height * width for height, width, _ in grids(*size))
    coarse = next(height * width for height, width, _ in grids(*size, (64,)))
    for name, (first, last) in rows.items():
        head = _head(graph, name)
        activation, decoded = "none" if head & _PROBABILITIES else "sigmoid", bool(head & _ARITHMETIC)
        if last > 5 and first == cells and not decoded:
            yield Task("detect", "yolox", (name,), last - 5, *size, activation)
        elif last > 5 and first in (cells, 3 * cells, 3 * (cells + coarse)) and decoded:
            yield Task("detect", "rows", (name,), last - 5, *size, activation)
        elif first > 4 and last in (cells, cells + coarse) and decoded:
            yield Task("detect", "columns", (name,), first - 4, *size, activation)


def _two_outputs(graph: Graph, rows: dict[str, tuple[int, ...]], size: tuple[int, int]) -> Iterator[Task]:
    """Scores and boxes of as many anchors. Boxes without arithmetic after the last layer are offsets, or of another form."""
    for scores, (anchors, classes) in rows.items():
        for boxes, (count, sides) in rows.items():
            decoded = bool(_head(graph, boxes) & _ARITHMETIC)
            if scores != boxes and count == anchors and sides == 4 and classes > 1 and decoded and not _named_otherwise(scores, boxes):
                yield Task("detect", "ssd", (scores, boxes), classes - 1, *size, activation_of(graph, scores))


def _named_otherwise(scores: str, boxes: str) -> bool:
    """With three classes and a background both have four columns: then the names say which is which."""
    return "box" in scores.lower() or any(word in boxes.lower() for word in ("score", "conf", "prob", "class", "cls"))


_FINDERS: dict[str, Finder] = {"classify": _find_classes, "keyword": _find_classes, "detect": _find_boxes, "segment": _find_mask}
