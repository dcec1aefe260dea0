"""Pictures in C: include/NAME_picture.h and src/NAME_picture.c, which make the model's input of pixels as calibration did.

Nothing in them needs a C library, so that every form of package that runs the C code can have them.
"""

from __future__ import annotations

from edgec.apps.app import App
from edgec.base.harmless import in_a_comment
from edgec.base.version import __version__
from edgec.emit.c_text import C_TYPES, float_literal
from edgec.emit.templates import fill, runtime
from edgec.ir.types import DType

CODES = {DType.INT8: (-128, 127), DType.UINT8: (0, 255)}  # type of an element -> its least and its greatest
SUPPORTS = {"nearest": "0.5", "area": "0.5", "bilinear": "1.0", "bicubic": "2.0"}  # how far a filter reaches, in old pixels


def has_pictures(app: App) -> bool:
    """Whether one picture makes an input of the model, in a type that has levels."""
    if app.picture is None:
        return False
    tensor = app.input(app.picture.input)
    as_codes = tensor.dtype in CODES and (app.picture.raw or tensor.scale is not None)
    return tensor.shape[0] == 1 and (tensor.dtype is DType.FLOAT32 or as_codes)


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
        "outside": 0 if picture.resize == "crop" else picture.fill,
        "support": SUPPORTS[picture.interpolation],
        "multiply": ", ".join(map(float_literal, picture.multiply)),
        "add": ", ".join(map(float_literal, picture.add)),
    }
    return {
        f"include/{app.name}_picture.h": fill("apps/picture", "picture.h.j2", context).encode(),
        f"src/{app.name}_picture.c": fill("apps/picture", "picture.c.j2", context).encode(),
    }
