"""lower(): Graph -> Program. Nodes in order, each by its rule; then the outputs that no kernel has written yet."""

from __future__ import annotations

from dataclasses import replace

import edgec.ops  # noqa: F401  (fills OPERATORS)
from edgec.base.budget import Budget, spending
from edgec.base.errors import ModelError, Problem
from edgec.integer import match
from edgec.integer.grid import Grid, any_grid_of, grid_of
from edgec.ir.graph import Graph
from edgec.ir.types import DType
from edgec.lower.branches import guard_calls
from edgec.lower.builder import Lowering, LowerOptions
from edgec.lower.code_products import with_code_products
from edgec.lower.coding import Parameters, coded_form, decoded, local, shift_to
from edgec.lower.counts import fill_up
from edgec.lower.limits import LARGEST
from edgec.lower.nodes import lower_nodes
from edgec.lower.quantized import as_numbers, params_of
from edgec.lower.values import Coded, Extents, Value, View, channels_last, packed_strides, row_major, viewed
from edgec.lower.whole_product import with_float_products
from edgec.program.expr import Size, cast, const, most, product
from edgec.program.program import Kind, Port, Program, State
from edgec.targets import Target

_IO = {"int8": DType.INT8, "uint8": DType.UINT8}


def lower(
    graph: Graph, target: Target, name: str, options: LowerOptions = LowerOptions(), budget: Budget | None = None  # noqa: B008
) -> Program:  # fmt: skip
    """The Program of `graph` for `target`; ModelError names every node that cannot be lowered, BudgetError one at which time was up."""
    with spending(budget):
        return _lowered(graph, target, name, options)


def _lowered(graph: Graph, target: Target, name: str, options: LowerOptions) -> Program:
    _check_sizes(graph)
    graph = with_float_products(with_code_products(graph))
    raw = _raw_inputs(graph, options)
    lowering = Lowering(graph, match(graph, raw), target, name, options)
    _inputs(lowering, raw)
    _output_buffers(lowering)
    guards = lower_nodes(lowering)
    _raise(lowering.problems, target)
    _outputs(lowering)
    _states(lowering)
    guard_calls(lowering, guards, 0)
    lowering.values.clear()  # they hold the lowering, which holds them, and with it the weights
    return lowering.program


def _check_sizes(graph: Graph) -> None:
    large = {name: kind for name, kind in graph.types.items() if kind.elements > LARGEST}
    problems = [Problem(f"{kind} has {kind.elements:,} elements, 2^31 - 1 is the most", f"tensor {name}") for name, kind in large.items()]
    if problems:
        raise ModelError(f"{len(problems)} tensors are too large", problems, hint="give smaller shapes")


def _raise(problems: list[Problem], target: Target) -> None:
    if problems:
        raise ModelError(f"{len(problems)} operators have no implementation for target {target.name}", problems)


# Ports


def _interface(lowering: Lowering, name: str) -> tuple[Extents, View, tuple[int, ...]]:
    """(shape as the caller sees it, strides by the model's dimensions as a view without buffer, memory order)."""
    shape = lowering.shape(name)
    nhwc = lowering.options.io_layout == "nhwc" and len(shape) == 4
    order = channels_last(4) if nhwc else row_major(len(shape))
    view = View("", lowering.graph.dtype(name), const(0), packed_strides(shape, order))
    return tuple(shape[d] for d in order), view, order


def _port(lowering: Lowering, name: str, kind: Kind, dtype: DType, params: Parameters | None, told: str = "") -> tuple[Port, View]:
    seen, view, _ = _interface(lowering, name)
    identifier = lowering.identifier(name)
    buffer = lowering.buffer(f"{kind.value}_{name}", dtype, product(tuple(map(most, seen))), kind)
    for size in seen:
        if isinstance(size, Size) and not size.counted and size not in lowering.program.sizes:
            lowering.program.sizes.append(size)
    scale = float(params.scale) if params else None
    zero = params.zero if params else 0
    return Port(name, identifier, buffer, dtype, seen, scale, zero, told), replace(view, buffer=buffer, dtype=dtype)


def _inputs(lowering: Lowering, raw: dict[str, Grid]) -> None:
    for name in lowering.graph.inputs:
        dtype = _IO[lowering.options.io] if name in raw else lowering.graph.held_dtype(name)
        shown = _shown(raw[name], dtype) if name in raw else _known_params(lowering.graph, name)
        port, view = _port(lowering, name, Kind.INPUT, dtype, shown)
        lowering.program.inputs.append(port)
        value = viewed(view, lowering.shape(name))
        if name in raw:
            value = as_numbers(coded_form(value, lowering.activation), params_of(lowering, raw[name]))
        lowering.define(name, _as(value, lowering.graph.dtype(name)))


def _as(value: Value, dtype: DType) -> Value:
    """The same numbers in another type."""
    if value.dtype is dtype:
        return value
    converted = Value(dtype, value.shape, lambda index: cast(value.at(index), dtype), order=value.order, splits=value.splits)
    return converted.by(value, op="Cast")


def _shown(grid: Grid, dtype: DType) -> Parameters:
    """As the caller sees it, whose codes have this type."""
    return local(grid, dtype)


def _raw_inputs(graph: Graph, options: LowerOptions) -> dict[str, Grid]:
    """With --io int8 / uint8: the inputs that arrive as codes, since all their readers quantize them alike."""
    if options.io not in _IO:
        return {}
    found = {}
    for name in graph.given:
        readers = graph.readers(name)
        grids = {grid_of(graph, reader) if reader.op == "QuantizeLinear" else None for reader in readers}
        grid = grids.pop() if len(grids) == 1 else None
        if grid is not None:
            found[name] = grid
    return found


def _known_params(graph: Graph, name: str) -> Parameters | None:
    """The parameters of an input that the model itself takes as codes."""
    reader = next((reader for reader in graph.readers(name) if reader.op == "DequantizeLinear"), None)
    grid = any_grid_of(graph, reader) if reader is not None else None
    return _shown(grid, graph.dtype(name)) if grid else None


def _output_buffers(lowering: Lowering) -> None:
    """Kernels may write an output of the model's own type straight into the caller's memory, when nobody else reads it. The memory of a
    state is the package's own, and floats are read from anywhere."""
    told = lowering.graph.told_shapes()
    kept = {state.output for state in lowering.graph.states.values() if lowering.graph.dtype(state.output).is_float}
    for name in lowering.graph.outputs:
        held = lowering.graph.held_dtype(name) is not lowering.graph.dtype(name)
        alone = (lowering.graph.reader_count(name) == 1 or name in kept) and lowering.graph.producer(name) is not None
        if lowering.options.io == "model" and alone and not held:
            port, view = _port(lowering, name, Kind.OUTPUT, lowering.graph.dtype(name), _output_params(lowering, name), told.get(name, ""))
            lowering.program.outputs.append(port)
            lowering.destinations[name] = view


def _output_params(lowering: Lowering, name: str) -> Parameters | None:
    """The parameters of an output that the model itself gives as codes."""
    producer = lowering.graph.producer(name, "QuantizeLinear")
    grid = any_grid_of(lowering.graph, producer) if producer is not None else None
    return _shown(grid, lowering.graph.dtype(name)) if grid else None


def _outputs(lowering: Lowering) -> None:
    """Write what is not yet in the caller's memory; ports in the model's order."""
    ports, answered = {port.name: port for port in lowering.program.outputs}, lowering.graph.answered
    told = lowering.graph.told_shapes()
    for name in lowering.graph.outputs:
        value = lowering.value(name)
        if name not in ports:
            known = lowering.matched.grids.get(name) if lowering.options.io in _IO and name in answered else None
            raw = known if known is not None and known.bits == 8 else None
            dtype = _IO[lowering.options.io] if raw else lowering.graph.held_dtype(name)
            shown = _shown(raw, dtype) if raw else _output_params(lowering, name)
            ports[name], view = _port(lowering, name, Kind.OUTPUT, dtype, shown, told.get(name, ""))
            if raw and value.coded is not None:
                value = decoded(Coded(value.coded.value, shift_to(lowering.activation, dtype), None), dtype)
            elif not raw:
                value = _as(value, dtype)
        else:
            view = lowering.destinations[name]
        if value.view is None or value.view.buffer != view.buffer:
            lowering.materialize(value, name, into=view)
    lowering.program.outputs = [ports[name] for name in lowering.graph.outputs]
    for port in lowering.program.outputs:
        fill_up(lowering, port)


def _states(lowering: Lowering) -> None:
    """Take what one run leaves for the next out of what a caller gives and gets."""
    program, states = lowering.program, lowering.graph.states
    read, written = ({port.name: port for port in ports} for ports in (program.inputs, program.outputs))
    program.states = [State(read[name], written[state.output], state.start) for name, state in states.items()]
    program.inputs = [read[name] for name in lowering.graph.given]
    program.outputs = [written[name] for name in lowering.graph.answered]
