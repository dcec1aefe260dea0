"""The functions that read a model's answer, against numpy: every head, ties, NaN, nothing at all, and the same bits everywhere."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apps.task_driver import driver
from tests.apps.task_packages import CASES, ODD, Case, Class, Library, compile_c, write_sources
from tests.apps.task_reference import anchors, best_classes, mask_of, softmax, suppress
from tests.contract.examiner import WHOLE

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
DETECTORS = [name for name, case in CASES.items() if case.task.kind == "detect"]
MASKS = [name for name, case in CASES.items() if case.task.kind == "segment"]
SPEAKERS = [name for name, case in CASES.items() if case.task.kind in ("classify", "keyword")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return Path(tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="module")
def sources(folder: Path) -> list[Path]:
    return write_sources(folder)


@pytest.fixture(scope="module")
def library(folder: Path, sources: list[Path]) -> Library:
    return Library(compile_c(["gcc", "-O0", "-shared", "-fPIC", *STRICT], folder, "tasks.so", *sources))


def random_outputs(case: Case, seed: int) -> list[np.ndarray]:
    """Answers with equal numbers among them; NaN and infinities in one of three."""
    generator = np.random.default_rng(seed)
    found = []
    for output in case.outputs:
        if not output.dtype.is_float:
            limits = np.iinfo(output.dtype.numpy) if output.dtype.bytes == 1 else np.iinfo(np.int8)
            found.append(generator.integers(limits.min, limits.max + 1, output.shape).astype(output.dtype.numpy))
            continue
        array = generator.standard_normal(output.shape) if seed % 2 else generator.integers(-3, 4, output.shape) / 2
        if seed % 3 == 0:
            strange = generator.choice([np.nan, np.inf, -np.inf], output.shape)
            array = np.where(generator.random(output.shape) < 0.1, strange, array)
        found.append(array.astype(output.dtype.numpy))
    if case.task.kind == "detect" and case.outputs[-1].dtype.is_float:
        _spread(case, found[-1], generator)
    return found


def _spread(case: Case, places: np.ndarray, generator: np.random.Generator) -> None:
    """Centres and sizes that fit the picture, in place."""
    if case.task.head == "ssd":
        places[..., 2:] = places[..., :2] + np.abs(places[..., 2:]) * np.float32(0.3)
    elif case.task.head != "yolox":
        sides = places.swapaxes(1, 2) if case.task.head == "columns" else places
        sides[..., :2] += generator.integers(0, 12, sides[..., :2].shape) * 8
        sides[..., 2:4] = np.abs(sides[..., 2:4]) * 20


@pytest.mark.parametrize("name", SPEAKERS)
def test_the_best_classes_come_first(library: Library, name: str) -> None:
    case = CASES[name]
    for seed in range(12):
        (answer,) = random_outputs(case, seed)
        answer[np.isinf(answer)] = 0.0
        for most in (0, 1, 3, case.task.classes, case.task.classes + 2):
            found = library.classify(name, answer, most)
            wanted = best_classes(case.outputs[0].reals(answer), case.task, most)
            assert [index for index, _ in found] == [index for index, _ in wanted]
            np.testing.assert_allclose([score for _, score in found], [score for _, score in wanted], rtol=2e-6, atol=1e-7)


def test_an_answer_without_numbers_has_no_score(library: Library) -> None:
    assert library.classify("classes", np.full(10, np.nan, np.float32), 3) == [(0, 0.0), (1, 0.0), (2, 0.0)]
    infinite = np.array([0, np.inf, 0, 0, np.inf, 0, 0, 0, 0, -np.inf], np.float32)
    assert library.classify("classes", infinite, 3) == [(1, 0.5), (4, 0.5), (0, 0.0)]
    assert library.classify("classes", np.full(10, -np.inf, np.float32), 1) == [(0, pytest.approx(0.1))]


def test_labels_come_back_as_they_were(library: Library) -> None:
    assert [library.label("codes", index) for index in range(8)] == list(ODD)
    assert [library.label("codes", index) for index in (-1, 8, 2**31 - 1, -(2**31))] == [""] * 4
    assert library.label("classes", 0) == ""


@pytest.mark.parametrize("name", ["words", "wake"])
def test_a_word_is_heard_when_the_mean_of_the_last_answers_says_so(library: Library, name: str) -> None:
    case = CASES[name]
    state, heard = (ctypes.c_byte * 4096)(), Class()
    assert library.call(f"{name}_keyword_reset", state) == 0
    history: list[np.ndarray] = []
    for seed in range(1, 14, 2):
        (answer,) = random_outputs(case, seed)
        scores = case.outputs[0].reals(answer).ravel()
        history = [*history, softmax(scores) if case.task.activation == "softmax" else scores][-4:]
        mean = np.mean(history, axis=0)
        for threshold, index in ((mean.max() - 0.01, int(mean.argmax())), (mean.max() + 0.01, -1)):
            twin = (ctypes.c_byte * 4096).from_buffer_copy(state)
            assert library.call(f"{name}_keyword_feed", twin, answer, ctypes.c_float(threshold), ctypes.byref(heard)) == 0
            assert (heard.index, heard.score) == (index, pytest.approx(mean.max(), rel=1e-5))
        state = twin


def test_a_keyword_that_was_never_reset_is_an_error(library: Library) -> None:
    answer, heard = np.zeros(5, np.float32), Class()
    state = (ctypes.c_byte * 4096)(*[-1] * 4096)
    assert library.call("words_keyword_feed", state, answer, ctypes.c_float(0.5), ctypes.byref(heard)) == 2


@pytest.mark.parametrize("name", DETECTORS)
def test_boxes_are_those_of_plain_suppression(library: Library, name: str) -> None:
    case, seen = CASES[name], 0
    for seed in range(8):
        outputs = random_outputs(case, seed)
        with np.errstate(all="ignore"):
            corners, scores = anchors(case.task, [item.reals(array) for item, array in zip(case.outputs, outputs, strict=True)])
        for most, least, overlap in ((300, 0.4, 0.45), (5, 0.2, 0.3), (1, 0.0, 0.6), (40, -1.0, 0.0), (0, 0.1, 0.5), (20, 0.3, 1.0)):
            found = library.detect(name, outputs, least, overlap, most)
            wanted = suppress(corners, scores, case.task, least, overlap, most)
            seen += len(wanted)
            np.testing.assert_array_equal(found[:, 5], wanted[:, 5])
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)
    assert seen > 100


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_suppression_holds_for_any_numbers(library: Library, data: st.DataObject) -> None:
    """Few different numbers, so that ties, equal boxes and boxes without area are common."""
    case = CASES["pairs"]
    sides = st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.75, 1.0, -1.0, 2.0, float("nan"), float("inf"), float("-inf")])
    grades = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, -1.0, float("nan"), float("inf")])
    places = np.array(data.draw(st.lists(sides, min_size=160, max_size=160)), np.float32).reshape(1, 40, 4)
    scores = np.array(data.draw(st.lists(grades, min_size=120, max_size=120)), np.float32).reshape(1, 40, 3)
    most = data.draw(st.integers(0, 90))
    least, overlap = data.draw(st.sampled_from([-2.0, 0.0, 0.25, 0.9])), data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
    with np.errstate(all="ignore"):
        wanted = suppress(*anchors(case.task, [scores, places]), case.task, least, overlap, most)
    np.testing.assert_array_equal(library.detect("pairs", [scores, places], least, overlap, most), wanted)


def test_detection_refuses_limits_that_are_no_numbers(library: Library) -> None:
    scores, places, found = np.zeros(120, np.float32), np.zeros(160, np.float32), ctypes.c_int32(5)
    good = (ctypes.c_float(0.1), ctypes.c_float(0.5))
    nan = ctypes.c_float(float("nan"))
    for limits in ((nan, good[1]), (good[0], nan)):
        assert library.call("pairs_detect", scores, places, *limits, 0, None, ctypes.byref(found)) == 1
    assert library.call("pairs_detect", scores, places, *good, 3, None, ctypes.byref(found)) == 1
    assert library.call("pairs_detect", scores, places, *good, -1, None, ctypes.byref(found)) == 1
    assert library.call("pairs_detect", scores, None, *good, 0, None, ctypes.byref(found)) == 1
    assert library.call("pairs_detect", scores, places, *good, 0, None, None) == 1
    assert library.call("pairs_detect", scores, places, *good, 0, None, ctypes.byref(found)) == 0
    assert found.value == 0


@pytest.mark.parametrize("name", MASKS)
def test_masks_are_those_of_numpy(library: Library, name: str) -> None:
    case = CASES[name]
    for seed in range(6):
        (answer,) = random_outputs(case, seed)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(library.segment(name, answer), mask_of(case.outputs[0].reals(answer), case.task))


# name: command, how it is run
BUILDS: dict[str, tuple[list[str], list[str]]] = {
    "sanitizers": (["gcc", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"], []),
    "aarch64": (["aarch64-linux-gnu-gcc", "-O1", "-static"], ["qemu-aarch64"]),
}
if WHOLE:
    BUILDS |= {
        "clang -O3": (["clang", "-O3", "-march=native"], []),
        "C++": (["g++", "-O2", "-x", "c++", "-Wall", "-Wextra", "-Werror"], []),
        "armv7": (["arm-linux-gnueabihf-gcc", "-O3", "-static", "-mfpu=neon"], ["qemu-arm"]),
        "riscv64": (["riscv64-linux-gnu-gcc", "-O2", "-static"], ["qemu-riscv64"]),
    }


def test_every_processor_and_compiler_gives_the_same_bits(folder: Path, sources: list[Path], needs) -> None:
    """A program calls every function with pseudo-random answers (NaN and denormals among them) and prints hashes of what they say."""
    (folder / "driver.c").write_text(driver(CASES))
    printed = {}
    for build, (command, runner) in BUILDS.items():
        needs(command[0], *runner)
        language = [] if build == "C++" else ["-std=c99"]
        program = compile_c([*command, *language], folder, "driver", folder / "driver.c", *sources)
        done = subprocess.run([*runner, str(program)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        printed[build] = done.stdout
    assert all(len(text.splitlines()) == len(CASES) for text in printed.values())
    assert len(set(printed.values())) == 1
