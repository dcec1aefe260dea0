"""build() as a paragraph of calls: the map of the compiler, and the only module that sees every room."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edgec.config import BuildConfig
from edgec.emit import emit_exam, emit_sources, finish_manifest
from edgec.errors import UsageError
from edgec.exam import write_exam
from edgec.export import to_onnx
from edgec.frontend import load_model
from edgec.ir.graph import Graph
from edgec.ir.text import dumps
from edgec.lower import LowerOptions, lower
from edgec.lower.plan import plan
from edgec.output import complete_directory
from edgec.package import Package
from edgec.passes import optimize
from edgec.program.text import dumps as dump_program
from edgec.quant import Quantized, QuantizeOptions, Samples, quantize
from edgec.quant.data import open_samples
from edgec.quant.preprocess import Preprocess, fuse
from edgec.targets import load_target
from edgec.toolchain import compile_package
from edgec.version import __version__

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Model:
    """A model on its way: the graph as imported (the reference of every check) and as optimized."""

    name: str
    original: Graph
    graph: Graph
    notes: tuple[str, ...]


def build(model: Path, config: BuildConfig, progress: Progress | None = None) -> Package:
    """Turn an ONNX file into a compiled package; the directory appears complete or not at all."""
    target = load_target(config.target)
    loaded = read_model(model, config)
    quantized = quantize_model(loaded, config, progress) if config.precision == "int8" else None
    graph = quantized.graph if quantized else loaded.graph
    program = lower(graph, target, loaded.name, LowerOptions(io=config.io, io_layout=config.io_layout))
    plan(program)
    exam = write_exam(loaded.original, graph, program, samples_of(loaded.graph, config), config.seed)
    files = emit_sources(program, target, config.weights) | emit_exam(program, target, exam)
    if quantized is not None:
        files |= {"model.int8.onnx": int8_model(quantized), "calibration.json": json_bytes(quantized.calibration)}
    finish_manifest(files, _facts(model, loaded, quantized, config))
    _dump(config.dump, {"4-program.eir": dump_program(program)})
    out = config.out or Path(f"{loaded.name}-{target.name}-{config.precision}")
    with complete_directory(out, files) as directory:
        if config.compile:
            compile_package(directory, target, cc=config.cc)
    return Package(out)


def read_model(model: Path, config: BuildConfig) -> Model:
    """Import and optimize."""
    imported = load_model(model, config.shape)
    original = imported.graph
    if config.fuse_preprocess:
        original = fuse(original.copy(), Preprocess.parse(config.preprocess))
    graph = original.copy()
    _dump(config.dump, {"1-imported.eir": dumps(graph)})
    optimize(graph)
    _dump(config.dump, {"2-optimized.eir": dumps(graph)})
    return Model(config.name or identifier(Path(model).stem), original, graph, imported.notes)


def quantize_model(loaded: Model, config: BuildConfig, progress: Progress | None = None) -> Quantized:
    """Calibrate and quantize; a model that comes quantized needs no samples."""
    samples = samples_of(loaded.graph, config)
    if samples is None and not any(node.op == "DequantizeLinear" for node in loaded.graph.nodes):
        raise UsageError("int8 needs calibration data", hint="give --calib DATA, or --precision fp32")
    options = QuantizeOptions(exclude=config.exclude, **({"observer": config.observer} if config.observer else {}))
    quantized = quantize(loaded.graph, samples or (lambda: iter(())), options, progress=progress)
    _dump(config.dump, {"3-quantized.eir": dumps(quantized.graph)})
    return quantized


def samples_of(graph: Graph, config: BuildConfig) -> Samples | None:
    """The calibration samples that the configuration names, opened anew at each call; None when it names none."""
    if config.calib is None:
        return None
    preprocess = None if config.fuse_preprocess or not config.preprocess else Preprocess.parse(config.preprocess)
    return open_samples(config.calib, graph, preprocess, limit=config.samples)


def identifier(stem: str) -> str:
    """A C identifier from a file name: `mobilenetv2-1.0` -> `mobilenetv2_1_0`."""
    word = re.sub(r"[^0-9A-Za-z]+", "_", stem).strip("_").lower()
    return word if word and not word[0].isdigit() else f"model_{word}".rstrip("_")


def int8_model(quantized: Quantized) -> bytes:
    """The quantized graph as a standard ONNX file."""
    return to_onnx(quantized.graph).SerializeToString(deterministic=True)


def json_bytes(value: object) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def _facts(path: Path, loaded: Model, quantized: Quantized | None, config: BuildConfig) -> dict[str, Any]:
    """What the manifest says of where the package came from."""
    return {
        "precision": config.precision,
        "notes": list(loaded.notes),
        "model_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "options": {
            "observer": config.observer,
            "exclude": list(config.exclude),
            "io": config.io,
            "io_layout": config.io_layout,
            "seed": config.seed,
        },
        "versions": {"edgec": __version__, "onnx": version("onnx"), "onnxruntime": version("onnxruntime"), "numpy": version("numpy")},
        "quantization": [] if quantized is None else quantized.report.layers,
    }


def _dump(folder: Path | None, files: Mapping[str, str]) -> None:
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
