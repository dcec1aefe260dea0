"""Two graphs in ONNX Runtime, on the same random inputs."""

import numpy as np
import onnxruntime

from edgec.export import to_onnx
from edgec.ir.graph import Graph
from edgec.ir.types import DType, TensorType


def random_array(kind: TensorType, generator: np.random.Generator) -> np.ndarray:
    """Floats are Gaussian with some exact zeros and some large ones; integers and booleans are uniform."""
    shape, dtype = kind.static_shape, kind.dtype.numpy
    if not kind.dtype.is_float:
        return generator.integers(0, 2 if kind.dtype is DType.BOOL else 100, shape).astype(dtype)
    scale = generator.choice([0.0, 1.0, 1.0, 8.0], shape)
    return (generator.standard_normal(shape) * scale).astype(dtype)


def run(graph: Graph, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(to_onnx(graph).SerializeToString(), options)
    return session.run(list(graph.outputs), inputs)


def assert_same_results(before: Graph, after: Graph, seeds: int = 3, tolerance: float = 1e-5) -> None:
    """The interface is the same, and max|a - b| <= tolerance * max|b| for each output; NaN and infinities at the same places."""
    assert (before.inputs, before.outputs) == (after.inputs, after.outputs)
    for name in (*before.inputs, *before.outputs):
        assert before.types[name] == after.types[name]
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        inputs = {name: random_array(before.types[name], generator) for name in before.inputs}
        for name, expected, found in zip(before.outputs, run(before, inputs), run(after, inputs), strict=True):
            assert expected.dtype == found.dtype and expected.shape == found.shape, name
            limit = tolerance * np.abs(expected[np.isfinite(expected)], dtype=np.float64).max(initial=0)
            np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=0, atol=limit, err_msg=name)
