"""What each step of quantization is worth: SQNR in dB of the worst output of model.int8.onnx against the model file, both in ONNX Runtime,
on inputs that did not calibrate; plain min-max, edgec without one of its steps, edgec with each effort, ONNX Runtime's own quantizer, and
NNCF with its defaults, which gets a virtual environment of its own (benchmarks/nncf_peer.py).

    python benchmarks/quantizers.py FOLDER [--only mobilenet ...] [--columns plain default ...] [--calibration 32] [--others 60]

FOLDER holds the models and data sets that benchmarks/models.py and benchmarks/sound_and_text.py name; a model that is missing gets no row.
It may also be one that benchmarks/outside.py made, where samples lie beside each model, NAME.npz with `known` and `others`; of several
inputs each is `known:INPUT` and `others:INPUT`. The keyword spotters hear the .wav files of vad_a/, which is not what they were trained on.
The others quantize the same optimized float graph, ONNX Runtime as QDQ, per channel and by min-max. A model that comes quantized is no work
for them, and edgec leaves it as it is: `inf` says that all answers are those of the file. After a Softmax few doubtful samples make most of
the error: measure on a thousand others where they cost little. `made by` says how many of the others make the error of edgec's default, as
(sum of errors)^2 / sum of their squares: of ratios that three samples make, 3 dB more or less are luck. `agree` is the share of the others
on which the file and edgec's default name the same class; `CPU s` what edgec's default took, `fast s` and `high s` what its other efforts
took.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from models import SUBJECTS, Subject
from nncf_peer import quantize_by_nncf
from onnxruntime.capi.onnxruntime_pybind11_state import Fail
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from sound_and_text import SOURCES, Source

from edgec.base.errors import EdgecError
from edgec.base.part import Constant
from edgec.export import to_onnx
from edgec.ir.graph import Graph
from edgec.pipeline.models import Model, read_model
from edgec.quant import QuantizeOptions, is_quantized, quantize
from edgec.settings.config import BuildConfig

Feed = dict[str, np.ndarray]
Feeds = Callable[[], Iterable[Feed]]


@dataclass(frozen=True)
class Case:
    """A model with the shapes that its dynamic inputs get, and its samples: of a graph, what calibrates and what is measured on.

    constant: inputs with one value.
    """

    name: str
    path: Path
    shape: Mapping[str, Sequence[int]]
    samples: Callable[[Graph], tuple[Feeds, Feeds]]
    constant: Mapping[str, Constant] = field(default_factory=dict)


DEFAULT = QuantizeOptions()
EDGEC = {
    "plain": QuantizeOptions(observer="minmax", equalize=False, round_weights=False, correct_bias=False, shape_sums=False, rescue=False),
    "no-equalize": replace(DEFAULT, equalize=False),
    "no-observer": replace(DEFAULT, observer="minmax"),
    "no-round": replace(DEFAULT, round_weights=False),
    "no-bias": replace(DEFAULT, correct_bias=False),
    "no-shape": replace(DEFAULT, shape_sums=False),
    "no-rescue": replace(DEFAULT, rescue=False),
    "fast": replace(DEFAULT, effort="fast"),
    "default": DEFAULT,
    "high": replace(DEFAULT, effort="high"),
}
SECONDS = {"default": "CPU s", "fast": "fast s", "high": "high s"}
FIGURES = ("made by", "agree", *SECONDS.values())
COLUMNS = ("onnxruntime", "nncf", *EDGEC)
CLASSES = 2  # fewer numbers name no class


def main() -> int:
    options = parse()
    print(f"{'model':<24}" + "".join(f"{name:>13}" for name in (*options.columns, *FIGURES)), flush=True)
    rows = {}
    for case in (*subjects(options), *sources(options), *beside(options)):
        rows[case.name] = measure(case, options.columns)
        print(
            f"{case.name:<24}" + "".join(f"{cell(rows[case.name].get(name)):>13}" for name in (*options.columns, *FIGURES)),
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[], help="models whose name holds one of these words")
    parser.add_argument("--columns", nargs="+", default=COLUMNS, choices=COLUMNS)
    parser.add_argument("--calibration", type=int, default=32, help="samples that calibrate")
    parser.add_argument("--others", type=int, default=60, help="samples that are measured on")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def cell(value: float | str | None) -> str:
    return "-" if value is None or value != value else f"{value:.2f}" if isinstance(value, float) else value


def asked(name: str, options: argparse.Namespace) -> bool:
    return not options.only or any(word in name for word in options.only)


def subjects(options: argparse.Namespace) -> Iterator[Case]:
    others = {source.name for source in SOURCES}
    for subject in [one for one in SUBJECTS if one.name not in others]:
        path = options.folder / f"{subject.name}.onnx"
        if path.exists() and asked(subject.name, options):
            yield Case(subject.name, path, pinned(path, subject.shape), lambda graph, one=subject: samples(one, graph, options))


def sources(options: argparse.Namespace) -> Iterator[Case]:
    for source in SOURCES:
        path = options.folder / f"{source.name}.onnx"
        if path.exists() and asked(source.name, options):
            yield Case(source.name, path, source.shape, lambda graph, one=source: halves(one, options), source.constant)


def halves(source: Source, options: argparse.Namespace) -> tuple[Feeds, Feeds]:
    known, others = (list(source.samples(options.folder, half, count)) for half, count in enumerate((options.calibration, options.others)))
    return (lambda: iter(known)), (lambda: iter(others))


def beside(options: argparse.Namespace) -> Iterator[Case]:
    """Models with samples of their own beside them."""
    for path in sorted(options.folder.glob("*.npz")):
        model = path.with_suffix(".onnx")
        if model.exists() and asked(path.stem, options):
            arrays = np.load(path)
            known, others = (
                {name.removeprefix(half).removeprefix(":"): array[:count] for name, array in arrays.items() if name.startswith(half)}
                for half, count in (("known", options.calibration), ("others", options.others))
            )
            shape = {name: array.shape[1:] for name, array in known.items()} if "" not in known else pinned(model, known[""].shape[1:])
            yield Case(path.stem, model, shape, lambda graph, pair=(known, others): stored(pair, graph))


def stored(pair: tuple[Feed, Feed], graph: Graph) -> tuple[Feeds, Feeds]:
    def feeds(arrays: Feed) -> Feeds:
        return lambda: (
            {name or graph.inputs[0]: np.asarray(array[index]) for name, array in arrays.items()}
            for index in range(len(next(iter(arrays.values()))))
        )

    known, others = pair
    return feeds(known), feeds(others)


def measure(case: Case, columns: Iterable[str]) -> dict[str, float | str]:
    """The row of one model."""
    loaded = read_model(case.path, BuildConfig(shape=case.shape, constant=case.constant))
    graph = loaded.graph
    known, others = case.samples(graph)
    exact = references(loaded, others())
    row: dict[str, float | str] = {}
    for column in columns:
        if column in PEERS and is_quantized(graph):
            row[column] = "quantized"
            continue
        start = time.process_time()
        try:
            model = PEERS[column](graph, known) if column in PEERS else to_onnx(quantize(graph, known, EDGEC[column]).graph)
            taken = time.process_time() - start
            found = answers(model.SerializeToString(), graph, others())
        except (EdgecError, RuntimeError, ValueError, Fail) as error:
            row[column] = str(error).split(":")[-1].strip()[:12]
            continue
        row[column] = min(ratio(wanted, got) for wanted, got in zip(exact, found, strict=True))
        if column in SECONDS:
            row[SECONDS[column]] = taken
        if column == "default":
            row["made by"] = min(made_by(wanted, got) for wanted, got in zip(exact, found, strict=True))
            row["agree"] = agreement(exact[0], found[0])
    return row


def pinned(path: Path, shape: tuple[int, ...] | None) -> dict[str, tuple[int, ...]]:
    if shape is None:
        return {}
    model = onnx.load(str(path), load_external_data=False)
    weights = {tensor.name for tensor in model.graph.initializer}
    return {value.name: shape for value in model.graph.input if value.name not in weights}


def samples(subject: Subject, graph: Graph, options: argparse.Namespace) -> tuple[Feeds, Feeds]:
    """What calibrates, and what does not."""
    name = graph.inputs[0]
    files = [subject.data] * 2 if subject.data else ["imagenet_calib.npz", "imagenet_eval.npz"]
    known, others = (np.load(options.folder / file)["x"] for file in files)
    known, others = known[: options.calibration], others[options.calibration if subject.data else 0 :][: options.others]

    def prepared(pictures: np.ndarray) -> Iterator[Feed]:
        for picture in pictures:
            square = picture.reshape(28, 28, 1).repeat(3, axis=2) if picture.size == 784 else picture
            yield {name: subject.prepare(square.astype(np.uint8)).astype(np.float32)}

    return (lambda: prepared(known)), (lambda: prepared(others))


class Reader(CalibrationDataReader):  # type: ignore[misc]
    """Samples as ONNX Runtime's quantizer asks for them."""

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = iter(feeds())

    def get_next(self) -> Feed | None:
        return next(self._feeds, None)


def by_onnxruntime(graph: Graph, known: Feeds) -> onnx.ModelProto:
    """ONNX Runtime's quantizer on the optimized float graph."""
    with tempfile.TemporaryDirectory() as folder:
        plain, ready, stored = (Path(folder) / name for name in ("float.onnx", "ready.onnx", "int8.onnx"))
        onnx.save(to_onnx(graph), str(plain))
        quant_pre_process(str(plain), str(ready), skip_symbolic_shape=True)
        quantize_static(
            str(ready), str(stored), Reader(known), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8, calibrate_method=CalibrationMethod.MinMax,
        )  # fmt: skip
        return onnx.load(str(stored))


def by_nncf(graph: Graph, known: Feeds) -> onnx.ModelProto:
    return onnx.load_from_string(quantize_by_nncf(to_onnx(graph).SerializeToString(), known()))


PEERS: dict[str, Callable[[Graph, Feeds], onnx.ModelProto]] = {"onnxruntime": by_onnxruntime, "nncf": by_nncf}


def references(loaded: Model, feeds: Iterable[Feed]) -> list[np.ndarray]:
    """What the model file answers, or the imported graph where ONNX Runtime misreads the file."""
    model = to_onnx(loaded.original).SerializeToString() if loaded.misread else str(loaded.file)
    constants = {} if loaded.misread else dict(loaded.fixed)
    return answers(model, loaded.graph, ({**feed, **constants} for feed in feeds))


def answers(model: str | bytes, graph: Graph, feeds: Iterable[Feed]) -> list[np.ndarray]:
    """Every output for all feeds, [samples, elements]."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    found = [session.run(list(graph.outputs), one) for one in feeds]
    return [np.stack([np.asarray(one, np.float64).ravel() for one in output]) for output in zip(*found, strict=True)]


def ratio(wanted: np.ndarray, got: np.ndarray) -> float:
    error = float(np.sum((wanted - got) ** 2))
    return float(10 * np.log10(np.sum(wanted**2) / error)) if error else float("inf")


def made_by(wanted: np.ndarray, got: np.ndarray) -> float:
    """How many samples make the error."""
    errors = np.sum((wanted - got) ** 2, axis=1)
    shares = errors / max(errors.sum(), 1e-300)
    return float(1 / max(np.sum(shares**2), 1e-300)) if shares.any() else float("nan")


def agreement(wanted: np.ndarray, got: np.ndarray) -> float:
    return float(np.mean(wanted.argmax(axis=1) == got.argmax(axis=1))) if CLASSES < wanted.shape[1] < 10_000 else float("nan")


if __name__ == "__main__":
    sys.exit(main())
