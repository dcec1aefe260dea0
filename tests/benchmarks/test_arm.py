"""What benchmarks/arm.py makes of a listing and of counted blocks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.benchmarks.test_peers import ROOT, script

LISTING = """
0000000000000400 <conv>:
     400:\tsdot\tv0.4s, v1.16b, v2.4b[0]
     404:\tsmlal2\tv0.8h, v1.16b, v2.16b
     408:\tbit\tv0.16b, v1.16b, v2.16b
     40c:\tb.ne\t400 <conv>  // b.any

0000000000000410 <pool>:
     410:\tvmovl.s8\tq8, d16
     414:\tvqmovun.s16\td16, q8
     418:\tvmov\tq0, q1
     41c:\tbics\tw0, w1, w2
     420:\tble\t410 <pool>
     424:\tbl\t400 <conv>
"""


@pytest.fixture
def arm(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return script("arm")


def test_instructions_are_counted_by_kind_and_function(arm) -> None:  # type: ignore[no-untyped-def]
    addresses, listed = arm.disassembled(LISTING)
    assert addresses.tolist() == list(range(0x400, 0x428, 4))
    kinds = ["dot", "mull", "other", "branch", "narrow", "narrow", "shuffle", "other", "branch", "branch"]
    assert [one.kind for one in listed] == kinds
    rows = dict(arm.counts("mark 1\n400 4 5\nmark 2\n410 5 2\n424 1 1\n400 2 1\n", addresses))
    assert rows[1].tolist() == [5] * 4 + [0] * 6 and rows[2].tolist() == [1, 1, 0, 0, 2, 2, 2, 2, 2, 1]
    found = arm.Counted("neon", listed, rows[2], np.stack([rows[1]]))
    assert dict(found.by(found.whole, "function")) == {"conv": 2, "pool": 11}
    assert found.by(found.whole, "kind")[0] == ("narrow", 4)


def test_models_are_compared_with_peers_on_such_a_processor(arm) -> None:  # type: ignore[no-untyped-def]
    rows = {target: arm.compared("mnist-8", "fp32", target, 613, 1000) for target in ("rpi4", "rpi-32bit")}
    assert rows == {"rpi4": "0.613 | 0.613 LiteRT | 1.00", "rpi-32bit": "0.613 | | "}
    assert arm.compared("mnist-8", "fp32", "rpi4", 613, 0) == "- | | "
