"""Compare a package with its float model over data."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from edgec.exam.comparison import Comparison, compare_answers
from edgec.exporters import onnx_path
from edgec.package import Package, as_package
from edgec.pipeline.evaluation import Arrays, Data, Labels, open_evaluation
from edgec.pipeline.models import Progress
from edgec.settings.forms_of_text import OperatorSources


def compare(
    model: str | Path, package: Package | str | Path, data: Data, *, labels: Labels | None = None, samples: int | None = None,
    isa: str | None = None, operators: OperatorSources = (), progress: Progress | None = None,
) -> Comparison:  # fmt: skip
    """Compare a package with its float model (ONNX Runtime) over a data set, with the shapes and the pre-processing of its build.

    labels: class indices, an .npy file of them, or the name of their array in the .npz `data`. samples: at most that many.
    operators: those that the package was built with, as for build().
    """
    package = as_package(package)
    opened = open_evaluation(onnx_path(model), package, data, labels, samples, operators)
    inputs, outputs = package.inputs, package.outputs  # asking a package reads its manifest
    with package.load(isa=isa, whole=True) as runner:

        def answer(sample: Arrays) -> list[np.ndarray]:
            found = runner({tensor.name: tensor.face.of_model(sample[tensor.name]) for tensor in inputs})
            return [tensor.face.to_model(array, opened.outputs[tensor.name]) for tensor, array in zip(outputs, found, strict=True)]

        counted = _counted(opened.samples(), progress)
        found = compare_answers(list(opened.outputs), counted, opened.reference, answer, opened.labels)
    return found.warned((layer.sqnr, layer.node) for layer in package.manifest.quantization)


def _counted(samples: Iterable[Arrays], progress: Progress | None) -> Iterable[Arrays]:
    for index, sample in enumerate(samples):
        yield sample
        if progress is not None:
            progress("comparing", index + 1, 0)
