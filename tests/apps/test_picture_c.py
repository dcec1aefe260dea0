"""C brings pictures to the model's size with the same numbers as calibration does, whatever the way and the pixels."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from edgec.apps.app import App, tensors
from edgec.apps.picture import has_pictures, most_bytes, picture_files
from edgec.emit import emit_sources
from edgec.ir.types import DType
from edgec.lower.plan import plan
from edgec.program.expr import FLOAT, const, load, var
from edgec.program.program import For, Kind, Program, Store
from edgec.quant.given.preprocess import Preprocess
from edgec.targets import load_target
from tests.apps.ways import HEIGHT, WAYS, WIDTH, images
from tests.apps.ways import app as app_of_way
from tests.conftest import require
from tests.emit.programs import loop, port

GUARD = 64  # bytes around what a function may write
FORMATS = {"rgba": (0, [0, 1, 2, 3]), "bgra": (1, [2, 1, 0, 3]), "rgb": (2, [0, 1, 2])}
CODES = (DType.INT8, 0.0173, -3)  # of a model whose input is codes
BAD_ARGUMENT, ARENA_TOO_SMALL, ARENA_MISALIGNED, BAD_SIZE = 1, 3, 4, 5


class Pixels(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("stride", ctypes.c_size_t),
        ("format", ctypes.c_int32),
    )


def apps() -> list[App]:
    """The ways of tests.apps.ways, then one with codes and one of a model that takes pixels as they are."""
    ways = [app_of_way(number, how) for number, how in enumerate(WAYS)]
    coded, raw = (replace(ways[number], name=name) for number, name in ((4, "coded"), (2, "raw")))
    dtype, scale, zero = CODES
    coded = replace(coded, inputs=(replace(coded.inputs[0], dtype=dtype, scale=scale, zero_point=zero),))
    assert raw.picture is not None
    taken = replace(raw.picture, raw=True, color="rgb")
    return [*ways, coded, replace(raw, inputs=(replace(raw.inputs[0], dtype=DType.UINT8),), picture=taken)]


@cache
def library() -> ctypes.CDLL:
    return compiled(apps())


def compiled(wanted: list[App]) -> ctypes.CDLL:
    require("gcc")
    folder = Path(mkdtemp(prefix="edgec-pictures-"))
    for app in wanted:
        program = Program(app.name, "host")
        port(program, "x", DType.FLOAT32, (4,), Kind.INPUT)
        port(program, "y", DType.FLOAT32, (4,), Kind.OUTPUT)
        i = var("i")
        loop(program, "copy", (For(i, const(4), (Store("y", i, load("x", i, FLOAT)),)),), ("x",), ("y",))
        plan(program)
        header = f"include/{app.name}.h"
        for path, text in ({header: emit_sources(program, load_target("portable"), "c").files[header]} | picture_files(app)).items():
            (folder / Path(path).name).write_bytes(text)
    checks = ["-fsanitize=undefined", "-fno-sanitize-recover=all", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
    words = ["gcc", "-std=c99", "-O0", "-shared", "-fPIC", *checks, "-o", "pictures.so", *(f"{app.name}_picture.c" for app in wanted)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return ctypes.CDLL(str(folder / "pictures.so"))


def memory_for(app: App, width: int, height: int) -> int:
    function = library()[f"{app.name}_picture_bytes"]
    function.restype = ctypes.c_size_t
    return int(function(width, height))


def aligned(size: int) -> np.ndarray:
    """Bytes on a boundary of 64, with guards behind them."""
    block = np.full(size + 64 + GUARD, 0xA5, np.uint8)
    start = -block.ctypes.data % 64
    return block[start : start + size + GUARD]


def convert(app: App, pixels: np.ndarray, form: int, memory: np.ndarray | None = None, **changed: int) -> tuple[int, np.ndarray]:
    """The status and the input. pixels: [height, width, bytes of a pixel], rows of any stride."""
    tensor = app.inputs[0]
    height, width = pixels.shape[:2]
    scratch = aligned(memory_for(app, width, height)) if memory is None else memory
    made = np.full(tensor.elements * tensor.dtype.bytes + GUARD, 0xA5, np.uint8)
    picture = Pixels(
        **({"data": pixels.ctypes.data, "width": width, "height": height, "stride": pixels.strides[0], "format": form} | changed)
    )
    size = ctypes.c_size_t(max(0, len(scratch) - GUARD))
    where = [ctypes.c_void_p(array.ctypes.data) for array in (scratch, made)]
    status = library()[f"{app.name}_picture"](ctypes.byref(picture), where[0], size, where[1])
    assert (scratch[-GUARD:] == 0xA5).all() and (made[-GUARD:] == 0xA5).all(), "it wrote outside"
    return status, made[:-GUARD].view(tensor.dtype.numpy).reshape(tensor.shape)


def expected(how: Preprocess, image: np.ndarray, app: App) -> np.ndarray:
    return how.apply(image, app.inputs[0].shape)


@pytest.mark.parametrize("number", range(len(WAYS)))
def test_pictures_are_brought_to_size_as_for_calibration(number: int) -> None:
    """Pillow may resize rows or columns first where proportions change, so that rounding is one level of a pixel apart."""
    how, app = WAYS[number], apps()[number]
    level = 1.001 * float(how.affine()[0].max()) if how.resize == "stretch" else 0.0
    for index, image in enumerate(images()):
        form, order = list(FORMATS.values())[index % 3]
        opaque = np.arange(image.shape[0] * image.shape[1], dtype=np.uint8).reshape(*image.shape[:2], 1)
        padded = np.zeros((image.shape[0], image.shape[1] + 3, len(order)), np.uint8)
        padded[:, : image.shape[1]] = np.concatenate([image, opaque], axis=2)[:, :, order]
        status, found = convert(app, padded[:, : image.shape[1]], form)
        assert status == 0 and float(np.abs(found - expected(how, image, app)).max()) <= level, image.shape


def test_gray_pixels_are_all_colours() -> None:
    how, app = WAYS[4], apps()[4]
    gray = np.random.default_rng(2).integers(0, 256, (9, 31, 1), dtype=np.uint8)
    status, found = convert(app, gray, 3)
    assert status == 0 and np.array_equal(found, expected(how, gray.repeat(3, axis=2), app))


def test_codes_are_the_nearest_and_pixels_stay_pixels() -> None:
    coded, raw = apps()[-2:]
    dtype, scale, zero = CODES
    for image in images():
        real = expected(WAYS[4], image, coded)
        codes = np.clip(np.rint(real / np.float32(scale)) + zero, -128, 127).astype(dtype.numpy)
        assert np.array_equal(convert(coded, image, 2)[1], codes)
        plain = replace(WAYS[2], color="rgb").pixels(image, raw.inputs[0].shape)[None]
        assert np.abs(convert(raw, image, 2)[1].astype(int) - plain).max() <= 1


def test_what_is_no_picture_is_refused() -> None:
    app, image = apps()[0], images()[0]
    height, width = image.shape[:2]
    assert memory_for(app, 0, 5) == memory_for(app, 5, -1) == memory_for(app, 32769, 5) == 0
    assert memory_for(app, 32768, 1) > 0
    scratch = aligned(memory_for(app, width, height))
    for changed, status in (
        ({"width": 0}, BAD_SIZE), ({"height": 40000}, BAD_SIZE), ({"stride": 3 * width - 1}, BAD_ARGUMENT), ({"format": 4}, BAD_ARGUMENT),
        ({"format": -1}, BAD_ARGUMENT), ({"data": 0}, BAD_ARGUMENT),
    ):  # fmt: skip
        assert convert(app, image, 2, scratch, **changed)[0] == status, changed
    assert convert(app, image, 2, scratch[1:])[0] == ARENA_TOO_SMALL
    assert convert(app, image, 2, aligned(len(scratch) + 8)[1:])[0] == ARENA_MISALIGNED


@pytest.mark.parametrize("app", apps(), ids=lambda app: str(app.name))
def test_a_picture_comes_row_by_row(app: App) -> None:
    """Each row from memory of its own; what is too much is refused, and changes nothing."""
    for image in images():
        height, width = image.shape[:2]
        size, right = memory_for(app, width, height), convert(app, image, 2)[1]
        memory, made = aligned(size), np.zeros_like(right)
        places = [ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(size), ctypes.c_void_p(made.ctypes.data)]
        assert library()[f"{app.name}_picture_begin"](width, height, 2, *places) == 0
        found = [library()[f"{app.name}_picture_row"](places[0], bytes(row)) for row in (*image, image[0])]
        assert found == [0] * height + [BAD_ARGUMENT] and (memory[-GUARD:] == 0xA5).all() and np.array_equal(made, right)


def test_no_picture_takes_more_memory_than_is_said() -> None:
    sides = sorted({1, 2, 3, 5, 31, 46, 47, 48, 49, 32767, 32768, *(round(1.37**power) for power in range(1, 34))})
    of_sizes = [
        replace(app, name=f"{app.name}_{width}", picture=replace(app.picture, width=width, height=height))
        for app in apps()
        if app.picture is not None
        for width, height in ((7, 90), (160, 1), (WIDTH, HEIGHT))
    ]
    made = compiled(of_sizes)
    for app in of_sizes:
        assert app.picture is not None
        size, most = made[f"{app.name}_picture_bytes"], most_bytes(app.picture, app.inputs[0])
        size.restype = ctypes.c_size_t
        sizes = [size(width, height) for width in sides for height in sides]
        assert min(sizes) > 0 and max(sizes) <= most, app.name
        assert most < 2_000_000 or app.picture.width != WIDTH
        assert f"_PICTURE_MOST_BYTES {most}\n" in next(iter(picture_files(app).values())).decode()


def test_what_would_become_too_long_is_no_picture() -> None:
    """Scaled as its shorter side asks for, more than 1e9 pixels long."""
    app = replace(apps()[0], name="sharp")
    assert app.picture is not None
    made = compiled([replace(app, picture=replace(app.picture, shorter=40000))])
    size = made["sharp_picture_bytes"]
    size.restype = ctypes.c_size_t
    assert size(32768, 1) == size(1, 32768) == 0 and size(300, 40) > 0


@pytest.mark.parametrize("number", [0, 2, 4, 5])
def test_boxes_go_back_to_the_picture(number: int) -> None:
    """A corner of the picture that the input shows is a corner of the picture, and nothing lies outside of it."""
    app = apps()[number]
    for height, width in ((30, 40), (200, 90)):
        box = (ctypes.c_float * 4)(-1e9, -1e9, 1e9, float("nan"))
        assert library()[f"{app.name}_picture_box"](width, height, box) == 0
        assert list(box) == [0.0, 0.0, width, 0.0]
        middle = (ctypes.c_float * 4)(WIDTH / 2, HEIGHT / 2, WIDTH / 2, HEIGHT / 2)
        assert library()[f"{app.name}_picture_box"](width, height, middle) == 0
        if number != 5:  # which is in a corner
            assert np.allclose(list(middle), [width / 2, height / 2] * 2, atol=0.6 * max(width / WIDTH, height / HEIGHT))
    assert library()[f"{app.name}_picture_box"](0, 5, (ctypes.c_float * 4)()) == BAD_SIZE


def test_only_one_picture_in_levels_is_an_input() -> None:
    app = apps()[0]
    tensor = app.inputs[0]
    two = replace(tensor, shape=(2, *tensor.shape[1:]))
    assert has_pictures(app) and not has_pictures(replace(app, picture=None)) and not has_pictures(replace(app, inputs=(two,)))
    for dtype in (DType.INT8, DType.FLOAT16, DType.INT32):
        assert not has_pictures(replace(app, inputs=(replace(tensor, dtype=dtype),)))
    assert picture_files(replace(app, picture=None)) == {} and tensors([]) == ()
