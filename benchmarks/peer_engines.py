"""One inference engine in a process of its own, which times runs when it is asked to: benchmarks/peers.py starts one for each column.

    PYTHON peer_engines.py '{"engine": ..., "model": ..., "inputs": FILE.npz, "threads": 1, "cores": [1], "isa": ..., "clock": "wall",
                              "answers": FILE.npz}'

It answers a line of JSON when the model is ready, {"engine": what runs}, and its outputs are in the file `answers` then, as arr_0 and so
on, or {"error": why it does not run}, then a line with the microseconds of each run for every line with a number of runs. Inputs and
outputs lie in memory that is the same for every run. An engine is a function that takes the question and the inputs and gives (what runs,
a function without arguments that is one run, one that gives the outputs of the last run).
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import chdir
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from typing import Any

import numpy as np

Question = dict[str, Any]
Ready = tuple[str, Callable[[], Any], Callable[[], Iterable[Any]]]
Feed = dict[str, np.ndarray]


def edgec(question: Question, feed: Feed) -> Ready:
    """A package's shared library; the question's model is the package folder."""
    folder, threads = Path(question["model"]), question["threads"]
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    name, arena = facts["name"], facts["arena"]
    library = ctypes.CDLL(str(folder / "build" / f"lib{name}.so"))

    def function(word: str, kind: Any = ctypes.c_int) -> Any:
        found = getattr(library, f"{name}_{word}")
        found.restype = kind
        return found

    instance, pool = aligned(1 << 14), aligned(1 << 16)
    memory = arena["tensor_bytes"] + threads * arena["scratch_bytes_per_thread"]
    assert function("init")(instance, aligned(memory), ctypes.c_size_t(memory)) == 0
    if question["isa"]:
        assert function("force_isa")(instance, question["isa"].encode()) == 0, f"no {question['isa']} here"
    if threads > 1:
        started = function("pool_start", ctypes.c_void_p)(pool, ctypes.c_size_t(1 << 16), threads)
        for_all = ctypes.cast(library[f"{name}_pool_parallel_for"], ctypes.c_void_p)
        assert function("set_parallel")(instance, for_all, ctypes.c_void_p(started), threads) == 0
    given = [pointer(feed[port["name"]]) for port in facts["inputs"]]
    answers = [np.zeros(port["shape"], port["dtype"]) for port in facts["outputs"]]
    taken = [ctypes.c_void_p(array.ctypes.data) for array in answers]
    run, arguments = function("run"), (instance, *given, *taken)
    assert run(*arguments) == 0
    return f"edgec {function('isa', ctypes.c_char_p)(instance).decode()}", lambda: run(*arguments), lambda: answers


def onnxruntime(question: Question, feed: Feed) -> Ready:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = question["threads"]
    options.log_severity_level = 3
    session = ort.InferenceSession(question["model"], options, providers=["CPUExecutionProvider"])
    binding, value = session.io_binding(), ort.OrtValue.ortvalue_from_numpy
    answers = session.run(None, feed)
    for name, array in feed.items():
        binding.bind_ortvalue_input(name, value(array))
    for output, array in zip(session.get_outputs(), answers, strict=True):
        binding.bind_ortvalue_output(output.name, value(array))
    return f"onnxruntime {ort.__version__}", lambda: session.run_with_iobinding(binding), binding.copy_outputs_to_cpu


def openvino(question: Question, feed: Feed) -> Ready:
    import openvino as ov

    settings = {
        "INFERENCE_NUM_THREADS": question["threads"],
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "f32",  # else processors with bfloat16 compute in that
        "ENABLE_CPU_PINNING": False,  # this process is pinned already
    }
    model = ov.compile_model(question["model"], "CPU", settings)
    request = model.create_infer_request()
    for port in model.inputs:
        (name,) = port.names & set(feed)
        request.set_tensor(port, ov.Tensor(feed[name], shared_memory=True))
    for port in model.outputs:
        if port.partial_shape.is_static:
            request.set_tensor(port, ov.Tensor(port.element_type, port.shape))
    return (
        f"openvino {ov.__version__.split('-')[0]}",
        lambda: request.infer(share_outputs=True),
        lambda: [tensor.data for tensor in request.output_tensors],
    )


def mnn(question: Question, feed: Feed) -> Ready:
    """Converted by the extension module, which leaves files where it runs: the command-line tool around it sends logs of its use home."""
    import _tools  # type: ignore
    import MNN

    model = str(Path(question["model"]).resolve())
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        path = f"{folder}/model.mnn"
        _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", model, "--MNNModel", path, "--bizCode", "peer"])
        network = MNN.Interpreter(path)
    session = network.createSession({"numThread": question["threads"], "precision": "high", "backend": "CPU"})
    kinds = {"float32": MNN.Halide_Type_Float, "int32": MNN.Halide_Type_Int, "int64": MNN.Halide_Type_Int64}

    def host(shape: tuple[int, ...], array: np.ndarray) -> Any:
        return MNN.Tensor(shape, kinds[str(array.dtype)], array, MNN.Tensor_DimensionType_Caffe)

    inputs = [(tensor, host(feed[name].shape, feed[name])) for name, tensor in network.getSessionInputAll(session).items()]
    outputs = [(tensor, tensor.getShape()) for tensor in network.getSessionOutputAll(session).values()]
    places = [(tensor, host(shape, np.zeros(shape, np.float32))) for tensor, shape in outputs]

    def run() -> None:
        for tensor, source in inputs:
            tensor.copyFrom(source)
        network.runSession(session)
        for tensor, place in places:
            tensor.copyToHostTensor(place)

    return f"MNN {MNN.version()}", run, lambda: [place.getNumpyData() for _, place in places]


def ncnn(question: Question, feed: Feed) -> Ready:
    """Converted by pnnx, which drops a batch of one."""
    import ncnn

    (package,) = importlib.util.find_spec("pnnx").submodule_search_locations  # type: ignore
    shapes = ",".join(str(list(array.shape)).replace(" ", "") for array in feed.values())
    network = ncnn.Net()
    options = network.opt
    options.num_threads = question["threads"]
    options.use_fp16_packed = options.use_fp16_storage = options.use_fp16_arithmetic = options.use_bf16_storage = False
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, "model.onnx")
        copied.write_bytes(Path(question["model"]).read_bytes())
        subprocess.run([f"{package}/pnnx", "model.onnx", f"inputshape={shapes}"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        assert network.load_param(f"{folder}/model.ncnn.param") == 0 and network.load_model(f"{folder}/model.ncnn.bin") == 0
    names = list(zip(network.input_names(), [ncnn.Mat(array[0]).clone() for array in feed.values()], strict=True))

    def run() -> list[Any]:
        extractor = network.create_extractor()
        for name, matrix in names:
            extractor.input(name, matrix)
        return [extractor.extract(name)[1] for name in network.output_names()]

    return f"ncnn {ncnn.__version__}", run, run


ENGINES: dict[str, Callable[[Question, Feed], Ready]] = {
    "edgec": edgec, "onnxruntime": onnxruntime, "openvino": openvino, "mnn": mnn, "ncnn": ncnn,
}  # fmt: skip
CLOCKS = {"wall": perf_counter_ns, "cpu": process_time_ns}  # cpu: what this process got, all of its threads together
_KEPT: list[Any] = []  # memory that C functions use


def aligned(size: int) -> ctypes.c_void_p:
    """The address of so many zero bytes, at the beginning of a page."""
    memory = np.zeros(size + 4096, np.uint8)
    _KEPT.append(memory)
    return ctypes.c_void_p(-(-memory.ctypes.data // 4096) * 4096)


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    place = aligned(array.nbytes)
    ctypes.memmove(place, array.ctypes.data, array.nbytes)
    return place


def main() -> None:
    question = json.loads(sys.argv[1])
    clock = CLOCKS[question["clock"]]
    os.sched_setaffinity(0, question["cores"])
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # libraries print what they like
    try:
        with np.load(question["inputs"]) as stored:
            feed = {name: np.ascontiguousarray(stored[name]) for name in stored.files}
        name, run, outputs = ENGINES[question["engine"]](question, feed)
        run()
        np.savez(question["answers"], *(np.array(output) for output in outputs()))
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}".splitlines()[0][:160]}), file=answers)
        return
    print(json.dumps({"engine": name}), file=answers)
    for line in sys.stdin:
        times = []
        run()  # the caches are the others' at first
        for _ in range(int(line)):
            start = clock()
            run()
            times.append((clock() - start) / 1e3)
        print(json.dumps(times), file=answers)


if __name__ == "__main__":
    main()
