"""Post-training quantization: a float graph and samples in, a graph with QuantizeLinear/DequantizeLinear out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgec.base.lazy import parts

if TYPE_CHECKING:
    from edgec.quant.findings.report import LayerReport, QuantizationReport
    from edgec.quant.given.goal import Goal
    from edgec.quant.given.options import Progress, QuantizeOptions, Sample, Samples
    from edgec.quant.network import Quantized, apply_calibration, check_goal, quantize, recall
    from edgec.quant.scope.coverage import is_quantized

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
    "Goal": "given.goal",
    "LayerReport": "findings.report",
    "Progress": "given.options",
    "QuantizationReport": "findings.report",
    "QuantizeOptions": "given.options",
    "Quantized": "network",
    "Sample": "given.options",
    "Samples": "given.options",
    "apply_calibration": "network",
    "check_goal": "network",
    "is_quantized": "scope.coverage",
    "quantize": "network",
    "recall": "network",
}
__getattr__ = parts(__name__, _HOMES)
