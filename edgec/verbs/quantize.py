"""Calibrate and quantize a model into a standard int8 onnx file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgec.base.output import check_outputs, write_file
from edgec.base.signals import ending_cleanly
from edgec.exporters import path_of
from edgec.pipeline import compiler
from edgec.pipeline.evaluation import Data
from edgec.pipeline.models import Progress, int8_model, prune_model, quantize_model, read_model
from edgec.pipeline.prepare import check_data, check_file, check_operators, check_profile, dumped, inputs_of
from edgec.quant import Quantized
from edgec.reports import render_quantization
from edgec.settings.config import BuildConfig, configure


@ending_cleanly()
def quantize(
    model: Any, *, calib: Data | None = None, out: str | Path | None = None, report: str | Path | None = None,
    config: BuildConfig | None = None, progress: Progress | None = None, example_inputs: Any = None, **settings: Any,
) -> Quantized:  # fmt: skip
    """Calibrate and quantize; write the standard INT8 ONNX file to `out`, and the report of every layer to `report`, when given.

    The report is a page where its name ends in .html, else JSON. Where channels are removed, the float network that is left is written
    beside `out`, as NAME.pruned.onnx.
    """
    config = config or configure(calib=calib, **settings)
    model = path_of(model, config, example_inputs)
    check_file(model)
    check_data(config)
    check_operators(config)
    check_profile(config)
    pruned = _pruned_beside(Path(out)) if out is not None and config.prune is not None else None
    outputs = [Path(path) for path in (out, report, pruned) if path is not None]
    check_outputs([*outputs, *dumped(config)], inputs_of(model, config), force=config.force)
    loaded = prune_model(read_model(model, config), config, progress)
    quantized = quantize_model(loaded, config, progress)
    if out is not None:
        write_file(Path(out), int8_model(quantized), ".onnx", force=config.force)
    if pruned is not None and loaded.pruning is not None:
        write_file(pruned, loaded.pruning.content, ".onnx", force=config.force)
    if report is not None:
        facts, form = quantized.report.to_json(), ".html" if Path(report).suffix.lower() == ".html" else ".json"
        content = render_quantization(facts, model.name).encode() if form == ".html" else compiler.json_bytes(facts)
        write_file(Path(report), content, form, force=config.force)
    return quantized


def _pruned_beside(out: Path) -> Path:
    """model.int8.onnx -> model.pruned.onnx."""
    return out.with_name(out.name.removesuffix(".onnx").removesuffix(".int8") + ".pruned.onnx")
