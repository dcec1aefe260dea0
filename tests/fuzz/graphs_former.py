"""Drawers of operators that stood among ONNX's own before set 7, which ONNX Runtime takes in models of the sets up to 9."""

from __future__ import annotations

from tests.fuzz.graphs_draft import FLOAT, Draft, Misfit
from tests.fuzz.graphs_pointwise import Drawer, real

LAST = 9
NAMES = {"Affine": ("alpha", "beta"), "Scale": ("scale",), "ParametricSoftplus": ("alpha", "beta"), "ScaledTanh": ("alpha", "beta")}


def old(d: Draft) -> None:
    if d.opset > LAST:
        raise Misfit("removed")


def scaled(d: Draft, op: str) -> None:
    old(d)
    d.op(op, d.data(), **{name: real(d) for name in NAMES[op]})


def image(d: Draft, least: int = 1) -> str:
    return d.data((FLOAT,), 4, 4, where=lambda s: min(s[2:]) >= least,
                  make=lambda: (d.number(1, 2), d.number(1, 4), d.number(least, 6), d.number(least, 6)))  # fmt: skip


def image_scaler(d: Draft, op: str) -> None:
    old(d)
    x = image(d)
    d.op(op, x, scale=real(d), bias=[real(d) for _ in range(d.shape(x)[1])])


def crop(d: Draft, op: str) -> None:
    """A border on each side, or a corner and an extent."""
    old(d)
    x = image(d, 2)
    height, width = d.shape(x)[2:]
    left, top = d.number(0, width - 1), d.number(0, height - 1)
    if d.chance(0.5):
        d.op(op, x, border=[left, top, d.number(0, width - 1 - left), d.number(0, height - 1 - top)])
    else:
        d.op(op, x, border=[left, top, 0, 0], scale=[d.number(1, height - top), d.number(1, width - left)])


FORMER: dict[str, Drawer] = {**dict.fromkeys(NAMES, scaled), "ImageScaler": image_scaler, "Crop": crop}
