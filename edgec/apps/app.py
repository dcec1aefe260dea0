"""What the interfaces for applications are made of: a model's tensors, its pictures, its labels and its task, as plain facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from edgec.base.errors import Problem, UsageError
from edgec.ir.types import DType
from edgec.program.expr import bound
from edgec.program.program import Port, Program

MOST_BOXES = 1000  # that one call of an application can give
MOST_THREADS = 64  # of an instance in an application


@dataclass(frozen=True)
class Tensor:
    """An input or output as the C package has it. Codes q stand for (q - zero_point) * scale where there is a scale.

    shapes: of a package that takes several sets of shapes, its shape in each; `shape` is that of the first.
    """

    name: str  # the model's own
    identifier: str  # in C
    dtype: DType
    shape: tuple[int, ...]
    scale: float | None = None
    zero_point: int = 0
    shapes: tuple[tuple[int, ...], ...] = ()

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of each set of shapes how many elements it has."""
        return tuple(map(prod, self.shapes))

    @property
    def most_elements(self) -> int:
        """What is enough for every set."""
        return max(self.sizes, default=self.elements)

    def described(self) -> str:
        """Its name, type and shapes, for comments."""
        shapes = "], [".join(", ".join(map(str, extents)) for extents in self.shapes or [self.shape])
        return f"{self.name} {self.dtype.value}[{shapes}]"

    @property
    def bytes(self) -> int:
        return self.elements * self.dtype.bytes


@dataclass(frozen=True)
class Picture:
    """How a picture becomes the input called `input`: brought to height x width by `resize` (as [preprocess] says it), then
    pixel * multiply + add per channel, channels in the order of `color`. raw: the package takes uint8 pixels itself, in RGB order."""

    input: str
    height: int
    width: int
    channels: int
    layout: str  # nchw or nhwc
    raw: bool
    color: str  # rgb, bgr or gray
    resize: str  # crop, stretch, letterbox or none
    shorter: int  # crop: what the shorter side is scaled to first
    anchor: str  # letterbox: center or top-left
    fill: int
    multiply: tuple[float, ...]
    add: tuple[float, ...]
    interpolation: str = "bilinear"  # nearest, bilinear, bicubic or area, as Pillow has them


@dataclass(frozen=True)
class Task:
    """What the answer means: classify, detect, segment or keyword, and which outputs, by their names, say so.

    head: the form of the outputs, which the task's C code reads. classes: how many; the labels are as many, or none.
    height, width: of the mask (segment), or of the input that boxes are measured in (detect).
    activation: what the answer lacks to be a score: softmax, sigmoid or none.
    """

    kind: str
    head: str
    outputs: tuple[str, ...]
    classes: int
    height: int = 0
    width: int = 0
    activation: str = "none"


@dataclass(frozen=True)
class App:
    """A package for an application: `name` is the package's, with which all its C symbols begin."""

    name: str
    precision: str  # int8 or fp32
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    arena_bytes: int
    scratch_bytes: int  # of each thread
    weights_bytes: int
    picture: Picture | None = None
    task: Task | None = None
    labels: tuple[str, ...] = ()
    gpu: str = ""  # vulkan or metal
    stateful: bool = False  # whether a run begins with what the one before left
    sets: int = 0  # of shapes, where a run says which it has
    card: Mapping[str, str] = field(default_factory=dict)  # title, description, version, author, license, url and more, where known

    def input(self, name: str) -> Tensor:
        return next(tensor for tensor in self.inputs if tensor.name == name)

    @property
    def answer_places(self) -> tuple[int, ...]:
        """Which outputs the task reads, in its order, by their places; none without a task."""
        names = [tensor.name for tensor in self.outputs]
        return tuple(names.index(name) for name in (self.task.outputs if self.task else ()))

    @property
    def picture_place(self) -> int:
        """The place of the input that a picture becomes."""
        assert self.picture is not None
        return [tensor.name for tensor in self.inputs].index(self.picture.input)


def tensors(ports: Sequence[Port]) -> tuple[Tensor, ...]:
    return tuple(
        Tensor(port.name, port.identifier, port.dtype, _first_shape(port), port.scale, port.zero_point, port.shapes) for port in ports
    )


def _first_shape(port: Port) -> tuple[int, ...]:
    return port.shapes[0] if port.shapes else tuple(bound(extent) for extent in port.shape)


def refuse_sizes(program: Program, form: str) -> None:
    """Interfaces for applications are made for tensors of one size, or of several that are known."""
    if program.sizes and not any(port.shapes for port in program.ports):
        problems = [
            Problem("is only known when it runs", f"size {size.name}", "pin the shape with --shape NAME=...") for size in program.sizes
        ]
        raise UsageError(f"a package for {form} needs sizes that are fixed", problems)
