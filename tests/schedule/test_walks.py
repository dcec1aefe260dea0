"""Walks over pixels: for how many panels of weights each is, and whether the next pixels are fetched meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgec.kernels import ConvFloat
from edgec.kernels.convolution import PANELS_PER_ITEM
from edgec.program.arguments import Window
from edgec.program.expr import const
from edgec.program.layer_signature import signature
from edgec.program.program import Pointer
from edgec.schedule.walks import with_walks
from edgec.targets import load_target

TARGET = load_target("x86-64")
AT = Pointer("x", const(0))


def product(inputs: int, outputs: int, height: int, width: int, kernel: int = 1, stride: int = 0) -> ConvFloat:
    pad = kernel // 2
    window = Window(1, height, width, stride or inputs, height, width, outputs, kernel, kernel, 1, 1, 1, 1, pad, pad)
    return ConvFloat(window, AT, AT, AT, AT, None, 0, 1, inputs, outputs, 0.0, 1.0)


def walks(arguments: ConvFloat) -> str:
    found = with_walks(arguments, TARGET)
    assert isinstance(found, ConvFloat)
    return f"{found.held_panels} panels{', the next pixels fetched' if found.fetches else ''}"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (product(768, 768, 32, 32), "8 panels, the next pixels fetched"),
        (product(512, 512, 28, 28), "16 panels, the next pixels fetched"),
        (product(256, 1024, 14, 14), "32 panels"),
        (product(1024, 256, 14, 14), "8 panels"),
        (product(768, 3072, 1, 128), "8 panels"),
        (product(3072, 768, 1, 1024), "8 panels"),
        (product(64, 96, 112, 112), "8 panels, the next pixels fetched"),
        (product(64, 96, 112, 112, kernel=3), "8 panels"),
        (product(64, 96, 112, 112, stride=80), "8 panels"),
    ],
    ids=str,
)
def test_as_many_panels_as_half_of_the_cache_holds(arguments: ConvFloat, expected: str) -> None:
    assert walks(arguments) == expected


def test_a_target_that_tells_nothing_of_its_caches_leaves_the_order() -> None:
    plain = product(512, 512, 28, 28)
    assert with_walks(plain, replace(TARGET, second_cache=0)) == plain and plain.held_panels == PANELS_PER_ITEM


def test_the_order_is_no_part_of_what_a_layer_is_called() -> None:
    plain = product(512, 512, 28, 28)
    assert signature(with_walks(plain, TARGET)) == signature(plain)
