"""Samples of a model with states: one stream, in which each sample gets the states that the float model has come to."""

from __future__ import annotations

from collections.abc import Iterator

from edgec.base.errors import ModelError, UsageError
from edgec.ir.graph import Graph
from edgec.ir.states import first_states, next_states
from edgec.quant.given.options import Sample, Samples
from edgec.quant.runs.float_run import Probe


def carried(graph: Graph, samples: Samples) -> Samples:
    """The samples, which are what a caller gives, with all inputs of the graph."""
    if not graph.states:
        return samples
    probe = Probe(graph, [state.output for state in graph.states.values()], exact=True)

    def complete() -> Iterator[Sample]:
        states = first_states(graph)
        for number, sample in enumerate(samples()):
            whole = {**sample, **states}
            yield whole
            try:
                states = next_states(graph, probe(whole))
            except ModelError as error:
                hint = "the samples are one stream: give no more than the model takes before a reset"
                raise UsageError(error.summary, error.problems, where=f"sample {number}", hint=hint) from error

    return complete
