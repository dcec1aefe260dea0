"""Post-training quantization: a float graph and samples in, a graph with QuantizeLinear/DequantizeLinear out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgec.base.lazy import parts

if TYPE_CHECKING:
    from edgec.quant.coverage import is_quantized
    from edgec.quant.goal import Goal
    from edgec.quant.network import Quantized, apply_calibration, check_goal, quantize, recall
    from edgec.quant.options import Progress, QuantizeOptions, Sample, Samples
    from edgec.quant.report import LayerReport, QuantizationReport

__all__ = [
    "Goal",
    "LayerReport",
    "Progress",
    "QuantizationReport",
    "QuantizeOptions",
    "Quantized",
    "Sample",
    "Samples",
    "apply_calibration",
    "check_goal",
    "is_quantized",
    "quantize",
    "recall",
]

_HOMES = {
    "Goal": "goal",
    "LayerReport": "report",
    "Progress": "options",
    "QuantizationReport": "report",
    "QuantizeOptions": "options",
    "Quantized": "network",
    "Sample": "options",
    "Samples": "options",
    "apply_calibration": "network",
    "check_goal": "network",
    "is_quantized": "coverage",
    "quantize": "network",
    "recall": "network",
}
__getattr__ = parts(__name__, _HOMES)
