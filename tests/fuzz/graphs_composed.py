"""Drawers of operators that the import writes as others: equations, samples, regions, columns, spectra, determinants, running sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.graphs_draft import FLOAT, Draft, Misfit
from tests.fuzz.graphs_pointwise import Drawer

# of one operand, of two and of three; extents by letter
EQUATIONS = (
    "ii->i", "iij->ji", "ij->ji", "ijk->k", "ij,jk->ik", "bij,bjk->bik", "ij,ij->", "i,j->ij", "bhwc,hkc->bhwk", "abc,cd->abd",
    "ij,jk,kl->il", "i...->...", "...ij->...ji", "...ij,...jk->...ik", "ij,jk", "ijk,ij->k",
)  # fmt: skip


def einsum(d: Draft, op: str) -> None:
    d.since(12)
    equation = d.pick(*EQUATIONS)
    extents = {letter: d.number(1, 5) for letter in sorted(set(equation)) if letter.isalpha()}
    hidden = d.extents(0, 2, 3)
    operands = []
    for word in equation.split("->")[0].split(","):
        before, dots, after = word.partition("...")
        shape = (*(extents[letter] for letter in before), *(hidden if dots else ()), *(extents[letter] for letter in after))
        operands.append(d.data((FLOAT,), len(shape), len(shape), where=lambda s, w=shape: s == w, make=lambda w=shape: w, constant=0.3))
    d.op(op, *operands, equation=equation)


def picture(d: Draft, rank: int = 2) -> str:
    return d.data((FLOAT,), rank + 2, rank + 2, make=lambda: (d.number(1, 2), d.number(1, 4), *(d.number(1, 6) for _ in range(rank))))


def grid_sample(d: Draft, op: str) -> None:
    """By constant grids: of a place that is no number ONNX Runtime makes an address."""
    d.since(20)
    rank, padding = d.pick(2, 2, 3), d.pick("zeros", "border", "reflection")
    x, mode = picture(d, rank), d.pick("linear", "nearest", "cubic") if rank == 2 else d.pick("linear", "nearest")
    grid = d.const(d.g.uniform(-1.6, 1.6, (d.shape(x)[0], *(d.number(1, 4) for _ in range(rank)), rank)), FLOAT)
    d.op(op, x, grid, mode=mode, padding_mode=padding, align_corners=d.number(0, 1))


def regions(d: Draft) -> np.ndarray:
    corner = d.g.uniform(-2, 8, (d.number(1, 4), 2))
    return np.concatenate([corner, corner + d.g.uniform(0, 9, corner.shape)], 1)


def roi_align(d: Draft, op: str) -> None:
    d.since(16)
    x, rois = picture(d), regions(d)
    images = d.const(d.g.integers(0, d.shape(x)[0], len(rois)), np.int64)
    given: dict[str, Any] = {"output_height": d.number(1, 3), "output_width": d.number(1, 3), "spatial_scale": d.pick(1.0, 0.5)}
    given |= {"sampling_ratio": d.number(0, 3), "coordinate_transformation_mode": d.pick("half_pixel", "output_half_pixel")}
    given |= {"mode": "avg" if not given["sampling_ratio"] else d.pick("avg", "max")}
    d.op(op, x, d.const(rois, FLOAT), images, **given)


def max_roi_pool(d: Draft, op: str) -> None:
    x, rois = picture(d), regions(d)
    images = d.g.integers(0, d.shape(x)[0], (len(rois), 1))
    whole = d.const(np.concatenate([images, np.round(rois)], 1), FLOAT)
    d.op(op, x, whole, pooled_shape=[d.number(1, 3), d.number(1, 3)], spatial_scale=d.pick(1.0, 0.5))


def col2im(d: Draft, op: str) -> None:
    d.since(18)
    block, counts = ([d.number(1, 3) for _ in range(2)] for _ in range(2))
    strides, dilations, pads = ([d.number(1, 2) for _ in range(2)], [d.number(1, 2) for _ in range(2)], [d.number(0, 1) for _ in range(4)])
    reach = [(k - 1) * n + 1 for k, n in zip(block, dilations, strict=True)]
    image = [(counts[a] - 1) * strides[a] + reach[a] - pads[a] - pads[a + 2] for a in range(2)]
    if min(image) < 1:
        pads, image = [0] * 4, [extent + pads[a] + pads[a + 2] for a, extent in enumerate(image)]
    shape = (d.number(1, 2), block[0] * block[1] * d.number(1, 3), counts[0] * counts[1])
    x = d.data((FLOAT,), 3, 3, where=lambda s: s == shape, make=lambda: shape)
    operands = (d.const(image, np.int64), d.const(block, np.int64))
    d.op(op, x, *operands, strides=strides, dilations=dilations, pads=pads)


def dft(d: Draft, op: str) -> None:
    d.since(20)
    parts = d.pick(1, 1, 2)
    x = d.data((FLOAT,), 2, 4, where=lambda s: s[-1] == parts, make=lambda: (*d.extents(0, 2), d.number(1, 20), parts))
    inverse = d.number(0, 1) if parts == 2 else 0
    axis = d.const(d.number(-d.rank(x), -2), np.int64)
    length = d.const(d.number(1, 24), np.int64) if d.chance(0.3) else ""
    d.op(op, x, length, axis, inverse=inverse, onesided=d.number(0, 1) if parts == 1 else 0)


def stft(d: Draft, op: str) -> None:
    d.since(17)
    length, step = d.number(2, 8), d.number(1, 4)
    x = d.data((FLOAT,), 3, 3, where=lambda s: s[1] >= length and s[2] == 1, make=lambda: (d.number(1, 2), d.number(length, 30), 1))
    window = d.const(d.g.uniform(0, 1, length), FLOAT)
    d.op(op, x, d.const(step, np.int64), window, d.const(length, np.int64), onesided=d.number(0, 1))


def det(d: Draft, op: str) -> None:
    d.since(11)
    rows = d.number(1, 5)
    d.op(op, d.data((FLOAT,), 2, 4, where=lambda s: s[-1] == s[-2], make=lambda: (*d.extents(0, 2, 3), rows, rows)))


def lp_pool(d: Draft, op: str) -> None:
    d.since(18)
    x = picture(d)
    kernel = [d.number(1, min(3, extent)) for extent in d.shape(x)[2:]]
    strides = [d.number(1, k) for k in kernel]
    d.op(op, x, kernel_shape=kernel, strides=strides, p=d.number(1, 3), ceil_mode=d.number(0, 1))


def global_lp_pool(d: Draft, op: str) -> None:
    """ONNX Runtime lacks that of set 22."""
    if d.opset >= 22:
        raise Misfit("not there")
    d.op(op, picture(d, d.pick(1, 2, 3)), p=d.number(1, 3))


def running(d: Draft, op: str) -> None:
    d.since(11 if op == "CumSum" else 26)
    x = d.data((FLOAT,) if d.chance(0.7) else (np.int32, np.int64), 1, 4)
    d.op(op, x, d.const(d.axis(x), d.pick(np.int32, np.int64)), exclusive=d.number(0, 1), reverse=d.number(0, 1))


def deform_conv(d: Draft, op: str) -> None:
    """By constant offsets, as by constant grids."""
    d.since(19)
    groups, parts = d.pick(1, 1, 2), d.pick(1, 1, 2)
    least = groups * parts
    x = d.data((FLOAT,), 4, 4, where=lambda s: s[1] % least == 0, make=lambda: (d.number(1, 2), least, d.number(1, 6), d.number(1, 6)))
    (batch, channels, *image), kernel = d.shape(x), [d.number(1, 3) for _ in range(2)]
    strides, dilations, pads = ([d.number(1, 2) for _ in range(2)], [d.number(1, 2) for _ in range(2)], [d.number(0, 2) for _ in range(4)])
    reach = [(k - 1) * n + 1 for k, n in zip(kernel, dilations, strict=True)]
    places = [(image[a] + pads[a] + pads[a + 2] - reach[a]) // strides[a] + 1 for a in range(2)]
    if min(places) < 1:
        raise Misfit("no place for the window")
    taps, outputs = kernel[0] * kernel[1], groups * d.number(1, 2)
    w = d.numbers((outputs, channels // groups, *kernel))
    offset = d.const(d.g.uniform(-2, 2, (batch, 2 * parts * taps, *places)), FLOAT)
    bias = d.numbers((outputs,)) if d.chance(0.5) else ""
    mask = d.const(d.g.uniform(0, 1, (batch, parts * taps, *places)), FLOAT) if d.chance(0.5) else ""
    given = {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads, "group": groups, "offset_group": parts}
    d.op(op, x, w, offset, bias, mask, **given)


def conv_computed(d: Draft, op: str) -> None:
    """With weights that are data too."""
    x = picture(d)
    kernel = [d.number(1, min(3, extent)) for extent in d.shape(x)[2:]]
    d.op("Conv", x, d.input(FLOAT, (d.number(1, 3), d.shape(x)[1], *kernel)), pads=[d.number(0, 1) for _ in range(4)])


COMPOSED: dict[str, Drawer] = {
    "Einsum": einsum, "GridSample": grid_sample, "RoiAlign": roi_align, "MaxRoiPool": max_roi_pool, "Col2Im": col2im, "DFT": dft,
    "STFT": stft, "Det": det, "LpPool": lp_pool, "GlobalLpPool": global_lp_pool, "DeformConv": deform_conv,
    **dict.fromkeys(("CumSum", "CumProd"), running), "Conv of computed weights": conv_computed,
}  # fmt: skip
