"""A numpy interpreter of Programs: every call by its documented meaning, exact for integers. The judge of lowering, without C.

Loops whose iterations are independent become numpy axes; loops that carry a value run one by one. Every load and store is checked
to lie inside its buffer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from edgec.oracle import mathlib
from edgec.program import semantics
from edgec.program.expr import Binary, Cast, Const, Expr, Load, Select, Size, Unary, Var
from edgec.program.lanes import LANES, totals
from edgec.program.program import Assign, Declare, For, Kind, LoopCall, Program, Statement, Store
from edgec.program.turns import spans
from tests.lower.templates import run_template

Env = dict[str, Any]


def run(program: Program, inputs: dict[str, np.ndarray], sizes: dict[str, int] | None = None, multiple: int = 4) -> dict[str, np.ndarray]:
    """The outputs of `program` by ONNX name, shaped as their ports say."""
    machine = Machine(program, sizes or {}, multiple)
    for port in program.inputs:
        data = np.ascontiguousarray(inputs[port.name], dtype=port.dtype.numpy).reshape(-1)
        assert data.size == machine.integer(program.buffers[port.buffer].size)
        machine.memory[port.buffer][:] = data
    machine.run_all()
    return {port.name: machine.memory[port.buffer].reshape([machine.integer(e) for e in port.shape]).copy() for port in program.outputs}


class Machine:
    def __init__(self, program: Program, sizes: dict[str, int], multiple: int) -> None:
        self.program, self.sizes, self.multiple = program, sizes, multiple
        self.memory: dict[str, np.ndarray] = {}
        for name, buffer in program.buffers.items():
            if buffer.kind == Kind.CONSTANT:
                assert buffer.data is not None
                self.memory[name] = buffer.data
            else:  # poison, so that what is read before it was written shows
                fill = np.nan if buffer.dtype.is_float else 77 if buffer.dtype.value != "bool" else 0
                self.memory[name] = np.full(self.integer(buffer.size), fill, buffer.dtype.numpy)

    def integer(self, e: Expr | int) -> int:
        return int(e) if isinstance(e, int) else int(self.value(e, {}, None))

    def run_all(self) -> None:
        """The calls in order, those that run in turns as often as they say."""
        ends = {span.end - 1: (name, span) for name, span in spans(self.program).items()}
        begins = {span.first - 1: (name, span) for name, span in spans(self.program).items() if self.program.repeats[name].conditional}
        number = 0
        while number < len(self.program.calls):
            self.run(self.program.calls[number])
            name, span = ends.get(number) or begins.get(number) or ("", None)
            number += 1
            if span is not None:
                number = span.first if self.memory[self.program.repeats[name].goes_on][0] else span.end

    def run(self, call: Any) -> None:
        if isinstance(call, LoopCall):
            env: Env = {}
            with np.errstate(all="ignore"):
                for statement in call.body:
                    self.statement(statement, env, 0, None)
        else:
            run_template(self, call.arguments)

    # Statements. `axes` numpy axes are open; `mask` tells which of their positions are alive.

    def statement(self, s: Statement, env: Env, axes: int, mask: Any) -> None:
        if isinstance(s, For):
            self.loop(s, env, axes, mask)
        elif isinstance(s, Declare):
            env[s.var.name] = self.value(s.value, env, mask)
        elif isinstance(s, Assign):
            new = self.value(s.value, env, mask)
            env[s.var.name] = new if mask is None else np.where(mask, new, env[s.var.name])
        else:
            self.store(s, env, mask)

    def loop(self, s: For, env: Env, axes: int, mask: Any) -> None:
        extent = self.value(s.extent, env, mask)
        if s.lanes:
            self.lanes(s, int(extent), env, axes, mask)
            return
        start = 0 if s.start is None else self.value(s.start, env, mask)
        if np.ndim(extent) == 0 and np.ndim(start) == 0 and independent(s):
            # a new leading axis for this loop; what was known so far broadcasts along it
            steps = np.arange(int(extent), dtype=np.int64) + int(start)
            inner = {**env, s.var.name: steps.reshape([-1] + [1] * axes)}
            for statement in s.body:
                self.statement(statement, inner, axes + 1, mask)
            return
        for step in range(int(np.max(extent))):
            env[s.var.name] = start + step
            alive = None if np.ndim(extent) == 0 else np.asarray(step < extent)
            both = alive if mask is None else mask if alive is None else mask & alive
            for statement in s.body:
                self.statement(statement, env, axes, both)

    def lanes(self, s: For, extent: int, env: Env, axes: int, mask: Any) -> None:
        found = totals(s)
        before = {item: env[item.var.name] for item in found}
        parts = {item: [item.var.dtype.numpy.type(item.start)] * LANES for item in found}
        for step in range(extent):
            env[s.var.name] = step
            env.update({item.var.name: parts[item][step % LANES] for item in found})
            for statement in s.body:
                self.statement(statement, env, axes, mask)
            for item in found:
                parts[item][step % LANES] = env[item.var.name]
        for item in found:
            join = BINARY[item.op]
            while len(parts[item]) > 1:
                half = len(parts[item]) // 2
                parts[item] = [join(parts[item][j], parts[item][j + half]) for j in range(half)]
            env[item.var.name] = join(before[item], parts[item][0])

    def store(self, s: Store, env: Env, mask: Any) -> None:
        index, value = np.asarray(self.value(s.index, env, mask)), np.asarray(self.value(s.value, env, mask))
        index, value, alive = np.broadcast_arrays(index, value, True if mask is None else mask)
        memory = self.memory[s.buffer]
        index, value = index[alive], value[alive]
        assert index.size == 0 or (index.min() >= 0 and index.max() < memory.size), f"store outside of {s.buffer}"
        assert np.unique(index).size == index.size, f"two iterations write one element of {s.buffer}"
        memory[index] = value

    # Expressions

    def value(self, e: Expr, env: Env, mask: Any) -> Any:
        if isinstance(e, Const):
            return e.dtype.numpy.type(e.value) if e.dtype.value != "int32" else int(e.value)
        if isinstance(e, Size):
            return self.sizes[e.name]
        if isinstance(e, Var):
            return env[e.name]
        if isinstance(e, Load):
            return self.load(e, env, mask)
        if isinstance(e, Cast):
            return semantics.convert(self.value(e.a, env, mask), e.dtype.numpy)
        if isinstance(e, Select):
            condition = self.value(e.condition, env, mask)
            if np.ndim(condition) == 0:
                return self.value(e.a if condition else e.b, env, mask)
            here = condition if mask is None else mask & condition
            there = ~condition if mask is None else mask & ~condition
            return np.where(condition, self.value(e.a, env, here), self.value(e.b, env, there))
        if isinstance(e, Unary):
            found = self.value(e.a, env, mask)
            return semantics.as_bits(found, e.dtype.numpy) if e.op == "bits" else UNARY[e.op](found)
        assert isinstance(e, Binary)
        a, b = self.value(e.a, env, mask), self.value(e.b, env, mask)
        result = BINARY[e.op](a, b)
        assert not e.dtype.is_float or np.asarray(result).dtype == e.dtype.numpy, (e.op, np.asarray(result).dtype)
        return result

    def load(self, e: Load, env: Env, mask: Any) -> Any:
        memory, index = self.memory[e.buffer], np.asarray(self.value(e.index, env, mask))
        assert e.dtype == self.program.buffers[e.buffer].dtype, f"{e.buffer} read as {e.dtype}"
        outside = (index < 0) | (index >= memory.size)
        assert not np.any(outside if mask is None else outside & mask), f"load outside of {e.buffer}"
        return memory[np.clip(index, 0, memory.size - 1)]


def _f32(a: Any) -> Any:
    return np.asarray(a, np.float32)


UNARY = {
    **semantics.UNARY, "sin": np.sin, "cos": np.cos,
    **{name: getattr(mathlib, name) for name in ("exp", "log", "tanh", "erf", "sigmoid") if hasattr(mathlib, name)},
}  # fmt: skip
BINARY = {
    **semantics.BINARY, "floordiv": lambda a, b: a // b,
    "pow": lambda a, b: semantics.power(a, b) if np.asarray(a).dtype.kind in "iu" else mathlib.power(_f32(a), _f32(b)),
}  # fmt: skip


def independent(s: For) -> bool:
    """Whether no iteration of the loop sees what another one wrote."""
    declared = {inner.var.name for inner in s.body if isinstance(inner, Declare)}

    def free(statement: Statement) -> bool:
        if isinstance(statement, For):
            declared.update(inner.var.name for inner in statement.body if isinstance(inner, Declare))
            return all(free(inner) for inner in statement.body)
        if isinstance(statement, Assign):
            return statement.var.name in declared
        return not isinstance(statement, Store) or uses(statement.index, s.var.name)

    return all(free(statement) for statement in s.body)


def uses(e: Expr, name: str) -> bool:
    if isinstance(e, Var):
        return e.name == name
    children = [getattr(e, field) for field in ("a", "b", "condition", "index") if isinstance(getattr(e, field, None), Expr)]
    return any(uses(child, name) for child in children)
