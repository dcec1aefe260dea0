"""Features of different size that share one scale: the numbers along the last axis of what matrices read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import pytest

from edgec.base.errors import UsageError
from edgec.ir.graph import Graph
from edgec.ir.verify import verify
from edgec.quant import Goal, QuantizeOptions, apply_calibration, quantize
from edgec.quant.channels.features import NARROWEST, STRENGTH, choose_features, even_features, feature_counts, find_features
from edgec.quant.decisions.apply import apply
from edgec.quant.decisions.calibration import packed
from edgec.quant.decisions.calibration_file import read_calibration
from edgec.quant.decisions.without import without
from edgec.quant.fits.dearer import LEAST
from edgec.quant.fits.fit import Fit
from edgec.quant.runs.float_run import Probe
from edgec.quant.runs.statistics import joined, measure_extents
from edgec.quant.scope.coverage import select
from edgec.quant.trials.steps import FEATURES, PLAIN, RISK
from tests.quant.small import Small, content, samples, sqnr

SIZES = (10.0 ** np.linspace(-1.5, 1.5, 24)).astype(np.float32)
Opened = Callable[[], Iterator[dict[str, np.ndarray]]]


def gemm(small: Small, x: str, outputs: int, columns: np.ndarray | float = 1.0, bias: bool = True) -> str:
    inputs = small.graph.types[x].static_shape[1]
    weights = (small.rng.standard_normal((outputs, inputs)) / inputs**0.5 * columns).astype(np.float32)
    names = [small.constant(weights), *([small.constant(small.rng.standard_normal(outputs).astype(np.float32) * 0.1)] if bias else [])]
    return small.node("Gemm", x, *names, transA=0, transB=1, alpha=1.0, beta=1.0)


def spectrum() -> Graph:
    """A graph's input of loud and quiet features, all of which count, and a float function that reads it as well."""
    small = Small((1, 1, 24), seed=1)
    rows = small.node("Reshape", "x", small.constant(np.array([1, 24], np.int64)), allowzero=0)
    inner = small.node("Relu", gemm(small, rows, 32, 1 / SIZES))
    return small.done(gemm(small, inner, 8), small.node("Softmax", "x", axis=-1))


def pair() -> Graph:
    """Two matrices with a Relu between them, whose rows are as uneven as the columns behind it are the other way."""
    small = Small((4, 24), seed=2)
    inner = gemm(small, "x", 24)
    node = small.graph.producer(inner)
    assert node is not None
    for name in node.inputs[1:]:
        array = small.graph.constants[name]
        small.graph.constants[name] = array * (SIZES[:, None] if array.ndim == 2 else SIZES)
    moved = small.node("Transpose", small.node("Relu", inner), perm=[0, 1])
    weights = (small.rng.standard_normal((24, 8)) / 5 / SIZES[:, None]).astype(np.float32)
    return small.done(small.node("MatMul", moved, small.constant(weights)))


def normalized(residual: bool = False) -> Graph:
    """A normalization whose channels are uneven, before two matrices; and a sum that reads it, too."""
    small = Small((1, 6, 24), seed=3)
    scale, bias = (small.constant(array) for array in (SIZES, small.rng.standard_normal(24).astype(np.float32) * SIZES))
    norm = small.node("LayerNormalization", "x", scale, bias, axis=-1, epsilon=1e-5, stash_type=1)
    rows = small.node("Reshape", norm, small.constant(np.array([6, 24], np.int64)), allowzero=0)
    ends = [gemm(small, rows, 8, 1 / SIZES), gemm(small, rows, 4, 1 / SIZES)]
    return small.done(*ends, *([small.node("Add", norm, "x")] if residual else []))


def uneven(graph: Graph, seed: int = 1) -> Opened:
    """Its samples, whose features have SIZES where they are the graph's input."""
    wide = graph.types["x"].static_shape[:2] == (1, 1)

    def opened() -> Iterator[dict[str, np.ndarray]]:
        for sample in samples(graph, 32, seed)():
            yield {"x": sample["x"] * SIZES if wide else sample["x"]}

    return opened


def chosen(graph: Graph, opened: Opened | None = None) -> dict[str, np.ndarray]:
    counts, selection = feature_counts(graph), select(graph)
    extents = joined(measure_extents(graph, selection.values, {}, opened or uneven(graph), None, counts)[0])
    return choose_features(graph, selection, extents, 32)


def rectified() -> Graph:
    """Each feature of a Relu is one number of the input, in its size."""
    small = Small((1, 24), seed=4)
    sizes = np.diag(SIZES * 0.1).astype(np.float32)
    inner = small.node("Gemm", "x", small.constant(sizes), transA=0, transB=1, alpha=1.0, beta=1.0)
    return small.done(gemm(small, small.node("Relu", inner), 8, 1 / SIZES**0.5))


def waking(awake: np.ndarray, count: int = 32, seed: int = 1) -> Opened:
    """Samples of `rectified` where only these features are above zero."""

    def opened() -> Iterator[dict[str, np.ndarray]]:
        rng = np.random.default_rng(seed)
        for _ in range(count):
            yield {"x": (rng.uniform(0.5, 1, (1, 24)) * np.where(awake, 1, -1)).astype(np.float32)}

    return opened


@pytest.mark.parametrize(
    ("graph", "writer"), [(spectrum(), None), (pair(), "Gemm"), (normalized(), "LayerNormalization"), (normalized(True), None)]
)
def test_even_features_leave_the_function_and_store_values_less_uneven(graph: Graph, writer: str | None) -> None:
    feature = max(find_features(graph).values(), key=lambda one: len(one.values))
    assert (feature.writer.op if feature.writer else None) == writer
    even, sample = graph.copy(), next(uneven(graph)())
    even_features(even, {feature.origin: np.sqrt(SIZES)})
    verify(even)
    reader = even.readers(feature.values[-1])[0]  # a matrix, which knows the value under its own name
    one, two = Probe(graph, [reader.inputs[0], *graph.outputs], exact=True), Probe(even, [reader.inputs[0], *graph.outputs], exact=True)
    exact, found = one(sample), two(sample)
    np.testing.assert_allclose(found[reader.inputs[0]] * np.sqrt(SIZES), exact[reader.inputs[0]], rtol=1e-4, atol=1e-5)
    for output in graph.outputs:
        np.testing.assert_allclose(found[output], exact[output], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("graph", "gained"), [(spectrum(), 12.0), (pair(), 16.0), (normalized(), 12.0)])
def test_quiet_features_keep_their_codes(graph: Graph, gained: float) -> None:
    others = uneven(graph, 7)
    found, uneven_still = (quantize(graph, uneven(graph), QuantizeOptions(equalize=each)) for each in (True, False))
    (step,) = [step for step in found.report.steps if step["step"] == FEATURES]
    assert step["taken"]
    assert sqnr(graph, found.graph, others=others) > sqnr(graph, uneven_still.graph, others=others) + gained
    assert content(apply_calibration(graph, found.calibration)) == content(found.graph)


def test_what_no_sample_showed_gets_the_room_that_costs_nothing() -> None:
    graph, awake = rectified(), np.arange(24) % 2 == 1
    (factors,) = chosen(graph, waking(awake)).values()
    columns = np.abs(graph.constants[graph.nodes[-1].inputs[1]]) * factors
    widest = columns[:, awake].max(axis=1, keepdims=True)
    roomy = ~awake & (factors > NARROWEST**STRENGTH)
    assert roomy.sum() > 4
    assert (columns[:, roomy] <= widest * 1.000001).all()
    assert ((columns >= widest * 0.999999).any(axis=0) | (factors == 1))[~awake].all()


def rarely(awake: np.ndarray, times: int) -> Opened:
    """Samples of `rectified` where these features are above zero in so many of 32 only, the others in all."""

    def opened() -> Iterator[dict[str, np.ndarray]]:
        rng = np.random.default_rng(1)
        for number in range(32):
            yield {"x": (rng.uniform(0.5, 1, (1, 24)) * np.where(~awake | (number < times), 1, -1)).astype(np.float32)}

    return opened


@pytest.mark.parametrize(("times", "roomier"), [(1, True), (3, True), (12, False), (32, False)])
def test_what_few_samples_showed_gets_more_room(times: int, roomier: bool) -> None:
    graph, rare = rectified(), np.arange(24) % 2 == 1
    (factors,), (usual,) = (chosen(graph, rarely(rare, often)).values() for often in (times, 32))
    assert (factors[rare & (usual < 0.5)] > 1.2 * usual[rare & (usual < 0.5)]).all() == roomier
    np.testing.assert_allclose(factors[~rare], usual[~rare], rtol=0.2)


def test_an_input_stays_as_it_is_and_is_multiplied_in_float() -> None:
    graph = spectrum()
    found = quantize(graph, uneven(graph), QuantizeOptions(effort="fast"))
    assert found.graph.inputs == graph.inputs and found.graph.types["x"] == graph.types["x"]
    (node,) = [node for node in found.graph.nodes if node.op == "Mul"]
    assert node.inputs[0] == "x"
    assert [reader.op for reader in found.graph.readers(node.outputs[0])] == ["QuantizeLinear"]
    assert node.name not in found.report.kept_in_float


def test_what_is_even_or_comes_in_codes_is_not_multiplied() -> None:
    graph = spectrum()
    assert "x" in chosen(graph)
    coded = quantize(graph, uneven(graph), QuantizeOptions(effort="fast", codes_out=True))
    assert "x" not in coded.calibration["factors"]
    even = quantize(graph, samples(graph, 32), QuantizeOptions(effort="fast"))
    assert "x" not in even.calibration["factors"]
    one = quantize(graph, lambda: islice(uneven(graph)(), 1), QuantizeOptions(effort="fast"))
    assert not one.calibration["factors"]
    picture = Small((1, 3, 8, 8))
    assert not find_features(picture.done(picture.conv("x", 4)))


def test_weights_that_others_read_are_not_stored_twice() -> None:
    small = Small((4, 24))
    first = gemm(small, "x", 24)
    node = small.graph.producer(first)
    assert node is not None
    gemm_again = {"transA": 0, "transB": 1, "alpha": 1.0, "beta": 1.0}
    second = small.node("Gemm", "x", node.inputs[1], **gemm_again)
    assert list(find_features(small.done(first, second))) == ["x"]  # both read it
    third = small.node("Gemm", small.node("Relu", first), node.inputs[1], **gemm_again)
    assert not find_features(small.done(second, third))


def test_factors_in_a_file_are_those_of_a_feature() -> None:
    graph = spectrum()
    kept = quantize(graph, uneven(graph), QuantizeOptions(effort="fast")).calibration
    for array in (np.ones(5, np.float32), np.zeros(24, np.float32)):
        with pytest.raises(UsageError, match="calibration is broken"):
            apply_calibration(graph, {**kept, "factors": {"x": packed(array)}})


def test_a_reader_that_stays_in_float_computes_the_same() -> None:
    graph = spectrum()
    matrix = next(node for node in graph.nodes if node.op == "Gemm")
    found = quantize(graph, uneven(graph), QuantizeOptions(effort="fast"))
    kept = apply(graph, without(graph, read_calibration(found.calibration, graph), [matrix.name]))
    assert sqnr(graph, kept, others=uneven(graph, 7)) > sqnr(graph, found.graph, others=uneven(graph, 7))


def test_a_goal_is_reached_with_even_features() -> None:
    graph = spectrum()
    found = quantize(graph, uneven(graph), QuantizeOptions(goal=Goal(min_sqnr=35.0)))
    assert found.report.goal is not None and found.report.goal["kept"]
    assert "x" in found.calibration["factors"]
    assert sqnr(graph, found.graph, others=uneven(graph, 7)) > 33
    assert content(apply_calibration(graph, found.calibration)) == content(found.graph)


@pytest.mark.parametrize("extents", [(6, 24), (24, 24)])
@pytest.mark.parametrize("exclude", [(), ("Conv*",)])
def test_what_a_convolution_reads_too_is_no_channel_of_it(extents: tuple[int, int], exclude: tuple[str, ...]) -> None:
    """A signal whose last axis a matrix reads, and a convolution along it, which may stay in float."""
    small = Small((1, *extents), seed=7)
    kernel = small.constant(small.rng.standard_normal((4, extents[0], 3)).astype(np.float32) / 8)
    seen = small.node("Conv", "x", kernel, kernel_shape=[3], pads=[1, 1], group=1, strides=[1], dilations=[1])
    columns = small.constant((small.rng.standard_normal((24, 8)) / SIZES[:, None]).astype(np.float32))
    graph = small.done(seen, small.node("MatMul", "x", columns))

    def opened() -> Iterator[dict[str, np.ndarray]]:
        return iter([{"x": one["x"] * SIZES} for one in samples(graph, 32)()])

    found = quantize(graph, opened, QuantizeOptions(exclude=exclude))
    taken = {step["step"]: step["taken"] for step in found.report.steps}
    assert taken.get(FEATURES, 0) == len(exclude)
    graph.outputs = found.graph.outputs = [seen]
    assert sqnr(graph, found.graph, others=opened) > 30


def test_features_must_gain_what_other_data_may_take() -> None:
    """They may go further there, where codes end earlier; that of an input takes time besides."""
    for graph, opened in ((rectified(), waking(np.ones(24, bool))), (spectrum(), uneven(spectrum()))):
        extents, counts = measure_extents(graph, select(graph).values, {}, opened, None, feature_counts(graph))
        fit = Fit(graph, joined(extents), opened, sum(counts), QuantizeOptions())
        offered = fit.candidates(FEATURES, PLAIN)
        assert offered and fit.due(FEATURES, {FEATURES: frozenset(offered)}) >= RISK > LEAST


def test_samples_that_judge_do_not_say_how_far_even_features_go() -> None:
    """The last quarter goes three times as far, which makes wider what nothing equalizes; what is equalized by the others cuts it."""
    graph = spectrum()

    def opened() -> Iterator[dict[str, np.ndarray]]:
        yield from ({"x": sample["x"] * (3 if index % 4 == 3 else 1)} for index, sample in enumerate(uneven(graph)()))

    parts, _ = measure_extents(graph, select(graph).values, {}, opened, None, feature_counts(graph))
    whole, seen = joined(parts), joined(parts[:3])
    extents = {value: extent.between(whole[value]) for value, extent in seen.items()}
    known, unknown = (Fit(graph, extents, opened, 24, QuantizeOptions(), judged) for judged in ({}, seen))
    choice = {FEATURES: frozenset(known.candidates(FEATURES, PLAIN))}
    assert known.calibration(PLAIN).parameters == unknown.calibration(PLAIN).parameters
    wide, narrow = (fit.calibration(choice).parameters for fit in (known, unknown))
    even = [value for value in wide if value not in known.calibration(PLAIN).parameters]
    assert even and all(wide[value].scale > 2.5 * narrow[value].scale for value in even)


def test_what_even_features_cut_of_other_samples_is_seen() -> None:
    """Of 96 features each sample has two loud ones: others have such of which no sample that was fitted to is known."""
    small = Small((1, 96), seed=5)
    graph = small.done(gemm(small, small.node("Relu", gemm(small, "x", 64)), 8))

    def opened() -> Iterator[dict[str, np.ndarray]]:
        for _ in range(32):
            x = small.rng.standard_normal((1, 96)).astype(np.float32) * 0.1
            x[0, small.rng.choice(96, 2)] = small.rng.uniform(1, 3, 2)
            yield {"x": x}

    known = list(opened())
    (step,) = [one for one in quantize(graph, lambda: iter(known)).report.steps if one["step"] == FEATURES]
    assert step["everywhere"] < step["before"] - 15 and not step["taken"]
