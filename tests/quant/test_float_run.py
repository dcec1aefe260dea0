"""A float graph is run over many samples."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

import edgec.quant.runs.float_run as run
from edgec.quant.runs.float_run import Probe
from tests.quant.small import Small, content, net, samples


@pytest.mark.parametrize("ahead", [0, 1 << 30])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_samples_computed_ahead_are_those_that_were_given_in_their_order(monkeypatch: pytest.MonkeyPatch, ahead: int, count: int) -> None:
    monkeypatch.setattr(run, "AHEAD", ahead)
    graph = net("resnet")
    known = samples(graph, count)
    probe = Probe(graph, [*graph.inputs, graph.nodes[0].outputs[0], *graph.outputs])
    found, wanted = [dict(one) for one in probe.over(known())], [probe(sample) for sample in known()]
    assert len(found) == count
    for one, other in zip(found, wanted, strict=True):
        assert list(one) == list(other) and all(np.array_equal(one[value], other[value]) for value in other)


def test_few_samples_are_asked_for_ahead_of_the_one_that_is_looked_at() -> None:
    graph, given = net("resnet"), []

    def counted() -> object:
        for sample in samples(graph)():
            given.append(sample)
            yield sample

    for place, _ in enumerate(Probe(graph, graph.outputs).over(counted())):  # type: ignore[arg-type]
        assert len(given) <= place + 1 + run.os.cpu_count()


def test_answers_do_not_depend_on_the_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """How a long sum is divided among the threads of a session shows in its last bit."""
    small = Small((1, 64, 8, 8))
    graph = small.done(small.conv(small.conv("x", 64), 64))
    known = list(samples(graph, 6)())
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 2
    plain = onnxruntime.InferenceSession(content(graph), settings)
    wanted = [plain.run(graph.outputs, sample)[0] for sample in known]
    for cores in (1, 2, 5):
        monkeypatch.setattr(run.os, "cpu_count", lambda cores=cores: cores)
        found = [array for one in Probe(graph, graph.outputs).over(known) for _, array in one]
        assert all(np.array_equal(one, other) for one, other in zip(wanted, found, strict=True))
