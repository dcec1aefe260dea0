"""Pictures in C: include/NAME_picture.h and src/NAME_picture.c, which make the model's input of pixels as calibration did.

Nothing in them needs a C library, so that every form of package that runs the C code can have them.
"""

from __future__ import annotations

from edgec.apps.app import App, Picture, Tensor
from edgec.base.harmless import in_a_comment
from edgec.base.version import __version__
from edgec.emit.c_text import C_TYPES, float_literal
from edgec.emit.constants import ALIGNMENT
from edgec.emit.templates import fill, runtime
from edgec.ir.types import DType

CODES = {DType.INT8: (-128, 127), DType.UINT8: (0, 255)}  # type of an element -> its least and its greatest
SUPPORTS = {"nearest": 0.5, "area": 0.5, "bilinear": 1.0, "bicubic": 2.0}  # how far a filter reaches, in old pixels
MOST = 32768  # pixels in a row or in a column


def has_pictures(app: App) -> bool:
    """Whether one picture makes an input of the model, in a type that has levels."""
    if app.picture is None:
        return False
    tensor = app.input(app.picture.input)
    as_codes = tensor.dtype in CODES and (app.picture.raw or tensor.scale is not None)
    return tensor.shape[0] == 1 and (tensor.dtype is DType.FLOAT32 or as_codes)


def most_bytes(picture: Picture, tensor: Tensor) -> int:
    """Bytes of memory that are enough to fit any picture, none of whose sides is longer than MOST.

    An axis has for each new position 2 numbers and `2 * reach * scale + 3` weights, or `2 * reach + 3` where it grows, and no more
    positions than the input, or than old ones over the scale. The scale is at most that of the longest side, and half as much again
    where a letterbox leaves a single pixel of a side. As many rows as weights of a position are kept.
    """
    reach, width, height = SUPPORTS[picture.interpolation], picture.width, picture.height
    numbers = sum(2 * reach * MOST + (2 * reach + 5) * side for side in (width, height)) + width * picture.channels
    scale = max(1.0, MOST / height, 1.5 * MOST / width)
    rows = min(MOST, 2 * reach * scale + 3)
    values = picture.channels * 256 * tensor.dtype.bytes
    return -(-int(256 + values + 4 * numbers + rows * width * picture.channels) // ALIGNMENT) * ALIGNMENT


def picture_files(app: App) -> dict[str, bytes]:
    """Path -> content; nothing where no picture makes an input."""
    if app.picture is None or not has_pictures(app):
        return {}
    picture, tensor = app.picture, app.input(app.picture.input)
    context = {
        "name": app.name,
        "NAME": app.name.upper(),
        "version": __version__,
        "prologue": runtime("c/prologue.h", app.name).decode().strip(),
        "comment": in_a_comment(tensor.name),
        "picture": picture,
        "centered": picture.resize == "crop" or picture.anchor == "center",
        "c_type": C_TYPES[tensor.dtype],
        "codes": CODES[tensor.dtype] if tensor.scale is not None and not picture.raw else None,
        "scale": None if tensor.scale is None else float_literal(tensor.scale),
        "zero_point": tensor.zero_point,
        "most": MOST,
        "most_bytes": most_bytes(picture, tensor),
        "outside": 0 if picture.resize == "crop" else picture.fill,
        "support": SUPPORTS[picture.interpolation],
        "multiply": ", ".join(map(float_literal, picture.multiply)),
        "add": ", ".join(map(float_literal, picture.add)),
    }
    return {
        f"include/{app.name}_picture.h": fill("apps/picture", "picture.h.j2", context).encode(),
        f"src/{app.name}_picture.c": fill("apps/picture", "picture.c.j2", context).encode(),
    }
