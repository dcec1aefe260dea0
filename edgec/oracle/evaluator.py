"""The evaluator: plans a model once (which pattern each node belongs to), then runs it on any number of inputs."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from edgec.base.errors import ModelError, UsageError
from edgec.oracle.attention import pair_product, softmax
from edgec.oracle.context import Context, Run, Step, Weights
from edgec.oracle.disturbance import Chance, disturbed
from edgec.oracle.grid import Array, Grid, dequantize, quantize
from edgec.oracle.integer import integer_step, maximum_of_windows
from edgec.oracle.islands import island
from edgec.oracle.loop import Turns
from edgec.oracle.matrix import convolve, matrix, scatter
from edgec.oracle.model import Model, Node
from edgec.oracle.moves import MOVES, PAD_MODES, extreme, move_step, pad, reference
from edgec.oracle.normalization import layer_norm
from edgec.oracle.recurrent import is_recurrent, recurrent, takes_sums
from edgec.oracle.resize import resize_cubic, resize_linear, resize_nearest
from edgec.oracle.selection import distinct, largest_of_windows, scattered, suppressed
from edgec.oracle.sums import shaped
from edgec.oracle.tables import table_step
from edgec.oracle.whole import conversion, whole_number
from edgec.oracle.window import window

PATTERNS = (matrix, shaped, pair_product, softmax, layer_norm, move_step, integer_step, table_step)
EXACT_BY_REFERENCE = (
    *MOVES, "Concat", "Cast", "Where", "Not", "And", "Or", "Xor", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "IsNaN",
    "IsInf", "Sign", "Constant", "ConstantOfShape", "Shape", "Size", "Range", "ArgMax", "ArgMin", "TopK", "Trilu", "GatherElements",
    "BitCast", "EyeLike",
    "GatherND", "ScatterND", "ScatterElements", "OneHot", "NonZero", "Compress", "Unique", "ReverseSequence", "CumSum",
)  # fmt: skip
CODES = (onnx.TensorProto.INT8, onnx.TensorProto.UINT8, onnx.TensorProto.INT16, onnx.TensorProto.UINT16)
WHOLE = {onnx.helper.np_dtype_to_tensor_dtype(np.dtype(name)) for name in "?bBhHiIqQ"}


class Evaluator:
    """run() gives the exact outputs of docs/int8.md.

    exact_outputs: the outputs that are bit-exact by contract; the others depend on a float Conv, Gemm or MatMul, or on
    an operator that clause 10 does not list. quantized_outputs: for each output that stands for q, the key under which
    `run(..., quantized_outputs=True)` also gives the q: the tensor's own name when a DequantizeLinear reads it, else
    the output's name followed by "_quantized". grids: scale, zero point and storage type of these outputs.
    """

    def __init__(self, model: onnx.ModelProto | Path | str) -> None:
        self.model = Model(model)
        self.context = Context(self.model, dict(self.model.constants))
        self.context.dtypes = {name: array.dtype for name, array in self.model.constants.items()}
        for name, kind in self.model.types.items():
            if kind.element in CODES:
                self.context.dtypes[name] = onnx.helper.tensor_dtype_to_np_dtype(kind.element)
        self.inexact: set[str] = set()
        with np.errstate(all="ignore"):  # a multiplier that overflows is not used
            self.steps = self._live(self._plan())
        outputs = self.model.outputs
        self.exact_outputs = frozenset(name for name in outputs if name not in self.inexact)
        self.grids: dict[str, Grid] = {name: grid for name in outputs if (grid := self.context.grid(name)) is not None}
        self.quantized_outputs = {name: self._quantized_name(name) for name in self.grids}

    def run(self, inputs: dict[str, Array], *, quantized_outputs: bool = False, chance: Chance | None = None) -> dict[str, Array]:
        """Graph outputs by name, in the model's dtypes (and the q behind them, see `quantized_outputs`).

        chance: whether each inexact number goes up or down, as far as a backend's own order of summing may take it.
        """
        missing = [name for name in self.model.inputs if name not in inputs]
        unknown = [name for name in inputs if name not in self.model.inputs]
        if missing or unknown:
            raise UsageError(f"the model's inputs are {self.model.inputs}, not {list(inputs)}")
        values: dict[str, Array] = {**self.context.constants, **{name: np.asarray(array) for name, array in inputs.items()}}
        for step, dead in self.steps:
            values.update(zip(step.outputs, self._call(step, values, chance), strict=True))
            for name in dead:
                values.pop(name, None)
        results = {name: self._as_float(name, values) for name in self.model.outputs}
        if quantized_outputs:
            results.update({key: values[name] for name, key in self.quantized_outputs.items()})
        return results

    def _as_float(self, name: str, values: dict[str, Array]) -> Array:
        grid = self.context.grids.get(name)
        return values[name] if grid is None else dequantize(values[name], grid)

    def _call(self, step: Step, values: dict[str, Array], chance: Chance | None = None) -> list[Array]:
        inputs = [None if not name else values[name] if step.raw else self._as_float(name, values) for name in step.inputs]
        with np.errstate(all="ignore"):
            try:
                if step.turns is not None:
                    return list(step.turns(inputs, chance))
                results = list(step.run(*inputs))[: len(step.outputs)]  # the last ones may have no names
            except IndexError as error:  # as of ONNX Runtime, for numbers that lead outside
                raise ModelError(f"{step.node.op} reads a place that is not there: {error}", where=step.node.proto.name) from error
            return results if chance is None or step.exact else disturbed(step, inputs, results, chance)

    def _plan(self) -> list[Step]:
        """One step for each node or pattern; what depends on constants alone runs at once."""
        steps: list[Step] = []
        swallowed: set[str] = set()
        for node in self.model.nodes:
            if node.outputs[0] in swallowed:
                continue
            step = self._step(node)
            swallowed.update(name for name in self._between(node, step))
            for name, grid in zip(step.outputs, step.grids, strict=False):
                if grid is not None:
                    self.context.grids[name] = grid
            if any(name in self.inexact for name in step.inputs) or not step.exact:
                self.inexact.update(step.outputs)
            if all(not name or name in self.context.constants for name in step.inputs):
                found = zip(step.outputs, self._call(step, self.context.constants), strict=True)
                self.context.constants.update({name: array for name, array in found if name})
            else:
                steps.append(step)
        return steps

    def _between(self, node: Node, step: Step) -> list[str]:
        """Outputs of the nodes that the step's pattern swallowed after `node`."""
        names, at = [], node.outputs[0]
        while at != step.outputs[0]:
            reader = self.model.only_reader(at)
            assert reader is not None
            at = reader.outputs[0]
            names.append(at)
        return names

    def _step(self, node: Node) -> Step:
        if node.op in ("DequantizeLinear", "QuantizeLinear"):
            found = self._linear(node)
            if found is not None:
                return found
        for pattern in PATTERNS:
            step = pattern(self.context, node)
            if step is not None:
                return step
        return self._float(node)

    def _linear(self, node: Node) -> Step | None:
        """QuantizeLinear of a float value and DequantizeLinear, per tensor and in 8 or 16 bits; weights are recorded."""
        name, out = node.inputs[0], node.outputs[0]
        grid = self.context.any_parameters(node)
        if node.op == "QuantizeLinear":
            if grid is None or (not grid.is_wide and self.context.grid(name) is not None):
                return None
            self.context.dtypes[out] = grid.dtype
            return Step(node, (name,), (out,), lambda x: (quantize(x, grid),))
        q, scale = self.context.constant(name), self.context.constant(node.inputs[1])
        if q is not None and scale is not None and not node.get("block_size", 0):
            zero = self.context.constant(node.input(2))
            zero = np.zeros(scale.shape, q.dtype) if zero is None else zero
            self.context.weights[out] = Weights(q, scale, zero, node.get("axis", 1))
        if grid is not None:
            return Step(node, (name,), (out,), lambda q: (q,), raw=True, grids=(grid,))
        given = self.context.weights.get(out)
        if given is None or given.scale.dtype != np.float32:
            return None
        return Step(node, (name,), (out,), lambda _: (given.dequantized(),))

    def _float(self, node: Node) -> Step:
        """A float island, an operator on integers, or one whose float result is not fixed bit for bit."""
        if node.op == "Loop":
            turns = Turns(self.context, node, Evaluator)
            inputs = (*node.inputs, *[""] * (2 - len(node.inputs)), *turns.around)
            return Step(node, inputs, node.outputs, turns, exact=turns.exact, turns=turns)
        if is_recurrent(node):
            return Step(node, node.inputs, node.outputs, recurrent(self.context, node), exact=takes_sums(self.context, node))
        kind = self.model.types.get(node.input(0))
        whole = kind is not None and kind.element in WHOLE
        exact: Run | None = self._moved(node) or (whole_number(node) if whole else island(self.context, node))
        product = {"Conv": _convolution, "ConvTranspose": _transposed}.get(node.op)
        run = exact or (product(node) if product else self._reference(node))
        return Step(node, node.inputs, node.outputs, run, exact=exact is not None or whole or node.op in EXACT_BY_REFERENCE)

    def _reference(self, node: Node) -> Run:
        try:
            return reference(self.context, node)
        except Exception as error:
            raise ModelError(f"the evaluator cannot run {node.op}: {error}", where=node.proto.name) from error

    def _moved(self, node: Node) -> Run | None:
        """Movement of float values that onnx's reference is slow or loose at."""
        if node.op == "MaxPool" and len([name for name in node.outputs if name]) == 1:
            return lambda x: (maximum_of_windows(node, x),)
        if node.op == "MaxPool":
            return lambda x: largest_of_windows(node, x)
        if node.op == "ScatterND":
            return lambda data, indices, updates: (scattered(node, data, indices, updates),)
        if node.op in ("ArgMax", "ArgMin"):
            return lambda x: (extreme(node, x),)
        if node.op == "Unique":
            return lambda x: distinct(node, x)
        if node.op == "NonMaxSuppression":
            return lambda *operands: (suppressed(node, *operands),)
        if node.op == "Cast":
            return conversion(node)
        if node.op == "Resize":
            return resize_nearest(self.context, node) or resize_linear(self.context, node) or resize_cubic(self.context, node)
        if node.op == "Pad" and node.get("mode", "constant") in PAD_MODES and self.context.constant(node.input(1)) is not None:
            return lambda x, _, fill=None, *__: (pad(self.context, node, x, np.zeros((), x.dtype) if fill is None else fill),)
        return None

    def _quantized_name(self, output: str) -> str:
        node = self.model.producers.get(output)
        return node.inputs[0] if node is not None and node.op == "DequantizeLinear" else f"{output}_quantized"

    def _live(self, steps: list[Step]) -> list[tuple[Step, list[str]]]:
        """The steps that an output needs, each with the values that nobody reads after it."""
        needed, kept = set(self.model.outputs), []
        for step in reversed(steps):
            if needed & set(step.outputs):
                last = [name for name in dict.fromkeys((*step.inputs, *step.outputs)) if name and name not in needed]
                needed.update(step.inputs)
                kept.append((step, last))
        return kept[::-1]


def _convolution(node: Node) -> Run:
    """Conv in binary32, in whatever order is fast."""

    def run(x: Array, w: Array, bias: Array | None = None) -> tuple[Array]:
        groups, kernel = node.get("group", 1), w.shape[2:]
        by_tap = np.moveaxis(w.reshape(groups, w.shape[0] // groups, w.shape[1], prod(kernel)), -1, 0)
        place = window(node, x.shape[2:], kernel)
        y = convolve(x, np.ascontiguousarray(by_tap), place.taps(x, np.float32(0))).reshape(x.shape[0], w.shape[0], *place.out)
        return (y if bias is None else y + bias.reshape(-1, *[1] * len(kernel)),)

    return run


def _transposed(node: Node) -> Run:
    """ConvTranspose in binary32, in whatever order is fast."""

    def run(x: Array, w: Array, bias: Array | None = None) -> tuple[Array]:
        groups, kernel = node.get("group", 1), w.shape[2:]
        by_tap = w.reshape(groups, w.shape[0] // groups, w.shape[1], prod(kernel)).transpose(3, 0, 2, 1)
        y: Any = scatter(node, x, np.ascontiguousarray(by_tap), kernel)
        return (y if bias is None else y + bias.reshape(-1, *[1] * len(kernel)),)

    return run
