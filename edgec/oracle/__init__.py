"""docs/int8.md as a numpy program: from an ONNX model and its inputs to the exact outputs.

It shares no code with the compiler: nothing here comes from lower/, quant/ or emit/.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from edgec.oracle.disturbance import Chance
from edgec.oracle.evaluator import Evaluator

__all__ = ["Chance", "Evaluator", "run"]


def run(model: onnx.ModelProto | Path | str, inputs: dict[str, np.ndarray], *, quantized_outputs: bool = False) -> dict[str, np.ndarray]:
    """The graph outputs of `model` by name, as `Evaluator.run` gives them; prepares the model for this one run."""
    return Evaluator(model).run(inputs, quantized_outputs=quantized_outputs)
