"""What edgec may say against a drawn model. Such a model is valid, ONNX Runtime has run it: whatever else is refused is a find."""

from __future__ import annotations

import re

from tests.fuzz.frame import Wrong

# What a line of a refusal says, and why a drawn model may be refused so
KNOWN = {
    r"put \S+: \S+\[\S*\] holds nothing": "packages neither take nor give tensors without elements",
    r"tensor \S+: holds NaN": "of drawn constants come logarithms of negative numbers",
    r"Window, opset \d+\): the size is \[1\], must be one number of at least 2": "a symmetric window of one number is 0 by 0",
    r"an Android library holds its weights": "targets and forms of weights are drawn apart",
}
# and what calibration may say
CALIBRATED = {
    r"nothing in this model can be quantized": "most operators compute in float where no product is beside them",
    r"every number is \S+    hint: calibrate with real data": "the samples are one input in other orders, which may be one number",
    r"the model came quantized: no layer of it can be kept in float32": "goals are drawn for models that came quantized as well",
    r"numbers are NaN or infinite": "values of some thousands become infinite",
}


def check_refusal(text: str, stage: str, *, calibrated: bool = False) -> None:
    """Wrong unless all that an error says is known: its summary, or the indented lines behind that, of which each is one thing wrong."""
    known = [*KNOWN, *(CALIBRATED if calibrated else ())]
    summary, *behind = text.rpartition("error: ")[2].strip().splitlines() or [""]
    for line in [line for line in behind if line.startswith("  ")] or [summary]:
        if not any(re.search(pattern, line) for pattern in known):
            raise Wrong(f"refused in {stage}: {kind_of(line)}", text[-1500:])


def kind_of(line: str) -> str:
    """A line without its names and numbers."""
    what = re.sub(r"    hint: .*", "", line.strip())
    return re.sub(r"\S*\d\S*|'[^']*'", "_", what)[:100]
