"""Operators of users' own domains: what a body may be, what a node must be, and what each error says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, parser

from edgec.base.errors import ModelError, UsageError
from edgec.exam.reference import FloatModel
from edgec.operators import BodyTensor, custom, op
from edgec.operators.definition import bundle_of
from edgec.pipeline.models import read_model
from edgec.settings.config import configure
from tests.frontend.models import model, node, weights
from tests.operators.custom_models import SNAKE, X, answer, own, refused, saved, written


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# Bodies


def test_a_body_computes_what_its_function_says() -> None:
    path, a = saved(own("Snake", "x a", frequency=0.5)), weights(8) ** 2 + 1
    np.testing.assert_allclose(answer(path, written("acme.py", SNAKE)), X + np.sin(0.5 * a * X) ** 2 / a, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("opset", [13, 17, 21, 24])
def test_the_models_version_of_onnx_does_not_matter(opset: int) -> None:
    """Where its operators are others than the body's (CastLike came with 15), the graph is what is asked."""
    path, a = saved(own("Snake", "x a"), opset=opset), weights(8) ** 2 + 1
    found = answer(path, written("acme.py", SNAKE), from_file=opset > 13)
    np.testing.assert_allclose(found, X + np.sin(a * X) ** 2 / a, rtol=1e-5, atol=1e-6)


def test_what_onnx_runtime_would_misread_it_is_not_asked_of_the_file() -> None:
    """Softmax takes all axes from the given one in operator set 11, and that axis alone in 13."""
    soft = custom("com.acme", "Soft", "Soft (x) => (y) { y = Softmax<axis: int = 0>(x) }")
    path = saved(own("Soft"), opset=11)
    loaded = read_model(path, configure(precision="fp32", operators=soft))
    assert "the body of com.acme::Soft" in loaded.misread and any("misreads the body" in note for note in loaded.notes)
    expected = np.exp(X) / np.exp(X).sum(0)
    np.testing.assert_allclose(answer(path, soft, from_file=False), expected, rtol=1e-5)


BODIES: dict[str, tuple[Any, Any]] = {
    "arithmetic": (lambda x: -(abs(1 - x) @ np.eye(8, dtype=np.float32)) / 2 + x**2, lambda x: -np.abs(1 - x) / 2 + x**2),
    "comparison": (lambda x: op.Where(x > 0.5, x, 0.5), lambda x: np.maximum(x, 0.5)),
    "other comparisons": (lambda x: op.Where(op.Or(x <= -1.0, op.Not(x < 1)), 2 * x, x), lambda x: np.where(abs(x) >= 1, 2 * x, x)),
    "lists": (lambda x: op.Reshape(op.Transpose(op.Reshape(x, [2, 2, 4]), perm=[0, 2, 1]), [0, -1]),
              lambda x: x.reshape(2, 2, 4).transpose(0, 2, 1).reshape(2, 8)),
    "clip": (lambda x: op.Clip(x, -0.5, 0.5), lambda x: x.clip(-0.5, 0.5)),
    "absent operand": (lambda x: op.Clip(x, None, 0.5), lambda x: x.clip(max=0.5)),
    "several outputs": (lambda x: op.Concat(*op.Split(x, axis=1, num_outputs=2, outputs=2)[::-1], axis=1), lambda x: np.roll(x, 4, 1)),
    "shape of the operand": (lambda x: x + op.Cast(op.Gather(op.Shape(x), 1), to=1), lambda x: x + 8),
    "a loop of Python": (lambda x: [x := x / 2 for _ in range(3)][-1], lambda x: x / 8),
    "names as of values": (lambda v0: abs(v0) + v0, lambda x: abs(x) + x),
    "its operand": (lambda x: x, lambda x: x),
    "the current type": (lambda x: op.Max(x, 0, 0.25), lambda x: np.maximum(x, 0.25)),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_python_is_written_down(name: str) -> None:
    body, expected = BODIES[name]
    found = answer(saved(own("F")), custom("com.acme", "F")(body))
    np.testing.assert_allclose(found, expected(X), rtol=1e-6, atol=1e-6)


def test_attributes_of_every_type() -> None:
    @custom("com.acme", "F")
    def made(x, *, scale: float, steps=2, axes: list[int] = [1], levels=(0.5, 0.25), mode="constant"):  # type: ignore[no-untyped-def]  # noqa: B006
        mean = op.ReduceMean(op.LeakyRelu(x, alpha=scale), axes)
        return op.Pad(mean, [0, 0, 0, 7], mode=mode) * steps + op.ReduceSum(levels)

    def expected(scale: float, steps: int, levels: float) -> np.ndarray:
        mean = np.where(X > 0, X, scale * X).mean(1, keepdims=True)
        return np.pad(mean, ((0, 0), (0, 7))) * steps + levels

    np.testing.assert_allclose(answer(saved(own("F", scale=0.5)), made), expected(0.5, 2, 0.75), rtol=1e-5)
    path = saved(own("F", scale=0.1, steps=3, levels=[1.0, 2.0]))
    np.testing.assert_allclose(answer(path, made), expected(0.1, 3, 3.0), rtol=1e-5)


def test_operators_are_made_of_operators() -> None:
    twice = custom("com.other", "Scaled")(lambda x, *, by=2.0: x * by)
    outer = custom("com.acme", "F")(lambda x: (lambda y: (y, twice(y, by=3.0)))(twice(x))[1])
    np.testing.assert_allclose(answer(saved(own("F")), twice, outer), 6 * X, rtol=1e-6)
    assert "com.other" in refused(ModelError, saved(own("F")), outer), "the one inside is not known"


def test_bodies_in_onnx_text_and_as_a_function() -> None:
    text = "Gate <slope: float = 0.5> (x) => (y) { y = LeakyRelu<alpha: float = @slope>(x) }"
    expected = np.where(X > 0, X, X / 2)
    np.testing.assert_allclose(answer(saved(own("Gate")), custom("com.acme", "Gate", text)), expected)
    proto = parser.parse_function(f'<opset_import: ["": 18], domain: "this"> {text}')
    np.testing.assert_allclose(answer(saved(own("Gate")), custom("com.acme", "Gate", proto)), expected)
    assert proto.domain == "this", "what is given is not changed"


def test_a_node_inside_of_a_branch() -> None:
    branches = [helper.make_graph([own(name, "x", "z")], "b", [], [onnx.ValueInfoProto(name="z")]) for name in ("F", "G")]
    first = node("ReduceMax", "x", "m", keepdims=0)
    nodes = [first, node("Cast", "m", "c", to=9), node("If", "c", "y", then_branch=branches[0], else_branch=branches[1])]
    onnx.save(model(nodes, {"x": [2, 8]}, ["y"], domains={"com.acme": 1}), "model.onnx")
    made = [custom("com.acme", name)(_by(number)) for name, number in (("F", 2), ("G", 3))]
    np.testing.assert_allclose(answer(Path("model.onnx"), *made), 2 * X)


def _by(number: int) -> Any:
    return lambda x: x * number


def test_weights_beside_the_file_are_found_by_onnx_runtime_too() -> None:
    proto = onnx.load(saved(own("Snake", "x a")))
    onnx.save(proto, "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    Path("elsewhere").mkdir()
    for name in ("model.onnx", "weights.bin"):
        Path(name).rename(Path("elsewhere") / name)
    answer(Path("elsewhere/model.onnx"), written("acme.py", SNAKE))


def test_what_the_model_has_itself_counts() -> None:
    function = parser.parse_function('<opset_import: ["": 18], domain: "com.acme"> F (x) => (y) { y = Neg(x) }')
    path = saved(own("F"), functions=[function])
    config = configure(precision="fp32", operators=custom("com.acme", "F")(lambda x: abs(x)))
    loaded = read_model(path, config)
    np.testing.assert_allclose(FloatModel(loaded.original)({"x": X})[0], -X)
    assert any("the model has a function of this name" in note for note in loaded.notes) and not loaded.operators


# What a definition must be


WRONG: dict[str, tuple[Any, str]] = {
    "ONNX's domain": (lambda: custom("", "Snake"), "is a domain of ONNX's"),
    "its other name": (lambda: custom("ai.onnx", "Snake"), "is a domain of ONNX's"),
    "one below it": (lambda: custom("ai.onnx.ml", "Snake"), "is a domain of ONNX's"),
    "its runtime's": (lambda: custom("com.microsoft", "Snake"), "is a domain of ONNX's"),
    "no name": (lambda: custom("com.acme", "Sna ke"), "is no name of a domain and an operator"),
    "no operator set": (lambda: custom("com.acme", "F", opset=99), "there is no operator set 99"),
    "text": (lambda: custom("com.acme", "F", "F (x) => (y) { y = "), "cannot be read"),
    "no output": (lambda: custom("com.acme", "F", "F (x) => () { y = Neg(x) }"), "no output"),
    "returns a word": (lambda: custom("com.acme", "F")(lambda x: "x"), "returns str.*return a tensor"),
    "any number of inputs": (lambda: custom("com.acme", "F")(lambda *x: x[0]), "any number of arguments"),
    "a default": (lambda: custom("com.acme", "F")(lambda x, y=1: x), "its input y has a default.*behind a \\*"),
    "no type": (lambda: custom("com.acme", "F")(lambda x, *, y: x), "type of its attribute y is not known.*y: float"),
    "a mixed type": (lambda: custom("com.acme", "F")(lambda x, *, y=(1, 0.5): x), "type of its attribute y"),
    "branching": (lambda: custom("com.acme", "F")(lambda x: x if x > 0 else -x), "cannot branch.*op.Where"),
    "taking apart": (lambda: custom("com.acme", "F")(lambda x: max(x)), "taken apart.*op.Split"),
    "unknown operator": (lambda: custom("com.acme", "F")(lambda x: op.Sinn(x)), "no Sinn.*'Sin'"),
    "later operator": (lambda: custom("com.acme", "F", opset=11)(lambda x: op.CastLike(x, x)), "set 11.*no CastLike.*another opset"),
    "unknown attribute": (lambda: custom("com.acme", "F")(lambda x: op.Softmax(x, axes=1)), "no attribute 'axes'.*'axis'"),
    "tensor as attribute": (lambda: custom("com.acme", "F")(lambda x: op.Elu(x, alpha=x)), "alpha is an attribute"),
    "a word as operand": (lambda: custom("com.acme", "F")(lambda x: op.Add(x, "1")), "'1' is no tensor and no number"),
    "outside": (lambda: op.Sin(1.0), "outside of a body"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_definition_says_why(what: str) -> None:
    make, words = WRONG[what]
    with pytest.raises(UsageError, match=f"(?s){words}"):
        make()


def test_nothing_is_left_of_a_body_that_failed() -> None:
    with pytest.raises(ZeroDivisionError):
        custom("com.acme", "F")(lambda x: 1 / 0)
    with pytest.raises(UsageError, match="outside of a body"):
        abs(BodyTensor("x"))


def test_equal_bodies_have_equal_bytes() -> None:
    one, other = (custom("com.acme", "F")(lambda x: x * 2) for _ in range(2))
    assert one.sha256 == other.sha256 != custom("com.acme", "F")(lambda x: x * 3).sha256
    assert bundle_of([one]) == bundle_of([other]) and bundle_of([]) == b""


# What a node must be


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (own("Snake", "x"), "has 1 inputs, com.acme::Snake takes 2: x, alpha"),
        (own("Snake", "x a a"), "has 3 inputs"),
        (own("Snake", "_ a"), "lacks its input x"),
        (own("Snake", "x a", frequncy=1.0), "has unknown attributes: frequncy    hint: did you mean 'frequency'"),
        (own("Snake", "x a", frequency=1), "frequency is INT instead of FLOAT"),
        (own("Snaky", "x a"), "--operators, see docs/custom-operators.md"),
    ],
)
def test_a_node_that_does_not_fit_is_an_error_of_the_model(wrong: onnx.NodeProto, words: str) -> None:
    assert words in refused(ModelError, saved(wrong), written("acme.py", SNAKE))


def test_required_attributes_and_outputs() -> None:
    made = custom("com.acme", "F")(lambda x, *, by=2.0: x * by)
    needs = custom("com.acme", "G", "G <by> (x) => (y) { b = Constant<value_float: float = @by>() y = Mul(x, b) }")
    assert "lacks attributes: by" in refused(ModelError, saved(own("G")), needs)
    assert "has 2 outputs, com.acme::F has 1" in refused(ModelError, saved(own("F", "x", "z y")), made)
    assert "has unknown attributes: a    hint: its definition has none" in refused(
        ModelError, saved(own("F", a=1)), custom("com.acme", "F")(lambda x: -x)
    )


def test_without_a_definition_the_hint_says_how() -> None:
    words = refused(ModelError, saved(own("Snake", "x a")))
    assert "operators of the domain com.acme are not known" in words and "--operators, see docs/custom-operators.md" in words


def test_what_is_wrong_inside_of_a_body_names_the_node() -> None:
    made = custom("com.acme", "F", 'F (x) => (y) { t = Constant<value_strings = ["a"]>() y = StringConcat(t, t) }')
    assert "f (com.acme.F" in refused(ModelError, saved(own("F")), made)


def test_a_shape_rule_is_held_to_what_the_body_computes() -> None:
    def rule(*shapes: tuple[int, ...], axis: int) -> Any:
        return [tuple(n * 2 if place == axis else n for place, n in enumerate(shapes[0]))]

    body = "F <axis: int = 1> (x) => (y) { y = Concat<axis: int = @axis>(x, x) }"
    path = saved(own("F", "x", "y", axis=0))
    assert read_model(path, configure(precision="fp32", operators=custom("com.acme", "F", body, shape=rule))).graph.shape("y") == (4, 8)
    wrong = custom("com.acme", "F", body, shape=lambda x, **_: x)
    words = refused(ModelError, path, wrong)
    assert "f (com.acme.F" in words and "the shape rule of com.acme::F says [2,8], its body computes [4,8]" in words
    fails = custom("com.acme", "F", body, shape=lambda x: x)
    assert "the shape rule of com.acme::F fails: TypeError" in refused(ModelError, path, fails)
