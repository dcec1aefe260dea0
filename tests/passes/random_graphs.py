"""Small random graphs: each step adds one operator to a value that is already there."""

from collections.abc import Callable

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, TensorType
from edgec.ops.infer import infer_node
from edgec.ops.proto import canonical_attributes

Generator = np.random.Generator
Step = Callable[[Graph, str, Generator], list[str] | None]


def add(graph: Graph, op: str, inputs: list[str], outputs: int = 1, **attributes: object) -> list[str]:
    names = [graph.fresh(f"v{len(graph.nodes)}_{index}") for index in range(outputs)]
    node = Node(op, inputs, names, canonical_attributes(op, attributes), f"{op}{len(graph.nodes)}")
    graph.insert(node, infer_node(graph, node))
    return names


def constant(graph: Graph, generator: Generator, *shape: int) -> str:
    """Numbers between 1/2 and 2 of both signs, often a neutral one or a power of two."""
    if generator.random() < 0.3:
        return graph.add_constant("c", np.full(shape, generator.choice([0.5, 1.0, 2.0, 3.0]), np.float32))
    return graph.add_constant("c", (generator.uniform(0.5, 2, shape) * generator.choice([-1, 1], shape)).astype(np.float32))


def integers(graph: Graph, values: list[int]) -> str:
    return graph.add_constant("i", np.asarray(values, np.int64))


def unary(graph: Graph, x: str, generator: Generator) -> list[str]:
    return add(graph, str(generator.choice(["Relu", "Neg", "Sigmoid", "Tanh", "Identity", "Abs"])), [x])


def clip(graph: Graph, x: str, generator: Generator) -> list[str]:
    low, high = sorted(generator.choice([-3.4028234663852886e38, -1.0, 0.0, 3.0, 6.0, 3.4028234663852886e38], 2, replace=False))
    return add(graph, "Clip", [x, *(graph.add_constant("bound", np.asarray(limit, np.float32)) for limit in (low, high))])


def with_constant(graph: Graph, x: str, generator: Generator) -> list[str]:
    shape = graph.types[x].static_shape
    kept = generator.integers(0, len(shape) + 1)
    operands = [x, constant(graph, generator, *(extent if generator.random() < 0.5 else 1 for extent in shape[len(shape) - kept :]))]
    op = str(generator.choice(["Add", "Mul", "Sub", "Div"]))
    return add(graph, op, operands if op == "Div" or generator.random() < 0.5 else operands[::-1])


def with_value(graph: Graph, x: str, generator: Generator) -> list[str] | None:
    others = [name for name, kind in graph.types.items() if kind == graph.types[x] and name not in graph.constants]
    return add(graph, str(generator.choice(["Add", "Mul", "Sub", "Max"])), [x, str(generator.choice(others))])


def swish(graph: Graph, x: str, generator: Generator) -> list[str]:
    return add(graph, "Mul", [x, *add(graph, "Sigmoid", [x])])


def transpose(graph: Graph, x: str, generator: Generator) -> list[str]:
    return add(graph, "Transpose", [x], perm=generator.permutation(len(graph.shape(x))).tolist())


def reshape(graph: Graph, x: str, generator: Generator) -> list[str]:
    shape = graph.types[x].static_shape
    cut = int(generator.integers(0, len(shape)))
    shapes = [[int(np.prod(shape[:cut])), -1], [*shape], [1, *shape], [-1], [*shape[::-1]]]
    return add(graph, "Reshape", [x, integers(graph, shapes[generator.integers(0, len(shapes))][-4:])])


def concat(graph: Graph, x: str, generator: Generator) -> list[str]:
    others = [name for name, kind in graph.types.items() if kind == graph.types[x]]
    axis = int(generator.integers(0, len(graph.shape(x))))
    return add(graph, "Concat", [x, *generator.choice(others, generator.integers(0, 2)).tolist()], axis=axis)


def slice_(graph: Graph, x: str, generator: Generator) -> list[str]:
    axis = int(generator.integers(0, len(graph.shape(x))))
    extent = graph.types[x].static_shape[axis]
    start = int(generator.integers(0, extent))
    operands = [integers(graph, [number]) for number in (start, extent, axis, int(generator.integers(1, 3)))]
    return add(graph, "Slice", [x, *operands])


def split(graph: Graph, x: str, generator: Generator) -> list[str]:
    axis = int(generator.integers(0, len(graph.shape(x))))
    extent = graph.types[x].static_shape[axis]
    first = int(generator.integers(1, extent + 1))
    sizes = [size for size in (first, extent - first) if size]
    return add(graph, "Split", [x, integers(graph, sizes)], len(sizes), axis=axis)


def pad(graph: Graph, x: str, generator: Generator) -> list[str]:
    rank = len(graph.shape(x))
    amounts = generator.integers(0, 2, (2, rank)) * (np.arange(rank) >= generator.choice([0, 2]))
    value = graph.add_constant("z", np.asarray(generator.choice([0.0, 0.0, -1.0]), np.float32))
    return add(graph, "Pad", [x, integers(graph, amounts.reshape(-1).tolist()), value], mode="constant")


def reduce(graph: Graph, x: str, generator: Generator) -> list[str]:
    rank = len(graph.shape(x))
    axes = [2, 3] if rank == 4 and generator.random() < 0.5 else [int(generator.integers(0, rank))]
    op = str(generator.choice(["ReduceMean", "ReduceSum", "ReduceMax"]))
    return add(graph, op, [x, integers(graph, axes)], keepdims=int(rank <= len(axes) or generator.random() < 0.7))


def softmax(graph: Graph, x: str, generator: Generator) -> list[str]:
    return add(graph, "Softmax", [x], axis=int(generator.integers(0, len(graph.shape(x)))))


def convolution(graph: Graph, x: str, generator: Generator) -> list[str] | None:
    shape = graph.types[x].static_shape
    if len(shape) != 4:
        return None
    kernel, outputs = int(generator.choice([1, 1, 3])), int(generator.integers(1, 5))
    bias = [constant(graph, generator, outputs)] if generator.random() < 0.5 else []
    pads = [kernel // 2] * 4
    attributes = {"kernel_shape": [kernel] * 2, "strides": [1, 1], "pads": pads, "dilations": [1, 1], "group": 1}
    return add(graph, "Conv", [x, constant(graph, generator, outputs, shape[1], kernel, kernel), *bias], **attributes)


def batch_norm(graph: Graph, x: str, generator: Generator) -> list[str] | None:
    shape = graph.types[x].static_shape
    if len(shape) < 2:
        return None
    variance = graph.add_constant("v", generator.uniform(0.5, 2, shape[1]).astype(np.float32))
    return add(graph, "BatchNormalization", [x, *(constant(graph, generator, shape[1]) for _ in range(3)), variance], epsilon=1e-3)


def pool(graph: Graph, x: str, generator: Generator) -> list[str] | None:
    shape = graph.types[x].static_shape
    if len(shape) != 4 or min(shape[2:]) < 2:
        return None
    kernel = list(shape[2:]) if generator.random() < 0.2 else [2, 2]
    pads = [0] * 4 if generator.random() < 0.5 else [1, 0, 1, 0]
    window = {"kernel_shape": kernel, "strides": [2, 1], "pads": pads, "dilations": [1, 1], "ceil_mode": 0}
    if generator.random() < 0.5:
        return add(graph, "MaxPool", [x], **window)
    return add(graph, "AveragePool", [x], **window, count_include_pad=int(generator.integers(0, 2)))


def matmul(graph: Graph, x: str, generator: Generator) -> list[str] | None:
    shape = graph.types[x].static_shape
    if len(shape) < 2:
        return None
    return add(graph, "MatMul", [x, constant(graph, generator, shape[-1], int(generator.integers(1, 6)))])


def gemm(graph: Graph, x: str, generator: Generator) -> list[str] | None:
    shape = graph.types[x].static_shape
    if len(shape) != 2:
        return None
    trans_a, trans_b, outputs = (int(number) for number in generator.integers([0, 0, 1], [2, 2, 5]))
    inner = shape[0] if trans_a else shape[1]
    weight = constant(graph, generator, *((outputs, inner) if trans_b else (inner, outputs)))
    return add(graph, "Gemm", [x, weight, constant(graph, generator, outputs)], alpha=0.5, beta=2.0, transA=trans_a, transB=trans_b)


STEPS: tuple[Step, ...] = (
    unary, clip, with_constant, with_constant, with_value, swish, transpose, transpose, reshape, concat, slice_, split, pad, reduce,
    softmax, convolution, convolution, batch_norm, pool, matmul, gemm,
)  # fmt: skip


def random_graph(steps: list[tuple[int, int]]) -> Graph:
    """The graph of these (step, seed) pairs. Values that nobody reads, and one that may have readers, are the outputs."""
    kind = TensorType(DType.FLOAT32, (1, 4, 5, 6))
    graph = Graph("random", ["x"], types={"x": kind})
    values = ["x"]
    for index, seed in steps:
        generator = np.random.default_rng(seed)
        x = values[-1 - min(int(generator.geometric(0.6)) - 1, len(values) - 1)]
        found = STEPS[index](graph, x, generator) or []
        values += [name for name in found if 0 < graph.types[name].elements <= 20000]
    unread = [name for node in graph.nodes for name in node.outputs if not graph.reader_count(name)]
    graph.outputs = list(dict.fromkeys([*unread, *values[1::7]])) or add(graph, "Relu", ["x"])
    return graph
