"""Every source of calibration data, and every way in which one can be wrong."""

from __future__ import annotations

from os import mkfifo
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from edgec.base.errors import UsageError
from edgec.ir.graph import Graph
from edgec.ir.types import DType, TensorType
from edgec.quant.given.data import open_samples
from edgec.quant.given.preprocess import Preprocess

PICTURES = Preprocess(scale=1 / 255)


def graph(**shapes: tuple[int, ...]) -> Graph:
    return Graph("g", list(shapes), [], [], {}, {name: TensorType(DType.FLOAT32, shape) for name, shape in shapes.items()})


IMAGE = graph(image=(1, 3, 8, 8))


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def save(path: Path, **arrays: np.ndarray) -> str:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return str(path)


def test_an_npz_by_name_in_batches(tmp_path: Path) -> None:
    a, b = normal(7, 4), normal(7, 2, 3)
    source = save(tmp_path / "d.npz", a=a, b=b)
    opened = open_samples(source, graph(a=(2, 4), b=(2, 2, 3)))
    found = list(opened())
    assert len(found) == 3
    assert np.array_equal(found[1]["a"], a[2:4]) and np.array_equal(found[2]["b"], b[4:6])
    assert len(list(opened())) == 3, "samples open anew"
    assert len(list(open_samples(source, graph(a=(2, 4), b=(2, 2, 3)), limit=2)())) == 2


@pytest.mark.parametrize("held", [(5, 2, 1, 3), (10, 1, 3)])
def test_inputs_whose_first_axes_differ(held: tuple[int, ...]) -> None:
    """A frame and what a recurrence of two layers keeps, whole or along the first axis."""
    frame, kept = normal(5, 1, 4), normal(*held)
    found = list(open_samples({"frame": frame, "kept": kept}, graph(frame=(1, 4), kept=(2, 1, 3)))())
    assert len(found) == 5
    assert np.array_equal(found[3]["frame"], frame[3]) and np.array_equal(found[3]["kept"], kept.reshape(5, 2, 1, 3)[3])


def test_pictures_and_labels_in_one_file(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 3), np.uint8)
    source = save(tmp_path / "d.npz", x=pixels, y=np.arange(3), names=np.array(["a", "b", "c"]))
    found = list(open_samples(source, IMAGE, PICTURES)())
    np.testing.assert_allclose(found[1]["image"], pixels[1].transpose(2, 0, 1)[None] / 255, atol=1e-6)


def test_an_npy_and_axes_of_one(tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", normal(5, 8, 8).astype(np.float64))
    found = list(open_samples(tmp_path / "d.npy", graph(x=(1, 1, 8, 8)))())
    assert len(found) == 5
    assert found[0]["x"].shape == (1, 1, 8, 8) and found[0]["x"].dtype == np.float32


def test_a_folder_of_pictures_in_order(tmp_path: Path) -> None:
    for name, level in (("b.png", 20), ("a.jpg", 10), ("c.bmp", 30)):
        Image.new("RGB", (20, 10), (level,) * 3).save(tmp_path / name)
    (tmp_path / "labels.txt").write_text("no picture")
    found = list(open_samples(tmp_path, IMAGE, Preprocess())())
    assert [round(float(sample["image"].mean())) for sample in found] == [10, 20, 30]
    with pytest.raises(UsageError, match=r"add a \[preprocess\] table"):
        open_samples(tmp_path, IMAGE)
    (tmp_path / "a.jpg").write_text("broken")
    with pytest.raises(UsageError, match="not a picture"):
        open_samples(tmp_path, IMAGE, Preprocess())


def test_pictures_for_a_model_that_takes_pixels(tmp_path: Path) -> None:
    Image.new("RGB", (20, 10), (9, 8, 7)).save(tmp_path / "a.png")
    pixels = Graph("g", ["x"], [], [], {}, {"x": TensorType(DType.UINT8, (1, 8, 8, 3))})
    sample = next(iter(open_samples(tmp_path, pixels)()))
    assert sample["x"].dtype == np.uint8 and sample["x"][0, 0, 0].tolist() == [9, 8, 7]


def test_functions(tmp_path: Path) -> None:
    def arrays() -> Any:
        return iter([normal(1, 3, 8, 8), {"image": normal(3, 8, 8)}])

    assert len(list(open_samples(arrays, IMAGE)())) == 2
    script = tmp_path / "feed.py"
    script.write_text("import numpy as np\ndef feed():\n    yield np.zeros((8, 8, 3), np.uint8)\n    raise RuntimeError('late')\n")
    samples = open_samples(f"{script}:feed", IMAGE, PICTURES)()
    assert next(iter(samples))["image"].shape == (1, 3, 8, 8)
    with pytest.raises(UsageError, match="RuntimeError: late"):
        list(samples)
    with pytest.raises(UsageError, match="did you mean 'feed'"):
        open_samples(f"{script}:fed", IMAGE)
    with pytest.raises(UsageError, match="no such file"):
        open_samples(f"{tmp_path}/nothing.py:feed", IMAGE)
    script.write_text("import nothing_of_this_name\n")
    with pytest.raises(UsageError, match="cannot be imported"):
        open_samples(f"{script}:feed", IMAGE)


def test_files_that_leave_the_program(tmp_path: Path) -> None:
    """Else a build ends with code 0, and nothing is built."""
    script = tmp_path / "feed.py"
    script.write_text("def feed():\n    raise SystemExit(0)\n")
    with pytest.raises(UsageError, match="the calibration function failed: SystemExit: 0"):
        list(open_samples(f"{script}:feed", IMAGE)())
    script.write_text("raise SystemExit(0)\n")
    with pytest.raises(UsageError, match="cannot be imported: SystemExit: 0"):
        open_samples(f"{script}:feed", IMAGE)


def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    mkfifo(tmp_path / "a.npz")
    with pytest.raises(UsageError, match="is no file"):
        open_samples(tmp_path / "a.npz", IMAGE)


CASES: dict[str, tuple[Graph, dict[str, np.ndarray], str]] = {
    "shape": (IMAGE, {"image": normal(4, 3, 8, 9)}, r"has shape \[1, 3, 8, 9\], the model takes \[1, 3, 8, 8\]"),
    "dtype": (IMAGE, {"image": np.zeros((4, 3, 8, 8), np.uint8)}, "image is uint8, the model takes float32.*preprocess"),
    "integers": (IMAGE, {"image": np.zeros((4, 3, 8, 8), np.int32)}, "image is int32"),
    "name": (graph(a=(1, 4), b=(1, 4)), {"a": normal(2, 4), "bb": normal(2, 4)}, "no array 'b'.*did you mean 'bb'"),
    "empty": (IMAGE, {"image": normal(0, 3, 8, 8)}, "the calibration data is empty"),
    "empty as its input": (graph(a=(0, 4)), {"a": normal(0, 4)}, "the calibration data is empty"),
    "nan": (IMAGE, {"image": np.full((2, 3, 8, 8), np.nan, np.float32)}, "NaN or infinite"),
    "lengths": (graph(a=(1, 4), b=(1, 4)), {"a": normal(2, 4), "b": normal(3, 4)}, "different numbers of samples"),
    "a part": (graph(a=(2, 4), b=(2, 4)), {"a": normal(7, 4), "b": normal(6, 4)}, "different numbers of samples"),
    "short": (graph(a=(4, 4)), {"a": normal(3, 4)}, "do not fill one batch"),
    "several": (graph(a=(1, 4), b=(1, 4)), {"a": normal(2, 5), "b": np.zeros((2, 4), np.int32)}, r"(?s)a has shape \[1, 5\].*b is int32"),
}


@pytest.mark.parametrize("case", CASES)
def test_wrong_arrays(case: str, tmp_path: Path) -> None:
    model, arrays, message = CASES[case]
    with pytest.raises(UsageError, match=message):
        open_samples(save(tmp_path / "d.npz", **arrays), model)


def test_a_model_without_inputs() -> None:
    with pytest.raises(UsageError, match="no inputs"):
        open_samples({}, Graph("g"))


def test_wrong_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        open_samples(tmp_path / "nothing.npz", IMAGE)
    with pytest.raises(UsageError, match="no pictures"):
        open_samples(tmp_path, IMAGE, PICTURES)
    (tmp_path / "d.npz").write_bytes(b"PK not an archive")
    with pytest.raises(UsageError, match="cannot read"):
        open_samples(tmp_path / "d.npz", IMAGE)
    np.save(tmp_path / "p.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(UsageError, match="cannot read"):
        open_samples(tmp_path / "p.npy", IMAGE)
