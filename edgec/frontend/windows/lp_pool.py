"""LpPool and GlobalLpPool: roots of the sums of powers."""

from __future__ import annotations

import math
from dataclasses import replace

from edgec.frontend.arithmetic.normalization import power_sum, powers, root
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.frontend.windows.window import auto_pad, extents, partial_pads, pool, window


@rule("LpPool")
def lp_pool(b: Builder, s: Source) -> None:
    """The mean of a window, padding counted, times the number of its places."""
    found, image = window(b, s), extents(b, s)
    auto_pad(s, image, found)
    if s.get("ceil_mode", 0) and s.get("auto_pad", "NOTSET") in ("NOTSET", "VALID"):
        found["pads"] = [*found["pads"][: len(image)], *partial_pads(image, found)]
    mean = b.fresh(f"{s.outputs[0]}_mean")
    attributes = {**found, "count_include_pad": 1, "auto_pad": "NOTSET"}
    pool(b, replace(s, op="AveragePool", inputs=(powers(b, s),), outputs=(mean,), attributes=attributes))
    count = b.constant(f"{s.outputs[0]}_count", math.prod(s.attributes["kernel_shape"]), b.type(mean).dtype.value)
    root(b, s, b.emit(s, "Mul", [mean, count])[0], s.outputs)


@rule("GlobalLpPool")
def global_lp_pool(b: Builder, s: Source) -> None:
    root(b, s, power_sum(b, s, list(range(2, 2 + len(extents(b, s))))), s.outputs)
