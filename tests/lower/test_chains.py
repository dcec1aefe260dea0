"""Long chains and wide fans: work grows with the number of nodes and not with its square, and no expression grows without end."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import edgec
from edgec.emit import emit_sources
from edgec.frontend import from_proto
from edgec.lower import lower
from edgec.lower.chains import LONGEST
from edgec.lower.plan import plan
from edgec.passes import optimize
from edgec.program.expr import Expr
from edgec.program.program import LoopCall, Program
from edgec.program.walk import children, roots
from edgec.schedule import schedule
from edgec.targets import load_target
from tests.counting import calls
from tests.frontend.models import ints, model, node, weights

Nodes = list[onnx.NodeProto]
CONSTANTS = {
    "c": np.array([1.001], np.float32), "w": weights(4, 4, 1, 1) * np.float32(0.5), "g": np.ones(4, np.float32),
    "z": np.zeros(4, np.float32), "l": np.ones(2, np.float32), "nothing": ints(*[0] * 8), "one": ints(0, 0, 0, 0, 0, 0, 0, 1),
    "shape": ints(1, 4, 2, 2), "axis": ints(1), "swap": ints(1, 0), "qs": np.array(0.1, np.float32), "qz": np.array(0, np.uint8),
    "low": np.array(-3, np.float32),
}  # fmt: skip


def row(op: str, others: str = "", **attributes: object) -> Callable[[str, str, int], Nodes]:
    """One node for each link of a chain; `@` among its operands is the chain's value again."""
    return lambda x, y, n: [node(op, f"{x} {others}".replace("@", x), y, f"n{n}", **attributes)]


def two(first: tuple[str, str], second: tuple[str, str]) -> Callable[[str, str, int], Nodes]:
    """Two nodes for each link."""
    return lambda x, y, n: [node(first[0], f"{x} {first[1]}", f"m{n}", f"a{n}"), node(second[0], f"m{n} {second[1]}", y, f"b{n}")]


CHAINS: dict[str, Callable[[str, str, int], Nodes]] = {
    "Identity": row("Identity"), "Sin": row("Sin"), "Relu": row("Relu"), "Neg": row("Neg"), "add a constant": row("Add", "c"),
    "scale": row("Mul", "c"), "Clip": row("Clip", "low"), "Transpose": row("Transpose", perm=[0, 3, 1, 2]),
    "Reshape": row("Reshape", "shape"), "no Pad": row("Pad", "nothing"), "Pad": row("Pad", "one"), "Conv": row("Conv", "w"),
    "BatchNormalization": row("BatchNormalization", "g z z g"), "Softmax": row("Softmax", axis=1), "Cast": row("Cast", to=1),
    "Unsqueeze": two(("Unsqueeze", "axis"), ("Squeeze", "axis")), "double": row("Add", "@"), "square": row("Mul", "@"),
    "skip": row("Add", "x"), "Gather": row("Gather", "swap", axis=2), "Gelu": row("Gelu"), "HardSwish": row("HardSwish"),
    "LayerNormalization": row("LayerNormalization", "l"), "MaxPool": row("MaxPool", kernel_shape=[3, 3], pads=[1] * 4),
    "Q/DQ": two(("QuantizeLinear", "qs qz"), ("DequantizeLinear", "qs qz")),
    "int8 Add": lambda x, y, n: [
        *two(("QuantizeLinear", "qs qz"), ("DequantizeLinear", "qs qz"))(x, f"d{n}", n), node("Add", f"d{n} d0", y, f"c{n}"),
    ],
}  # fmt: skip


def chain(link: Callable[[str, str, int], Nodes], count: int) -> onnx.ModelProto:
    values = ["x", *(f"v{n}" for n in range(1, count)), "y"]
    return whole([item for n in range(count) for item in link(values[n], values[n + 1], n)])


def fan(count: int) -> onnx.ModelProto:
    """Many nodes that read one value."""
    constants = {f"k{n}": np.array([n], np.float32) for n in range(count)}
    nodes = [node("Add", f"x k{n}", f"h{n}") for n in range(count)] + [node("Sum", " ".join(f"h{n}" for n in range(count)), "y")]
    return whole(nodes, constants)


def whole(nodes: Nodes, constants: dict[str, np.ndarray] | None = None) -> onnx.ModelProto:
    read = {name for item in nodes for name in item.input}
    used = {name: array for name, array in {**CONSTANTS, **(constants or {})}.items() if name in read}
    return model(nodes, {"x": [1, 4, 2, 2]}, ["y"], used, opset=20)


def compiled(proto: onnx.ModelProto) -> Program:
    graph = from_proto(proto).graph
    optimize(graph)
    program = schedule(lower(graph, load_target("portable"), "chain"), load_target("portable"))
    plan(program)
    emit_sources(program, load_target("portable"), "c")
    return program


@pytest.mark.parametrize("name", [*CHAINS, "fan"])
def test_work_grows_with_the_nodes(name: str) -> None:
    made = [fan(count) if name == "fan" else chain(CHAINS[name], count) for count in (8, 24, 48, 96)]
    compiled(made[0])  # what is loaded once
    few, more, most = (calls(lambda proto=proto: compiled(proto)) for proto in made[1:])  # type: ignore[misc]
    assert (most - more) / (more - few) < 2.5


def depth(e: Expr) -> int:
    return 1 + max(map(depth, children(e)), default=0)


def expressions_of(program: Program) -> Iterator[Expr]:
    for call in program.calls:
        if isinstance(call, LoopCall):
            yield from roots(call.body)


@pytest.mark.parametrize("name", ["Sin", "Pad", "square", "Gather", "Gelu", "HardSwish", "skip", "int8 Add"])
def test_expressions_stay_readable(name: str) -> None:
    program = compiled(chain(CHAINS[name], 500))
    assert max(map(depth, expressions_of(program))) < 8 * LONGEST
    assert len(program.calls) >= 500 // LONGEST


def test_a_long_chain_is_built_and_right(tmp_path: Path) -> None:
    """With the compiler that allows fewest nested brackets, examined against ONNX Runtime."""
    (tmp_path / "chain.onnx").write_bytes(chain(CHAINS["Sin"], 500).SerializeToString())
    cc = "clang -O0" if shutil.which("clang") else "gcc -O0"
    edgec.build(tmp_path / "chain.onnx", precision="fp32", target="portable", cc=cc, out=tmp_path / "out").examine()
