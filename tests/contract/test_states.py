"""Packages that keep something from run to run: their streams are the model's, in Python and in C, and their exams see what is wrong."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import edgec
from edgec.base.errors import DeviceError
from edgec.package import Package
from edgec.pipeline.evaluation import kept_options
from tests.conftest import require
from tests.states import STATES, model_of

Arrays = dict[str, np.ndarray]
STEPS = 5


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Package]:
    """A float package of each model, beside its file."""
    require("gcc", "make")
    folder = tmp_path_factory.mktemp("states")

    @cache
    def built(name: str) -> Package:
        text, states = STATES[name]
        onnx.save(model_of(text), folder / f"{name}.onnx")
        return edgec.build(folder / f"{name}.onnx", target="portable", precision="fp32", out=folder / name, state=states)

    return built


def steps_of(package: Package, count: int = STEPS) -> list[Arrays]:
    generator = np.random.default_rng(5)
    return [
        {tensor.name: (generator.normal(size=tensor.shape) * (tensor.dtype.kind == "f")).astype(tensor.dtype) for tensor in package.inputs}
        for _ in range(count)
    ]


def expected(name: str, steps: Sequence[Arrays]) -> list[Arrays]:
    """ONNX Runtime, fed back its own answers by hand."""
    text, states = STATES[name]
    session = onnxruntime.InferenceSession(model_of(text).SerializeToString(), providers=["CPUExecutionProvider"])
    kept = {
        value.name: np.full(value.shape, states[value.name][1], np.float32 if value.type == "tensor(float)" else np.int64)
        for value in session.get_inputs()
        if value.name in states
    }
    names, answers = [value.name for value in session.get_outputs()], []
    for step in steps:
        found = dict(zip(names, session.run(names, {**step, **kept}), strict=True))
        kept = {end: found.pop(output) for end, (output, _) in states.items()}
        answers.append(found)
    return answers


@pytest.mark.parametrize("name", ["average", "cache", "count", pytest.param("cell", marks=pytest.mark.thorough)])
def test_a_stream_is_the_models(name: str, packages: Callable[[str], Package]) -> None:
    """Also from the beginning again, and by `edgec run` over several samples, which starts anew each time."""
    package = packages(name)
    _, states = STATES[name]
    ends = {*states, *(output for output, _ in states.values())}
    assert not ends & {tensor.name for tensor in (*package.inputs, *package.outputs)}
    assert kept_options(package)["state"] == states
    assert {kept.name: (kept.output, kept.start) for kept in package.manifest.states or ()} == states
    model, built = edgec.inspect(f"{package.directory}.onnx", state=states), edgec.inspect(package.directory)
    told = [{state["name"]: (state["output"], state["start"]) for state in found.states} for found in (model, built)]
    assert told == [states, states] and [port["name"] for port in model.inputs] == [tensor.name for tensor in package.inputs]
    steps = steps_of(package)
    wanted = expected(name, steps)
    with package.load() as run:
        for _ in range(2):
            for step, answers in zip(steps, wanted, strict=True):
                for output, answer in zip(run.names, run(step), strict=True):
                    np.testing.assert_allclose(answer, answers[output], rtol=1e-5, atol=1e-6)
            run.reset()
    if name == "average":  # whose arrays hold a sample in each row
        joined = {key: np.concatenate([step[key] for step in steps]) for key in steps[0]}
        for _ in range(2):
            mean = np.concatenate([answers["mean"] for answers in wanted])
            np.testing.assert_allclose(edgec.run(package, joined)["mean"], mean, rtol=1e-5, atol=1e-6)
        found = edgec.compare(package.directory.with_suffix(".onnx"), package, joined)
        assert found.samples == STEPS and found.outputs[0].sqnr_db > 100


TWO = r"""
#include "cache.h"
#include <stdio.h>
#include <string.h>
static unsigned char arenas[2][CACHE_ARENA_BYTES] __attribute__((aligned(64)));
static int bad;
static int step(cache_t *cache, float *scores, int number, int64_t skip) {
    const float q[4] = {1, 2, 3, 4}, k[4] = {(float)number, 0, 0, 0.5f};
    return cache_run(cache, q, k, &skip, scores);
}
static void expect(int holds, const char *what) { if (!holds) bad = 1, puts(what); }
int main(void) {
    cache_t one, two;
    float first[6], second[6], again[6];
    memset(arenas, 0xff, sizeof arenas);
    expect(cache_init(&one, arenas[0], sizeof arenas[0]) == 0 && cache_init(&two, arenas[1], sizeof arenas[1]) == 0, "init");
    step(&one, first, 1, 0), step(&two, second, 2, 0);
    expect(first[0] == 3 && second[0] == 4 && first[1] == -10 && second[1] == -10, "each has a state of its own");
    step(&one, first, 3, 0);
    expect(first[0] == 3 && first[1] == 5 && first[2] == -10, "it goes on");
    expect(step(&one, again, 9, 100) == CACHE_BAD_INDEX, "outside");
    step(&one, again, 4, 0);
    expect(again[0] == 3 && again[1] == 5 && again[2] == 6 && again[3] == -10, "a run that fails leaves it as it was");
    expect(cache_reset(&one) == 0 && cache_reset(NULL) == CACHE_NOT_INITIALIZED, "reset");
    step(&one, again, 2, 0);
    expect(memcmp(again, second, sizeof again) == 0, "a state that was reset is a fresh one");
    return bad;
}
"""


def test_what_is_kept_is_computed_where_it_stays(packages: Callable[[str], Package]) -> None:
    """Rows go right into the cache of the next run, which the scores are read from, too."""
    assert any("output_keys_next" in call.reads for call in packages("cache").manifest.calls)


def test_instances_keep_states_of_their_own_and_failures_change_none(packages: Callable[[str], Package], tmp_path: Path) -> None:
    package = packages("cache")
    (tmp_path / "two.c").write_text(TWO)
    words = ["gcc", "-I", str(package.directory / "include"), "two.c", str(package.directory / "build/libcache.a"), "-pthread", "-o", "two"]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "two"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    with package.load() as run, pytest.raises(DeviceError, match="ended"):
        run({**steps_of(package, 1)[0], "skip": np.array([9])})


@pytest.mark.parametrize(
    ("file", "text", "instead"),
    [
        ("src/average.c", "    instance->turn ^= 1;\n", ""),
        ("src/average_dispatch.c", "    begin(instance);\n    return AVERAGE_OK;", "    return AVERAGE_OK;"),
        ("src/average_dispatch.c", "start = 0x3f000000u", "start = 0x3f010000u"),
    ],
)
def test_the_exam_sees_what_is_not_kept_or_not_forgotten(
    file: str, text: str, instead: str, packages: Callable[[str], Package], tmp_path: Path
) -> None:
    folder = tmp_path / "average"
    shutil.copytree(packages("average").directory, folder)
    source = (folder / file).read_text()
    assert source.count(text) == 1
    (folder / file).write_text(source.replace(text, instead))
    subprocess.run(["make", "-s", "CC=gcc", "CFLAGS=-O0", "build/average_exam"], cwd=folder, check=True)
    done = subprocess.run(["build/average_exam"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "WRONG" in done.stdout, done.stdout + done.stderr


def quantized(folder: Path, do: Callable[..., object], **settings: object) -> tuple[Arrays, object]:
    """The cell's samples, and what is made of them."""
    text, states = STATES["cell"]
    onnx.save(model_of(text), folder / "cell.onnx")
    arrays = {"x": np.random.default_rng(2).normal(0, 1, (12, 8)).astype(np.float32)}
    return arrays, do(folder / "cell.onnx", state=states, calib=arrays, **settings)


def test_both_ends_of_a_state_have_one_grid(tmp_path: Path) -> None:
    """Its statistics are those of the stream: of zeros, with which it begins, nothing could be said."""
    quantized(tmp_path, edgec.quantize, out=tmp_path / "int8.onnx", effort="fast")
    graph = onnx.load(tmp_path / "int8.onnx").graph
    read = {node.input[0]: node for node in graph.node if node.op_type == "QuantizeLinear"}
    made = {node.output[0]: node for node in graph.node if node.op_type == "DequantizeLinear"}
    numbers = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    assert all(numbers[read["h"].input[place]] == numbers[made["h_next"].input[place]] for place in (1, 2))
    assert 0.5 < 255 * numbers[read["h"].input[1]] <= 2.01


@pytest.mark.thorough
def test_a_quantized_stream_stays_near_the_model(tmp_path: Path) -> None:
    require("gcc", "make")
    arrays, package = quantized(tmp_path, edgec.build, target="portable", out=tmp_path / "cell")
    assert isinstance(package, Package) and package.manifest.compared == len(arrays["x"])
    assert edgec.compare(tmp_path / "cell.onnx", package, arrays).outputs[0].sqnr_db > 20
