"""What the fuzzer of graphs found stays found, and a short sample of it finds nothing new."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgec.errors import ModelError
from edgec.frontend import from_proto
from edgec.targets import load_target
from tests.conftest import require
from tests.fuzz.graphs_check import float_case, int8_case, invented
from tests.fuzz.graphs_finds import FINDS
from tests.operators.suite import OK, run_programs

RIGHT = [find for find in FINDS if not find.refused]


@pytest.mark.parametrize("find", [find for find in FINDS if find.refused], ids=lambda find: find.name)
def test_a_find_is_refused(find) -> None:
    with pytest.raises(ModelError, match=find.refused):
        from_proto(find.model())


def test_finds_are_right(tmp_path: Path) -> None:
    require("gcc")
    target, generator = load_target("portable"), np.random.default_rng(1)
    cases = []
    for find in RIGHT:
        model = find.model()
        inputs = invented(model, generator)
        cases += [float_case(find.name, model, inputs, target), int8_case(find.name, model, [inputs], target)]
    outcomes = run_programs([case for case in cases if case is not None], target, tmp_path)
    assert {item.case: item.message for item in outcomes if item.verdict != OK} == {}
