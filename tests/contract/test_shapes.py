"""One package for several sets of shapes: what each answers, what they share, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import edgec
from edgec.base.errors import EdgecError, UsageError
from edgec.emit import ExamData
from edgec.package.running import exam_program, run
from edgec.pipeline.shapes import joined
from edgec.settings.forms_of_text import shape_sets_value
from tests.apps import wheels
from tests.conftest import require
from tests.contract.examiner import WHOLE
from tests.contract.shaped import SETS, SIZES, built, given, images, rows

CPP = """
#include "rows.hpp"
#include <cstdio>
int main() {
    auto inputs = std::make_unique<rows::Inputs>();
    std::vector<float> x(32), y(20), z(20);
    std::vector<std::int64_t> mask(4), w(4);
    if (std::fread(x.data(), 4, 32, stdin) != 32 || std::fread(mask.data(), 8, 4, stdin) != 4) return 1;
    std::copy(x.begin(), x.end(), inputs->x.begin());
    std::copy(mask.begin(), mask.end(), inputs->INPUT_MASK.begin());
    rows::Rows model(2);
    const rows::Outputs outputs = model.run(3, *inputs);
    model.run(3, x, mask, y, z, w);
    std::fwrite(outputs.y.data(), 4, 20, stdout);
    std::fwrite(y.data(), 4, 20, stdout);
    if (model.try_run(4, x, mask, y, z, w) != ROWS_BAD_SIZE || model.try_run(2, x, mask, y, z, w) != ROWS_BAD_ARGUMENT) return 2;
    try {
        model.run(2, x, mask, y, z, w);
    } catch (const rows::Error &error) {
        return std::string(error.what()).find("x has too few elements") == std::string::npos;
    }
    return 3;
}
""".replace("INPUT_MASK", "mask_2")  # what the header says itself is called `mask`
CHECKED = "cc -O0 -fsanitize=address,undefined -fno-sanitize-recover=all"


def test_every_set_answers_as_the_model_does(tmp_path: Path) -> None:
    """Under the sanitizers, with memory that each set left for the others."""
    model = rows(tmp_path)
    package = built(model, tmp_path / "rows", SETS, cc=CHECKED)
    session = onnxruntime.InferenceSession(model)
    with package.load(threads=2) as runner:
        for turn in (0, 2, 1, 0):
            inputs = given(SETS[turn], turn)
            for found, expected in zip(runner(inputs), session.run(None, inputs), strict=True):
                assert found.shape == expected.shape
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_the_program_takes_the_numbers_of_its_sets_alone(tmp_path: Path) -> None:
    package = built(rows(tmp_path), tmp_path / "rows", SETS, cc="cc -O0")
    data = b"".join(array.tobytes() for array in given(SETS[1], 0).values())
    for number, size in (("0", 0), ("4", 0), ("2", 4 * (2 * 16 * 5 + 2 * 5) + 8 * 32)):
        done = run(exam_program(package.directory, package.target, "--run", "--sizes", number), data)
        assert (done.status == 0) == bool(size) and len(done.output) == size
        assert bool(size) or "a size is below 1 or above its maximum" in done.errors


def test_arrays_of_no_set_are_refused_with_those_that_there_are(tmp_path: Path) -> None:
    package = built(rows(tmp_path), tmp_path / "rows", SETS, cc="cc -O0")
    with package.load() as runner:
        with pytest.raises(UsageError) as caught:
            runner(given({"x": (1, 4, 8), "mask": (1, 5)}, 0))
        assert "mask [1, 5]" in caught.value.summary and "x [2, 16, 8], mask [2, 16]" in [item.what for item in caught.value.problems]
        with pytest.raises(UsageError, match="do not fit"):
            runner({"x": given(SETS[0], 0)["x"]})


def test_samples_are_run_with_the_largest_set_that_divides_them(tmp_path: Path) -> None:
    model = images(tmp_path)
    package = built(model, tmp_path / "images", [{"x": (1, 3, 8, 8)}, {"x": (4, 3, 8, 8)}], cc="cc -O0")
    inputs = given({"x": (8, 3, 8, 8)}, 0)
    (expected,) = onnxruntime.InferenceSession(model).run(None, inputs)
    for count in (8, 7, 4, 1):
        found = edgec.run(package, {"x": inputs["x"][:count]})["y"]
        np.testing.assert_allclose(found, expected[:count], rtol=1e-4, atol=1e-5)


def test_int8_has_the_scales_of_the_first_set_in_all(tmp_path: Path) -> None:
    """Every vocabulary of this machine is examined with each set; what a set answers is what a package of its own does."""
    model, samples = images(tmp_path), given({"x": (8, 3, 12, 12)}, 1)
    settings = {"precision": "int8", "calib": samples, "target": "host" if WHOLE else "portable", "cc": "cc -O0", "effort": "fast"}
    whole = built(model, tmp_path / "whole", [{"x": size} for size in SIZES], **settings)
    alone = built(model, tmp_path / "alone", [{"x": SIZES[0]}], **settings)
    image = given({"x": SIZES[0]}, 2)
    with whole.load() as many, alone.load() as one:
        assert many(image)[0].tobytes() == one(image)[0].tobytes()
    assert whole.manifest.weights.bytes == alone.manifest.weights.bytes
    assert whole.manifest.arena.bytes <= 1.2 * alone.manifest.arena.bytes
    assert [port.shapes for port in whole.manifest.inputs] == [tuple(SIZES)]
    np.savez(tmp_path / "wide.npz", **given({"x": (2, *SIZES[2][1:])}, 0))
    assert edgec.diagnose(model, whole, tmp_path / "wide.npz").layers


@pytest.mark.parametrize(
    ("settings", "flag"),
    [({"state": {"x": ("y", 0.0)}}, "--state"), ({"fuse_preprocess": True}, "--fuse-preprocess"), ({"prune": 0.5}, "--prune")],
)
def test_what_goes_with_one_set_alone_is_refused_before_the_work(settings: dict[str, Any], flag: str, tmp_path: Path) -> None:
    with pytest.raises(EdgecError) as caught:
        built(images(tmp_path), tmp_path / "out", [{"x": size} for size in SIZES], **settings)
    assert flag in [item.where for item in caught.value.problems] and not (tmp_path / "out").exists()


def test_data_are_compared_in_the_shapes_that_they_have(tmp_path: Path) -> None:
    model = images(tmp_path)
    package = built(model, tmp_path / "images", [{"x": size} for size in SIZES[::2]], cc="cc -O0")
    for size in SIZES[::2]:
        np.savez(tmp_path / "data.npz", **given({"x": (3, *size[1:])}, 0))
        found = edgec.compare(model, package, tmp_path / "data.npz")
        assert found.samples == 3 and found.outputs[0].sqnr_db > 100


def test_a_class_of_cpp_takes_every_set(tmp_path: Path) -> None:
    """Into tensors of the largest shape, and into vectors of the very size."""
    require("g++")
    package, inputs = built(rows(tmp_path), tmp_path / "rows", SETS, cc="cc -O0"), given(SETS[2], 0)
    (tmp_path / "app.cpp").write_text(CPP, encoding="utf-8")
    library = package.directory / "build" / "librows.a"
    strict = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", f"-I{package.directory / 'include'}"]
    command = ["g++", *strict, "app.cpp", str(library), "-o", "app", "-pthread"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    data = b"".join(array.tobytes() for array in inputs.values())
    ran = subprocess.run([tmp_path / "app"], input=data, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    with package.load() as runner:
        assert ran.stdout == 2 * runner(inputs)[0].tobytes()


def test_a_wheel_takes_every_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = rows(tmp_path)
    first, *others = SETS
    package = wheels.built(model, tmp_path / "rows", precision="fp32", shape=first, also_shape=others)
    wheels.install(wheels.wheel_of(package), tmp_path / "site")
    module, session = wheels.imported("rows", tmp_path / "site", monkeypatch), onnxruntime.InferenceSession(model)
    with module.Rows(threads=2) as instance:
        for turn, shapes in enumerate(SETS):
            inputs = given(shapes, turn)
            found = instance.run(inputs["x"], inputs["mask"])
            for one, other in zip((found.y, found.z, found.w), session.run(None, inputs), strict=True):
                assert one.shape == other.shape
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
        with pytest.raises(ValueError, match=r"no such shapes: \[1, 4, 8\], \[1, 5\]; a run has one of: x \[1, 4, 8\], mask"):
            instance.run(np.zeros((1, 4, 8), np.float32), np.zeros((1, 5), np.int64))
        with pytest.raises(TypeError, match="is of float64"):
            instance.run(np.zeros((2, 16, 8)), np.zeros((2, 16), np.int64))
    status, facts = wheels.examined(folder=tmp_path / "site", module="rows")
    assert status == 0 and len(facts["vectors"]) == 2 * len(SETS)


def test_a_large_exam_asks_further_sets_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    vector = {"x": np.zeros(100, np.float32)}
    exam = ExamData([vector, vector], [vector, vector], {"x": False}, tolerances=[0.5, 0.25])
    assert len(joined([exam, exam, exam]).inputs) == 6
    monkeypatch.setattr("edgec.pipeline.shapes.MOST_BYTES", 4000)
    assert joined([exam, exam, exam]).on_cpu == [0.5, 0.25, 0.5, 0.5]


def test_sets_are_written_as_text_and_as_tables() -> None:
    expected = ({"ids": (1, 128), "mask": (1, 128)}, {"ids": (8, 32)})
    assert shape_sets_value(["ids=1,128;mask=1,128", "ids=8,32"]) == expected
    assert shape_sets_value([{"ids": [1, 128], "mask": [1, 128]}, {"ids": [8, 32]}]) == expected
    with pytest.raises(ValueError, match="NAME=1,3,224,224"):
        shape_sets_value("ids")


def test_a_set_that_does_not_fit_the_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        built(images(tmp_path), tmp_path / "out", [{"x": SIZES[0]}, {"x": (1, 4, 8, 8)}])
    assert "x=1,4,8,8" in caught.value.problems[0].where
