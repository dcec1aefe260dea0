"""Operators that the import writes as others, where ONNX's cases leave something out: axes, attributes, borders, odd lengths."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from tests.operators.case import Case
from tests.operators.own_cases import Net, by_reference, single


@cache
def composed_cases() -> tuple[Case, ...]:
    groups = (_equations, _volumes, _computed_weights, _pools, _grids, _regions, _columns, _resizes, _spectra, _determinants)
    return tuple(case for group in groups for case in group())


def _equations() -> Iterator[Case]:
    rows: list[tuple[str, list[Any]]] = [
        ("ij,jk", [(3, 4), (4, 5)]), ("iij->ji", [(3, 3, 4)]), ("ii", [(4, 4)]), ("i,j,k->kij", [(2,), (3,), (4,)]),
        ("abc,cd,de->abe", [(2, 3, 4), (4, 5), (5, 6)]), ("bhwc,hkc->bhwk", [(2, 3, 4, 5), (3, 6, 5)]), ("i...->...", [(3, 4, 5)]),
        ("b n h w, n d -> b d h w", [(2, 3, 4, 5), (3, 6)]), ("...ij,...jk->...ik", [(2, 2, 3, 4), (2, 2, 4, 5)]),
        ("abcd,abcd->bd", [(2, 3, 4, 5), (2, 3, 4, 5)]), ("ij,ij->", [(3, 4), (3, 4)]),
    ]  # fmt: skip
    for equation, shapes in rows:
        yield single(f"einsum_{equation}", "Einsum", shapes, equation=equation)
    whole = [np.arange(12).reshape(3, 4), np.arange(20).reshape(4, 5)]
    yield single("einsum_of_integers", "Einsum", whole, equation="ij,jk->ki")


def _volumes() -> Iterator[Case]:
    rows: list[tuple[int, dict[str, Any]]] = [
        (1, {}), (2, {"strides": [2, 1, 2], "pads": [1, 0, 1, 0, 1, 1]}), (4, {"dilations": [2, 1, 1], "pads": [2, 0, 0, 1, 0, 0]}),
    ]  # fmt: skip
    for serial, (group, attributes) in enumerate(rows):
        net = Net(f"conv_volume_{serial}", (2, 4, 6, 5, 4))
        yield net.case(net.node("Conv", "x0", net.normal(8, 4 // group, 3, 2, 3), net.normal(8), group=group, **attributes))
        net = Net(f"transposed_volume_{serial}", (2, 4, 3, 4, 5))
        yield net.case(net.node("ConvTranspose", "x0", net.normal(4, 3, 3, 2, 3), net.normal(3 * group), group=group, **attributes))
    for stride, kernel, pad, dilation in ((1, 2, 0, 1), (3, 2, 1, 1), (4, 3, 1, 2), (2, 5, 3, 1), (5, 1, 0, 1)):
        net = Net(f"transposed_depth_{stride}_{kernel}_{pad}_{dilation}", (1, 2, 4, 2, 3))
        attributes = {"strides": [stride, 1, 1], "pads": [pad, 0, 0, pad, 0, 0], "dilations": [dilation, 1, 1]}
        yield net.case(net.node("ConvTranspose", "x0", net.normal(2, 3, kernel, 1, 2), **attributes))


def _computed_weights() -> Iterator[Case]:
    for group, rank in product((1, 2), (1, 2, 3)):
        image, kernel = (7, 8, 5)[:rank], (3, 2, 2)[:rank]
        given = {"strides": [2, 1, 1][:rank], "pads": [1, 0, 1][:rank] * 2, "dilations": [1, 2, 1][:rank], "group": group}
        yield single(f"conv_computed_{group}_{rank}", "Conv", [(2, 4, *image), (6, 4 // group, *kernel), (6,)], **given)
        shapes: list[Any] = [(2, 4, *image), (4, 3, *kernel), (3 * group,)]
        yield single(f"transposed_computed_{group}_{rank}", "ConvTranspose", shapes, output_padding=[1, 0, 0][:rank], **given)


def _pools() -> Iterator[Case]:
    window = {"kernel_shape": [3, 2, 3], "strides": [2, 2, 2], "pads": [1, 0, 1, 1, 1, 1]}
    for ceil in (0, 1):
        yield single(f"max_pool_volume_{ceil}", "MaxPool", [(2, 3, 6, 7, 8)], ceil_mode=ceil, **window)
        for counted in (0, 1):
            given = {**window, "ceil_mode": ceil, "count_include_pad": counted}
            yield single(f"average_pool_volume_{ceil}_{counted}", "AveragePool", [(2, 3, 6, 7, 8)], **given)
        yield single(f"lp_pool_volume_{ceil}", "LpPool", [(2, 3, 6, 7, 8)], ceil_mode=ceil, **window)
        yield single(f"lp_pool_{ceil}", "LpPool", [(2, 3, 7, 8)], kernel_shape=[3, 2], strides=[2, 2], ceil_mode=ceil, p=3)
    yield single("max_pool_volume_same", "MaxPool", [(1, 3, 5, 6, 7)], kernel_shape=[2, 3, 2], strides=[2, 2, 2], auto_pad="SAME_UPPER")


def _grids() -> Iterator[Case]:
    for mode, padding, align in product(("linear", "nearest", "cubic"), ("zeros", "border", "reflection"), (0, 1)):
        given = {"mode": mode, "padding_mode": padding, "align_corners": align}
        generator = np.random.default_rng(7)
        grid = generator.uniform(-1.7, 1.7, (2, 5, 6, 2)).astype(np.float32)
        yield single(f"grid_{mode}_{padding}_{align}", "GridSample", [(2, 3, 7, 9), grid], **given)
        if mode != "cubic":
            grid = generator.uniform(-1.7, 1.7, (1, 2, 3, 4, 3)).astype(np.float32)
            yield single(f"grid_volume_{mode}_{padding}_{align}", "GridSample", [(1, 5, 4, 5, 6), grid], **given)
    far = np.array([[[[1e4, -1e5], [-1e5, 0.1], [0.2, 1e6]]]], np.float32)
    for padding in ("zeros", "border"):
        yield single(f"grid_far_{padding}", "GridSample", [(1, 2, 4, 5), far], mode="linear", padding_mode=padding)


def _regions() -> Iterator[Case]:
    generator = np.random.default_rng(3)
    corner, size = generator.uniform(-3, 12, (6, 2)), generator.uniform(0, 14, (6, 2))
    rois, images = np.concatenate([corner, corner + size], 1).astype(np.float32), np.array([0, 1, 1, 0, 1, 0])
    for mode, count, half in product(("avg", "max"), (0, 1, 3), ("half_pixel", "output_half_pixel")):
        if count or mode == "avg":
            given = {"mode": mode, "sampling_ratio": count, "coordinate_transformation_mode": half, "spatial_scale": 0.7}
            name = f"regions_{mode}_{count}_{half}"
            yield single(name, "RoiAlign", [(2, 3, 9, 11), rois, images], output_height=3, output_width=4, **given)
    given = {"sampling_ratio": 0, "output_height": 2, "output_width": 3}
    yield single("regions_of_one_image", "RoiAlign", [(1, 3, 9, 11), rois, images * 0], **given)
    whole = np.concatenate([images[:, None], rois], 1).astype(np.float32)
    yield single("largest_of_regions", "MaxRoiPool", [(2, 3, 9, 11), whole], pooled_shape=[3, 4], spatial_scale=0.7)


def _columns() -> Iterator[Case]:
    rows: list[tuple[int, list[int], list[int], dict[str, Any]]] = [
        (25, [6, 8], [2, 4], {}), (12, [6, 8], [2, 3], {"strides": [2, 3], "pads": [1, 0, 1, 1]}),
        (24, [6, 8], [3, 3], {"dilations": [1, 2], "pads": [0, 1, 0, 1]}),
    ]  # fmt: skip
    for serial, (places, image, block, attributes) in enumerate(rows):
        count = 3 * int(np.prod(block))
        yield single(f"columns_{serial}", "Col2Im", [(2, count, places)], [np.array(image), np.array(block)], **attributes)


def _resizes() -> Iterator[Case]:
    for mode, scale in product(("linear", "cubic"), (0.45, 0.6, 2.0)):
        scales = np.array([1, 1, scale, 0.5], np.float32)
        given = {"mode": mode, "antialias": 1, "exclude_outside": 1}
        yield single(f"antialias_{mode}_{scale}", "Resize", [(1, 2, 9, 11)], [None, scales], **given)
    for mode, rows in product(("linear", "cubic", "nearest"), (1, 5)):
        roi = np.array([0, 0, 0.2, -0.3, 1, 1, 0.7, 1.2], np.float32)
        given = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 3.0}
        yield single(f"crop_{mode}_{rows}", "Resize", [(1, 2, 9, 11)], [roi, None, np.array([1, 2, rows, 6])], **given)


def _spectra() -> Iterator[Case]:
    """ONNX Runtime's long transforms are off in the fourth digit."""
    for length in (1, 7, 30, 31, 1200):
        yield by_reference(single(f"spectrum_{length}", "DFT", [(2, length, 1)], [None, np.array(1)]))
        yield by_reference(single(f"spectrum_onesided_{length}", "DFT", [(2, length, 1)], [None, np.array(1)], onesided=1))
        yield by_reference(single(f"spectrum_inverse_{length}", "DFT", [(2, length, 2)], [None, np.array(1)], inverse=1))
    for wanted in (6, 16):
        yield single(f"spectrum_of_{wanted}", "DFT", [(3, 10, 2, 1)], [np.array(wanted), np.array(1)])
    window = np.hanning(16).astype(np.float32)
    yield single("frames", "STFT", [(2, 100, 1)], [np.array(8), window, np.array(16)])
    yield single("frames_of_a_window", "STFT", [(1, 100, 1)], [np.array(7), window], onesided=0)


def _determinants() -> Iterator[Case]:
    for rows in (1, 2, 3, 6):
        yield single(f"determinant_{rows}", "Det", [(2, 3, rows, rows)])
    singular = np.ones((2, 4, 4), np.float32)
    singular[1, 0, 0], singular[1, 1, 1] = 0, 3
    yield single("determinant_singular", "Det", [singular])
