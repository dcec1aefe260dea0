"""The fuzzer's bounds are wide enough for every right program, and narrow enough that wrong kernels are found."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import onnxruntime
import pytest
from onnx import parser

from tests.fuzz.graphs_draft import QUIET, Arrays, replayed
from tests.fuzz.graphs_draw import DRAWERS, draw
from tests.fuzz.graphs_errors import bounds
from tests.fuzz.graphs_quantized import QUANTIZED
from tests.fuzz.spoiled import SPOILS, spoiled
from tests.operators.case import Case, difference, is_free, is_within

GRAPHS = 80
FOUND = 0.97  # of the wrong kernels that an output shows; what is left is beside what nobody promises
FREE = 0.05  # of the outputs' elements, on ordinary numbers, that may be anything
HEAD = '<ir_version: 9, opset_import: ["": 21]> g '
# a model and one that is right as well: what a compiler that folds, reorders or fuses makes of it
EQUAL = (
    ("a sum that cancels", "(float[64] x) => (y) <float c = {10000}> { a = Add(x, c) y = Sub(a, c) }", "{ y = Identity(x) }"),
    ("its inverse", "(float[64] x) => (y) <float c = {10000}> { a = Add(x, c) b = Sub(a, c) y = Reciprocal(b) }", "{ y = Reciprocal(x) }"),
    ("its sign", "(float[64] x) => (y) <float c = {1e8}> { a = Add(x, c) b = Sub(a, c) y = Sign(b) }", "{ y = Sign(x) }"),
    ("steps", "(float[64] x) => (y) <float c = {3}> { a = Div(x, c) b = Mul(a, c) y = Floor(b) }", "{ y = Floor(x) }"),
    ("roots", "(float[64] x) => (y) <float c = {1e8}> { a = Add(x, c) b = Sub(a, c) y = Sqrt(b) }", "{ y = Sqrt(x) }"),
    ("infinities", "(float[64] x) => (y) <float c = {1e38}> { a = Mul(x, c) b = Mul(a, c) y = Sub(b, b) }",
     "<float o = {0}> { y = Mul(x, o) }"),
    ("what underflows", "(float[64] x) => (y) <float c = {1e-39}> { y = Mul(x, c) }", "<float o = {0}> { y = Mul(x, o) }"),
    ("a variance", "(float[1,1,8,8] x) => (y) <float c = {3000}> { a = Add(x, c) y = MeanVarianceNormalization(a) }",
     "{ y = MeanVarianceNormalization(x) }"),
    ("an instance of one number", "(float[4,1,1,1] x) => (y) <float[1] s = {1.8}, float[1] b = {0.0483}>"
     "{ y = InstanceNormalization(x, s, b) }", "<float[1] b = {0.0483}, float z = {0}> { a = Mul(x, z) y = Add(a, b) }"),
    ("squares beside larger ones", "(float[4,9,1,1] x) => (y) <float[1,9,1,1] c = {1,1,1000,1,1,1,1,1,1}>"
     "{ a = Mul(x, c) y = LRN<size = 1, alpha = 1.0>(a) }",
     "<float[1,9,1,1] c = {1,1,1000,1,1,1,1,1,1}, float o = {1}, float p = {0.75}>"
     "{ a = Mul(x, c) s = Mul(a, a) t = Add(s, o) u = Pow(t, p) y = Div(a, u) }"),
    ("the middle of a grid", "(float[1,2,3] x) => (y) <float[1,1,3] k = {1,1,0}, int64[4] s = {1,1,1,1}>"
     "{ m = Mul(x, k) y = AffineGrid(m, s) }",
     "<float[1,1,3] k = {5e-8,5e-8,0}, int64[4] s = {1,1,1,2}, int64[1] a = {2}>"
     "{ m = Mul(x, k) t = ReduceSum(m, a) y = Reshape(t, s) }"),
    ("distribution", "(float[4,16] x) => (y) <float[16,1] w = {1,-1,1,-1,1,-1,1,-1,1,-1,1,-1,1,-1,1,-1}, float c = {1000}>"
     "{ a = Add(x, c) y = MatMul(a, w) }", "<float[16,1] w = {1,-1,1,-1,1,-1,1,-1,1,-1,1,-1,1,-1,1,-1}> { y = MatMul(x, w) }"),
)  # fmt: skip


@pytest.mark.parametrize("case", EQUAL, ids=lambda case: case[0])
def test_another_right_program_is_within_the_bounds(case: tuple[str, str, str]) -> None:
    _, text, other = case
    model, same = parser.parse_model(HEAD + text), parser.parse_model(HEAD + text.split("=> (y)")[0] + "=> (y) " + other)
    extents = [axis.dim_value for axis in model.graph.input[0].type.tensor_type.shape.dim]
    for seed in range(5):
        x = {"x": np.round(np.random.default_rng(seed).standard_normal(extents), 2).astype(np.float32)}
        drawn = replayed(model, [x])
        found = onnxruntime.InferenceSession(same.SerializeToString(), QUIET).run(None, x)[0]
        assert is_within(found, drawn.values[0]["y"], bounds(drawn, 0)["y"]).all()


def test_wrong_kernels_are_found() -> None:
    """Each node of some random graphs is spoiled in each way."""
    shown, found, free = Counter[str](), Counter[str](), list[float]()
    for number in range(GRAPHS):
        g = np.random.default_rng([5, number])
        drawn = draw(g, str(g.choice(list(DRAWERS))))
        if drawn.operators & QUANTIZED.keys():  # the oracle's, to the last bit
            continue
        names, allowed = [value.name for value in drawn.model.graph.output], bounds(drawn, 0)
        free += [float(np.isposinf(allowed[name]).mean()) for name in names if name in allowed and allowed[name].size]
        for kind, spoil in SPOILS.items():
            for place in range(len(drawn.steps)):
                answers = spoiled(drawn, spoil, place, g)
                shown[kind] += answers is not None
                found[kind] += answers is not None and is_wrong(drawn.values[0], allowed, dict(zip(names, answers, strict=True)))
    assert min(shown.values()) > 20
    assert {kind: count / shown[kind] for kind, count in found.items() if count < FOUND * shown[kind]} == {}
    assert np.mean(free) < FREE


def is_wrong(usual: Arrays, allowed: Arrays, found: Arrays) -> bool:
    shapes = all(array.shape == usual[name].shape for name, array in found.items())
    return not shapes or not all(is_within(array, usual[name], allowed.get(name, np.zeros(1))).all() for name, array in found.items())


def test_whole_numbers_are_equal_to_the_last_bit() -> None:
    """Neighbours beyond 2 ** 53 are one number in double precision."""
    one = np.array([2**60 + 1])
    assert is_within(one, one, np.zeros(1)).all() and not is_within(one + 1, one, np.zeros(1)).any()


def test_where_zero_stands_before_infinity_nothing_is_promised() -> None:
    """The middle of a grid may be zero, or almost."""
    text = "(float[1,2,3] x) => (y) <int64[4] s = {1,1,3,3}> { y = AffineGrid(x, s) }"
    drawn = replayed(parser.parse_model(HEAD + text), [{"x": np.full((1, 2, 3), np.inf, np.float32)}])
    assert np.isnan(drawn.values[0]["y"]).any() and np.isposinf(bounds(drawn, 0)["y"]).all()


def test_which_zero_where_chooses_nothing_is_promised() -> None:
    """ONNX Runtime's takes what is not zero of either operand, so -0 becomes 0."""
    text = "(float[4] x, bool[4] c) => (y) <float o = {1}> { w = Where(c, x, o) y = Reciprocal(w) }"
    vector = {"x": np.array([-0.0, 0.0, 2, -0.0], np.float32), "c": np.array([True, True, True, False])}
    drawn = replayed(parser.parse_model(HEAD + text), [vector])
    assert np.isposinf(bounds(drawn, 0)["y"]).tolist() == [True, True, False, False]


def test_what_wraps_of_whole_numbers_that_may_be_anything_may_be_anything() -> None:
    """ONNX Runtime adds large integers as floats."""
    text = "(int64[2,1] x) => (y) <int64[1] a = {0}> { s = ReduceSum(x, a) y = Mul(s, x) }"
    large, small = np.array([[2**62 + 1], [2**61 + 5]]), np.array([[7], [9]])
    assert np.isposinf(bounds(replayed(parser.parse_model(HEAD + text), [{"x": large}]), 0)["y"]).all()
    assert not bounds(replayed(parser.parse_model(HEAD + text), [{"x": small}]), 0)["y"].any()


WHOLE = np.array([[2**60 + 3], [7]])


@pytest.mark.parametrize(
    ("nodes", "free"),
    [
        ("y = Equal(m, c)", [True, False]),
        ("b = Equal(m, c) d = And(b, t) y = Not(d)", [True, False]),
        ("i = Identity(m) r = Transpose(i) e = Equal(r, c) y = Transpose(e)", [True, False]),
        ("d = Mod(m, f) y = Cast<to = 1>(d)", [True, False]),
        ("y = ai.onnx.ml.OneHotEncoder<cats_int64s = [2, 3]>(m)", [True] * 4),  # not by element
    ],
)
def test_what_reads_a_whole_number_that_may_be_anything_may_be_anything(nodes: str, free: list[bool]) -> None:
    """ONNX Runtime divides as doubles; no extreme of a type is equal to the remainder that another engine computes."""
    text = f"(int64[2,1] x) => (y) <int64 c = {{-14}}, int64 f = {{5}}, bool t = {{1}}> {{ m = Mod<fmod = 1>(x, f) {nodes} }}"
    drawn = replayed(parser.parse_model(HEAD.replace('"": 21', '"": 21, "ai.onnx.ml": 3') + text), [{"x": WHOLE}])
    assert (bounds(drawn, 0)["y"] > 0).ravel().tolist() == free


def test_numbers_that_may_be_equal_may_be_unequal() -> None:
    """Roundings make a number equal to another seldom, by chance; those further away stay unequal."""
    text = "(float[3] x) => (y) <float c = {3}, float[3] k = {2, 2.0000002, 2.1}> { a = Exp(x) b = Log(a) y = Equal(b, k) }"
    drawn = replayed(parser.parse_model(HEAD + text), [{"x": np.full(3, 2, np.float32)}])
    assert (bounds(drawn, 0)["y"] > 0).tolist() == [True, True, False]


@pytest.mark.parametrize("nodes", ["y = Cast<to = 9>(f)", "y = NonZero(f)"])
def test_a_number_that_may_be_zero_may_be_none(nodes: str) -> None:
    """Of real numbers the first of a transform has an imaginary part that roundings alone make."""
    text = f"(float[11,1] x) => (y) <int64 a = {{-2}}> {{ f = DFT<onesided = 1>(x, , a) {nodes} }}"
    drawn = replayed(parser.parse_model(HEAD + text), [{"x": np.random.default_rng(1).standard_normal((11, 1)).astype(np.float32)}])
    free = bounds(drawn, 0)["y"] > 0
    assert free.all() if "NonZero" in nodes else free.ravel().tolist() == [False, True] + [False] * 10


def test_a_bound_that_nobody_gave_clips_no_infinity_behind_what_makes_a_number_of_nan() -> None:
    text = '(float[64] x) => (y) <float c = {1e38}, float h = {20}> { a = Mul(x, c) b = Mul(a, c) s = Shrink(b) y = Clip(s, "", h) }'
    drawn = replayed(parser.parse_model(HEAD + text), [{"x": -np.arange(64, dtype=np.float32)}])
    assert np.isposinf(bounds(drawn, 0)["y"]).tolist() == [False] + [True] * 63


def test_of_rows_with_infinite_scores_nothing_is_promised() -> None:
    """How hidden columns compare with one that is -infinity itself is the engine's choice; other rows stay sure."""
    text = "(float[1,1,2,1] q, float[1,1,2,1] k, float[1,1,2,1] v) => (y) { y = Attention<is_causal = 1>(q, k, v) }"
    given = {"q": [-np.inf, 1], "k": [1, 2], "v": [3, 4]}
    vector = {name: np.array(numbers, np.float32).reshape(1, 1, 2, 1) for name, numbers in given.items()}
    drawn = replayed(parser.parse_model(HEAD.replace("21", "23") + text), [vector])
    assert np.isposinf(bounds(drawn, 0)["y"]).ravel().tolist() == [True, False]


def test_the_weights_of_cubic_resizing_are_as_good_as_polynomials_in_single_precision() -> None:
    """Keys' weight of the farthest pixel, -0.0016, is a difference of terms up to 8; a large number there shows it."""
    text = """(float[1,1,6,1] x) => (y) <int64[4] s = {1,1,18,1}>
    { y = Resize<mode = "cubic", coordinate_transformation_mode = "align_corners", cubic_coeff_a = -0.5>(x, , , s) }"""
    x = np.array([0, -0.09904922, 0, 0, 11.054779, 0], np.float32)
    drawn = replayed(parser.parse_model(HEAD + text), [{"x": x.reshape(1, 1, 6, 1)}])
    position = Fraction(7 * 5, 17)
    exact = sum(Fraction(float(x[row])) * keys(abs(position - row), Fraction(-1, 2)) for row in range(1, 5))
    assert is_within(np.float32(exact), drawn.values[0]["y"][0, 0, 7, 0], bounds(drawn, 0)["y"][0, 0, 7, 0]).all()


def test_a_small_number_between_large_ones_gets_lost_in_upsampling_as_in_resizing() -> None:
    """a + (b - a) * f of 1.3 and 1e-30 is 0 for f = 1."""
    x = np.array([-1.2, 0, 1.3384261, 1e-30], np.float32).reshape(1, 1, 1, 4)
    text = '(float[1,1,1,4] x) => (y) <float[4] s = {1,1,1,1.5}> { y = Upsample<mode = "linear">(x, s) }'
    drawn = replayed(parser.parse_model(HEAD.replace("21", "9") + text), [{"x": x}])
    assert is_within(np.float32(0), drawn.values[0]["y"].ravel()[5], bounds(drawn, 0)["y"].ravel()[5]).all()


def keys(d: Fraction, a: Fraction) -> Fraction:
    """The cubic convolution's weight at distance d (R. Keys, 1981)."""
    return (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * (d**3 - 5 * d**2 + 8 * d - 4)


def test_what_may_be_anything_is_so_at_the_end_of_a_chain() -> None:
    """Which number is above NaN nobody promises: of 64 numbers none is left as it was by chance."""
    text = "(float[64,1,3] x) => (y) <float c = {3}> { m = GlobalMaxPool(x) r = Reciprocal(m) p = Mul(r, c) y = Add(p, c) }"
    x = np.tile(np.array([np.inf, np.nan, 1], np.float32), (64, 1, 1))
    drawn = replayed(parser.parse_model(HEAD + text), [{"x": x}])
    assert np.isposinf(bounds(drawn, 0)["y"]).all()


def test_what_may_be_anything_is_so_where_nan_counts_as_a_number() -> None:
    """NaN is above no threshold, and an infinity is above any: none of 24 results is left as it was by chance."""
    nodes = " ".join(f"m{i} = MeanVarianceNormalization(x) y{i} = ThresholdedRelu(m{i})" for i in range(24))
    text = f"(float[1,1,8,8] x) => ({', '.join(f'y{i}' for i in range(24))}) {{ {nodes} }}"
    drawn = replayed(parser.parse_model(HEAD + text), [{"x": np.full((1, 1, 8, 8), np.inf, np.float32)}])
    found = bounds(drawn, 0)
    assert all(np.isposinf(found[f"y{i}"]).all() for i in range(24))


NEAREST = 'y = Resize<mode = "nearest", coordinate_transformation_mode = "{}">(x, "", {})'


@pytest.mark.parametrize(
    ("nodes", "free"),
    [
        (NEAREST.format("pytorch_half_pixel", "s"), [False, False, False, True]),
        (NEAREST.format("asymmetric", "t"), [False] * 3),
        ("h = Cast<to = 10>(x) a = Abs(h) y = Cast<to = 1>(a)", [False, True, False, False, False, False]),
        ("k = Cast<to = 10>(t) h = CastLike(x, k) a = Abs(h) y = Cast<to = 1>(a)", [False, True, False, False, False, False]),
        ('y = ai.onnx.ml.Normalizer<norm = "MAX">(m)', [True] * 6),
        ("y = QuantizeLinear<axis = 0>(x, z, o)", [True] + [False] * 5),
        ("w = Div(x, z) y = QuantizeLinear(w, t, b)", [True] + [False] * 5),
        ("w = Div(x, x) y = Hardmax<axis = 0>(w)", [True] * 6),
        ("w = Mul(x, x) y = QuantizeLinear(w, t, b)", [False] * 6),
    ],
)
def test_what_nobody_promises(nodes: str, free: list[bool]) -> None:
    """4.5 of 0.7 as a float32 is a little more, float16 does not hold 1e30, -inf / -inf is anything, 0 / 0 has no code."""
    constants = "float[1] s = {0.7}, float[1] t = {0.5}, float[6] z = {0, 1, 1, 1, 1, 1}, int8[6] o = {0, 0, 0, 0, 0, 0}, int8[1] b = {0}"
    text = f"(float[6] x, float[1,6] m) => (y) <{constants}> {{ {nodes} }}"
    vector = {"x": np.array([0, 1e30, 3, 4, 5, 6], np.float32), "m": np.full((1, 6), -np.inf, np.float32)}
    drawn = replayed(parser.parse_model(HEAD.replace('"": 21', '"": 21, "ai.onnx.ml": 3') + text), [vector])
    assert (bounds(drawn, 0)["y"] > 0.5).ravel().tolist() == free


def test_what_is_too_small_for_float16_may_be_zero() -> None:
    text = "(float[1] x) => (y) { h = Cast<to = 10>(x) a = Abs(h) y = Cast<to = 1>(a) }"
    drawn = replayed(parser.parse_model(HEAD + text), [{"x": np.array([1e-30], np.float32)}])
    assert 1e-30 < bounds(drawn, 0)["y"][0] < 1e-5


def test_how_many_places_there_are_of_what_may_be_anything_may_be_anything() -> None:
    """ONNX Runtime takes fmod of large whole numbers in double precision: some remainders are 0 there, and others elsewhere."""
    text = "(int64[4] x) => (y) <int64 n = {-9}> { r = Mod<fmod = 1>(x, n) y = NonZero(r) }"
    drawn = replayed(parser.parse_model(HEAD + text), [{"x": np.array([2**60 + 3, 2**61 + 1, 2**60 + 9, 2**62 + 5])}])
    usual, allowed = drawn.values[0]["y"], bounds(drawn, 0)["y"]
    case = Case("case", "NonZero", drawn.model, {"x": drawn.values[0]["x"]}, [usual], bounds=[allowed])
    assert is_free(allowed) and not difference(case, [np.zeros((1, usual.shape[1] + 1), np.int64)])
    assert difference(case, [np.zeros((2, 1), np.int32)]) and not is_free(np.zeros((1, 0)))


def test_a_gate_that_is_nearly_shut_lets_through_a_little_of_a_large_state() -> None:
    """The cell's answer is tanh(0.2) where its reset gate is 0, and ONNX Runtime's is 2e-7."""
    text = """(float[1,1,1] x, float[1,1,2] h) => (s, y) <float[1,6,1] w = {0,0,0,0,0,0}, float[1,6,2] r = {0,1,0,1,0,1,0,1,0,0.3,0,0.3},
    float[1,12] b = {0,0,0,0,0.2,0.2,0,0,0,0,0,0}> { s, y = GRU<hidden_size = 2, linear_before_reset = 1>(x, w, r, b, "", h) }"""
    state = np.float32([[[1, -1e4]]])
    drawn = replayed(parser.parse_model(HEAD + text), [{"x": np.zeros((1, 1, 1), np.float32), "h": state}])
    usual, allowed = drawn.values[0]["y"], bounds(drawn, 0)["y"]
    assert np.abs(usual - np.tanh(0.2)).max() > 1e-4 and is_within(np.full((1, 1, 2), np.tanh(0.2), np.float32), usual, allowed).all()
    assert allowed.max() < 0.1


@pytest.mark.parametrize("gate, steps, least", [("Relu", 3, 1e-2), ("Relu", 1, 2e-5), ("Sigmoid", 3, 0)])
def test_a_gate_without_bounds_lets_through_what_a_state_is_off_by(gate: str, steps: int, least: float) -> None:
    """ONNX Runtime's tanh of a large number is 1.0000005, and a gate of 50 makes 50 times the difference in each step."""
    text = f"""(float[{steps},1,1] x) => (y) <float[1,3,1] w = {{50,0,40}}, float[1,3,1] r = {{0,0,0}}>
    {{ y = GRU<hidden_size = 1, activations = ["{gate}", "Tanh"]>(x, w, r) }}"""
    drawn = replayed(parser.parse_model(HEAD + text), [{"x": np.ones((steps, 1, 1), np.float32)}])
    allowed = bounds(drawn, 0)["y"].max()
    assert allowed >= least and (gate == "Relu" or allowed < 1e-4)


def test_states_that_gates_without_bounds_make_infinite_may_be_anything() -> None:
    """By IEEE they are NaN in the end, of which the cell of ONNX Runtime makes 0."""
    text = """(float[17,1,1] x) => (s, y) <float[1,4,1] w = {9,-8,7,6}, float[1,4,1] r = {2,-3,3,2}>
    { s, y = LSTM<hidden_size = 1, activations = ["LeakyRelu", "Tanh", "Relu"], activation_alpha = [0.3]>(x, w, r) }"""
    g = np.random.default_rng(3)
    drawn = replayed(parser.parse_model(HEAD + text), [{"x": g.normal(0, 4, (17, 1, 1)).astype(np.float32)}])
    usual, allowed = drawn.values[0]["y"], bounds(drawn, 0)["y"]
    assert is_within(np.full_like(usual, np.nan), usual, allowed).all()


@pytest.mark.parametrize(
    "op, free", [("AveragePool<kernel_shape = [1, 1]>", True), ("MaxPool<kernel_shape = [1, 1]>", True), ("Neg", False)]
)
def test_which_zero_a_sum_of_negative_zeros_is_may_be_anything(op: str, free: bool) -> None:
    drawn = replayed(
        parser.parse_model(f"{HEAD} (float[1,1,1,1] x) => (y) {{ a = {op}(x) y = Reciprocal(a) }}"),
        [{"x": np.full((1, 1, 1, 1), -0.0, np.float32)}],
    )
    usual, allowed = drawn.values[0]["y"], bounds(drawn, 0)["y"]
    assert is_within(-usual, usual, allowed).all() == free


def test_the_bits_of_a_nan_may_be_any() -> None:
    text = "(float[2] x) => (y) { w = Div(x, x) b = BitCast<to = 6>(w) y = Cast<to = 1>(b) }"
    drawn = replayed(parser.parse_model(HEAD.replace("21", "26") + text), [{"x": np.array([0, 4], np.float32)}])
    assert (bounds(drawn, 0)["y"] > 2**30).tolist() == [True, False]
