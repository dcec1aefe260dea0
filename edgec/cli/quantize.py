"""calibrate and quantize a model into a standard INT8 ONNX file (QuantizeLinear / DequantizeLinear)"""

from __future__ import annotations

import argparse
from pathlib import Path

import edgec
from edgec.cli.console import Console, table
from edgec.cli.settings import declare_settings, resolve_settings

SETTINGS = ("calib", "shape", "observer", "exclude", "samples", "fuse_preprocess", "dump")
WORST = 20


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the ONNX file")
    parser.add_argument("-o", "--output", type=Path, default=None, help="the INT8 ONNX file to write (MODEL.int8.onnx)")
    parser.add_argument("--report", type=Path, default=None, help="write the report of every layer as JSON")
    declare_settings(parser, SETTINGS)


def act(options: argparse.Namespace, console: Console) -> None:
    config = resolve_settings(options)
    output = options.output or options.model.with_suffix(".int8.onnx").name
    with console.progress() as progress:
        quantized = edgec.quantize(options.model, out=output, report=options.report, config=config, progress=progress)
    layers = quantized.report.layers
    rows = [[layer.get(key, "") for key in ("node", "op", "low", "high", "scale", "zero_point", "sqnr_db")] for layer in layers[:WORST]]
    shown = table(
        f"the {min(WORST, len(rows))} layers that lose most", ["node", "op", "low", "high", "scale", "zero point", "SQNR dB"], rows
    )
    console.result({"model": str(output), "layers": layers}, [shown, f"wrote {output}"])
