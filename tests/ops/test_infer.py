"""Shape rules: they agree with ONNX's own inference (see the node cases of the import), keep symbols, and refuse with a reason."""

from __future__ import annotations

import pytest

from edgec.base.errors import ModelError
from edgec.ir.text import loads
from edgec.ir.types import Symbol
from edgec.ops.infer import infer_graph, infer_node

N = Symbol("N", 4)
PAD = 'input %x: float32[{}]\nconst %p: int64[2] = [{}]\n%y: float32[1] = Pad(%x, %p) {{mode="{}"}}'


def infer(text: str) -> list[object]:
    """Shapes of the outputs of the last node."""
    graph = loads(text)
    return [kind.shape for kind in infer_node(graph, graph.nodes[-1])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("input %x: float32[N<=4,3,1]\ninput %z: float32[5]\n%y: float32[1] = Add(%x, %z)", (N, 3, 5)),
        ("input %x: float32[N<=4,6]\nconst %s: int64[2] = [-1, 3]\n%y: float32[1] = Reshape(%x, %s) {allowzero=0}", None),
        ("input %x: float32[N<=4,2,3]\nconst %s: int64[2] = [-1, 6]\n%y: float32[1] = Reshape(%x, %s) {allowzero=0}", (N, 6)),
        ("input %x: float32[N<=4,2,3]\nconst %s: int64[3] = [0, 3, -1]\n%y: float32[1] = Reshape(%x, %s) {allowzero=0}", (N, 3, 2)),
        ("input %x: float32[N<=4,2,3]\n%y: float32[1] = Flatten(%x) {axis=1}", (N, 6)),
        ("input %x: float32[N<=4,2,3]\n%y: float32[1] = Flatten(%x) {axis=2}", None),
        ("input %x: float32[N<=4,2,3]\n%y: float32[1] = Transpose(%x) {perm=[2,0,1]}", (3, N, 2)),
        ("input %x: float32[N<=4,2]\n%y: float32[1] = Concat(%x, %x) {axis=1}", (N, 4)),
        ("input %x: float32[N<=4,2]\n%y: float32[1] = Concat(%x, %x) {axis=0}", None),
        ("input %x: float32[N<=4,4,9]\nconst %s: int64[2] = [3, 6]\n%a: float32[1], %y: float32[1] = Split(%x, %s) {axis=2}", (N, 4, 3)),
    ],
)
def test_symbols(text: str, expected: tuple[object, ...] | None) -> None:
    if expected is None:
        with pytest.raises(ModelError):
            infer(text)
    else:
        assert infer(text)[0] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input %x: float32[2]\ninput %z: float32[3]\n%y: float32[2] = Add(%x, %z)", "do not broadcast"),
        ("input %x: float32[2]\ninput %z: int32[2]\n%y: float32[2] = Add(%x, %z)", "different types"),
        ("input %x: float32[2,3]\ninput %z: float32[2,3]\n%y: float32[2,2] = MatMul(%x, %z)", "inner extents differ"),
        ("input %x: float32[2,3]\n%y: float32[2,2] = Softmax(%x) {axis=5}", "axis 5 lies outside of rank 2"),
        ("input %x: float32[2,3]\n%y: float32[2,2] = Sotfmax(%x) {axis=5}", "did you mean 'Softmax'"),
        ("input %x: int32[2,3]\n%y: float32[2,2] = Exp(%x)", "needs a float operand"),
        ("input %x: float32[2,3]\n%y: float32[2,2] = Softmax(%x)", "not in canonical form"),
        ("input %x: float32[4,3]\nconst %i: int64[1] = [7]\n%y: float32[1,3] = Gather(%x, %i) {axis=0}", "index lies outside"),
        (PAD.format(3, "2, 3", "reflect"), "axis 0 of 3 cannot be mirrored over 3 elements"),
        (PAD.format(4, "-2, 2", "reflect"), "axis 0 of 4 cannot be mirrored over 2 elements"),
        (PAD.format(1, "0, 1", "reflect"), "axis 0 of 1 cannot be mirrored"),
        (PAD.format(3, "-2, -1", "edge"), "leaves nothing of axis 0"),
        (PAD.format(3, "-2147483648, 2147483648", "constant"), "2\\^31 - 1 is the most"),
        (PAD.format(3, "-3, 5", "wrap"), "nothing is left of axis 0 to pad with"),
        ("input %x: float32[2]\nconst %r: int64[1] = [-3]\n%y: float32[1] = Tile(%x, %r)", "result would be float32"),
        ("input %x: float32[1]\nconst %s: int64[1] = [-7]\n%y: float32[1] = Expand(%x, %s)", "result would be float32"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        infer(text)


def test_infer_graph_lists_every_problem_and_sets_types() -> None:
    graph = loads("input %x: float32[2,3]\n%a: float32[1] = Relu(%x)\n%b: float32[1] = Transpose(%a) {perm=[1,0]}\noutput %b")
    infer_graph(graph)
    assert graph.shape("b") == (3, 2)
    graph.nodes[0].op, graph.nodes[1].attributes = "Nothing", {"perm": [0, 0]}
    with pytest.raises(ModelError) as caught:
        infer_graph(graph)
    assert len(caught.value.problems) == 2
