"""From pictures to model inputs: one declaration, used for calibration and evaluation, and compiled into packages on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from PIL import Image

from edgec.base.errors import ModelError, Problem, UsageError, did_you_mean
from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, TensorType

RESIZE = ("crop", "stretch", "letterbox", "none")
INTERPOLATION = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "area": Image.Resampling.BOX,
}
CHOICES = {
    "resize": RESIZE,
    "interpolation": tuple(INTERPOLATION),
    "layout": ("auto", "nchw", "nhwc"),
    "color": ("rgb", "bgr", "gray"),
    "anchor": ("center", "top-left"),
}
LONGEST_SIDE = 1 << 14  # of a picture while it is brought to the model's size
ONE_TAP: dict[str, Any] = {"kernel_shape": [1, 1], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0]}


@dataclass(frozen=True)
class Preprocess:
    """The [preprocess] table. A picture is brought to the model's height and width, then `(pixel * scale - mean) / std` per channel.

    size: [height, width], the model's own when empty. resize: `crop` scales the shorter side to `shorter` (the size when 0) and
    cuts out the middle; `stretch` ignores the proportions; `letterbox` keeps them and fills the rest with `fill`, the picture
    lying at `anchor`; `none` takes pictures that fit already. mean and std hold one number or one per channel, in the order of `color`.
    """

    size: tuple[int, ...] = ()
    resize: str = "crop"
    shorter: int = 0
    anchor: str = "center"
    fill: int = 0
    interpolation: str = "bilinear"
    layout: str = "auto"
    color: str = "rgb"
    scale: float = 1.0
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    @property
    def channels(self) -> int:
        return 1 if self.color == "gray" else 3

    @staticmethod
    def parse(table: Mapping[str, Any]) -> Preprocess:
        """Read the table; raises UsageError with everything that is wrong in it."""
        known = {field.name: field.default for field in fields(Preprocess)}
        problems: list[Problem] = []
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in known:
                problems.append(Problem(f"unknown key {key!r}", "[preprocess]", did_you_mean(key, known)))
                continue
            try:
                values[key] = converted(value, known[key])
            except (TypeError, ValueError, OverflowError):
                problems.append(Problem(f"{value!r} does not fit", f"[preprocess] {key}", f"write it like {known[key]!r}"))
        for key, allowed in CHOICES.items():
            if key in values and values[key] not in allowed:
                problems.append(Problem(f"unknown choice {values[key]!r}", f"[preprocess] {key}", did_you_mean(values[key], allowed)))
        problems += wrong_numbers(values)
        if problems:
            raise UsageError("the preprocessing cannot be used", problems)
        return Preprocess(**values)

    def layout_of(self, shape: tuple[int, ...]) -> str:
        """`nchw` or `nhwc` for a model input of `shape`; raises UsageError when neither has the channels."""
        fits = [name for name, axis in (("nchw", 1), ("nhwc", 3)) if len(shape) == 4 and shape[axis] == self.channels]
        layout = self.layout if self.layout != "auto" else (fits or ["none"])[0]
        if layout not in fits:
            raise UsageError(
                f"pictures of {self.channels} channels do not fit an input of shape {list(shape)}",
                hint="set color and layout in [preprocess]",
            )
        return layout

    def extent(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """Height and width of the model input."""
        height, width = shape[2:4] if self.layout_of(shape) == "nchw" else shape[1:3]
        if self.size and tuple(self.size) != (height, width):
            raise UsageError(f"size is {list(self.size)}, the model takes {[height, width]}", where="[preprocess]", hint="leave size out")
        return height, width

    def affine(self) -> tuple[np.ndarray, np.ndarray]:
        """float32 a, b per channel with output = pixel * a + b."""
        std = np.broadcast_to(np.asarray(self.std, np.float64), (self.channels,))
        mean = np.broadcast_to(np.asarray(self.mean, np.float64), (self.channels,))
        return (self.scale / std).astype(np.float32), (-mean / std).astype(np.float32)

    def pixels(self, picture: np.ndarray | Image.Image, shape: tuple[int, ...]) -> np.ndarray:
        """uint8 [height, width, channels] as the model input of `shape` wants them, before the arithmetic."""
        height, width = self.extent(shape)
        image = picture if isinstance(picture, Image.Image) else as_image(picture)
        fitted = fit(image.convert("L" if self.color == "gray" else "RGB"), height, width, self)
        array = np.asarray(fitted, np.uint8).reshape(height, width, self.channels)
        return array[:, :, ::-1] if self.color == "bgr" else array

    def apply(self, picture: np.ndarray | Image.Image, shape: tuple[int, ...]) -> np.ndarray:
        """float32 [1, ...] for a model input of `shape` from a picture, or from uint8 [H, W, C] or [H, W] in RGB order."""
        a, b = self.affine()
        array = self.pixels(picture, shape).astype(np.float32) * a + b
        return np.ascontiguousarray(array.transpose(2, 0, 1)[None] if self.layout_of(shape) == "nchw" else array[None])


def converted(value: Any, default: Any) -> Any:
    """`value` as the type of `default`; one number stands for a list of one."""
    if isinstance(default, tuple):
        kind = float if default else int
        return tuple(kind(item) for item in (value if isinstance(value, (list, tuple)) else [value]))
    if isinstance(default, str) != isinstance(value, str) or isinstance(value, bool):
        raise TypeError
    return type(default)(value)


def wrong_numbers(values: Mapping[str, Any]) -> list[Problem]:
    problems = []
    if len(values.get("size", (1, 1))) not in (0, 2):
        problems.append(Problem("size holds height and width", "[preprocess] size", "write it like [224, 224]"))
    channels = 1 if values.get("color") == "gray" else 3
    for key in ("mean", "std"):
        numbers = values.get(key, (1.0,))
        if len(numbers) not in (1, channels):
            problems.append(Problem(f"{len(numbers)} numbers for {channels} channels", f"[preprocess] {key}"))
    for key, most in (("shorter", LONGEST_SIDE), ("fill", 255)):
        if not 0 <= values.get(key, 0) <= most:
            problems.append(Problem(f"{values[key]} is not from 0 to {most}", f"[preprocess] {key}"))
    if any(number == 0 for number in values.get("std", ())):
        problems.append(Problem("a standard deviation of 0", "[preprocess] std"))
    return problems


def as_image(array: np.ndarray) -> Image.Image:
    if array.dtype != np.uint8 or array.ndim not in (2, 3):
        raise UsageError(f"{array.dtype} {list(array.shape)} is not a picture", hint="pictures are uint8 [height, width, channels]")
    return Image.fromarray(array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array)


def fit(image: Image.Image, height: int, width: int, how: Preprocess) -> Image.Image:
    """The picture at the model's size."""
    if image.size == (width, height):
        return image
    method = INTERPOLATION[how.interpolation]
    if how.resize == "none":
        raise UsageError(
            f"a picture of {image.size[1]}x{image.size[0]}, the model takes {height}x{width}", hint="set resize in [preprocess]"
        )
    if how.resize == "stretch":
        return image.resize((width, height), method)
    across, down = width / image.size[0], height / image.size[1]
    ratio = min(across, down) if how.resize == "letterbox" else max(across, down, how.shorter / min(image.size))
    scaled = image.resize((max(1, round(image.size[0] * ratio)), max(1, round(image.size[1] * ratio))), method)
    left, top = (scaled.size[0] - width) // 2, (scaled.size[1] - height) // 2
    if how.resize == "crop":
        return scaled.crop((left, top, left + width, top + height))
    canvas = Image.new(image.mode, (width, height), how.fill if image.mode == "L" else (how.fill,) * 3)
    canvas.paste(scaled, (0, 0) if how.anchor == "top-left" else (-left, -top))
    return canvas


def fuse(graph: Graph, how: Preprocess) -> Graph:
    """Let the model take uint8 [1, height, width, channels] in RGB order, in place.

    Colour order, arithmetic and layout become its first nodes.
    The arithmetic is a depthwise convolution of one tap, which quantizes without loss, where the model is in NCHW; else a Mul and an Add.
    """
    from edgec.ops.proto import canonical_attributes  # loads onnx

    pictures = [name for name in graph.given if len(graph.shape(name)) == 4 and graph.dtype(name) is DType.FLOAT32]
    if len(pictures) != 1:
        raise ModelError(f"{len(pictures)} inputs could be pictures, one is needed", hint="leave --fuse-preprocess out")
    name = pictures[0]
    shape = graph.types[name].static_shape
    layout, (height, width) = how.layout_of(shape), how.extent(shape)
    inner = graph.fresh(f"{name}_normalized")
    for node in graph.nodes:
        node.inputs = [inner if value == name else value for value in node.inputs]
    graph.types[inner] = graph.types[name]
    graph.types[name] = TensorType(DType.UINT8, (shape[0], height, width, how.channels))
    graph.touched()
    first = graph.nodes[0] if graph.nodes else None
    current = name

    def step(op: str, inputs: list[str], extents: tuple[int, ...], kind: DType, last: bool = False, **attributes: Any) -> str:
        output = inner if last else graph.fresh(f"{name}_{op.lower()}")
        node = Node(op, inputs, [output], canonical_attributes(op, attributes), f"{name}_preprocess_{op.lower()}")
        graph.insert(node, [TensorType(kind, extents)], before=first)
        return output

    pixels = (shape[0], height, width, how.channels)
    if how.color == "bgr":
        order = graph.add_constant(f"{name}_order", np.array([2, 1, 0], np.int64))
        current = step("Gather", [current, order], pixels, DType.UINT8, axis=3)
    a, b = how.affine()
    current = step("Cast", [current], pixels, DType.FLOAT32, to="float32")
    if layout == "nchw":
        weights = graph.add_constant(f"{name}_scale", a.reshape(-1, 1, 1, 1))
        bias = graph.add_constant(f"{name}_shift", b)
        current = step("Transpose", [current], shape, DType.FLOAT32, perm=[0, 3, 1, 2])
        window = {"kernel_shape": [1, 1], "strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1]}
        step("Conv", [current, weights, bias], shape, DType.FLOAT32, True, group=how.channels, **window)
        return graph
    current = step("Mul", [current, graph.add_constant(f"{name}_scale", a)], shape, DType.FLOAT32)
    step("Add", [current, graph.add_constant(f"{name}_shift", b)], shape, DType.FLOAT32, True)
    return graph
