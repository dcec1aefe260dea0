"""How many of the onnx package's own cases come out right: which of them count, and the figures that the README has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from onnx import TensorProto

from edgec.program.program import Program
from tests.operators.case import Case, Outcome

KEY = "coverage"
WIDTHS = (8, 16, 32, 64)
KINDS = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "BOOL", *(f"{sign}INT{width}" for sign in ("", "U") for width in WIDTHS))
USUAL = frozenset(map(TensorProto.DataType.Value, KINDS))
# What inference on a device does without, by operator or, of cases of several nodes, by title: training, text, pictures as files, optional
# and random values, spectra, what is in preview, and ai.onnx.ml
OUTSIDE = frozenset({
    "Adagrad", "Adam", "Momentum", "(gradient)", "NegativeLogLikelihoodLoss", "(nllloss)", "SoftmaxCrossEntropyLoss", "(sce)",
    "TfIdfVectorizer", "ImageDecoder", "OptionalGetElement", "OptionalHasElement", "(sequence)", "Bernoulli", "(bernoulli)", "DFT", "STFT",
    "BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix", "FlexAttention",
    "ArrayFeatureExtractor", "Binarizer", "TreeEnsemble",
})  # fmt: skip


@dataclass(frozen=True)
class Coverage:
    """Numbers of cases that count.

    shipped: right, and computed by the package of an input, where the model is as its file is. constant: so too, or where operands are
    constants, as exported models have them. folded: right, and known when the package was built.
    """

    cases: int = 0
    shipped: int = 0
    constant: int = 0
    folded: int = 0

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(*map(sum, zip(astuple(self), astuple(other), strict=True)))


# Of each part of all cases, as tests/operators/test_operators.py cuts them
WRITTEN = (
    Coverage(271, 262, 264, 4), Coverage(266, 253, 255, 9), Coverage(269, 258, 261, 6),
    Coverage(267, 257, 259, 6), Coverage(268, 255, 256, 7), Coverage(268, 258, 260, 5),
)  # fmt: skip


def counts(case: Case) -> bool:
    """Whether a case is about numbers of the usual types, and not about what is OUTSIDE."""
    graph = case.model.graph
    usual = all(value.type.tensor_type.elem_type in USUAL for value in (*graph.input, *graph.output))
    return usual and case.operator not in OUTSIDE and "training" not in case.name


def coverage(cases: Iterable[Case], outcomes: Iterable[Outcome]) -> Coverage:
    """What became of those of the onnx package's cases that count."""
    names = {case.name for case in cases if counts(case)}
    right = [item for item in outcomes if item.case in names and item.verdict == "ok"]
    computed = [item for item in right if item.computed]
    return Coverage(len(names), sum(item.shipped for item in computed), len(computed), len(right) - len(computed))


def computes(program: Program) -> bool:
    """Whether some output comes of an input, by calls."""
    known = {port.buffer for port in program.inputs}
    for call in program.calls:
        if any(program.root(name) in known for name in call.call.reads):
            known |= {program.root(name) for name in call.call.writes}
    return any(port.buffer in known for port in program.outputs)


def line(total: Coverage) -> str:
    """The figures in words, as the README has them."""
    forms = f"{total.shipped:,} rightly as the files are, and {total.constant:,} where operands are constants, as exported models have them"
    return f"Of {total.cases:,} cases packages compute {forms}; the answers of {total.folded:,} more are known when they are built."
