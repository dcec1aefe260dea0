"""benchmarks/quantizers.py has a row for every model whose samples are no photographs: here tiny ones of the same names and inputs."""

from __future__ import annotations

import json
import math
import sys
import wave
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.helper import make_node as node

from tests.benchmarks.test_peers import ROOT, script

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
Ports = dict[str, tuple[int, tuple[int | str, ...]]]
MICRO = "micro_kws_m_qoperator"


def save(path: Path, nodes: list[onnx.NodeProto], inputs: Ports, outputs: Ports, **weights: np.ndarray) -> None:
    ports = [[helper.make_tensor_value_info(name, *port) for name, port in side.items()] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, path.stem, *ports, [numpy_helper.from_array(array, name) for name, array in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    dice = np.random.default_rng(0)

    def floats(*shape: int) -> np.ndarray:
        return (dice.standard_normal(shape) / shape[0] ** 0.5).astype(np.float32)

    spotter = [node("Reshape", ["input_1", "flat"], ["row"]), node("MatMul", ["row", "w"], ["Identity"])]
    save(
        tmp_path / "kws_dscnn.onnx", spotter, {"input_1": (FLOAT, ("N", 49, 10, 1))}, {"Identity": (FLOAT, ("N", 12))},
        flat=np.array([-1, 490]), w=floats(490, 12),
    )  # fmt: skip
    voice = [
        node("Cast", ["sr"], ["rate"], to=FLOAT), node("Div", ["rate", "most"], ["gain"]), node("Mul", ["input", "gain"], ["loud"]),
        node("MatMul", ["loud", "w"], ["seen"]), node("Add", ["state", "seen"], ["sum"]), node("Tanh", ["sum"], ["stateN"]),
        node("MatMul", ["seen", "v"], ["score"]), node("Sigmoid", ["score"], ["output"]),
    ]  # fmt: skip
    heard: Ports = {"input": (FLOAT, ("batch", "length")), "state": (FLOAT, (2, "batch", 128)), "sr": (INT64, ())}
    told: Ports = {"output": (FLOAT, ("batch", 1)), "stateN": (FLOAT, (2, "batch", 128))}
    save(
        tmp_path / "silero_vad_16k_op15.onnx", voice, heard, told,
        most=np.array(8000, np.float32), w=3 * floats(576, 128), v=floats(128, 1),
    )  # fmt: skip
    decoder = [node("Gather", ["embedding", "input_ids"], ["rows"]), node("MatMul", ["rows", "w"], ["logits"])]
    save(
        tmp_path / "tiny_decoder_nextnode.onnx", decoder, {"input_ids": (INT64, (1, 8))}, {"logits": (FLOAT, (1, 8, 11))},
        embedding=floats(11, 32), w=floats(32, 11),
    )  # fmt: skip
    name, scale, middle = "serving_default_input:0", np.array(10 / 255, np.float32), np.array(-1, np.int8)
    coded = [
        node("QuantizeLinear", [name, "s", "z"], ["codes"]),
        node("QLinearMatMul", ["codes", "s", "z", "w", "ws", "wz", "s", "z"], ["made"]),
        node("DequantizeLinear", ["made", "s", "z"], ["scores"]), node("Softmax", ["scores"], ["best"]),
    ]  # fmt: skip
    save(
        tmp_path / f"{MICRO}.onnx", coded, {name: (FLOAT, (1, 1960))}, {"best": (FLOAT, (1, 10))},
        s=scale, z=middle, w=dice.integers(-127, 128, (1960, 10), np.int8), ws=np.array(3e-4, np.float32), wz=np.array(0, np.int8),
    )  # fmt: skip
    embedder = [
        node("Gather", ["embedding", "input_ids"], ["rows"]), node("Cast", ["attention_mask"], ["seen"], to=FLOAT),
        node("Unsqueeze", ["seen", "last"], ["column"]), node("Mul", ["rows", "column"], ["kept"]),
        node("ReduceMean", ["kept"], ["mean"], axes=[1], keepdims=0), node("MatMul", ["mean", "w"], ["sentence_embedding"]),
    ]  # fmt: skip
    words: Ports = dict.fromkeys(("input_ids", "attention_mask"), (INT64, ("batch", "sequence")))
    save(
        tmp_path / "minilm.onnx", embedder, words, {"sentence_embedding": (FLOAT, ("batch", 24))},
        last=np.array([2]), embedding=floats(30, 16), w=floats(16, 24),
    )  # fmt: skip
    np.savez(
        tmp_path / "minilm_pairs.npz", input_ids=dice.integers(0, 30, (12, 64)),
        attention_mask=(np.arange(64) < dice.integers(8, 64, (12, 1))).astype(np.int64), embedding=floats(12, 24),
    )  # fmt: skip
    (tmp_path / "vad_a").mkdir()
    for number in range(4):
        with wave.open(str(tmp_path / "vad_a" / f"{number}.wav"), "wb") as opened:
            opened.setparams((1, 2, 16_000, 0, "NONE", ""))
            opened.writeframes((dice.standard_normal(20_000) * 3000).astype(np.int16).tobytes())
    return tmp_path


@pytest.fixture
def quantizers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return script("quantizers")


def test_every_model_gets_a_row(
    quantizers: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--columns", "plain", "default", "onnxruntime", "--calibration", "5", "--others", "6", "--json", str(folder / "rows.json")]
    monkeypatch.setattr(sys, "argv", ["quantizers.py", str(folder), *words])
    assert quantizers.main() == 0
    rows = json.loads((folder / "rows.json").read_text(encoding="utf-8"))
    assert list(rows) == [source.name for source in quantizers.SOURCES]
    same = rows.pop(MICRO)
    assert same["plain"] == same["default"] == math.inf and same["onnxruntime"] == "quantized" and same["agree"] == 1
    for name, row in rows.items():
        assert all(20 < row[column] < 100 for column in ("plain", "default", "onnxruntime")), (name, row)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith(MICRO))
    assert line.split()[1:6] == ["inf", "inf", "quantized", "-", "1.00"]


def test_nothing_calibrates_that_is_measured_on(quantizers: ModuleType, folder: Path) -> None:
    for source in quantizers.SOURCES:
        halves = [list(source.samples(folder, half, 6)) for half in (0, 1)]
        assert [len(half) for half in halves] == [6, 6] and all(set(one) == set(halves[0][0]) for half in halves for one in half)
        everything = [b"".join(array.tobytes() for array in one.values()) for half in halves for one in half]
        assert len(set(everything)) == 12, f"{source.name}: one sample twice"


def test_a_stream_is_where_the_float_model_has_come_to(quantizers: ModuleType, folder: Path) -> None:
    """The middle frame of the second recording, by NumPy."""
    (source,) = (source for source in quantizers.SOURCES if source.name.startswith("silero"))
    (sample,) = source.samples(folder, 1, 1)
    model = onnx.load(folder / f"{source.name}.onnx")
    (w,) = (numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.name == "w")
    with wave.open(str(folder / "vad_a" / "1.wav")) as opened:
        audio = np.frombuffer(opened.readframes(opened.getnframes()), np.int16).astype(np.float32) / 32768
    audio, state = np.concatenate([np.zeros(64, np.float32), audio]), np.zeros((2, 1, 128), np.float32)
    frames = [audio[None, start : start + 576] for start in range(0, len(audio) - 575, 512)]
    middle = len(frames) // 2
    for frame in frames[:middle]:
        state = np.tanh(state + 2 * frame @ w)
    np.testing.assert_array_equal(sample["input"], frames[middle])
    np.testing.assert_allclose(sample["state"], state, atol=1e-5)


def test_equal_answers_have_no_ratio(quantizers: ModuleType) -> None:
    exact = np.array([[1.0, -2.0]])
    assert quantizers.ratio(exact, exact) == math.inf
    assert quantizers.ratio(exact, exact * 1.01) == pytest.approx(40)
    assert quantizers.cell(math.inf) == "inf" and quantizers.cell(math.nan) == quantizers.cell(None) == "-"
