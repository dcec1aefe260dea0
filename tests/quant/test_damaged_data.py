"""Data files that are damaged, or made to hurt: one clear error each, and nothing in them is run."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgec.base.errors import EdgecError, UsageError
from edgec.ir.graph import Graph
from edgec.ir.types import DType, TensorType
from edgec.quant.given.array_files import MOST_BYTES, read_array_file, read_picture
from edgec.quant.given.data import open_samples
from edgec.quant.given.preprocess import Preprocess

ONE = Graph("g", ["image"], [], [], {}, {"image": TensorType(DType.FLOAT32, (1, 1, 8, 8))})
GRAY = Preprocess(resize="stretch", color="gray")
PICTURES = ("png", "jpeg", "gif", "bmp", "webp", "tiff", "ppm")
PER_FORM = 60


def array_file(save: Callable[..., None]) -> bytes:
    stream = io.BytesIO()
    arrays = np.random.default_rng(0).normal(size=(4, 1, 8, 8)).astype(np.float32)
    save(stream, arrays) if save is np.save else save(stream, image=arrays)
    return stream.getvalue()


def picture_file(form: str) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (16, 16, 3)).astype(np.uint8)).save(stream, form)
    return stream.getvalue()


def damaged(data: bytes, draw: random.Random) -> bytes:
    """A few bytes changed, left out, put in between or made extreme; half of them in the first 128, where headers are."""
    found = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        place = draw.randrange(max(1, min(len(found), 128) if draw.random() < 0.5 else len(found)))
        width = draw.randrange(1, 40)
        found[place : place + draw.choice((0, 1, 4, width))] = draw.choice(
            (b"", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"9999", draw.randbytes(draw.randrange(1, 9)))
        )
    return bytes(found)


@pytest.mark.filterwarnings("ignore")  # Pillow warns of what it then reads or refuses
@pytest.mark.parametrize("form", ["npy", "npz", "packed.npz", *PICTURES])
def test_damaged_files_give_samples_or_one_error(form: str, tmp_path: Path) -> None:
    draw, refused = random.Random(form), 0
    savers = {"npy": np.save, "npz": np.savez, "packed.npz": np.savez_compressed}
    whole = array_file(savers[form]) if form in savers else picture_file(form)
    for _ in range(PER_FORM):
        place = tmp_path / f"data.{form}"
        place.write_bytes(damaged(whole, draw))
        try:
            list(open_samples(place if form in savers else tmp_path, ONE, GRAY)())
        except EdgecError as error:
            refused += 1
            assert isinstance(error, UsageError) and (error.where or error.problems)
    assert refused, "no damage was met"


def test_an_archive_that_claims_more_than_memory_is_refused(tmp_path: Path) -> None:
    """Three members, each of which says of itself that it unpacks to four gigabytes."""
    bomb = tmp_path / "bomb.npz"
    with zipfile.ZipFile(bomb, "w") as archive:
        for index in range(3):
            archive.writestr(f"{index}.npy", b"small")
    assert "no plain arrays" in str(read_error(bomb))
    claim, entry = (2**32 - 2).to_bytes(4, "little"), b"PK\x01\x02"
    before, *entries = bomb.read_bytes().split(entry)
    bomb.write_bytes(entry.join([before, *(one[:20] + claim + one[24:] for one in entries)]))
    assert f"{MOST_BYTES} at most" in str(read_error(bomb))


def read_error(path: Path) -> UsageError:
    with pytest.raises(UsageError) as raised:
        read_array_file(path)
    return raised.value


def test_a_picture_of_too_many_pixels_is_refused(tmp_path: Path) -> None:
    data = bytearray(picture_file("bmp"))
    data[18:26] = (60000).to_bytes(4, "little") * 2
    (tmp_path / "large.bmp").write_bytes(data)
    with pytest.raises(UsageError, match=r"large\.bmp: not a picture: .*pixels"):
        read_picture(tmp_path / "large.bmp")


def test_postscript_is_no_picture_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow would start the program gs to draw it."""
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / "drawing.eps")
    (tmp_path / "drawing.eps").rename(tmp_path / "picture.png")
    program, mark = tmp_path / "bin" / "gs", tmp_path / "started"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setattr("PIL.EpsImagePlugin.gs_binary", None)  # Pillow remembers whether it found one
    with pytest.raises(UsageError, match="not a picture"):
        list(open_samples(tmp_path, ONE, GRAY)())
    assert not mark.exists()
