"""The Python interface: the same verbs as functions, and packages as functions over arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import edgec
from edgec.base.errors import DeviceError, UsageError
from edgec.package import Package
from edgec.package.manifest import read_manifest

pytestmark = pytest.mark.usefixtures("kept_builds")

IMAGES = "evaluation.npz"


@pytest.fixture
def image(work: Path) -> np.ndarray:
    return np.asarray(np.load(work / IMAGES)["image"][:1])


def test_a_package_is_a_function(package: Path, image: np.ndarray) -> None:
    with Package(package).load() as classify:
        (first,) = classify(image)
        assert first.shape == (1, 10) and first.dtype == np.float32
        for again in (classify(image=image), classify({"image": image})):
            assert np.array_equal(again[0], first)
        assert not np.array_equal(classify(np.zeros_like(image))[0], first)


def test_a_package_without_a_with_block(package: Path, image: np.ndarray) -> None:
    classify = Package(package).load(threads=2, isa="portable")
    assert len(classify(image)) == 1
    classify.close()
    classify.close()
    with pytest.raises(DeviceError):
        classify(image)


@pytest.mark.parametrize(
    ("positional", "named", "words"),
    [
        ((), {}, "input image: missing"),
        ((np.zeros((1, 1, 8, 8)),), {}, "is float64[1, 1, 8, 8], must be float32[1, 1, 8, 8]"),
        ((np.zeros((2, 1, 8, 8), np.float32),), {}, "is float32[2, 1, 8, 8]"),
        ((), {"imgae": np.zeros(1)}, "did you mean 'image'?"),
        ((1, 2), {}, "2 arrays given, the package has 1"),
    ],
)
def test_what_does_not_fit_is_said(package: Path, positional: tuple, named: dict, words: str) -> None:
    with Package(package).load() as classify, pytest.raises(UsageError) as caught:
        classify(*positional, **named)
    assert words in str(caught.value)


def test_an_unknown_vocabulary_is_refused(package: Path) -> None:
    with pytest.raises(UsageError, match="avx9000"):
        Package(package).load(isa="avx9000")


def test_run_takes_arrays_and_joins_samples(package: Path, work: Path) -> None:
    images = np.load(IMAGES)["image"][:5]
    outputs = edgec.run(package, {"image": images}, out="out.npz")
    assert outputs["logits"].shape == (5, 10) and np.array_equal(np.load("out.npz")["logits"], outputs["logits"])
    assert np.array_equal(edgec.run(str(package), {"image": images[3:4]})["logits"], outputs["logits"][3:4])
    with pytest.raises(UsageError, match="not an input of this package"):
        edgec.run(package, {"image": images, "labels": images})
    with pytest.raises(UsageError, match="must be float32"):
        edgec.run(package, {"image": images[:, :, :7]})


def test_build_with_a_function_as_calibration(work: Path) -> None:
    calls = []

    def samples() -> Iterator[dict[str, np.ndarray]]:
        calls.append(1)
        for image in np.load("calibration.npz")["image"][:20]:
            yield {"image": image[None]}

    package = edgec.build("digits.onnx", target="portable", calib=samples, out="called", cc="gcc -O0", observer="minmax")
    assert package.directory == Path("called") and package.examine()["passed"] and len(calls) >= 2
    from_file = edgec.build(
        Path("digits.onnx"), target="portable", calib=Path("calibration.npz"), samples=20, out="read", compile=False, observer="minmax"
    )
    assert (from_file.directory / "calibration.json").read_bytes() == (package.directory / "calibration.json").read_bytes()
    assert (from_file.directory / "src/digits.c").read_bytes() == (package.directory / "src/digits.c").read_bytes()


@pytest.mark.parametrize("form", ["array", "arrays", "iterable of arrays"])
def test_calibration_takes_arrays_too(work: Path, form: str) -> None:
    images = np.load("calibration.npz")["image"][:10]
    calib = {
        "array": images,
        "arrays": {"image": images, "names": np.arange(10)},
        "iterable of arrays": lambda: (image[None] for image in images),
    }
    found = edgec.quantize("digits.onnx", calib=calib[form], observer="minmax")  # type: ignore[arg-type]
    wanted = edgec.quantize("digits.onnx", calib="calibration.npz", observer="minmax", samples=10)
    assert found.calibration == wanted.calibration


def test_a_manifest_is_not_read_for_every_sample(work: Path, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Path] = []
    monkeypatch.setattr("edgec.package.package.read_manifest", lambda folder: (reads.append(folder), read_manifest(folder))[1])
    counts = []
    for samples in (2, 20):
        reads.clear()
        edgec.compare("digits.onnx", package, IMAGES, samples=samples)
        counts.append(len(reads))
    assert counts[0] == counts[1] > 0


def test_compare_takes_arrays_too(work: Path, package: Path) -> None:
    data = dict(np.load(IMAGES))
    assert edgec.compare("digits.onnx", package, data, labels="labels") == edgec.compare("digits.onnx", package, IMAGES, labels="labels")


def test_quantize_gives_a_model_that_onnx_runtime_runs(work: Path) -> None:
    quantized = edgec.quantize("digits.onnx", calib="calibration.npz", out="small.onnx", report="report.json", samples=30)
    assert quantized.report.outputs["logits"] > 30 and Path("report.json").is_file()
    session = onnxruntime.InferenceSession("small.onnx", providers=["CPUExecutionProvider"])
    data = np.load(IMAGES)
    right = [
        session.run(None, {"image": image[None]})[0].argmax() == label for image, label in zip(data["image"], data["labels"], strict=True)
    ]
    assert np.mean(right) > 0.97


@pytest.mark.parametrize("labels", ["labels", "labels.npy", "array"])
def test_compare_takes_labels_in_every_form(work: Path, package: Path, labels: str) -> None:
    found = np.load(IMAGES)["labels"]
    np.save("labels.npy", found)
    scores = edgec.compare("digits.onnx", package, IMAGES, labels=found if labels == "array" else labels, samples=50)
    assert scores.samples == 50 and scores.accuracy["fp32"][0] > 0.9


@pytest.mark.parametrize(
    ("labels", "words"),
    [("lables", "did you mean 'labels'?"), (np.zeros(3, np.int64), "3 labels"), (np.zeros(500), "float64"), ("image", "one whole number")],
)
def test_compare_refuses_labels_that_are_none(work: Path, package: Path, labels: object, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        edgec.compare("digits.onnx", package, IMAGES, labels=labels)  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_compare_refuses_a_package_of_another_model(work: Path, package: Path) -> None:
    import onnx

    model = onnx.load("digits.onnx")
    model.graph.output[0].name = model.graph.node[-1].output[0] = "scores"
    onnx.save(model, "other.onnx")
    with pytest.raises(UsageError, match="another model"):
        edgec.compare("other.onnx", package, IMAGES)


def test_inspect_and_plan(work: Path, package: Path) -> None:
    assert edgec.inspect("digits.onnx").macs == edgec.inspect(package).macs == 304768
    plan = edgec.plan("digits.onnx", target="rpi4", precision="fp32", compile=False)
    assert plan.target.name == "rpi4" and plan.compiler is None and plan.out == Path("digits-rpi4-fp32")


def test_settings_are_checked_here_too(work: Path) -> None:
    with pytest.raises(UsageError) as caught:
        edgec.build("digits.onnx", precision="int4", obsever="mse", samples=0)
    text = str(caught.value)
    assert len(caught.value.problems) == 3 and "did you mean 'observer'?" in text and "'int4'" in text and "positive" in text
