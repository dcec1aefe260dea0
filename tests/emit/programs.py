"""Hand-made Programs, and the evaluation of loop calls in plain Python over numpy scalars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from edgec.emit.exam import ExamData
from edgec.emit.vocabularies import VOCABULARIES
from edgec.ir.types import DType, Symbol
from edgec.kernels import PoolMaxFloat
from edgec.lower.plan import plan
from edgec.program import expr as ex
from edgec.program import semantics
from edgec.program.arguments import Window
from edgec.program.expr import FLOAT, INT, Expr, const, load, var
from edgec.program.program import (
    Assign,
    Buffer,
    Call,
    Declare,
    For,
    Kind,
    LoopCall,
    Pointer,
    Port,
    Program,
    Statement,
    Store,
    TemplateCall,
)
from edgec.schedule import schedule
from edgec.targets import load_target

Memory = dict[str, np.ndarray]

_UNARY = {
    **semantics.UNARY, "exp": np.exp, "log": np.log, "tanh": np.tanh, "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
}  # fmt: skip


def value(item: Expr, names: Mapping[str, np.generic], memory: Memory) -> np.generic:
    """One expression, each operation in its own type."""
    kind = item.dtype.numpy.type
    if isinstance(item, ex.Const):
        return kind(item.value)
    if isinstance(item, (ex.Var, ex.Size)):
        return names[item.name]
    if isinstance(item, ex.Load):
        return memory[item.buffer][value(item.index, names, memory)]
    if isinstance(item, ex.Cast):
        return kind(semantics.convert(value(item.a, names, memory), item.dtype.numpy))
    if isinstance(item, ex.Select):
        return value(item.a if value(item.condition, names, memory) else item.b, names, memory)
    if isinstance(item, ex.Unary):
        return kind(_UNARY[item.op](value(item.a, names, memory)))
    assert isinstance(item, ex.Binary)
    return kind(semantics.BINARY[item.op](value(item.a, names, memory), value(item.b, names, memory)))


def execute(body: tuple[Statement, ...], names: dict[str, np.generic], memory: Memory) -> None:
    for item in body:
        if isinstance(item, For):
            start = 0 if item.start is None else int(value(item.start, names, memory))
            for index in range(start, start + int(value(item.extent, names, memory))):
                names[item.var.name] = np.int32(index)
                execute(item.body, names, memory)
        elif isinstance(item, Store):
            memory[item.buffer][value(item.index, names, memory)] = value(item.value, names, memory)
        else:
            names[item.var.name] = value(item.value, names, memory)


def evaluate(program: Program, inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int] | None = None) -> dict[str, np.ndarray]:
    """The outputs of a Program of loop calls without views; `inputs` by port name."""
    names: dict[str, np.generic] = {name: np.int32(size) for name, size in (sizes or {}).items()}
    memory = {
        buffer.name: np.array(buffer.data) if buffer.data is not None else np.zeros(ex.bound(buffer.size), buffer.dtype.numpy)
        for buffer in program.buffers.values()
    }
    for port in program.inputs:
        memory[port.buffer][: inputs[port.name].size] = inputs[port.name].ravel()
    with np.errstate(all="ignore"):
        for call in program.calls:
            assert isinstance(call, LoopCall)
            execute(call.body, dict(names), memory)
    results = {}
    for port in program.outputs:
        shape = [int(value(size, names, memory)) for size in port.shape]
        results[port.name] = memory[port.buffer][: int(np.prod(shape))].reshape(shape)
    return results


def buffer(program: Program, name: str, dtype: DType, size: Expr | int, kind: Kind, data: np.ndarray | None = None) -> None:
    program.buffers[name] = Buffer(name, dtype, ex.expr(size), kind, data)


def port(
    program: Program, name: str, dtype: DType, shape: tuple[Expr | int, ...], kind: Kind, scale: float | None = None, zero: int = 0
) -> None:
    extents = tuple(ex.expr(size) for size in shape)
    buffer(program, name, dtype, ex.product(extents), kind)
    ports = program.inputs if kind is Kind.INPUT else program.outputs
    ports.append(Port(name, name, name, dtype, extents, scale, zero))


def loop(
    program: Program, name: str, body: tuple[Statement, ...], reads: tuple[str, ...], writes: tuple[str, ...], parallel: bool = True
) -> None:
    program.calls.append(LoopCall(Call(name, (name,), (f"{name}: a loop", "of a hand-made program"), reads, writes, 0), body, parallel))


i, j, x = var("i"), var("j"), var("value", FLOAT)


def small_program(weights: int = 40) -> Program:
    """Affine with constants, a quantized table look-up, a reduction with a guarded load: every kind of statement."""
    generator = np.random.default_rng(5)
    program = Program("small", "host")
    rows, columns = 6, 7
    port(program, "x", DType.FLOAT32, (rows, columns), Kind.INPUT)
    port(program, "y", DType.FLOAT32, (rows, columns), Kind.OUTPUT)
    port(program, "q", DType.UINT8, (rows, columns), Kind.OUTPUT, 0.05, 128)
    port(program, "sums", DType.FLOAT32, (rows,), Kind.OUTPUT)
    buffer(program, "scale", DType.FLOAT32, weights, Kind.CONSTANT, generator.standard_normal(weights).astype(np.float32))
    buffer(program, "table", DType.UINT8, 256, Kind.CONSTANT, generator.integers(0, 256, 256).astype(np.uint8))
    buffer(program, "scaled", DType.FLOAT32, rows * columns, Kind.ARENA)
    buffer(program, "bytes", DType.UINT8, rows * columns, Kind.ARENA)
    at = i * columns + j
    affine = Store("scaled", at, load("x", at, FLOAT) * load("scale", j, FLOAT) + 0.1)
    loop(program, "affine", (For(i, const(rows), (For(j, const(columns), (affine,)),)),), ("x", "scale"), ("scaled",))
    rounded = ex.clamp(ex.unary("rint", load("scaled", i, FLOAT) * 20.0), -128.0, 127.0) + 128.0
    loop(
        program, "quantize", (For(i, const(rows * columns), (Store("bytes", i, ex.cast(rounded, DType.UINT8)),)),), ("scaled",), ("bytes",)
    )
    lookup = Store("q", i, load("table", ex.cast(load("bytes", i, DType.UINT8), INT), DType.UINT8))
    loop(program, "look_up", (For(i, const(rows * columns), (lookup,)),), ("bytes", "table"), ("q",))
    neighbour = ex.select(ex.Binary(DType.BOOL, "lt", const(0), j), load("scaled", at - 1, FLOAT), ex.real(float("-inf")))
    loop(program, "neighbour_maximum", (For(i, const(rows), (For(j, const(columns), (
        Declare(x, neighbour), Store("y", at, ex.clamp(x, load("scaled", at, FLOAT), 1e30)),
    )),)),), ("scaled",), ("y",))  # fmt: skip
    total = Assign(x, x + load("scaled", at, FLOAT))
    loop(program, "row_sum", (For(i, const(rows), (
        Declare(x, ex.real(0.0), mutable=True), For(j, const(columns), (total,)), Store("sums", i, x),
    )),), ("scaled",), ("sums",))  # fmt: skip
    plan(program)
    return program


def symbolic_program() -> Program:
    """y = reversed x * 2, over a batch that is known only when the package runs."""
    batch = ex.extent(Symbol("batch", 5))
    program = Program("anysize", "host")
    assert isinstance(batch, ex.Size)
    program.sizes.append(batch)
    port(program, "x", DType.FLOAT32, (batch, 4), Kind.INPUT)
    port(program, "y", DType.FLOAT32, (batch, 4), Kind.OUTPUT)
    buffer(program, "doubled", DType.FLOAT32, batch * 4, Kind.ARENA)
    loop(program, "double", (For(i, batch * 4, (Store("doubled", i, load("x", i, FLOAT) * 2.0),)),), ("x",), ("doubled",))
    mirrored = load("doubled", (batch - 1 - i) * 4 + j, FLOAT)
    loop(program, "mirror", (For(i, batch, (For(j, const(4), (Store("y", i * 4 + j, mirrored),)),)),), ("doubled",), ("y",))
    plan(program)
    return program


def pool_program() -> Program:
    """A template kernel between two loops, with a symbolic batch: y = 2 * maxpool2x2(x + 1)."""
    batch = ex.extent(Symbol("batch", 3))
    program = Program("pooled", "host")
    assert isinstance(batch, ex.Size)
    program.sizes.append(batch)
    height, width, channels = 4, 6, 5
    port(program, "x", DType.FLOAT32, (batch, height, width, channels), Kind.INPUT)
    port(program, "y", DType.FLOAT32, (batch, height // 2, width // 2, channels), Kind.OUTPUT)
    whole, halved = batch * (height * width * channels), batch * (height * width * channels // 4)
    buffer(program, "shifted", DType.FLOAT32, whole, Kind.ARENA)
    buffer(program, "maxima", DType.FLOAT32, halved, Kind.ARENA)
    loop(program, "shift", (For(i, whole, (Store("shifted", i, load("x", i, FLOAT) + 1.0),)),), ("x",), ("shifted",))
    window = Window(batch, height, width, channels, height // 2, width // 2, channels, 2, 2, 2, 2, 1, 1, 0, 0)
    pool = PoolMaxFloat(window, Pointer("shifted", const(0)), Pointer("maxima", const(0)), channels)
    call = Call("pool", ("pool",), ("pool: MaxPool",), ("shifted",), ("maxima",), 0)
    program.calls.append(TemplateCall(call, pool))
    loop(program, "double", (For(i, halved, (Store("y", i, load("maxima", i, FLOAT) * 2.0),)),), ("maxima",), ("y",))
    program = schedule(program, replace(load_target("portable"), vocabularies=tuple(VOCABULARIES)))  # emitted for any target
    plan(program)
    return program


def pool_answer(x: np.ndarray) -> np.ndarray:
    batch, height, width, channels = x.shape
    return 2 * (x + np.float32(1)).reshape(batch, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))


def in_place_program(count: int = 1000) -> Program:
    """int32 values are rewritten as floats in the same bytes, as the plan does for elementwise loops."""
    program = Program("inplace", "host")
    port(program, "x", DType.FLOAT32, (count,), Kind.INPUT)
    port(program, "y", DType.FLOAT32, (count,), Kind.OUTPUT)
    buffer(program, "whole", DType.INT32, count, Kind.ARENA)
    buffer(program, "real", DType.FLOAT32, count, Kind.ARENA)
    every = const(count)
    rounded = ex.cast(ex.unary("rint", load("x", i, FLOAT) * 100.0), INT)
    loop(program, "round", (For(i, every, (Store("whole", i, rounded),)),), ("x",), ("whole",))
    loop(program, "convert", (For(i, every, (Store("real", i, ex.cast(load("whole", i, INT), FLOAT) * 0.5),)),), ("whole",), ("real",))
    loop(program, "reverse", (For(i, every, (Store("y", i, load("real", count - 1 - i, FLOAT)),)),), ("real",), ("y",))
    plan(program)
    assert program.buffers["whole"].address == program.buffers["real"].address
    return program


def random_inputs(program: Program, seed: int, sizes: Mapping[str, int] | None = None) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    names = {name: np.int32(size) for name, size in (sizes or {}).items()}
    return {
        item.name: generator.standard_normal([int(value(size, names, {})) for size in item.shape]).astype(item.dtype.numpy)
        for item in program.inputs
    }


def exam_of(program: Program, *sizes: Mapping[str, int], vectors: int = 2) -> ExamData:
    """Random questions with the answers of `evaluate`; every output exact."""
    chosen = sizes or ({},) * vectors
    inputs = [random_inputs(program, seed, choice) for seed, choice in enumerate(chosen)]
    outputs = [evaluate(program, given, choice) for given, choice in zip(inputs, chosen, strict=True)]
    return ExamData(inputs, outputs, {item.name: True for item in program.outputs})
