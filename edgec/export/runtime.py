"""ONNX Runtime, opened and called in one place: what it cannot open or run is an error about the model, with the node where it says one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from edgec.base.errors import ModelError

_LEVELS = onnxruntime.GraphOptimizationLevel
_WRONG = (
    "WeightBiasQuantization",  # stores float weights in 8 bits where what is read and written is: the model says otherwise
    "MatmulTransposeFusion",  # takes the wrong axis of a transposed matrix for the product with a vector
    "QDQPropagationTransformer",  # ends the process where a body reads what a DequantizeLinear and movement behind it give
)
# Products with coded weights compute in float32, as the model says: by default it rounds their activations to 8 bits.
_EXACT = ("session.qdq_matmulnbits_accuracy_level", "1")
_BESIDE = "session.model_external_initializers_file_folder_path"
_SILENT = 4  # severity of what it logs: its errors are told by us, once
_DIVIDED = 2  # threads: how sums are divided among them shows in their last bits
_NODE = re.compile(r"(?:node with name |Name:)'([^']+)'|[Ii]n [Nn]ode \(\"?([^\")]+)|Node:\s?([^\s,]+)")
# a code, and a line of its own source with the function's whole signature
_ORIGIN = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : |/\S+\.(?:cc|h):\d+ .*\) (?:const )?(?:\[with [^\]]*\] )?")


class Effort(Enum):
    """How much ONNX Runtime may fuse and reorder."""

    NONE = _LEVELS.ORT_DISABLE_ALL
    ALL = _LEVELS.ORT_ENABLE_ALL


class Session:
    """A model, by its path or its bytes, ready to run. ModelError when ONNX Runtime does not take it."""

    def __init__(self, model: str | bytes, effort: Effort, *, lean: bool = False, folder: Path | None = None) -> None:
        """lean: spare memory and processor time between calls, for sessions that see very different sizes, and answer alike on any number

        of cores. folder: of the file that the bytes are of, beside which its weights may lie.
        """
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = _SILENT
        settings.graph_optimization_level = effort.value
        settings.add_session_config_entry(*_EXACT)
        if folder is not None:
            settings.add_session_config_entry(_BESIDE, str(folder.absolute()))
        if lean:
            settings.enable_mem_pattern = settings.enable_cpu_mem_arena = False
            settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
            settings.intra_op_num_threads = _DIVIDED
        self._session = _opened(model, settings)

    def __call__(self, outputs: Sequence[str], feed: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The named outputs, in order. ModelError when a node cannot be computed."""
        try:
            answers = [_plain(answer) for answer in self._session.run(list(outputs), dict(feed))]
        except Exception as error:
            raise _refused("cannot run", error) from error
        absent = [name for name, answer in zip(outputs, answers, strict=True) if not isinstance(answer, np.ndarray)]
        if absent:
            raise ModelError("ONNX Runtime gives no tensor for it", where=f"output {absent[0]}", hint="leave it out of the model")
        return answers


def _opened(model: str | bytes, settings: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
    """With the effort of the settings, else with none: GemmTransposeFusion takes away an output that it made part of a product, and of a
    dilated AveragePool among codes comes a node that ONNX Runtime itself refuses. What fails without optimizers is the model.

    ONNX Runtime's own second try, its fallback, prints, and has all optimizers again, those that are _WRONG too.
    """
    try:
        return onnxruntime.InferenceSession(
            model, settings, providers=["CPUExecutionProvider"], disabled_optimizers=list(_WRONG), enable_fallback=0
        )
    except Exception as error:  # its error classes have no common base of their own
        if settings.graph_optimization_level == Effort.NONE.value:
            raise _refused("does not take", error) from error
    settings.graph_optimization_level = Effort.NONE.value
    return _opened(model, settings)


def _plain(answer: Any) -> Any:
    """A list of maps to scores, which ZipMap makes, as rows of those, in the order of the keys."""
    if isinstance(answer, list) and answer and all(isinstance(row, dict) for row in answer):
        return np.array([[row[key] for key in sorted(row)] for row in answer], np.float32)
    return answer


def _refused(what: str, error: Exception) -> ModelError:
    """Its message without codes and places of its own source; the node that it names."""
    text = " ".join(str(error).split())
    found = _NODE.search(text)
    place = next((group for group in found.groups() if group), "") if found else ""
    reason = _ORIGIN.sub("", text)[:300]
    hint = "the reference for answers and ranges comes from it: export the model again"
    return ModelError(f"ONNX Runtime {what} the model: {reason}", where=place, hint=hint)
