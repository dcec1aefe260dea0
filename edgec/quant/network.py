"""The whole of post-training quantization: from a float graph and samples to a graph with Q/DQ, its calibration and its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from glob import escape
from typing import Any

from edgec.base.errors import ModelError, UsageError, did_you_mean
from edgec.ir.graph import Graph
from edgec.quant.decisions.apply import apply
from edgec.quant.decisions.calibration_file import read_calibration
from edgec.quant.decisions.twins import Twins, twins_of
from edgec.quant.findings.culprit import culprit
from edgec.quant.findings.diagnose import BLAMED, examine
from edgec.quant.findings.left import weights_in_float
from edgec.quant.findings.preparations import doubt_preparation
from edgec.quant.findings.report import QuantizationReport, measure, untouched
from edgec.quant.floats.attention import ALLOWED
from edgec.quant.floats.jury import Jury, class_scores
from edgec.quant.floats.reach import reach
from edgec.quant.floats.rescue import rescue
from edgec.quant.given.goal import Accuracy, Goal, Kept
from edgec.quant.given.options import EFFORTS, OBSERVERS, Progress, QuantizeOptions, Samples
from edgec.quant.given.repeats import Watched
from edgec.quant.runs.carried import carried
from edgec.quant.runs.statistics import MinusInfinityError
from edgec.quant.scope.coverage import Selection, is_quantized, select
from edgec.quant.search.decide import Searched, calibrate
from edgec.quant.trials.shares import some
from edgec.records.diagnosis import Diagnosis

REPORT_SAMPLES = 16

HIDDEN = "minus infinity, which no 8 bits hold, hides some of its numbers"
BETWEEN = "what lies between products: in 8 bits the outputs would lose more than the time of floats is worth"
NO_INTEGERS = "no layer is computed in integers: what could be cost the outputs too much; --precision fp32 builds the same without samples"


@dataclass(frozen=True)
class Quantized:
    """The graph with Q/DQ, the decisions that led to it (JSON-able; `apply_calibration` repeats them) and the report."""

    graph: Graph
    calibration: dict[str, Any]
    report: QuantizationReport

    @property
    def decisions(self) -> dict[str, Any]:
        """All but the graph, for JSON: see recall()."""
        return {"calibration": self.calibration, "report": self.report.to_json()}


def quantize(graph: Graph, samples: Samples, options: QuantizeOptions | None = None, *, progress: Progress | None = None) -> Quantized:
    """Quantize an optimized float graph with the statistics of `samples`, which is called once per pass and has what a caller gives.

    A graph that has parameters already is left as it is. Raises UsageError when the options or the data cannot be used, ModelError
    when nothing in the model can be quantized, GateError when the goal of the options cannot be reached.
    """
    options = options or QuantizeOptions()
    options = replace(options, progress=progress) if progress else options
    if options.observer not in OBSERVERS:
        raise UsageError(f"unknown observer {options.observer!r}", hint=did_you_mean(options.observer, OBSERVERS))
    if options.effort not in EFFORTS:
        raise UsageError(f"unknown effort {options.effort!r}", hint=did_you_mean(options.effort, EFFORTS))
    if options.goal is not None:
        check_goal(graph, options.goal)
    if is_quantized(graph):
        return Quantized(graph.copy(), {}, untouched(["the model came with its own parameters; nothing was calibrated"]))
    selection = selected(graph, options)
    watched = Watched(samples)
    samples = carried(graph, watched)
    selection, searched, hidden = search(graph, selection, samples, options)
    calibration, goal, rescued = searched.calibration, None, None

    @cache
    def examined() -> tuple[Twins, Diagnosis]:
        twins = twins_of(graph, apply(graph, searched.calibration), searched.calibration)
        return twins, examine(twins, some(samples, searched.calibration.samples, BLAMED), options.progress)

    jury = partial(Jury, graph, searched.held, searched.judges, searched.apart, options.progress)
    if options.goal is not None:
        calibration, goal = reach(graph, calibration, options.goal, jury(), options.costs, options.progress)
    elif options.rescue and options.effort != "fast":
        calibration, rescued = rescue(graph, calibration, partial(jury, steady=True), examined, options.progress)
    quantized = apply(graph, calibration)
    report = measure(graph, quantized, calibration, samples, REPORT_SAMPLES, options.progress)
    notes = [*searched.notes, *searched.between.remarks, *watched.notes(), *doubt_preparation(graph, samples, calibration.samples)]
    if goal is None:
        notes += [rescued.remark] if rescued else culprit(graph, report.outputs, lambda: examined()[1])
    if not is_quantized(quantized):
        notes.append(NO_INTEGERS)
    else:
        notes += weights_in_float(quantized)
    report = replace(report, steps=[asdict(step) for step in searched.steps], notes=notes, samples=watched.count)
    why = f"attention, a normalization or what standardizes an input, which would cost the outputs more than {ALLOWED:g} dB in 8 bits"
    known = dict.fromkeys(sorted(searched.attention), why) | dict.fromkeys(searched.between.nodes, BETWEEN)
    known |= selection.refused | dict.fromkeys(sorted(hidden), HIDDEN)
    report = replace(report, kept_in_float=report.kept_in_float | known)
    content = calibration.to_json() | {"samples_sha256": watched.sha256}
    if goal is not None:
        report = replace(with_reasons(report, "goal", goal.kept, known), goal=asdict(goal))
    elif rescued is not None:
        report = with_reasons(report, "outputs", rescued.kept, known)
    return Quantized(quantized, content, report)


def selected(graph: Graph, options: QuantizeOptions) -> Selection:
    """The layers that may be integers. ModelError where there are none."""
    selection = select(graph, options.exclude, codes_out=options.codes_out)
    if not selection.layers:
        raise ModelError("nothing in this model can be quantized", hint="use precision fp32")
    return selection


def search(graph: Graph, selection: Selection, samples: Samples, options: QuantizeOptions) -> tuple[Selection, Searched, frozenset[str]]:
    """The layers, what was decided of them, and the names of those that stay in float since minus infinity hides numbers of theirs."""
    hidden: frozenset[str] = frozenset()
    while True:
        try:
            return selection, calibrate(graph, selection, samples, options), hidden
        except MinusInfinityError as found:
            layers = [layer for layer in selection.layers if not found.values.isdisjoint([*layer.operands, *layer.results])]
            names = frozenset(layer.node.name for layer in layers)
            if not names or "" in names:
                raise
            hidden |= names
            options = replace(options, exclude=(*options.exclude, *map(escape, sorted(names))))
            selection = selected(graph, options)


def check_goal(graph: Graph, goal: Goal) -> None:
    """UsageError where nothing could be done for it."""
    if is_quantized(graph):
        hint = "give the float model with --calib, or leave --min-sqnr and --max-drop out"
        raise UsageError("the model came quantized: no layer of it can be kept in float32", hint=hint)
    if goal.max_drop is not None and not class_scores(graph):
        found = ", ".join(f"{name} {graph.types[name]}" for name in graph.outputs)
        raise UsageError(f"the model has no scores of classes whose best one could change: {found}", hint="ask for --min-sqnr instead")


def with_reasons(report: QuantizationReport, for_what: str, kept: Iterable[Kept], known: Mapping[str, str]) -> QuantizationReport:
    """The report that says why layers stay in float. known: of those that do without `kept` ones. What has 16 bits is no float."""
    why: dict[str, str] = dict.fromkeys(report.kept_in_float, f"an activation of a layer that is kept for the {for_what}")
    why |= {one.node: f"kept for the {for_what}: {Accuracy(one.sqnr, one.drop)} with it in int8" for one in kept if one.type == "float32"}
    return replace(report, kept_in_float=why | dict(known))


def apply_calibration(graph: Graph, content: Mapping[str, Any]) -> Graph:
    """The quantized graph that follows from a float graph and a calibration; the same bytes on every machine."""
    if not content:
        return graph.copy()
    return apply(graph, read_calibration(content, graph))


def recall(graph: Graph, decisions: Mapping[str, Any]) -> Quantized:
    """What quantize() gave for this very graph, by its decisions."""
    calibration = dict(decisions["calibration"])
    return Quantized(apply_calibration(graph, calibration), calibration, QuantizationReport(**decisions["report"]))
