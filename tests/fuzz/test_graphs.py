"""What the fuzzer of graphs found stays found, and a short sample of it finds nothing new."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import defs, parser

from edgec.base.errors import ModelError
from edgec.frontend import from_proto
from edgec.frontend.translation.rules import RULES
from edgec.ops import OPERATORS
from edgec.targets import load_target
from tests.conftest import require
from tests.fuzz import graphs_check
from tests.fuzz.draw import nodes
from tests.fuzz.frame import FUZZED, Wrong, fuzz
from tests.fuzz.graphs import ELSEWHERE, NATIVE_BACKENDS, problem, run, through_the_command_line
from tests.fuzz.graphs_check import Refused, cases_of
from tests.fuzz.graphs_draft import LEARNED, MICROSOFT, OPSETS, Draft, Drawn, Misfit, replayed
from tests.fuzz.graphs_draw import DRAWERS, FAMILIES, draw
from tests.fuzz.graphs_finds import FINDS
from tests.fuzz.graphs_free import is_free
from tests.fuzz.graphs_minimize import minimized
from tests.fuzz.graphs_refused import check_refusal, kind_of
from tests.operators.backends import NATIVE, Backend
from tests.passes.compare import random_array

WHOLE = bool(os.environ.get("EDGEC_TEST_ALL"))
SAMPLE = 25
RIGHT = [find for find in FINDS if not find.refused]
DRAWINGS = 60  # of a drawer at most, until it has drawn what it is named for
NOT_DRAWN = {  # by domain and name: why
    ("", "Bernoulli"): "is random",
    **dict.fromkeys((("", "CausalConvWithState"), ("", "LinearAttention"), ("", "SwiGLU")), "ONNX Runtime ends at operator set 26"),
    **dict.fromkeys(((LEARNED, "SVMRegressor"), (LEARNED, "SVMClassifier")), "ONNX Runtime loses digits of large operands"),
    (LEARNED, "TreeEnsemble"): "is read as the older ensembles are",
    (LEARNED, "ZipMap"): "makes maps",
    (MICROSOFT, "BiasAdd"): "ONNX Runtime computes it on GPUs alone",
    **dict.fromkeys(
        ((MICROSOFT, "LayerNormalization"), (MICROSOFT, "SimplifiedLayerNormalization")), "ONNX Runtime has it among ONNX's own"
    ),
}


def drawn_of(model: onnx.ModelProto, seed: int = 1) -> Drawn:
    graph, generator = from_proto(model).graph, np.random.default_rng(seed)
    usual = {name: np.asarray(random_array(graph.types[name], generator)) for name in graph.inputs}
    return replayed(model, [usual, {name: hostile(array) for name, array in usual.items()}])


def hostile(array: np.ndarray) -> np.ndarray:
    """With NaN and infinities at the beginning."""
    special = np.array([np.nan, np.inf, -np.inf])[: array.size if array.dtype.kind == "f" else 0]
    return np.concatenate([special, array.reshape(-1)[special.size :]]).astype(array.dtype).reshape(array.shape)


@pytest.mark.parametrize("find", [find for find in FINDS if find.refused], ids=lambda find: find.name)
def test_a_find_is_refused(find) -> None:
    with pytest.raises(ModelError, match=find.refused):
        from_proto(find.model())


@pytest.mark.long
@pytest.mark.parametrize("backend", (*NATIVE_BACKENDS, *ELSEWHERE) if WHOLE else NATIVE[:1], ids=lambda backend: backend.name)
@pytest.mark.filterwarnings("error")
def test_finds_are_right(backend: Backend, tmp_path: Path) -> None:
    """With EDGEC_TEST_ALL on every backend that the fuzzer tries."""
    require("gcc", *backend.needs)
    cases = [case for find in RIGHT for case in cases_of(find.name, drawn_of(find.model()), load_target(backend.target))]
    assert {name: str(error) for name, error in run(cases, backend, tmp_path / "finds").items()} == {}
    assert {case.case.name.rsplit(",", 2)[0] for case in cases} == {find.name for find in RIGHT}


def table() -> set[tuple[str, str]]:
    """By domain and name what edgec knows, what its import translates, and what it expands by ONNX's own function bodies."""
    schemas = [schema for schema in defs.get_all_schemas() if not schema.domain]
    composite = {("", schema.name) for schema in schemas if schema.has_function or schema.has_context_dependent_function}
    return {*(("", op) for op in OPERATORS), *RULES, *composite}


def drawn_by(name: str, known: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The operators that a drawer draws until it has drawn the one that it is named for."""
    found, wanted = set[tuple[str, str]](), min((key for key in known if key[1] == name), default=None)
    for seed in range(DRAWINGS):
        generator = np.random.default_rng([11, seed])
        draft = Draft(generator, int(generator.choice(OPSETS)))
        with contextlib.suppress(Misfit):
            DRAWERS[name](draft, name)
            found |= {(node.domain, node.op_type) for node in nodes(draft.finish().model)}
        if found and wanted in (None, *found):
            break
    return found


def test_every_operator_is_drawn() -> None:
    known = table()
    drawn = set[tuple[str, str]]().union(*(drawn_by(name, known) for name in DRAWERS))
    assert known - drawn == NOT_DRAWN.keys()


def test_no_drawer_hides_another() -> None:
    names = [name for family in FAMILIES for name in family]
    assert len(names) == len(DRAWERS)


@pytest.mark.parametrize(("one_way", "free"), ((0, [False, False]), (1, [False, True])))
def test_rows_that_see_no_key_may_be_anything(one_way: int, free: list[bool]) -> None:
    """Looking back alone, the first row of the second sample sees two keys, both of them hidden."""
    node = onnx.helper.make_node("MultiHeadAttention", [*"qkv", "", "mask"], ["y"], domain=MICROSOFT, num_heads=1, unidirectional=one_way)
    shapes = {"q": (2, 2, 4), "k": (2, 2, 4), "v": (2, 2, 4)}  # and one key of before
    mask = np.array([[0, 1, 0], [0, 0, 1]], np.int32)
    found = is_free(node, {name: np.zeros(shape, np.float32) for name, shape in shapes.items()} | {"mask": mask}, np.zeros((2, 2, 4)))
    assert found.all(axis=(1, 2)).tolist() == found.any(axis=(1, 2)).tolist() == free


def test_drawings_repeat() -> None:
    """By their seed, whatever was drawn before."""
    first, again = (draw(np.random.default_rng(4), "Conv") for _ in range(2))
    assert first.model == again.model and "Conv" in first.operators
    assert all((a[name] == b[name]).all() for a, b in zip(first.vectors[:1], again.vectors[:1], strict=True) for name in a)


UNTAKEN = "ONNX Runtime does not take the model: Failed to find node output or a constant initializer producing output: x1_transposed."
EMPTY = "2 output(s) are empty tensors    hint: leave them out of the model\n  output v1: int64[0,2] holds nothing"
CONSTANT = "the calibration data cannot be used\n  x0: every number is -0.04    hint: calibrate with real data"


def test_refusals_that_a_drawn_model_may_meet() -> None:
    check_refusal(EMPTY, "import")
    check_refusal(f"error: {EMPTY}\n", "edgec build")
    check_refusal(CONSTANT, "quantization", calibrated=True)


@pytest.mark.parametrize(
    ("text", "calibrated"),
    [(UNTAKEN, True), (CONSTANT, False), (f"{EMPTY}\n  n (Pad, opset 21): cannot be evaluated: index can't", False), ("", True)],
)
def test_any_other_refusal_is_a_find(text: str, calibrated: bool) -> None:
    with pytest.raises(Wrong, match=r"^refused in import: "):
        check_refusal(text, "import", calibrated=calibrated)


def test_finds_among_refusals_have_one_key_for_one_cause() -> None:
    assert (
        kind_of("  n7 (Pad, opset 21): 3 pads for 'x'    hint: x7")
        == kind_of("  m12 (Pad, opset 9): 4 pads for 'y'")
        == "_ (Pad, opset _ _ pads for _"
    )


@pytest.mark.parametrize("refuses", ["from_proto", "lower", "quantize"])
def test_a_refusal_at_any_stage_is_looked_at(refuses: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = drawn_of(parser.parse_model('<ir_version: 9, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Exp(x) }'))

    def refuse(*_: object) -> None:
        raise ModelError(UNTAKEN)

    monkeypatch.setattr(graphs_check, refuses, refuse)
    with pytest.raises(Wrong, match="ONNX Runtime does not take the model"):
        cases_of("refused", drawn, load_target(NATIVE[0].target))


def test_what_the_command_line_refuses_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = draw(np.random.default_rng(4), "Conv")
    done = subprocess.CompletedProcess([], 3, "", f"error: {UNTAKEN}\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(Wrong, match="refused in edgec build"):
        through_the_command_line(drawn, tmp_path / "work", np.random.default_rng(4))


def test_what_onnx_runtime_knows_before_onnx_did_is_not_drawn() -> None:
    draft = Draft(np.random.default_rng(1), 9)
    with pytest.raises(Misfit, match="no such operator"):
        draft.op("ThresholdedRelu", draft.input(np.float32, (2,)))


@pytest.mark.long
@pytest.mark.sampled
def test_random_graphs_are_right(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Some graphs of a fixed seed; with EDGEC_TEST_ALL forty seconds of a fresh one, under the sanitizers."""
    require("gcc")
    if WHOLE:
        seed = secrets.randbelow(2**32)
        tally = fuzz("graphs", seed, seconds=40, finds=tmp_path / "finds")
        record_property(FUZZED, said := f"graphs, seed {seed}: " + "\n".join(tally.lines()))
        assert not tally.finds, said
        return
    refused, cases = 0, []
    for number in range(SAMPLE):
        drawn = draw(np.random.default_rng([20, number]), list(DRAWERS)[number * 5 % len(DRAWERS)])
        try:
            cases += cases_of(f"graph {number}", drawn, load_target(NATIVE[0].target))
        except Refused:
            refused += 1
    assert {name: str(error) for name, error in run(cases, NATIVE[0], tmp_path / "sample").items()} == {}
    assert refused < SAMPLE / 5 and len(cases) > SAMPLE


def test_a_failure_is_made_small(tmp_path: Path) -> None:
    """What fails because of one node is reduced to that node."""
    require("gcc")
    text = "(float[2,3] x) => (y, z) <float c = {2}> { a = Relu(x) b = Tanh(a) d = Mul(b, c) y = Add(d, a) z = Neg(x) }"
    drawn = drawn_of(type(FINDS[0])("spoiled", text).model())
    places = iter(tmp_path / str(number) for number in range(1000))

    def fails(part: Drawn) -> bool:
        return "Tanh" in part.operators and problem(part, [NATIVE[0]], next(places)) is None

    assert minimized(drawn, fails).operators == {"Tanh"}
