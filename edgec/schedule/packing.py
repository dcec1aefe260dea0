"""The weights of template calls in the order that their kernels read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from edgec.ir.types import DType
from edgec.program.contents import Contents, contents
from edgec.program.expr import const
from edgec.program.program import AnyCall, Buffer, Kind, Pointer, Program, TemplateCall, read_by
from edgec.schedule.choice import UNTUNED, Choices, variant_of
from edgec.targets import Target

Use = tuple[int, str, Callable[[], np.ndarray]]  # a call's number, the argument that points to a buffer, and what makes that packed


def packed(program: Program, target: Target, tuned: Choices = UNTUNED) -> Program:
    """`program` with packed weights; equal ones share a buffer, and one that is packed in several orders becomes several."""
    uses: dict[str, list[Use]] = {}
    for number, call in enumerate(program.calls):
        if isinstance(call, TemplateCall):
            for argument, plain, pack in _packed(program, call, target, tuned):
                uses.setdefault(plain, []).append((number, argument, pack))
    buffers: dict[str, Buffer] = {}
    held: dict[Contents, str] = {}  # the buffers of contents
    names: dict[int, dict[str, str]] = {}  # by call and argument
    for name, buffer in program.buffers.items():
        if name not in uses:
            buffers[name] = buffer
            if buffer.data is not None:
                held.setdefault(contents(buffer.data), name)
        for number, argument, pack in uses.get(name, ()):
            data = pack()
            found = held.get(contents(data))
            if found is None:
                found = held[contents(data)] = _free(name, buffers, program)
                buffers[found] = Buffer(found, DType.of(data), const(data.size), Kind.CONSTANT, data=data)
            names.setdefault(number, {})[argument] = found
    calls = [_pointed(call, names.get(number, {})) for number, call in enumerate(program.calls)]
    return replace(program, buffers=buffers, calls=calls)


def _packed(
    program: Program, call: TemplateCall, target: Target, tuned: Choices
) -> Iterator[tuple[str, str, Callable[[], np.ndarray]]]:  # fmt: skip
    """(argument, the buffer that it points to, what makes it packed)."""
    arguments = call.arguments
    packing = variant_of(arguments, target, tuned).packing
    for argument, pack in packing.pack.items():
        pointer: Pointer | None = getattr(arguments, argument)
        data = program.buffers[pointer.buffer].data if pointer is not None else None
        if pointer is not None and data is not None:
            yield argument, pointer.buffer, partial(pack, arguments, data, packing.multiple(target.vocabularies))


def _free(name: str, taken: dict[str, Buffer], program: Program) -> str:
    """`name`, or one near to it that no buffer has."""
    serial, free = 1, name
    while free in taken or (free != name and free in program.buffers):
        serial += 1
        free = f"{name}_{serial}"
    return free


def _pointed(call: AnyCall, names: dict[str, str]) -> AnyCall:
    """`call` with its pointers to packed weights."""
    if not isinstance(call, TemplateCall) or not names:
        return call
    arguments = replace(call.arguments, **{argument: Pointer(name, const(0)) for argument, name in names.items()})
    return replace(call, arguments=arguments, call=replace(call.call, reads=read_by(arguments)))
