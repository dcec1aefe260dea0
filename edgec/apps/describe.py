"""From what a build made, and what it says of pictures, to the facts that interfaces for applications are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgec.apps.app import App, Picture, Task, refuse_sizes, tensors
from edgec.ir.graph import Graph
from edgec.package.manifest import Manifest
from edgec.program.program import Port, Program
from edgec.quant.given.preprocess import Preprocess
from edgec.targets import Target


@dataclass(frozen=True)
class Pictures:
    """How calibration made inputs of pictures, whether the package does so itself, and whether its own tensors have their channels last."""

    how: Preprocess
    fused: bool = False
    channels_last: bool = False


def describe_app(
    program: Program, target: Target, manifest: Manifest, pictures: Pictures | None, task: Task | None = None, labels: Sequence[str] = ()
) -> App:
    """A package, made of a planned Program, as an application's developer sees it."""
    refuse_sizes(program, target.form or "an application")
    return App(
        program.name,
        manifest.precision,
        tensors(program.inputs),
        tensors(program.outputs),
        manifest.arena.bytes,
        manifest.arena.scratch_bytes_per_thread,
        manifest.weights.bytes,
        picture_of(program.inputs, pictures),
        task,
        tuple(labels),
        manifest.gpu.api if manifest.gpu and manifest.gpu.shaders else "",
        bool(program.states),
        max((len(port.shapes) for port in program.ports), default=0),
        manifest.card,
    )


def picture_of(inputs: Sequence[Port], pictures: Pictures | None) -> Picture | None:
    """What [preprocess] says of the one input that pictures fit; None without that table."""
    place = picture_input([(tensor.name, tensor.shape) for tensor in tensors(inputs)], pictures)
    if place is None or pictures is None:
        return None
    how = pictures.how
    name, layout, shape = place
    height, width = shape[1:3] if layout == "nhwc" else shape[2:4]
    multiply, add = how.affine()
    color = "rgb" if pictures.fused and how.color == "bgr" else how.color
    return Picture(
        name, height, width, how.channels, layout, pictures.fused, color, how.resize, how.shorter, how.anchor, how.fill,
        tuple(float(number) for number in multiply), tuple(float(number) for number in add),
        how.interpolation,
    )  # fmt: skip


def check_pictures(graph: Graph, pictures: Pictures | None) -> None:
    """UsageError when [preprocess] speaks of other pictures than the imported model takes."""
    shapes = [(name, graph.shape(name)) for name in graph.given]
    fixed = [(name, tuple(size for size in shape if isinstance(size, int))) for name, shape in shapes]
    if pictures is not None and all(len(shape) == len(sizes) for (_, shape), (_, sizes) in zip(shapes, fixed, strict=True)):
        picture_input(fixed, replace(pictures, channels_last=False))


def picture_input(inputs: Sequence[tuple[str, tuple[int, ...]]], pictures: Pictures | None) -> tuple[str, str, tuple[int, ...]] | None:
    """Name, layout (nchw or nhwc) and shape of the first input that pictures fit; None without [preprocess] or an input of four axes.

    UsageError where such inputs have other channels than the pictures.
    """
    found = [(name, shape) for name, shape in inputs if len(shape) == 4]
    if pictures is None or not found:
        return None
    how, last = pictures.how, pictures.fused or pictures.channels_last
    fitting = [(name, shape) for name, shape in found if how.channels in (shape[3:] if last else (shape[1], shape[3]))]
    name, shape = (fitting or found)[0]
    return name, "nhwc" if last and fitting else how.layout_of(shape), shape
