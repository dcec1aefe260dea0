"""What becomes of branches, loops, scans and sequences: straight nodes, or an error that says what to do."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from edgec.base.budget import Budget, BudgetError
from edgec.base.errors import ModelError
from edgec.base.part import Part
from edgec.frontend import from_proto
from edgec.frontend.load import Imported
from edgec.ir.graph import Graph
from edgec.ir.loop import loops_in
from edgec.ops.legal import CHECKED

from .models import ops


def read(text: str, opset: int = 18, **options: object) -> Imported:
    return from_proto(parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> graph {text}'), **options)  # type: ignore[arg-type]


CHOICE = """(float[3] x, int64 k) => (float[3] y) {
  two = Constant<value = int64 {2}>()  is = Equal(k, two)
  y = If(is) <then_branch = t () => (float[3] a) { a = Exp(x) }, else_branch = f () => (float[N] b) { b = ELSE }>
}"""


def test_both_branches_are_computed_and_one_is_chosen() -> None:
    assert ops(read(CHOICE.replace("ELSE", "Neg(x)")).graph)[-2:] == ["Where", "Identity"]


@pytest.mark.parametrize(("value", "taken"), [(2, "Exp"), (3, "Neg")])
def test_a_constant_decides(value: int, taken: str) -> None:
    found = read(CHOICE.replace("ELSE", "Neg(x)"), part=Part(constants={"k": value}))
    assert (ops(found.graph), found.graph.inputs, found.fixed) == ([taken], ["x"], {"k": np.array(value)})


def test_branches_of_two_shapes_name_what_decides() -> None:
    with pytest.raises(ModelError, match=r"float32\[3\] or float32\[6\].*--constant k=VALUE"):
        read(CHOICE.replace("ELSE", "Concat<axis = 0>(x, x)"))


def test_indices_of_a_branch_count_only_where_it_is_taken() -> None:
    """The guard is over each operator that ends a run at a bad index."""
    text = """(float[3] x, int64[1] at, bool c) => (float[1] y) {
      y = If(c) <then_branch = t () => (float[1] a) { a = Gather(x, at) }, else_branch = f () => (float[1] b) { b = GatherElements(x, at) }>
    }"""
    graph = read(text).graph
    indices = [graph.producer(node.inputs[CHECKED[node.op]]) for node in graph.nodes if node.op in CHECKED]
    assert indices
    assert all(node is not None and node.op == "Where" for node in indices)


def test_what_a_turn_does_not_change_is_computed_once() -> None:
    graph = read("""(float[3] x, float[3] w) => (float[3] y) {
      often = Constant<value = int64 {4}>()
      y = Loop(often, , x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] n) { d = Identity(c) e = Exp(w) n = Add(s, e) }>
    }""").graph
    assert sorted(ops(graph)) == ["Add"] * 4 + ["Exp", "Identity"]


def test_a_loop_that_never_turns_hands_its_state_on() -> None:
    graph = read("""(float[3] x) => (float[3] y) {
      often = Constant<value = int64 {0}>()
      y = Loop(often, , x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] n) { d = Identity(c) n = Exp(s) }>
    }""").graph
    assert ops(graph) == ["Identity"]


WHILE = """(float[3] x) => (float y) {
  often = Constant<value = int64 {OFTEN}>()  yes = Constant<value = bool {1}>()
  s, rows = Loop(often, yes, x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] n, float[3] row) {
    n = Exp(s)  row = Identity(n)  top = ReduceMax<keepdims = 0>(n)  one = Constant<value = float {1}>()  d = Less(top, one) }>
  y = ReduceMax<keepdims = 0>(READ)
}"""


def test_rows_of_turns_that_may_not_be_made_are_for_nobody_inside() -> None:
    assert "Where" in ops(read(WHILE.replace("OFTEN", "5").replace("READ", "s")).graph)
    with pytest.raises(ModelError, match=r"reads rows of iterations that a run need not make.*--output rows"):
        read(WHILE.replace("OFTEN", "5").replace("READ", "rows"))


def test_a_loop_that_may_turn_too_often_is_refused_at_once() -> None:
    often = WHILE.replace("OFTEN", "9000000").replace("READ", "s")
    with pytest.raises(BudgetError, match=r"--budget operations="):
        read(often, budget=Budget(operations=1_000_000))
    grows = often.replace("n = Exp(s)", "n = Concat<axis = 0>(s, s)").replace("float[3] n, float[3] row", "float[N] n, float[M] row")
    with pytest.raises(BudgetError, match=r"9,000,000 iterations.*--budget nodes="):
        read(grows, budget=Budget(nodes=1000))


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("Identity(c)", "any number of iterations"),
        ("Not(no)", "any number of iterations"),
        ("Less(no_turn, i)", "more than 300 nodes"),
    ],
)
def test_a_loop_that_turns_for_ever_is_refused(condition: str, words: str) -> None:
    """At once where its condition can never change, else at the budget."""
    text = f"""(float[3] x) => (float[3] y) {{
      no = Constant<value = bool {{0}}>() no_turn = Constant<value = int64 {{-1}}>()
      y = Loop(, , x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] n) {{ d = {condition} n = Exp(s) }}>
    }}"""
    with pytest.raises(BudgetError, match=rf"{words}.*--budget nodes="):
        read(text, budget=Budget(nodes=300))


LONG = """(float[3] x, float[3] w, bool go) => (float[3] y, float[N,3] rows) {
  often = Constant<value = int64 {TURNS}>()  zero = Constant<value = int64 {0}>()  no = Constant<value = bool {0}>()
  n, y, rows = Loop(often, START, zero, x) <body = b (int64 i, bool c, int64 k, float[3] s)
    => (bool d, int64 k2, float[3] t, float[3] row) {
      two = Constant<value = int64 {2}>()  most = Constant<value = int64 {40}>()  k2 = Add(k, two)  less = Less(k2, most)
      d = ON  e = Exp(w)  f = Cast<to = 1>(k)  a = Add(s, e)  t = Mul(a, f)  row = Neg(s) }>
}"""


def long(turns: str = "12", start: str = "", on: str = "Identity(c)") -> Graph:
    return read(LONG.replace("TURNS", turns).replace("START", start).replace("ON", on)).graph


def test_more_than_a_few_turns_stay_a_loop_that_reads_what_is_computed_once() -> None:
    graph = long()
    (loop,) = loops_in(graph)
    assert (loop.turns, loop.condition, loop.firsts) == (12, "", ["x"])
    assert [graph.producer(name, "Exp") is not None for name in loop.around] == [True]
    assert "Exp" not in ops(loop.body)
    assert [name for name, array in loop.body.constants.items() if array.tolist() == list(range(0, 24, 2))]  # the counter in all turns


def test_what_a_loop_only_hands_through_is_no_state_of_it() -> None:
    """Weights, as Keras' exporters have them: no table of all turns; and what is computed is read around the loop."""
    graph = read("""(float[3] x, float[3] z, bool go) => (float[3] y, float[3,3] w_end, float[3] e_end, float[N,3] rows) {
      often = Constant<value = int64 {20}>()  w = Constant<value = float[3,3] {1, 2, 3, 4, 5, 6, 7, 8, 9}>()  e = Exp(z)
      w_end, e_end, y, rows = Loop(often, go, w, e, x) <body = b (int64 i, bool c, float[3,3] v, float[3] f, float[3] s)
        => (bool d, float[3,3] v2, float[3] f2, float[3] t, float[3] row) {
          d = Identity(c)  v2 = Identity(v)  f2 = Identity(f)  p = MatMul(s, v)  t = Add(p, f)  row = Mul(s, f) }>
    }""").graph
    (loop,) = loops_in(graph)
    assert (loop.firsts, [graph.producer(name, "Exp") is not None for name in loop.around]) == (["x"], [True])
    assert [array.shape for array in loop.body.constants.values() if array.ndim > 1] == [(3, 3)]
    assert graph.producer("w_end", "Loop") is None and graph.producer("e_end", "Loop") is None


def test_a_loop_that_only_hands_through_is_none() -> None:
    graph = read("""(float[3] x, bool go) => (float[3] y) {
      often = Constant<value = int64 {50}>()
      n = Loop(often, go, x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t) { d = Identity(c)  t = Identity(s) }>
      y = Exp(n)
    }""").graph
    assert ops(graph) == ["Identity", "Exp"]


@pytest.mark.parametrize(
    ("turns", "start", "on", "found"),
    [
        ("8", "", "Identity(c)", None),
        ("9", "", "Identity(c)", (9, False)),
        ("9223372036854775807", "", "Identity(less)", (20, False)),
        ("15", "", "Identity(less)", (15, False)),
        ("15", "go", "Identity(c)", (15, True)),
        ("15", "", "Identity(go)", (15, True)),
        ("15", "", "Identity(no)", None),
    ],
)
def test_how_many_turns_a_loop_has_and_whether_a_run_decides_it(turns: str, start: str, on: str, found: tuple[int, bool] | None) -> None:
    assert [(loop.turns, bool(loop.condition)) for loop in loops_in(long(turns, start, on))] == ([found] if found else [])


@pytest.mark.parametrize(("start", "found"), [("", []), ("go", [(3, True)])])
def test_few_turns_that_a_run_may_not_begin_are_counted_by_what_their_condition_reads(start: str, found: list[tuple[int, bool]]) -> None:
    text = LONG.replace("TURNS", "9223372036854775807").replace("START", start).replace("ON", "Identity(less)").replace("{40}", "{6}")
    assert [(loop.turns, bool(loop.condition)) for loop in loops_in(read(text).graph)] == found


def test_turns_that_must_be_known_are_written_out() -> None:
    shaped = read("""(float[20] x) => (float[2] y) {
      often = Constant<value = int64 {9}>()  none = Constant<value = float[2] {0, 0}>()
      y = Loop(often, , none) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] n) {
        d = Identity(c)  two = Constant<value = int64 {2}>()  axes = Constant<value = int64[1] {0}>()  k = Add(i, two)
        a = Unsqueeze(i, axes)  e = Unsqueeze(k, axes)  p = Slice(x, a, e)  n = Add(s, p) }>
    }""")
    assert ops(shaped.graph).count("Slice") == 9


def test_a_loop_of_constants_is_computed_while_the_model_is_read() -> None:
    graph = read("""(float[3] z) => (float[3] y) {
      often = Constant<value = int64 {12}>()  x = Constant<value = float[3] {1, 2, 3}>()
      n = Loop(often, , x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t) { d = Identity(c)  t = Sqrt(s) }>
      y = Add(n, z)
    }""").graph
    assert ops(graph) == ["Add"]


def test_a_loop_in_a_branch_turns_where_that_is_taken() -> None:
    graph = read("""(float[3] x, bool c) => (float[3] y) {
      y = If(c) <
        then_branch = t () => (float[3] a) {
          often = Constant<value = int64 {10}>()
          a = Loop(often, , x) <body = b (int64 i, bool g, float[3] s) => (bool d, float[3] n) { d = Identity(g)  n = Sin(s) }> },
        else_branch = f () => (float[3] e) { e = Neg(x) }>
    }""").graph
    (loop,) = loops_in(graph)
    assert (loop.condition, loop.turns) == ("c", 10)


def test_rows_of_a_loop_that_a_run_may_end_are_for_nobody_inside() -> None:
    with pytest.raises(ModelError, match=r"reads rows of iterations that a run need not make.*--output rows"):
        read(WHILE.replace("OFTEN", "50").replace("READ", "rows"))


@pytest.mark.parametrize("turns", ["7", "50"])
def test_ended_rows_that_come_out_are_compared_with_those_of_the_graph(turns: str) -> None:
    text = WHILE.replace("OFTEN", turns).replace("READ", "s").replace("(float y)", "(float y, float[N,3] rows)")
    assert read(text).misread == ("output rows",)


def test_a_trip_count_that_is_an_input_is_named() -> None:
    text = """(float[3] x, int64 n) => (float[3] y) {
      y = Loop(n, , x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t) { d = Identity(c) t = Exp(s) }>
    }"""
    with pytest.raises(ModelError, match=r"how many iterations it has is computed while the model runs.*--constant n=VALUE"):
        read(text)
    assert ops(read(text, part=Part(constants={"n": 2})).graph) == ["Exp", "Exp", "Identity"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("y = If(x) <then_branch = t () => (float a) { a = Exp(x) }, else_branch = f () => (float b) { b = Exp(x) }>", "cannot take float"),
        ("y = Scan<num_scan_inputs = 5, body = b (float[3] s) => (float[3] t) { t = Exp(s) }>(x)", "body has 1 inputs"),
        ("y = Scan<num_scan_inputs = 1, scan_input_axes = [4], body = b (float s) => (float t) { t = Exp(s) }>(x)", "axis 4"),
        ("y = Scan<num_scan_inputs = 1, body = b (float s) => (float t) { t = Multinomial(s) }>(x)", "Multinomial.*has no implementation"),
        ("y = Scan<num_scan_inputs = 1, body = b (float s) => (float t) { u = Exp(s) }>(x)", "reads 't', which nothing defines"),
        ("y = Scan<num_scan_inputs = 1, body = b (float s) => (float t) { t = Exp(lost) }>(x)", "'lost', which nothing defines"),
        ("s = SequenceConstruct(x, x) k = Constant<value = int64 {2}>() y = SequenceAt(s, k)", r"position \[2\] lies outside"),
        ("s = SequenceConstruct(x, x) y = Exp(s)", "cannot take a sequence as its input input"),
        ("s = SequenceEmpty() y = ConcatFromSequence<axis = 0>(s)", "joins an empty sequence"),
        ("y = SequenceConstruct(x, x)", "output y: is no tensor"),
        ("o = Optional<type = float[3]>() y = OptionalGetElement(o)", "optional without a value"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(text: str, what: str) -> None:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> graph (float[3] x) => (float[3] y) {{ {text} }}')
    with pytest.raises(ModelError, match=what):
        from_proto(model)


INNER = WHILE.partition("\n")[2].partition("s, rows =")[2].partition("\n  y =")[0].replace("OFTEN", "5")
LOOP = f"k, made ={INNER}"


@pytest.mark.parametrize(
    "holder",
    [
        f"r = If(p) <then_branch = t () => (float[5,3] a) {{ {LOOP} a = Identity(made) }}, "
        f"else_branch = f () => (float[5,3] b) {{ {LOOP} b = Identity(made) }}>",
        f"r = Loop(twice, yes) <body = o (int64 t, bool g) => (bool h, float[5,3] a) {{ h = Identity(g) {LOOP} a = Identity(made) }}>",
    ],
    ids=["a branch", "a loop"],
)
def test_rows_of_turns_that_may_not_be_made_stay_so_behind_what_holds_the_loop(holder: str) -> None:
    text = """(float[3] x, bool p) => (float y) {
      often = Constant<value = int64 {5}>()  twice = Constant<value = int64 {2}>()  yes = Constant<value = bool {1}>()
      HOLDER  y = ReduceMax<keepdims = 0>(r) }""".replace("HOLDER", holder)
    with pytest.raises(ModelError, match=r"ReduceMax.*reads rows of iterations that a run need not make"):
        read(text)
    found = read(text.replace("y = ReduceMax<keepdims = 0>(r)", "y = Identity(r)").replace("(float y)", "(float[A,B] y)"))
    assert "output y: rows of iterations that a run does not make are 0" in found.notes


def test_what_is_wrong_in_a_branch_names_what_leaves_it_out() -> None:
    wrong = CHOICE.replace("ELSE", "Celu(k)")
    with pytest.raises(ModelError, match=r"Celu.*cannot take int64.*leave the branch out: --constant k=VALUE"):
        read(wrong)
    assert ops(read(wrong, part=Part(constants={"k": 2})).graph) == ["Exp"]


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("all = ReduceSum<keepdims = 0>(x)  is = Greater(all, limit)", r"as its input X$"),
        ("all = ReduceSum<keepdims = 0>(x)  big = Greater(all, limit)  odd = Cast<to = 9>(k)  is = And(big, odd)", r"--constant k=VALUE$"),
        ("is = Greater(one, limit)", r"--constant one=VALUE$"),
    ],
)  # fmt: skip
def test_data_is_no_constant_to_give(condition: str, told: str) -> None:
    """Nobody can say a picture's numbers; one number, or integers, may be a setting."""
    text = f"""(float[3] x, int64 k, float one) => (float[3] y) {{
      limit = Constant<value = float {{2.0}}>()  {condition}
      y = If(is) <then_branch = t () => (float[3] a) {{ a = Exp(x) }}, else_branch = f () => (float[3] b) {{ b = Celu(k) }}>
    }}"""
    with pytest.raises(ModelError, match=told) as caught:
        read(text)
    assert "x=VALUE" not in str(caught.value)


def test_branches_in_branches_are_left_out_by_the_innermost() -> None:
    with pytest.raises(ModelError, match=r"--constant k=VALUE$") as caught:
        read("""(float[3] x, int64 k, bool outer) => (float[3] y) {
          two = Constant<value = int64 {2}>()
          y = If(outer) <then_branch = t () => (float[3] a) { a = Exp(x) }, else_branch = f () => (float[3] b) {
            is = Equal(k, two)
            b = If(is) <then_branch = g () => (float[3] c) { c = Exp(x) }, else_branch = h () => (float[3] d) { d = Celu(k) }>
          }>
        }""")
    assert str(caught.value).count("leave the branch out") == 1


def test_a_part_of_a_sequence_that_holds_nothing() -> None:
    text = """(float[5] x) => (float[2] y, float[5] z) {
      parts = Constant<value = int64[3] {2, 0, 3}>()  first = Constant<value = int64 {0}>()  q = SplitToSequence(x, parts)
      y = SequenceAt(q, first)  z = ConcatFromSequence<axis = 0>(q) }"""
    assert ops(read(text).graph)[0] == "Split"
