"""Programs of one network for several sets of shapes become one: what callers see must be alike, names of C alone may differ."""

from __future__ import annotations

import pytest

from edgec.base.errors import UsageError
from edgec.ir.types import DType
from edgec.program.expr import const
from edgec.program.many_shapes import merged
from edgec.program.program import Buffer, Kind, Port, Program


def relay(extent: int, identifier: str, scale: float | None = None, zero_point: int = 0) -> Program:
    """A network whose one output lies in the buffer of its C name."""
    dtype = DType.FLOAT32 if scale is None else DType.INT8
    port = Port("y", identifier, identifier, dtype, (const(extent),), scale, zero_point)
    return Program("relay", "host", outputs=[port], buffers={identifier: Buffer(identifier, dtype, const(extent), Kind.OUTPUT)})


def test_an_output_has_one_name_of_c_in_all_sets() -> None:
    both = merged([relay(4, "y"), relay(6, "y_2")])
    (port,) = both.outputs
    assert (port.identifier, port.buffer, port.shapes) == ("y", "y", ((4,), (6,)))
    assert list(both.buffers) == ["y"] and both.buffers["y"].size == const(6)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (relay(6, "y"), "is y in float32, and y in int8 with scale 0.5 and zero point 3 in the first set"),
        (
            relay(6, "y", 0.5, 4),
            "is y in int8 with scale 0.5 and zero point 4, and y in int8 with scale 0.5 and zero point 3 in the first set",
        ),
    ],
)
def test_what_callers_would_read_otherwise_is_refused(other: Program, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        merged([relay(4, "y", 0.5, 3), other])
    assert [problem.what for problem in caught.value.problems] == [what]
